# SPDX-License-Identifier: GPL-2.0
#
# For scripts/man: make a man page from a page of Documentation/. Tables, lists and indented lines
# stay as they are, because they are readable text. Set name and release.

# Literals and references become plain words.  The first column of a table keeps its width.
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

# Print the paragraph that begins at line i, and return the number of the line behind it.
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
