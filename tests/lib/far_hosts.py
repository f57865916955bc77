# SPDX-License-Identifier: MIT
"""Hosts at the other end of a link that the test takes down, delays and brings back: network namespaces, each with a veth pair.
The names are the test's own, and everything goes with close(). Needs root."""
import os
import shutil
import subprocess


def run(*command, check=True):
    return subprocess.run(command, check=check, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL)


def missing():
    """What this machine lacks for it; None: nothing."""
    if os.getuid() != 0:
        return "network namespaces need root"
    if not shutil.which("ip"):
        return "ip (iproute2) is not installed"
    name = f"kt{os.getpid()}x"
    made = run("ip", "netns", "add", name, check=False)
    if made.returncode != 0:
        return f"no network namespace can be made: {made.stdout.strip()}"
    paired = run("ip", "link", "add", f"{name}a", "type", "veth", "peer", "name", f"{name}b", check=False)
    run("ip", "link", "del", f"{name}a", check=False)
    run("ip", "netns", "del", name)
    return f"no veth pair can be made: {paired.stdout.strip()}" if paired.returncode != 0 else None


class Host:
    """One namespace; `address` is its own, on a network of two."""
    count = 0

    def __init__(self):
        Host.count += 1
        self.namespace = f"kt{os.getpid()}n{Host.count}"
        self.near, self.far = f"kt{os.getpid()}v{Host.count}", f"kt{os.getpid()}w{Host.count}"
        # Of the block for documentation, one of 64 pairs by the process: no network of the machine has these.
        base = (os.getpid() * 4 + Host.count * 64) % 256 & ~3
        self.gateway, self.address = f"198.51.100.{base + 1}", f"198.51.100.{base + 2}"
        run("ip", "netns", "add", self.namespace)
        try:
            run("ip", "link", "add", self.near, "type", "veth", "peer", "name", self.far, "netns", self.namespace)
            run("ip", "addr", "add", f"{self.gateway}/30", "dev", self.near)
            self.inside("ip", "addr", "add", f"{self.address}/30", "dev", self.far)
            self.inside("ip", "link", "set", "lo", "up")
            run("ip", "link", "set", self.near, "up")
            self.up()
        except subprocess.CalledProcessError as error:
            self.close()
            raise AssertionError(error.stdout) from error

    def inside(self, *command):
        return run("ip", "netns", "exec", self.namespace, *command)

    def up(self):
        self.inside("ip", "link", "set", self.far, "up")

    def down(self):
        """From now on packets are lost on the way, in both directions, and no connection is told."""
        # The near end stays up: without its route, new connections would leave by another one, with another address.
        self.inside("ip", "link", "set", self.far, "down")

    def delay(self, milliseconds, loss=0):
        """Of what goes to the host. False: this kernel has no netem."""
        command = ["tc", "qdisc", "replace", "dev", self.near, "root", "netem", "delay", f"{milliseconds}ms", "loss", f"{loss}%"]
        return bool(shutil.which("tc")) and run(*command, check=False).returncode == 0

    def close(self):
        run("ip", "link", "del", self.near, check=False)
        run("ip", "netns", "del", self.namespace, check=False)
