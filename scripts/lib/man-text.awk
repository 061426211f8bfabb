# SPDX-License-Identifier: GPL-2.0
#
# For scripts/man: a page of Documentation/ in, a man page out. Tables, lists and what is indented
# stand as they are, since they are text. Set name and release.

# Literals and references are words here.  The first column of a table keeps its width.
function plain(line)
{
	while (match(line, /``[^`]*``/))
		line = substr(line, 1, RSTART - 1) substr(line, RSTART + 2, RLENGTH - 4) \
			(table && RSTART == 1 ? "    " : "") \
			substr(line, RSTART + RLENGTH)
	while (match(line, /[*][a-z]+[*]/))
		line = substr(line, 1, RSTART - 1) substr(line, RSTART + 1, RLENGTH - 2) \
			substr(line, RSTART + RLENGTH)
	gsub(/:[a-z]+:`/, "`", line)
	gsub(/`/, "", line)
	gsub(/\\/, "\\e", line)
	gsub(/-/, "\\-", line)
	if (line ~ /^[.\047]/)
		line = "\\\&" line
	return line
}

function is_literal(i)
{
	return lines[i] ~ /^([ \t]|- |[0-9]+[.] |=+ )/ || lines[i + 1] ~ /^[ \t]/
}

# A paragraph from line i on; returns the line behind it.
function paragraph(i,   literal)
{
	literal = is_literal(i)
	table = lines[i] ~ /^=+ /
	if (!first)
		print ".PP"
	first = 0
	if (literal)
		print ".nf"
	for (; i <= nr && lines[i] != "" && lines[i] !~ /^[.][.] /; i++)
		print plain(lines[i])
	if (literal)
		print ".fi"
	return i
}

{ lines[++nr] = $0 }

END {
	for (i = 1; lines[i] !~ /^=+$/; i++)
		;
	title = lines[i + 1]
	print ".\\\" SPDX-License-Identifier: GPL-2.0"
	print ".\\\" Made by scripts/man, from kdtl's Documentation."
	print ".TH " toupper(name) " 7 " release " \"Kernel API\""
	print ".SH NAME"
	print name " \\- " tolower(title)
	print ".SH DESCRIPTION"
	first = 1
	for (i += 3; i <= nr; ) {
		if (lines[i] == "" || lines[i] == "::" || lines[i] ~ /^[.][.] /) {
			i++
		} else if (lines[i + 1] ~ /^=+$/) {
			print ".SS " lines[i]
			first = 1
			i += 2
		} else {
			i = paragraph(i)
		}
	}
	print ".SH SEE ALSO"
	print ".BR kdtl (9)"
}
