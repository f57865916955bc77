# SPDX-License-Identifier: MIT
# class: Service: names with control characters, markup or mentions; invalid UTF-8
# tries: to say in its error what terminals obey, pages show and chats notify of, and what is no text.
# expect: failed
# rendered: yes
from attack import tried

TEXT = ("\x1b[2J\x1b]0;owned\x07\x1b[31mpassed\x1b[0m \x9b31m \u202egnissap \u0000 \ud800 \r\n\x0b\x0c\x85\u2028check: pass\n"
        "<script>alert(1)</script> @everyone [link](javascript:1) `code` %s %n {0} \ufeff \U000e0001 \x7f")


def custom_kernel(data):
    tried()
    print(TEXT.encode("utf-8", "surrogatepass").decode("latin-1"), flush=True)
    raise type("Error\x1b[2J\ncheck: pass", (Exception,), {"__module__": "\x1b[31m"})(TEXT)
