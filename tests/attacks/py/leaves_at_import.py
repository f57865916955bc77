# SPDX-License-Identifier: MIT
# class: Result channel: leaving early with status 0 or from an exit handler
# tries: to end everything while it is imported, another way each time.
# expect: failed
# variants: WAY=0 WAY=1 WAY=2 WAY=3
import os
import sys

from attack import honest as custom_kernel, tried

tried()
if @WAY@ == 0:
    os._exit(0)
if @WAY@ == 1:
    sys.exit(0)
if @WAY@ == 2:
    raise KeyboardInterrupt
raise GeneratorExit
