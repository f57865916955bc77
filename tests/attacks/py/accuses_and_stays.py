# SPDX-License-Identifier: MIT
# class: Status as a lever: a fault of the task that the referee is to find while the submission still runs
# tries: to accuse the task and close the socket, as a solver that ends does, but to stay and hold the memory and the
#        processes that the referee needs to try the task by itself.
# expect: timed_out failed
# variants: HOW=SHUT_RD HOW=SHUT_WR HOW=SHUT_RDWR
import os
import signal
import socket
import sys

from attack import tried


def custom_kernel(data):
    tried()
    frame = sys._getframe()
    while "token" not in frame.f_locals:
        frame = frame.f_back
    peer = socket.socket(fileno=os.dup(frame.f_locals["fd"]))
    held = bytearray(os.urandom(1 << 20)) * 400
    try:
        while os.fork():
            pass
    except OSError:
        peer.sendall(f"{frame.f_locals['token']}\ttask\tso it is\n".encode())
        peer.shutdown(socket.@HOW@)
    signal.pause()
    return held
