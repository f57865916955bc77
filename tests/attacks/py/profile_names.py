# SPDX-License-Identifier: MIT
# class: Service: names with control characters, markup or mentions
# tries: to bring functions into a profile whose names are what terminals obey.
# expect: passed
# mode: profile
# rendered: yes
from attack import honest, tried


def evil(data):
    return honest(data)


evil.__code__ = evil.__code__.replace(co_name="\x1b[2J\x9b31m\ncheck: fail\r<script>", co_filename="\x1b]0;owned\x07")


def custom_kernel(data):
    tried()
    return evil(data)
