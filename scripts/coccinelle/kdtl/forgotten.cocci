// SPDX-License-Identifier: GPL-2.0
/// A module that goes must have closed its sessions and unenlisted its alarms and
/// its sources. kdtl does so in its place, and complains in the log.
///
// Confidence: Moderate
// Comments: A module is a file with module_init() and the files beside it without.
// Comments: What only module_init() calls does not count, as it does not run when the
// Comments: module goes. Everything else does, whether module_exit() leads there or not.
// Comments: A module that pins itself with __module_get() is left out.
// Options: --no-includes
// Files: those of a folder together

virtual context
virtual org
virtual report

@initialize:python@
@@
import os

calls = {}          # (file, function): the names of what it calls
starts, ends = set(), set()     # (file, function) of module_init() and module_exit()
made, undone = [], []           # (file, function, verb, what it is called with)
global_at = set()               # where that is a variable of the file


def at(p):
    return p[0].file, p[0].line, p[0].column


def undo_of(verb):
    return verb.replace("_reg", "_unreg") if "_reg" in verb else "kdtl_session_close"


def missing(verb):
    return "no %s() when the module goes" % undo_of(verb)


def reached(functions, files):
    # What these functions call, and they themselves.
    todo, seen = list(functions), set()
    while todo:
        function = todo.pop()
        if function in seen:
            continue
        seen.add(function)
        for name in calls.get(function, ()):
            here = (function[0], name)
            todo += [here] if here in calls else \
                    [(f, name) for f in files if (f, name) in calls]
    return seen


def is_forgotten(p, verb, what):
    # Nothing that may run when the module goes undoes this.
    path, function = p[0].file, p[0].current_element
    own = {f for f, _ in starts}
    files = {f for f, _ in calls if os.path.dirname(f) == os.path.dirname(path) and
             (f == path or f not in own or path not in own)}
    if any("__module_get" in calls[c] for c in calls if c[0] in files):
        return False
    begin = reached({f for f in starts if f[0] in files}, files)
    begin -= reached({f for f in ends if f[0] in files}, files)
    for file, other, undo, arg, is_global in undone:
        if file not in files or undo != undo_of(verb):
            continue
        if at(p) not in global_at and (file, other, arg) == (path, function, what):
            return False        # whether on all paths, session_leak says
        if (file, other) in begin:
            continue
        if at(p) not in global_at or arg == what:
            return False
        # A function of its own undoes what it is given.
        if not is_global and (file, other, arg) not in made:
            return False
    return True

@call@
identifier f;
position p;
@@
 f@p(...)

@script:python@
f << call.f;
p << call.p;
@@
calls.setdefault((p[0].file, p[0].current_element), set()).add(f)

@init@
declarer name module_init, device_initcall, late_initcall;
identifier f;
position p;
@@
(
 module_init@p(f);
|
 device_initcall@p(f);
|
 late_initcall@p(f);
)

@script:python@
f << init.f;
p << init.p;
@@
starts.add((p[0].file, f))

@exit@
declarer name module_exit;
identifier f;
position p;
@@
 module_exit@p(f);

@script:python@
f << exit.f;
p << exit.p;
@@
ends.add((p[0].file, f))

@variable@
global idexpression G;
identifier m, verb =~ "^kdtl_(session_close|alarm_(un)?register|pmu_(un)?register)$";
identifier create = { kdtl_session_create, kdtl_session_open };
position p;
@@
(
 verb@p(G)
|
 verb@p(&G)
|
 verb@p(G.m)
|
 verb@p(&G.m)
|
 G = create@p(...)
|
 G.m = create@p(...)
)

@script:python@
p << variable.p;
@@
global_at.add(at(p))

@undo@
identifier verb = { kdtl_session_close, kdtl_alarm_unregister, kdtl_pmu_unregister };
expression E;
position p;
@@
 verb@p(E)

@script:python@
verb << undo.verb;
E << undo.E;
p << undo.p;
@@
undone.append((p[0].file, p[0].current_element, verb, E, at(p) in global_at))

@create@
identifier verb = { kdtl_session_create, kdtl_session_open };
expression E;
position p;
@@
 E = verb@p(...)

@script:python@
E << create.E;
p << create.p;
@@
made.append((p[0].file, p[0].current_element, E))

// Another function creates the session and returns it.
@get@
global idexpression struct kdtl_session *G;
identifier verb !~ "^kdtl_";
position p;
@@
 G = verb@p(...)

@script:python@
p << get.p;
@@
global_at.add(at(p))

@enlist@
identifier verb = { kdtl_alarm_register, kdtl_pmu_register };
expression E;
position p;
@@
 verb@p(E)

@script:python depends on context@
verb << create.verb;
E << create.E;
p << create.p;
@@
if not is_forgotten(p, verb, E):
    cocci.include_match(False)

@depends on context@
identifier create.verb;
position create.p;
@@
*verb@p(...)

@script:python depends on context@
G << get.G;
p << get.p;
@@
if not is_forgotten(p, "", G):
    cocci.include_match(False)

@depends on context@
identifier get.verb;
position get.p;
@@
*verb@p(...)

@script:python depends on context@
verb << enlist.verb;
E << enlist.E;
p << enlist.p;
@@
if not is_forgotten(p, verb, E):
    cocci.include_match(False)

@depends on context@
identifier enlist.verb;
position enlist.p;
@@
*verb@p(...)

@script:python depends on org@
verb << create.verb;
E << create.E;
p << create.p;
@@
if is_forgotten(p, verb, E):
    cocci.print_main(missing(verb), p)

@script:python depends on org@
G << get.G;
p << get.p;
@@
if is_forgotten(p, "", G):
    cocci.print_main(missing(""), p)

@script:python depends on org@
verb << enlist.verb;
E << enlist.E;
p << enlist.p;
@@
if is_forgotten(p, verb, E):
    cocci.print_main(missing(verb), p)

@script:python depends on report@
verb << create.verb;
E << create.E;
p << create.p;
@@
if is_forgotten(p, verb, E):
    coccilib.report.print_report(p[0], missing(verb))

@script:python depends on report@
G << get.G;
p << get.p;
@@
if is_forgotten(p, "", G):
    coccilib.report.print_report(p[0], missing(""))

@script:python depends on report@
verb << enlist.verb;
E << enlist.E;
p << enlist.p;
@@
if is_forgotten(p, verb, E):
    coccilib.report.print_report(p[0], missing(verb))
