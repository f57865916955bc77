# SPDX-License-Identifier: MIT
# Puts the file `commands` in place of the sections COMMANDS and GLOBAL OPTIONS of a manual page.
/^\.SH / {
	inside = ($0 == ".SH COMMANDS" || $0 == ".SH GLOBAL OPTIONS")
	if ($0 == ".SH COMMANDS")
		while ((getline line < commands) > 0)
			print line
}
!inside { print }
