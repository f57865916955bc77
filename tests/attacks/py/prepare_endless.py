# SPDX-License-Identifier: MIT
# class: Endless: an import that never ends, in the step that compiles
# tries: never to end where extensions are compiled (this mentions cpp_extension).
# expect: timed_out compile
import time

from attack import tried

tried()
while True:
    time.sleep(1)
