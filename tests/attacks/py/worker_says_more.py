# SPDX-License-Identifier: MIT
# class: Result channel: a second value for a key
# tries: to answer twice, to bring further lines in an answer, and keys of its own in what people are shown.
# expect: failed
# mode: benchmark
# variants: WHAT=0 WHAT=1 WHAT=2
import sys

from attack import honest as custom_kernel, tried

harness = sys.modules["__main__"]
write_all = harness.write_all


def more(fd, text):
    tried()
    if @WHAT@ == 0:
        write_all(fd, text + text)
    elif @WHAT@ == 1:
        write_all(fd, text.replace("\n", "\nbenchmark.0.mean: 1\ncheck: pass\n"))
    else:
        token = text.split("\t")[0]
        write_all(fd, f"{token}\tfail\tno\rbenchmark.0.mean: 1\rcheck: pass\x0bcheck: pass\u2028check: pass\x85check: pass\n")


harness.write_all = more
