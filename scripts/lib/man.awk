# SPDX-License-Identifier: GPL-2.0
#
# For scripts/man: make man pages from kernel-doc comments. The first file is
# Documentation/api.rst, whose sections group the pages. Until a line is written, \001 stands
# for a backslash that roff interprets.

function bold(s) { return "\001fB" s "\001fR" }
function italic(s) { return "\001fI" s "\001fR" }

# roff TEXT: return the text so that roff prints it as it is.
function roff(s)
{
	gsub(/\\/, "\001e", s)
	return s
}

# code TEXT: do the same for C, where each - is a minus.
function code(s)
{
	s = roff(s)
	gsub(/-/, "\001-", s)
	return s
}

# mark TEXT: convert a line of prose with kernel-doc's markup.
function mark(s,   done, token)
{
	s = roff(s)
	while (match(s, /``[^`]+``|\*[A-Za-z][^*]*\*|@[a-z][a-z0-9_]*(->[a-z_]+)?|&(struct |enum )?[a-z_]+(\.[a-z_]+)?|[a-z_][a-z0-9_]*\(\)|-[E0-9][A-Z0-9]*/)) {
		token = substr(s, RSTART, RLENGTH)
		done = done substr(s, 1, RSTART - 1)
		s = substr(s, RSTART + RLENGTH)
		if (token ~ /^`/)
			token = bold(code(substr(token, 3, length(token) - 4)))
		else if (token ~ /^\*/)
			token = italic(substr(token, 2, length(token) - 2))
		else if (token ~ /^@/)
			token = italic(code(substr(token, 2)))
		else if (token ~ /^&/)
			token = bold(substr(token, 2))
		else if (token ~ /^-/)
			token = code(token)
		else
			token = bold(substr(token, 1, length(token) - 2)) "()"
		done = done token
	}
	return done s
}

# put LINE: write the line to the page.
function put(s)
{
	gsub(/\001/, "\\", s)
	print s >page
}

# text LINE: write a line of prose, which is no request to roff even if it looks like one.
function text(s)
{
	put((s ~ /^[.\047]/ ? "\001&" : "") s)
}

# paragraphs LINES: write prose with lists and, in lines after a tab, code.
function paragraphs(s,   line, nr, i, in_code, in_list)
{
	gsub(/^\n+|\n+$/, "", s)
	gsub(/\n\n+/, "\n\n", s)
	nr = split(s, line, "\n")
	for (i = 1; i <= nr; i++) {
		if (in_code && line[i] !~ /^\t/) {
			put(".EE")
			in_code = 0
		}
		if (line[i] ~ /^\t/) {
			if (!in_code)
				put(".EX")
			in_code = 1
			text(code(expand(line[i])))
		} else if (line[i] ~ /^\* /) {
			put(".IP \001(bu 2")
			in_list = 1
			text(mark(substr(line[i], 3)))
		} else if (line[i] == "") {
			if (i < nr && line[i + 1] !~ /^\* /)
				put(".PP")
			in_list = 0
		} else {
			if (in_list && line[i] !~ /^  /)
				put(".PP")
			in_list = in_list && line[i] ~ /^  /
			sub(/^ +/, "", line[i])
			text(mark(line[i]))
		}
	}
	if (in_code)
		put(".EE")
}

# expand LINE: replace tabs by spaces.
function expand(s,   done)
{
	while (match(s, /\t/)) {
		done = done substr(s, 1, RSTART - 1)
		do
			done = done " "
		while (length(done) % 8)
		s = substr(s, RSTART + 1)
	}
	return done s
}

# ------------------------------------------------------------------ reading

FILENAME == ARGV[1] { reference(); next }
FNR == 1 { state = ""; header = FILENAME ~ /\.h$/ ? FILENAME : "" }

# The header that declares a function is the one that its users include.
header && /^[a-z].*kdtl_[a-z_]*\(/ {
	match($0, /kdtl_[a-z_]*\(/)
	declared[substr($0, RSTART, RLENGTH - 1)] = header
}

state == "" && $0 == "/**" { begin(); next }
state == "comment" { comment(); next }
state == "code" { definition() }

# The overview's text is the header's first comment.
FILENAME ~ /linux\/kdtl\.h$/ && FILENAME !~ /uapi/ && FNR == 2, /^ \*\// {
	if (/^ \* kdtl - / || !sub(/^ \* ?/, "") || /^\//)
		next
	intro = intro $0 "\n"
}

# reference(): read a line of api.rst.
function reference()
{
	if (/^\*Context\*/)
		in_contexts = 1
	if (in_contexts) {
		if ($0 == "")
			in_contexts = 0
		else
			contexts = contexts $0 "\n"
	}
	if (/^(===|---)/ && last != "") {
		heading[++nr_pages] = (/^=/ ? ".SH " : ".SS ") last
		wanted[nr_pages] = ""
	}
	last = $0
	if (/^\.\. kernel-doc::/)
		source = $3
	else if (/^   :identifiers:/)
		in_names = 1
	else if ($0 !~ /^    /)
		in_names = 0
	if (!in_names)
		return
	sub(/:identifiers:/, "")
	for (i = 1; i <= NF; i++) {
		# Users call the macro around such a function instead.
		if ($i ~ /^__/)
			continue
		wanted[++nr_pages] = $i
		wanted_from[source, $i] = 1
	}
}

function begin()
{
	state = "comment"
	kind = name = brief = args = notes = context = returns = proto = ""
	part = "name"
}

function comment()
{
	if ($0 == " */") {
		state = (FILENAME, name) in wanted_from ? "code" : ""
		hidden = 0
		return
	}
	sub(/^ \* ?/, "")
	if (part == "name" && name == "") {
		kind = $1 ~ /^(struct|enum)$/ ? $1 : ""
		name = kind ? $2 : $1
		sub(/\(\)$/, "", name)
		brief = $0
		sub(/^[^-]* - /, "", brief)
	} else if (/^@[a-z_A-Z0-9]+:/) {
		part = "args"
		args = args $0 "\n"
	} else if (sub(/^Context: */, "")) {
		part = "context"
		context = context $0 "\n"
	} else if (sub(/^Return: */, "")) {
		part = "returns"
		returns = $0 == "" ? "" : $0 "\n"
	} else if ($0 == "" && part != "notes") {
		part = "notes"
	} else if (part == "name") {
		brief = brief " " $0
	} else if (part == "args") {
		sub(/^[ \t]+/, "")
		args = args $0 "\n"
	} else if (part == "notes") {
		notes = notes $0 "\n"
	} else if (part == "context") {
		context = context $0 "\n"
	} else {
		returns = returns $0 "\n"
	}
}

# definition(): read the definition that stands below the comment.
function definition(   line)
{
	line = $0
	if (kind) {
		if (/\/\* private: \*\//)
			hidden = 1
		if (!hidden || line == "};")
			proto = proto expand(line) "\n"
		if (line == "};")
			keep()
		return
	}
	if (sub(/^#define[ \t]+/, "", line)) {
		sub(/\).*/, ")", line)
		proto = "#define " line
		keep()
		return
	}
	sub(/^static inline /, "", line)
	gsub(/[ \t]+/, " ", line)
	if (line != "{")
		proto = proto (proto ~ /[^*]$/ ? " " : "") line
	sub(/  +/, " ", proto)
	if (/[{;]$/)
		keep()
}

# keep(): add this comment to the page of its name.
function keep()
{
	state = ""
	if (name in briefs) {
		notes = "&" kind " " name ": " brief ".\n" notes
	} else {
		briefs[name] = brief
		defined[name] = FILENAME
	}
	synopsis[name] = synopsis[name] (synopsis[name] == "" ? "" : "\n\n") declaration()
	arguments[name, kind != ""] = args
	descriptions[name] = descriptions[name] "\n" notes
	contexts_of[name] = contexts_of[name] context
	values[name] = values[name] returns
	words[name] = words[name] proto " " args " " notes " " context " " returns
	if (kind)
		is_type[name] = 1
}

# declaration(): return the declaration for the synopsis, with the arguments in italics.
function declaration(   s, line, cut, arg, nr, i)
{
	if (kind) {
		s = code(proto)
		sub(/\n$/, "", s)
		return s
	}
	line = proto ~ /^#/ ? proto : proto ";"
	while (length(line) > 76) {
		for (cut = 76; cut > 1 && substr(line, cut, 2) != ", "; cut--)
			;
		if (cut == 1)
			break
		s = s substr(line, 1, cut) "\n"
		line = "        " substr(line, cut + 2)
	}
	s = code(s line)
	nr = split(args, arg, "\n")
	for (i = 1; i <= nr; i++) {
		if (!sub(/^@/, "", arg[i]))
			continue
		sub(/:.*/, "", arg[i])
		if (match(s, "[ *(]" arg[i] "[][,)]"))
			s = substr(s, 1, RSTART) italic(arg[i]) substr(s, RSTART + RLENGTH - 1)
	}
	return s
}

# ------------------------------------------------------------------ writing

function head(name, what)
{
	page = out "/" name ".9"
	put(".\001\" SPDX-License-Identifier: GPL-2.0")
	put(".\001\" Made by scripts/man, from kdtl's sources.")
	put(".TH " name " 9 " release " \"Kernel API\"")
	put(".SH NAME")
	put(name " \001- " mark(what))
	put(".SH SYNOPSIS")
	put(".nf")
}

function section(title, s)
{
	if (s !~ /[^\n]/)
		return
	put(".SH " title)
	paragraphs(s)
}

function list(title, s,   line, nr, i)
{
	if (s == "")
		return
	put(".SH " title)
	nr = split(s, line, "\n")
	for (i = 1; i < nr; i++) {
		if (match(line[i], /^@[^:]*: */)) {
			put(".TP")
			put(".I " substr(line[i], 2, index(line[i], ":") - 2))
			line[i] = substr(line[i], RLENGTH + 1)
		}
		text(mark(line[i]))
	}
}

function mentions(name, other)
{
	return match(words[name], "(^|[^a-z0-9_])" other "([^a-z0-9_]|$)")
}

# leads NAME OTHER: succeed if page NAME should lead to page OTHER. A type leads to its users.
function leads(name, other)
{
	return other != name && (mentions(name, other) ||
				 (name in is_type && mentions(other, name)))
}

function write_page(name,   line, nr, i, include)
{
	head(name, briefs[name])
	include = name in declared ? declared[name] : defined[name]
	sub(/.*\//, "linux/", include)
	put(".B #include <" include ">")
	put("")
	nr = split(synopsis[name], line, "\n")
	for (i = 1; i <= nr; i++)
		text(line[i])
	put(".fi")
	list("ARGUMENTS", arguments[name, 0])
	list(synopsis[name] ~ /(^|\n)enum/ ? "CONSTANTS" : "MEMBERS", arguments[name, 1])
	section("DESCRIPTION", descriptions[name])
	section("CONTEXT", contexts_of[name])
	section("RETURN VALUE", values[name])
	put(".SH SEE ALSO")
	for (i = 1; i <= nr_pages; i++) {
		if (wanted[i] != "" && leads(name, wanted[i]) && !(seen[name, wanted[i]]++))
			put(".BR " wanted[i] " (9),")
	}
	put(".BR kdtl (9)")
	close(page)
}

function write_overview(   i)
{
	head("kdtl", "kernel-internal API for dispatch trace logs")
	put(".B #include <linux/kdtl.h>")
	put("")
	put(".B MODULE_IMPORT_NS(KDTL_NS);")
	put(".fi")
	section("DESCRIPTION", intro)
	section("CONTEXT", contexts)
	for (i = 1; i <= nr_pages; i++) {
		if (wanted[i] == "") {
			# A heading that others follow at once has no pages.
			if (i < nr_pages && (wanted[i + 1] != "" || heading[i + 1] ~ /^.SS/))
				put(heading[i])
		} else if (!listed[wanted[i]]++) {
			put(".TP")
			put(".BR " wanted[i] " (9)")
			text(mark(briefs[wanted[i]]))
		}
	}
	put(".SH FILES")
	put("Comments name pages of Documentation/: they are in share/doc/kdtl, beside share/man.")
	put(".SH SEE ALSO")
	put(".BR kdtl (1),")
	put(".BR kdtl\001-states (7),")
	put(".BR kdtl\001-messages (7),")
	put(".BR kdtl\001-counters (7)")
	close(page)
}

END {
	for (i = 1; i <= nr_pages; i++) {
		if (wanted[i] == "" || written[wanted[i]]++)
			continue
		if (!(wanted[i] in briefs)) {
			print "no comment about " wanted[i] " in the file that api.rst names" >"/dev/stderr"
			exit 1
		}
		write_page(wanted[i])
	}
	write_overview()
}
