# SPDX-License-Identifier: MIT
# Makes a C source with the text of a file as a string: awk -v name=SYMBOL -f embed.awk FILE
BEGIN { printf "extern const char %s[];\nconst char %s[] =\n", name, name }
{
	gsub(/\\/, "&&")
	gsub(/"/, "\\\"")
	gsub(/\t/, "\\t")
	gsub(/\?\?/, "?\\?") # no trigraphs
	printf "\t\"%s\\n\"\n", $0
}
END { print "\t\"\";" }
