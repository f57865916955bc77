#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Honest submissions to Python boards on a machine that is busy: a thousand, of which none may come out as the participant's fault.
What ends as the machine's fault is counted, and submitted again until there is a verdict. Status 1 where one was void, or got none.

KETTLE_SOAK_HONEST (1000), KETTLE_SOAK_LOAD (programs that compute meanwhile for each core, 2) and KETTLE_SEED change the run."""
import collections
import json
import os
import random
import re
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.environ.get("top_srcdir", "."), "tests", "lib"))
from kettle_test import TASKS, Scratch, copy_tree, needs, pythons  # noqa: E402

COUNT = int(os.environ.get("KETTLE_SOAK_HONEST", "1000"))
LOAD = int(os.environ.get("KETTLE_SOAK_LOAD", "2"))
SEED = int(os.environ.get("KETTLE_SEED", random.randrange(1 << 30)))
CLIENTS = 4
MOST_TRIES = 20  # of one submission; after so many without a verdict there is none
MODES = ("test", "benchmark", "benchmark", "ranked")
# Computes, and writes more than the caches hold.
BUSY = "import zlib\na = bytearray(1 << 25)\nwhile True:\n    zlib.crc32(a)\n    a[::64] = bytes(len(a) // 64)\n"


def boards():
    """Names of tasks whose modules are there, and their correct solutions."""
    there = pythons.boards_has()
    for name in ("identity_py", "matmul_np", "vectoradd_py", "softmax_py"):
        for file in sorted((TASKS / name / "solutions" / "correct").glob("*.py")):
            text = file.read_text() + "".join(path.read_text() for path in (TASKS / name).glob("*.py"))
            if all(module in there for module in pythons.MODULES if re.search(rf"^(import|from) {module}\b", text, re.M)):
                yield name, file


class Honest:
    def __init__(self):
        self.scratch, self.lock, self.left = Scratch(), threading.Lock(), COUNT
        self.ends, self.void, self.without = collections.Counter(), [], []
        self.chance, self.kinds = random.Random(SEED), list(boards())

    def prepare(self):
        options = {"python": pythons.boards(), "threads": 1, "preload": [one for one in ("numpy", "torch") if one in pythons.boards_has()]}
        core = min(os.sched_getaffinity(0))
        text = self.scratch.config.read_text().replace("languages: {cpp: {}}", f"languages: {{py: {json.dumps(options)}}}")
        self.scratch.config.write_text(text.replace("{CPU: {runner: local}}", f'{{CPU: {{runner: local, cores: "{core}", prefetch: 1}}}}'))
        for name in dict.fromkeys(name for name, _ in self.kinds):
            copy_tree(TASKS / "harness", self.scratch.root / "tasks" / "harness")
            copy_tree(TASKS / name, self.scratch.root / "tasks" / name)
            task = self.scratch.root / "tasks" / name
            with open(task / "reference.py", "a") as file:
                file.write("\nBENCHMARK_SECONDS = RANKED_SECONDS = 0.05\n")
            yml = re.sub(r"(?m)^(\w+_timeout): \d+$", r"\1: 600", (task / "task.yml").read_text())
            (task / "task.yml").write_text(yml)
            self.scratch.run("leaderboard", "create", name, "--no-try", "--task", task)
        self.scratch.serve()

    def judge(self, name, file, mode, user):
        """The state of a submission, whose fault it was, and what was said."""
        answer = self.scratch.json("--user", user, "submit", file, "--leaderboard", name, "--mode", mode, status=None)
        job = self.scratch.json("submission", "show", answer["id"])["jobs"][0]
        return job["state"], job["fault"], job["error"]

    def client(self, number):
        while True:
            with self.lock:
                if not self.left:
                    return
                self.left -= 1
                (name, file), mode = self.chance.choice(self.kinds), self.chance.choice(MODES)
                if self.left % 50 == 0:
                    print(f"honest: {self.left} to go, {dict(self.ends)}", flush=True)
            own = self.scratch.write(f"client{number}.py", f"{file.read_text()}\n# {self.left}\n")
            self.until_verdict(name, file, own, mode, f"client-{number}")

    def until_verdict(self, name, file, own, mode, user):
        for _ in range(MOST_TRIES):
            state, fault, said = self.judge(name, own, mode, user)
            with self.lock:
                self.ends[state if state == "passed" else fault or state] += 1
                if state == "passed":
                    return
                if fault != "machine":
                    self.void.append((name, file.stem, mode, state, fault, said))
                    return
        with self.lock:
            self.without.append((name, file.stem, mode, said))

    def run(self):
        began = time.monotonic()
        self.prepare()
        busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(LOAD * (os.cpu_count() or 1))]
        try:
            clients = [threading.Thread(target=self.client, args=(number,)) for number in range(CLIENTS)]
            for client in clients:
                client.start()
            for client in clients:
                client.join()
        finally:
            load = os.getloadavg()
            for one in busy:
                one.kill()
                one.wait()
        took = time.monotonic() - began
        print(f"honest: {COUNT} submissions in {took:.0f} s, KETTLE_SEED={SEED}, load average {load[0]:.1f}, {load[1]:.1f}")
        print(f"passed            {self.ends['passed']}")
        print(f"machine's faults  {self.ends['machine']}, each tried again")
        print(f"void              {len(self.void)} {self.void[:5] if self.void else ''}")
        print(f"without a verdict {len(self.without)} {self.without[:5] if self.without else ''}")
        return 1 if self.void or self.without or not self.ends["passed"] else 0


def main():
    needs("py", "local", "cli")
    honest, status = Honest(), 1
    try:
        status = honest.run()
    finally:
        for child in honest.scratch.children:
            child.terminate()
            child.wait()
        honest.scratch.close()
    sys.exit(status)


main()
