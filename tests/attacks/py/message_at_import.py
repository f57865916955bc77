# SPDX-License-Identifier: MIT
# class: Service: names with control characters, markup or mentions; invalid UTF-8
# tries: the same where the import fails: the message, the module and the line that are shown are its own.
# expect: failed
# rendered: yes
from attack import tried

tried()
print("\x1b]0;owned\x07\x9b2J" + "\x1b[2J" * 100, flush=True)
raise ImportError("No module named '\x1b[2J\x1b]8;;http://example.org\x07here\x9b\u202e\n\ncheck: pass'", name="\x1b[31m")
