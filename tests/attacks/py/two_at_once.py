# SPDX-License-Identifier: MIT
# class: Host: two solvers of one user at once
# tries: to meet another submission of the same user that runs at the same time: by abstract and other sockets, ports, files,
#        System V objects, processes, and what is in the network's tables.
# expect: passed
# together: yes
# once: yes
# variants: WHO=one WHO=two
import os
import select
import socket
import time

from attack import calls, escaped, honest as custom_kernel, read, tried

OTHER = {"one": "two", "two": "one"}["@WHO@"]
SECONDS = 1.0
libc, listeners = calls(), []


def listen(kind, address):
    one = socket.socket(kind)
    one.bind(address)
    one.listen()
    listeners.append(one)


def reaches(kind, address):
    with socket.socket(kind) as one:
        return one.connect_ex(address) == 0


tried()
listen(socket.AF_UNIX, "\0@MARK@-@WHO@")
listen(socket.AF_UNIX, "/tmp/@MARK@-@WHO@")
ports = {"one": int("@KEY@") % 20000 + 20000, "two": int("@KEY@") % 20000 + 40001}
listen(socket.AF_INET, ("127.0.0.1", ports["@WHO@"]))
open("/dev/shm/@MARK@-@WHO@", "w").close()
keys = {"one": int("@KEY@"), "two": int("@KEY@") + 1}
libc.shmget(keys["@WHO@"], 4096, 0o1666)
until = time.monotonic() + SECONDS
while time.monotonic() < until:
    for kind, address in ((socket.AF_UNIX, f"\0@MARK@-{OTHER}"), (socket.AF_UNIX, f"/tmp/@MARK@-{OTHER}"),
                          (socket.AF_INET, ("127.0.0.1", ports[OTHER]))):
        if reaches(kind, address):
            escaped(f"{address!r} is another run's")
    if os.path.exists(f"/dev/shm/@MARK@-{OTHER}") or libc.shmget(keys[OTHER], 4096, 0) >= 0:
        escaped("memory of another run is there")
    for name in filter(str.isdigit, os.listdir("/proc")):
        if f"@MARK@-{OTHER}".encode() in (read(f"/proc/{name}/net/unix") or b""):
            escaped("sockets of another run are listed")
    if select.select(listeners, [], [], 0.01)[0]:
        escaped("another run has reached a socket of this one")
