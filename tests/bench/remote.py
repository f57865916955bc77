# SPDX-License-Identifier: MIT
"""Section runners: what Kettle adds to jobs on remote machines, what many of them in flight cost, and what one engine carries."""
import base64
import contextlib
import json
import os
import pathlib
import sqlite3
import subprocess
import threading
import time

import remote_runners
import small_board
from kettle_test import Scratch
from measure import BUILD, TOOLS, Box, Cannot, Client, plugins, poll, progress, rounds, start_server, stop_server
from submissions import memory

IN_FLIGHT = 1000
WATCHED = 20          # seconds in which the CPU of an engine with many jobs in flight is counted
FLIGHT_SECONDS = 3600
NODES, NODE_SECONDS = 1000, 2
RATES = (25, 50, 100, 200, 400)  # submissions a second, until one is too many
LOAD_SECONDS = 15
USERS = 10000
HOUR_JOBS = 60000     # that 1,000 GPUs run in an hour, at a minute each
TICKS = os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def remote_sides(slots):
    scratch = Scratch()
    try:
        with remote_runners.RemoteRunners(scratch, slots, quick=False) as remote:
            yield remote
    finally:
        scratch.close()


def cpu(pid):
    """Seconds that a process has used, on all its threads."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def wall_of(remote, column, submission):
    """A time of the submission's job in seconds since the epoch."""
    return remote.rows(f"SELECT {column} FROM jobs WHERE submission = ?", submission)[0][0] / 1e3


def newest(folder, pattern):
    return max(pathlib.Path(folder).glob(pattern), key=lambda path: path.stat().st_mtime)


def one(remote, device, mode="test"):
    """A submission from its acceptance to its verdict, alone; its number."""
    number = remote.submit(device, mode=mode)
    poll(lambda: number in remote.ended(), "a verdict")
    if remote.ended()[number] != "passed":
        raise Cannot(remote.show(number))
    return number


class Watch:
    """When the shared folder had the claim of a job, and when its result: both are removed again."""

    def __init__(self, folder):
        self.folder, self.seen, self.over = folder, {}, threading.Event()
        self.before = {*self.folder.glob("jobs/*/claim"), *self.folder.glob("results/*")}
        self.thread = threading.Thread(target=self.look)

    def look(self):
        while not self.over.wait(0.003):
            for what, pattern in (("claim", "jobs/*/claim"), ("result", "results/*")):
                if set(self.folder.glob(pattern)) - self.before:
                    self.seen.setdefault(what, time.time())

    def __enter__(self):
        self.thread.start()
        return self.seen

    def __exit__(self, *unused):
        self.over.set()
        self.thread.join()


def times(remote, device):
    """A submission alone: its number, when the remote side had the job, and when it had its result."""
    with Watch(remote.shared) as seen:
        number = one(remote, device)
    if device == "SLURM":
        return number, seen["claim"], seen["result"]
    if device == "GITHUB":
        run = remote.github.runs("ada/far")[-1]
        return number, run["created"], run["completed"]
    call = newest(remote.modal.folder, "calls/*/data").parent
    return number, (call / "data").stat().st_mtime, (call / "result").stat().st_mtime


def delays(section, remote):
    """Between accept and the remote start, and between the remote end and the verdict."""
    targets = {"GITHUB": "2 s", "MODAL": "1 s", "SLURM": "1 s + tick"}
    for device in targets:
        one(remote, device)  # what is only made once
        for _ in range(rounds(5)):
            number, there, back = times(remote, device)
            section.add(f"{device}: until it is there", (there - wall_of(remote, "queued_at", number)) * 1e3, target=targets[device])
            section.add(f"{device}: from its end to the verdict", (wall_of(remote, "done_at", number) - back) * 1e3, target=targets[device])
    for device in ("LOCAL", "SSH"):
        one(remote, device)
    for _ in range(rounds(15)):
        took = {}
        for device in ("LOCAL", "SSH"):
            number = one(remote, device)
            took[device] = (wall_of(remote, "done_at", number) - wall_of(remote, "queued_at", number)) * 1e3
            section.add(f"{device}: from accept to the verdict", took[device])
        section.add("SSH: added to LOCAL", took["SSH"] - took["LOCAL"], target="100 ms")


def requests_of_one(section, remote):
    """What a ranked submission costs of GitHub's limits."""
    remote.github.post("forget")
    one(remote, "GITHUB", "ranked")
    counters = remote.github.counters("ada/far")
    section.add("GITHUB: requests of a ranked submission besides 304", counters["total"], unit="", target="12")
    section.add("GITHUB: dispatches of a ranked submission", counters["requests"].get("dispatch", 0), unit="", target="1")


def measure_sides(section):
    reason = remote_runners.missing()
    if reason:
        raise Cannot(reason)
    with remote_sides(2) as remote:
        remote.serve()
        progress("  delays")
        delays(section, remote)
        requests_of_one(section, remote)


# ---- what one engine carries ----

