# SPDX-License-Identifier: MIT
# class: Status as a lever: a fault of the task by limits that the harness's witness inherits
# tries: to lower the limits of the harness, so that the process in which it asks whether the task is at fault fails.
# expect: passed
import os
import resource

from attack import honest as custom_kernel, refused, tried

tried()
for kind in (resource.RLIMIT_DATA, resource.RLIMIT_AS, resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE, resource.RLIMIT_CPU):
    refused(resource.prlimit, os.getppid(), kind, (1 << 40, 1 << 40), what="prlimit")
    refused(resource.prlimit, os.getppid(), kind, what="prlimit")
