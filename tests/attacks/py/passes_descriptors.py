# SPDX-License-Identifier: MIT
# class: Result channel: descriptors passed on
# tries: to give away what is its own alone: the descriptors of the memory and the pipes, to the referee, in the
#        socket that they share.
# expect: failed
# variants: HOW=memory HOW=pipes HOW=many
# mode: benchmark
import array
import os
import socket

from attack import driver, honest, tried


def peer():
    """The socket that is the referee's other end."""
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                return socket.socket(fileno=os.dup(int(name)))
        except OSError:
            pass
    raise RuntimeError("there is no socket")


def custom_kernel(data):
    tried()
    mine = driver()
    given = {"memory": [mine._memory.fd], "pipes": list(mine._pipes), "many": list(mine._pipes) * 100}["@HOW@"]
    try:
        peer().sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", given))])
    except OSError:  # the sandbox does not take it
        raise RuntimeError("refused")
    return honest(data)
