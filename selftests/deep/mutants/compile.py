#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Compile all mutants of the tables into one copy of the sources.

    compile.py TREE >LIST       change TREE, which is thrown away
    compile.py --check TREE     only see whether each line of the tables still fits

A line of a table, mutants/*.def, has four columns, with tabs between them:

    FILE [FUNCTION]   KIND   TEST...   ORIGINAL => MUTATED

ORIGINAL stands once in FUNCTION, or in the whole file; a space in it stands for any white space.
If it ends with a semicolon both are statements, otherwise they are expressions. After a tab,
such a line goes on with "FILE [FUNCTION]<tab>ORIGINAL => MUTATED", a further change of the same
mutant, or with "equivalent: WHY", which says why no test can notice it.

LIST has for each mutant: number, table and line, kind, tests, what it does, why it is equivalent.
"""

import collections
import glob
import os
import re
import sys

Edit = collections.namedtuple("Edit", "start end nr mutated statement")
here = os.path.dirname(os.path.realpath(sys.argv[0]))
kinds = (
    "off by one", "dropped barrier", "dropped lock", "wrong errno", "skipped clean-up",
    "wrong counter", "missing check", "wrong unit", "dropped wake-up", "wrong order", "wrong value",
)
bad = 0


def complain(where, text):
    global bad
    bad = 1
    print(f"{where}: {text}", file=sys.stderr)


def body(text, function):
    """Where the function is: from its name to the brace in the first column."""
    for match in re.finditer(r"^[A-Za-z_][^\n;=]*?\b" + re.escape(function) + r"\(", text, re.M):
        opens = re.compile(r"[;{]").search(text, match.end())
        if opens and opens.group() == "{":
            end = re.compile(r"^}", re.M).search(text, opens.end())
            return opens.start(), end.start() if end else len(text)
    return None


def is_whole(text, start, end):
    """Is that an expression that the operators around it leave whole?"""
    inner = re.sub(r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)", "", text[start:end])
    if not re.search(r"\s[-+*/%<>=&|^?]+\s", inner):
        return True
    before = text[:start].rstrip()
    return before.endswith(("(", ",", "=", "?", ":", "&&", "||", "return", "{", "[", ";")) and \
        not before.endswith(("<=", ">=", "==", "!=")) and \
        re.match(r"\s*([),;?:}\]]|&&|\|\|)", text[end:])


def is_balanced(text):
    """Does each parenthesis, bracket and brace end in that text, and begin in it?"""
    inner = re.sub(r"'.'|\"[^\"]*\"", "", text)
    while True:
        shorter = re.sub(r"\([^][(){}]*\)|\[[^][(){}]*\]|\{[^][(){}]*\}", "", inner)
        if shorter == inner:
            return not re.search(r"[][(){}]", inner)
        inner = shorter


class Tree:
    def __init__(self, top):
        self.top = top
        self.text = {}
        self.edits = collections.defaultdict(list)

    def change(self, where, nr, place, change):
        name, _, function = place.partition(" ")
        path = os.path.join(self.top, name)
        if name not in self.text:
            if not os.path.exists(path):
                return complain(where, f"no such file: {name}")
            self.text[name] = open(path, encoding="utf-8").read()
        text = self.text[name]
        original, arrow, mutated = change.partition(" => ")
        if not arrow:
            return complain(where, "without =>")
        span = body(text, function) if function else (0, len(text))
        if not span:
            return complain(where, f"no function {function} in {name}")
        pattern = r"\s+".join(re.escape(word) for word in original.split())
        found = list(re.compile(pattern).finditer(text, *span))
        if len(found) != 1:
            return complain(where, f"'{original}' is there {len(found)} times, not once")
        start, end = found[0].span()
        # Of a whole if, what is in the parentheses is an expression.
        if original.startswith("if (") and original.endswith(")"):
            start += len("if (")
            end -= 1
            mutated = mutated.strip()[len("if ("):-1]
        if not original.endswith(";") and not is_whole(text, start, end):
            return complain(where, f"'{original}' is a part of a larger expression")
        if not is_balanced(original) or not is_balanced(mutated):
            return complain(where, f"'{original}' or '{mutated}' is not whole")
        # In front of a statement there is another one, a block, a condition, a label, or a comment.
        if original.endswith(";") and not re.search(r"([;{}):]|\*/|\belse|\bdo)\s*$", text[:start]):
            return complain(where, f"'{original}' is no whole statement")
        if original.startswith("else"):
            return complain(where, f"'{original}' is neither a statement nor an expression")
        self.edits[name].append(Edit(start, end, nr, mutated.strip(), original.endswith(";")))
        return None

    def render(self, name, start, end, edits):
        """The text between start and end, with these edits, all of them inside."""
        out = ""
        text = self.text[name]
        while edits:
            first = edits[0]
            same = [e for e in edits if e[:2] == first[:2]]
            inside = [e for e in edits if e not in same and e.start < first.end]
            edits = [e for e in edits if e.start >= first.end]
            for e in inside:
                if e.end > first.end:
                    complain(name, f"mutants {first.nr} and {e.nr} overlap")
            out += text[start:first.start]
            whole = self.render(name, first.start, first.end, inside)
            for e in same:
                if e.statement:
                    whole = f"{{ if (kdtl_mutant({e.nr})) {{ {e.mutated} }} else {{ {whole} }} }}"
                else:
                    whole = f"(kdtl_mutant({e.nr}) ? ({e.mutated}) : ({whole}))"
            out += whole
            start = first.end
        return out + text[start:end]

    def write(self):
        for name, edits in self.edits.items():
            edits.sort(key=lambda e: (e.start, -e.end, e.nr))
            text = self.render(name, 0, len(self.text[name]), edits)
            with open(os.path.join(self.top, name), "w", encoding="utf-8") as file:
                file.write(text)


def tables(tree):
    mutants = []
    for path in sorted(glob.glob(os.path.join(here, "*.def"))):
        part = os.path.basename(path)[:-len(".def")]
        for nr, line in enumerate(open(path, encoding="utf-8").read().splitlines(), 1):
            where = f"{part}:{nr}"
            columns = [c for c in line.split("\t") if c]
            if not columns or line.startswith("#"):
                continue
            if line.startswith("\t") and mutants:
                if columns[0].startswith("equivalent: "):
                    mutants[-1][5] = columns[0][len("equivalent: "):]
                elif len(columns) == 2:
                    tree.change(where, mutants[-1][0], *columns)
                else:
                    complain(where, "neither a further change nor 'equivalent: '")
                continue
            if len(columns) != 4:
                complain(where, f"{len(columns)} columns, not 4")
                continue
            place, kind, tests, change = columns
            if kind not in kinds:
                complain(where, f"'{kind}' is none of {', '.join(kinds)}")
            mutants.append([len(mutants) + 1, where, kind, tests, f"{place}: {change}", "-"])
            tree.change(where, len(mutants), place, change)
    return mutants


def main():
    check = sys.argv[1] == "--check"
    tree = Tree(sys.argv[-1])
    mutants = tables(tree)
    if not bad and not check:
        tree.write()
        for mutant in mutants:
            print(*mutant, sep="\t")
    sys.exit(bad)


main()
