# SPDX-License-Identifier: MIT
# class: Host: descriptor floods
# tries: to use up the open files of the machine, in many processes, also by descriptors in flight.
# expect: passed failed timed_out
import array
import os
import socket

from attack import honest, in_child, tried


def hoard():
    kept = []
    try:
        while True:
            pair = socket.socketpair()
            kept.append(pair)
            for end in pair:
                end.setblocking(False)
            pair[0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [pair[0].fileno()] * 100))])
    except OSError:
        pass


def custom_kernel(data):
    tried()
    for _ in range(8):
        in_child(hoard)
    hoard()
    return honest(data)
