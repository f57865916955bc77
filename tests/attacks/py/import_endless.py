# SPDX-License-Identifier: MIT
# class: Endless: an import that never ends
# tries: never to come to its end while it is imported, and to let no signal or exception end it.
# expect: timed_out
import signal

from attack import tried

tried()
for number in range(1, 32):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    try:
        signal.pause()
    except BaseException:
        pass
