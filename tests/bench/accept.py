# SPDX-License-Identifier: MIT
"""Section accept: submissions that are stored durably in a second, on this disk and on one whose every sync takes 5 ms."""
import base64
import selectors
import time

from measure import SECONDS, TOOLS, Box, Cannot, Client, poll, start_server

CONNECTIONS, WINDOW = 8, 64  # so many calls wait on each connection
USERS = 32
SLOW_MS = 5
PATIENCE = 30  # seconds, on a machine that hardly moves
SLICES = 10  # of the answers: a sample each
SLEEPER = '#include <unistd.h>\n#include "task.h"\nvoid custom_kernel(const input_t &, output_t &) { sleep(1000); }\n'


class Flood:
    """Connections that are kept full of submissions."""

    def __init__(self, database, connections, window):
        self.window, self.number = window, 0
        self.selector = selectors.DefaultSelector()
        self.clients = [Client(f"{database}.sock") for _ in range(connections)]
        self.answers, self.latencies = [], []  # when they came; how long they took
        for client in self.clients:
            client.sent, client.rest = [], b""
            client.socket.setblocking(True)
            self.selector.register(client.socket, selectors.EVENT_READ, client)

    def send(self, client):
        """As many as there is room for; each has a code of its own."""
        lines = []
        while len(client.sent) < self.window:
            self.number += 1
            code = base64.b64encode(b"// %d\nvoid custom_kernel();\n" % self.number * 8).decode()
            args = {"file": {"name": "x.cpp", "base64": code}, "leaderboard": "b", "mode": "test"}
            lines.append(client.line("submit", args, f"user{self.number % USERS}"))
            client.sent.append(time.perf_counter())
        client.socket.sendall(b"".join(lines))

    def receive(self, client):
        data = client.rest + client.socket.recv(1 << 20)
        if not data:
            raise Cannot("the server hung up")
        lines = data.split(b"\n")
        client.rest, now = lines.pop(), time.perf_counter()
        for line in lines:
            if b'"error"' in line:
                raise Cannot(line.decode()[:300])
            self.answers.append(now)
            self.latencies.append((now - client.sent.pop(0)) * 1e3)

    def run(self, seconds):
        """Until the time is over and some commits have come back."""
        start, least = time.perf_counter(), 4 * self.window * len(self.clients)
        for client in self.clients:
            self.send(client)
        while time.perf_counter() < start + seconds or (
                len(self.answers) < least and time.perf_counter() < start + PATIENCE):
            for key, _ in self.selector.select(1):
                self.receive(key.data)
                self.send(key.data)


def rates(answers, together):
    """Answers a second. What is committed together comes together, so it is counted from one such group to others."""
    group = max(together, len(answers) // SLICES)
    ends = answers[::group]
    return [group / (b - a) for a, b in zip(ends, ends[1:]) if b > a]


def occupy(box):
    """A job that runs as long as this takes: what is accepted stays in the queue, and nothing is built meanwhile."""
    box.board("b")
    id = box.json("submit", box.write("sleeper.cpp", SLEEPER), "--leaderboard", "b", "--mode", "test", "--no-wait")["id"]

    def runs():
        return box.json("submission", "show", id)["jobs"][0]["state"] != "queued"
    poll(runs, "the job that fills the device")


def flood(section, name, env, connections, window, target=None):
    with Box("{CPU: {runner: local, slots: 1, prefetch: 0}}") as box:
        server, _ = start_server(box, env)
        occupy(box)
        work = Flood(box.database, connections, window)
        work.run(SECONDS / 4)  # new users, a growing log
        work.answers, work.latencies = [], []
        work.run(SECONDS)
        section.add(name, *rates(work.answers, connections * window), unit="/s", target=target)
        section.add(f"{name}: latency", *work.latencies)
        server.kill()


def measure(section):
    slow = {"LD_PRELOAD": str(TOOLS / "sync_delay.so"), "KETTLE_SYNC_MS": str(SLOW_MS)}
    for name, env in (("this disk", {}), (f"every sync {SLOW_MS} ms", slow)):
        flood(section, f"{name}, {CONNECTIONS * WINDOW} at a time", env, CONNECTIONS, WINDOW, "2,000/s")
        flood(section, f"{name}, one at a time", env, 1, 1)
