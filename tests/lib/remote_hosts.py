# SPDX-License-Identifier: MIT
"""Hosts at the other end of a link that delays, loses packets, falls silent and comes back: network namespaces, each joined to this
one by two TUN devices and a thread that carries the packets. All belong to descriptors and threads of this process, so nothing is
left behind it, however it ends. Needs root."""
import ctypes
import errno
import fcntl
import heapq
import os
import random
import select
import shutil
import socket
import struct
import subprocess
import threading
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI, CLONE_NEWNET = 0x400454CA, 1, 0x1000, 0x40000000
LINKS = 64  # networks of two addresses: the block for documentation has as many


def ip(*words):
    done = subprocess.run(["ip", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"ip {' '.join(words)}: {done.stdout.strip()}")


def open_tun(name):
    """A device of the namespace of this thread, which is there while the descriptor is open."""
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    try:
        fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    except OSError:
        os.close(tun)
        raise
    return tun


def open_free_tun():
    """(descriptor, name, number): the kernel says which names, and so which addresses, no other test has."""
    for number in range(LINKS):
        try:
            return open_tun(f"kettle{number}"), f"kettle{number}", number
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
    raise OSError(f"all {LINKS} links are in use")


def missing():
    """What this machine lacks for it; None: nothing."""
    if os.getuid() != 0:
        return "network namespaces need root"
    if not shutil.which("ip") or not shutil.which("nsenter"):
        return "ip (iproute2) or nsenter (util-linux) is not installed"
    try:
        Host().close()
    except OSError as error:
        return f"no host in a network namespace can be made: {error}"
    return None


class Host:
    """One namespace; `address` is its own, `gateway` this machine's as it sees it. What the link does may change at any time."""

    def __init__(self, delay_ms=0, loss=0.0):
        self.delay_ms, self.loss = delay_ms, loss  # of each packet, in either direction; which share is lost
        self.silent = False  # every packet is lost, and no connection is told
        self.lost = 0        # packets by `loss`
        self.listener = None  # a socket there, for one server
        self.remote = self.namespace = self.error = None
        self.near, name, number = open_free_tun()
        self.gateway, self.address = f"198.51.100.{number * 4 + 1}", f"198.51.100.{number * 4 + 2}"
        self.wake, self.waker = os.pipe()
        made = threading.Event()
        self.thread = threading.Thread(target=self.serve, args=(made,), daemon=True)
        try:
            ip("addr", "add", self.gateway, "peer", self.address, "dev", name)
            ip("link", "set", name, "up")
            self.thread.start()
            made.wait()
            if self.error:
                raise self.error
        except OSError:
            self.close()
            raise

    def command(self, *words):
        """That runs `words` on the host."""
        return ["nsenter", f"--net=/proc/{os.getpid()}/fd/{self.namespace}", *words]

    def serve(self, made):
        """The thread: it lives in the namespace, which it makes, and so do the children that it starts."""
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.unshare(CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "unshare: " + os.strerror(ctypes.get_errno()))
            self.namespace = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
            self.remote = open_tun("uplink")
            ip("link", "set", "lo", "up")
            ip("addr", "add", self.address, "peer", self.gateway, "dev", "uplink")
            ip("link", "set", "uplink", "up")
            self.listener = socket.create_server((self.address, 0))
        except OSError as error:
            self.error = error
        made.set()
        if not self.error:
            self.carry()

    def carry(self):
        chance, number, held = random.Random(1), 0, []
        while True:
            wait = max(0, held[0][0] - time.monotonic()) if held else None
            ready = select.select([self.near, self.remote, self.wake], [], [], wait)[0]
            if self.wake in ready:
                return
            for source in ready:
                packet = os.read(source, 65536)
                if self.silent or packet[0] >> 4 != 4:  # neighbours of IPv6 are none of the test's
                    continue
                if chance.random() < self.loss:
                    self.lost += 1
                    continue
                number += 1
                target = self.remote if source == self.near else self.near
                heapq.heappush(held, (time.monotonic() + self.delay_ms / 1000, number, target, packet))
            while held and held[0][0] <= time.monotonic():
                _, _, target, packet = heapq.heappop(held)
                try:
                    _ = self.silent or os.write(target, packet)
                except OSError:
                    pass  # as a link loses what its other end does not take

    def close(self):
        os.close(self.waker)
        if self.thread.ident:
            self.thread.join()
        if self.listener:
            self.listener.close()
        for descriptor in (self.wake, self.near, self.remote, self.namespace):
            if descriptor is not None:
                os.close(descriptor)
