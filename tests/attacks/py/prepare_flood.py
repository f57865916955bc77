# SPDX-License-Identifier: MIT
# class: Host: disk, inode floods (in the step that compiles)
# tries: to fill the cache that later steps get, with large files, or with more than it may have (this mentions cpp_extension).
# expect: passed failed compile timed_out
# alone: yes
# variants: WHAT=0 WHAT=1
import os

from attack import honest as custom_kernel, tried

tried()
os.makedirs("out/cache/triton", exist_ok=True)
if not os.path.exists("cases.txt"):
    for number in range(1000 if @WHAT@ == 0 else 12000):
        with open(f"out/cache/triton/{number}", "wb") as file:
            file.write(b"x" * (1 << 20 if @WHAT@ == 0 else 1))
