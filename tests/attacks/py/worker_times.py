# SPDX-License-Identifier: MIT
# class: Result channel: times that are none; Timer: making variance vanish so that the stop rule ends early
# tries: to change the times on their way from the process of the submission to the one that reports: impossible ones,
#        too many, too few, more than has passed.
# expect: failed
# mode: benchmark
# variants: TIMES=nan TIMES=-5 TIMES=0 TIMES=inf TIMES=1e-300 TIMES=1e9999 TIMES=many TIMES=few TIMES=long TIMES=0x1 TIMES=none
import sys

from attack import honest as custom_kernel, tried

KIND, TIMES = 1, 3
harness = sys.modules["__main__"]
write_all = harness.write_all


def lying(fd, text):
    fields = text.split("\t")
    if len(fields) > TIMES and fields[KIND] == "times":
        tried()
        count = fields[TIMES].count(",") + 1
        fields[TIMES] = {
            "many": "1" + ",1" * 20000,
            "few": "1",
            "long": "900000000000" + ",1" * (count - 1),
            "none": "",
        }.get("@TIMES@", "@TIMES@" + ",1" * (count - 1))
    write_all(fd, "\t".join(fields))


harness.write_all = lying
