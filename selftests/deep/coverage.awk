# SPDX-License-Identifier: GPL-2.0
# Adds up what the gcov tool says about several builds. Prints "file:line:count:text" for each line
# of api/, core/ and clients/ that has code. Its input has, for each file, a line
#
#	-:0:Source:file		and then lines	count:line:text

/^ *-: *0:Source:/ {
	file = $0
	sub(/^ *-: *0:Source:/, "", file)
	wanted = file ~ /^(api|core|clients)\//
	next
}
!wanted || !/^ *[0-9#=]+\*?: *[0-9]+:/ { next }
{
	split($0, part, ":")
	count = part[1] + 0
	line = part[2] + 0
	text = $0
	sub(/^[^:]*:[^:]*:/, "", text)
	key = file ":" line
	if (!(key in text_of)) {
		text_of[key] = text
		counts[key] = 0
	}
	if (count > counts[key])
		counts[key] = count
}
END {
	for (key in text_of)
		print key ":" counts[key] ":" text_of[key]
}
