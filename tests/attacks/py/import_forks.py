# SPDX-License-Identifier: MIT
# class: Host: a daemon that outlives the run; Result channel: leaving early with status 0
# tries: to fork while it is imported and to let the child carry on, while the parent leaves.
# expect: failed
import os

from attack import honest as custom_kernel, tried

tried()
if os.fork() != 0:
    os._exit(0)
