# SPDX-License-Identifier: MIT
# Replaces the sections COMMANDS and GLOBAL OPTIONS of a manual page by the file `commands`.
/^\.SH / {
	inside = ($0 == ".SH COMMANDS" || $0 == ".SH GLOBAL OPTIONS")
	if ($0 == ".SH COMMANDS")
		while ((getline line < commands) > 0)
			print line
}
!inside { print }
