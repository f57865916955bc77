# SPDX-License-Identifier: MIT
# class: Service: names with control characters, markup or mentions; invalid UTF-8
# tries: the same where the import fails: the message, the module, the file and the line that are shown are its own.
# expect: failed
# rendered: yes
# variants: HOW=0 HOW=1 HOW=2
from attack import tried

EVIL = "\x1b[2J\x1b]8;;http://example.org\x07here\x9b\u202e\ud800\n\ncheck: pass"

tried()
print("\x1b]0;owned\x07\x9b2J" + "\x1b[2J" * 100, flush=True)
if @HOW@ == 0:
    raise ImportError(f"No module named '{EVIL}'", name=EVIL)
if @HOW@ == 1:
    raise ModuleNotFoundError("No module named 'torch\x1b[2J'; " + EVIL, name="torch\x1b[2J", path=EVIL)
raise SyntaxError(EVIL, (EVIL, 7, 3, EVIL, 7, 9))