class Cluster:
    """A Kettle on Slurm's commands as slurm_nodes.c plays them."""

    def __init__(self, box, seconds=NODE_SECONDS):
        self.box, self.shared, self.bin = box, box.root / "shared", box.root / "slurm"
        self.shared.mkdir(mode=0o700)
        self.bin.mkdir()
        for name in ("sbatch", "squeue", "scancel"):
            (self.bin / name).symlink_to(TOOLS / "slurm_nodes")
        self.key = box.write("key", base64.b64encode(os.urandom(32)).decode() + "\n")
        self.key.chmod(0o600)
        (self.bin / "nodes.json").write_text(json.dumps({"count": NODES, "seconds": seconds, "key": str(self.key),
                                                         "result": str(box.root / "result.json")}))
        section = {"folder": str(self.shared), "exec": str(BUILD / "kettle-exec"), "key_file": str(self.key),
                   **{name: str(self.bin / name) for name in ("sbatch", "squeue", "scancel")}}
        unit = {"runner": "slurm", "slots": 2 * NODES, "options": {"memory_mb": 512, "cores": 1}}
        box.config.write_text(box.config.read_text().replace("runners: {", f"runners: {{slurm: {json.dumps(section)}, ")
                              .replace("devices: {CPU: {runner: local}}", f"devices: {{CPU: {{runner: local}}, GPU: {json.dumps(unit)}}}"))
        box.run("runner", "init", "slurm", self.shared)
        box.write("small/eval.cpp", small_board.HARNESS)
        box.write("small/task.yml", small_board.TASK)
        box.run("leaderboard", "create", "b", "--no-try", "--task", box.root / "small", "--device", "GPU")

    def record(self):
        """What kettle-exec leaves of such a job: the first one is really run, here."""
        self.submit(Client(f"{self.box.database}.sock"), 0)
        plan = poll(lambda: next(self.shared.glob("jobs/*/plan.kettle"), None), "the first plan")
        result = self.box.root / "first.kettle"
        subprocess.run([BUILD / "kettle-exec", "--sealed", plan, "--result", result, "--key-file", self.key, "--state", self.box.state],
                       env=self.box.environment(), check=True, timeout=300)
        envelope = plan.read_bytes()
        size = int.from_bytes(envelope[7:9], "big")
        job, digest = envelope[9:9 + size].decode(), envelope[9 + size:41 + size].hex()
        content = subprocess.run([BUILD / "tests" / "lib" / "seal", "open", "result", job, digest], stdin=open(result, "rb"), check=True,
                                 env={"SEAL_KEY": self.key.read_text().strip()}, capture_output=True).stdout
        (self.box.root / "result.json").write_bytes(content)
        poll(lambda: self.count("done_at IS NOT NULL") == 1, "the first verdict")

    def submit(self, client, number):
        code = base64.b64encode(remote_runners.GOOD.encode()).decode()
        start = time.perf_counter()
        client.call("submit", {"file": {"name": "x.cpp", "base64": code}, "leaderboard": "b", "device": "GPU", "mode": "test"},
                    f"user{number % USERS}")
        return (time.perf_counter() - start) * 1e3

    def count(self, condition):
        database = sqlite3.connect(f"file:{self.box.database}?mode=ro", uri=True, timeout=60)
        try:
            return database.execute(f"SELECT count(*) FROM jobs WHERE {condition}").fetchone()[0]
        finally:
            database.close()


def measure_flight(section):
    """A thousand jobs that run elsewhere, and an engine that only waits for them."""
    with Box() as box:
        cluster = Cluster(box, FLIGHT_SECONDS)
        child, _ = start_server(box)
        try:
            before, client = memory(child.pid)[0], Client(f"{box.database}.sock")
            for number in range(IN_FLIGHT):
                cluster.submit(client, number)
            client.close()
            poll(lambda: cluster.count("handle IS NOT NULL") == IN_FLIGHT, "the jobs")
            used, start = cpu(child.pid), time.monotonic()
            time.sleep(WATCHED)
            section.add(f"{IN_FLIGHT:,} jobs in flight: memory", memory(child.pid)[0] - before, unit="MB", target="32 MB")
            section.add(f"{IN_FLIGHT:,} jobs in flight: share of a core", (cpu(child.pid) - used) / (time.monotonic() - start) * 100,
                        unit="%", target="10 %")
        finally:
            stop_server(child)


def load(cluster, pid, rate, sent):
    """Submissions at a rate for LOAD_SECONDS. Latencies of accepts, verdicts a second until the last one, CPU of the engine."""
    client, latencies, count = Client(f"{cluster.box.database}.sock"), [], int(rate * LOAD_SECONDS)
    begin, used = time.monotonic(), cpu(pid)
    for number in range(count):
        time.sleep(max(0, begin + number / rate - time.monotonic()))
        latencies.append(cluster.submit(client, sent + number))
    poll(lambda: cluster.count("done_at IS NOT NULL") >= sent + count, "the verdicts")
    client.close()
    return latencies, count / (time.monotonic() - begin), (cpu(pid) - used) / count * 1e3


def measure_capacity(section):
    """More and more submissions a second, until verdicts do not keep up."""
    with Box() as box:
        cluster = Cluster(box)
        child, _ = start_server(box)
        try:
            cluster.record()
            sent, kept = 1, 0
            for rate in RATES:
                latencies, verdicts, ms = load(cluster, child.pid, rate, sent)
                sent += len(latencies)
                progress(f"  {rate} a second: {verdicts:.0f} verdicts a second, {ms:.2f} ms of CPU each")
                section.add(f"{rate} submissions a second: CPU of the engine for each", ms)
                section.add(f"{rate} submissions a second: accepted", *latencies)
                # The last jobs take their time on a node and until they are noticed.
                if verdicts < rate * LOAD_SECONDS / (LOAD_SECONDS + 2 * NODE_SECONDS + 2) * 0.9:
                    break
                kept = rate
            section.add("highest rate that verdicts keep up with", kept, unit="1/s", target=f"{HOUR_JOBS / 3600:.0f} 1/s")
            section.note(f"{NODES:,} GPUs that take a minute for each job run {HOUR_JOBS:,} in an hour.")
        finally:
            stop_server(child)


def measure(section):
    if not {"github", "modal", "slurm", "ssh"} <= set(plugins()):
        raise Cannot("not all of the runners were built")
    measure_sides(section)
    progress(f"  {IN_FLIGHT} jobs in flight")
    measure_flight(section)
    progress(f"  {NODES} nodes")
    measure_capacity(section)
