# SPDX-License-Identifier: MIT
"""Faults: what a submission does to a GPU ends with its run, and the next one is right."""
import pathlib
import re
import time

from boards import SHORT, Shipped, Work, run_all, shortened
from engine import Engine, Trouble, message_of, state_of

LEFT = 300  # MiB more than before that a GPU may have in use after a run


def used(here):
    """MiB of the first GPU's memory in use, and what runs there, as nvidia-smi says it."""
    said = here.commands.run("nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", limit=10).stdout.split()
    apps = here.commands.run("nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader", limit=10).stdout.strip()
    return int(said[0]) if said and said[0].isdigit() else 0, apps


def settled(here, before):
    """What is in use once it is no more than before, or after some seconds."""
    end = time.monotonic() + 5
    now, apps = used(here)
    while now > before + LEFT and time.monotonic() < end:
        time.sleep(0.2)
        now, apps = used(here)
    return now, apps


def lines_of_driver(here):
    return [line for line in here.commands.run("dmesg", limit=5).stdout.splitlines() if re.search("NVRM|Xid", line)]


class Faults:
    """A board that every fault happens on, and what must be so after each."""

    def __init__(self, here, section, engine, task):
        self.here, self.section, self.engine, self.rows = here, section, engine, []
        self.board = engine.board("faults", str(shortened(here, task)))
        self.good = task.folder / "solutions" / "correct" / "naive.cu"
        self.before, self.apps = used(here)
        self.driver = len(lines_of_driver(here))

    def next_is_right(self, what):
        """The next job passes, nothing stays allocated, the unit is in order."""
        began = time.monotonic()
        job = self.engine.judge(self.board, str(self.good), "test", limit=120)
        seconds = time.monotonic() - began
        now, apps = settled(self.here, self.before)
        unit = self.engine.json("device", "list")[0]["units"][0]
        driver = lines_of_driver(self.here)
        new, self.driver = driver[self.driver:], len(driver)
        self.section.test("after %s the next job is right" % what, job["state"] == "passed", "" if job["state"] == "passed" else
                          "%s: %s" % (job["state"], message_of(job)), **({} if job["state"] == "passed" else
                                                                       self.engine.explain(job, self.board, "test")))
        self.section.test("after %s nothing stays allocated" % what, now <= self.before + LEFT and apps == self.apps,
                          "%d MiB before, %d MiB now; %s" % (self.before, now, apps or "nothing runs there"), smi=self.here.smi())
        self.section.test("after %s the unit is in order" % what, unit["state"] in ("idle", "busy"),
                          "" if unit["state"] == "idle" else "%s %s" % (unit["state"], unit.get("reason") or ""), unit=unit)
        if unit["state"] == "disabled":
            self.engine.run("device", "enable", unit["unit"], limit=20)
        return "%.1f s" % seconds, "%+d MiB" % (now - self.before), "; ".join(line[-120:] for line in new[:3])

    def fault(self, what, path, mode=None, wanted=None):
        """One submission that misbehaves, then a good one."""
        work = Work(self.board, path, mode)
        began = time.monotonic()
        job = self.engine.judge(self.board, str(path), work.mode, limit=120)
        seconds, found, wanted = time.monotonic() - began, state_of(job), wanted or work.expected
        self.section.test("%s ends as %s" % (what, wanted), found == wanted, "" if found == wanted else "%s: %s" % (
            found, message_of(job)), **({} if found == wanted else self.engine.explain(job, self.board, work.mode)))
        self.rows.append((what, found, "%.1f s" % seconds, message_of(job), *self.next_is_right(what)))
        return job

    def cancelled(self, what, path):
        """A run that is killed in the middle, by its user."""
        number = self.engine.submit(self.board, str(path), "test")
        end = time.monotonic() + 30
        while time.monotonic() < end:
            device = self.engine.json("device", "list")[0]["units"][0]
            if device.get("running"):
                break
            time.sleep(0.05)
        time.sleep(1)
        began = time.monotonic()
        self.engine.run("submission", "cancel", number, limit=20)
        job = self.engine.wait(number, 20)
        self.section.test("%s ends as cancelled" % what, job["state"] == "cancelled", "%s: %s" % (job["state"], message_of(job)),
                          **({} if job["state"] == "cancelled" else self.engine.explain(job)))
        self.rows.append((what, job["state"], "%.1f s" % (time.monotonic() - began), message_of(job), *self.next_is_right(what)))

    def remains_readable(self, what, folder):
        """Whether a run can read what the last one left in the device's memory: reported only, since no runtime guarantees it."""
        self.fault("a run that fills memory with a pattern", folder / "leaves_pattern.cu")
        job = self.fault(what, folder / "finds_pattern.cu")
        said = next((line for run in job.get("runs") or [] for line in (run.get("stderr") or "").splitlines()
                     if line.startswith("looked at")), "")
        found = re.search(r"looked at (\d+) words: (\d+) of the pattern, (\d+) others", said)
        if not found:
            self.section.test("%s says what it found" % what, False, said or message_of(job), report=job)
        elif int(found[2]) == 0:
            self.section.test("a run cannot read what the last one left in the device's memory", True, said)
        else:
            self.section.note("**A run can read what the last one left in the device's memory**: it %s." % said)

    def many(self, share):
        """Short jobs in a row."""
        works = [Work(self.board, self.good, "test") for _ in range(self.here.args.jobs)]
        began = time.monotonic()
        left = run_all(self.engine, works, share)
        seconds = time.monotonic() - began
        done = [work for work in works if work.job]
        wrong = [work for work in done if work.job["state"] != "passed"]
        self.section.test("%d short jobs in a row pass" % len(done), done and not wrong, "%d did not: %s" % (
            len(wrong), message_of(wrong[0].job)) if wrong else "%d not begun: the time was over" % left if left else "",
            **(self.engine.explain(wrong[0].job, self.board, "test") if wrong else {}))
        self.rows.append(("%d short jobs" % len(done), "passed" if not wrong else "%d failed" % len(wrong), "%.1f s" % seconds,
                          "%.2f s a job" % (seconds / max(1, len(done))), *self.next_is_right("%d short jobs" % len(done))))


def look(here, section, share):
    """Every fault, the most telling first; what is left of the time is for short jobs in a row."""
    if here.vendor != "nvidia" or not here.nvcc:
        section.skip("faults", "there is no nvcc")
        return
    task = Shipped(pathlib.Path(here.tasks) / "vectoradd_cuda")
    folder = pathlib.Path(here.root_of_tests) / "submissions" / "vectoradd_cuda"
    end = time.monotonic() + share
    with Engine(here, "faults") as engine:
        faults = Faults(here, section, engine, task)
        wrong = task.folder / "solutions" / "wrong"
        steps = [(faults.next_is_right, "nothing"),
                 (faults.fault, "a kernel that never ends", wrong / "never_ends.cu", "test", "timed_out"),
                 (faults.fault, "an illegal address", wrong / "illegal_address.cu", "test", "failed"),
                 (faults.fault, "an assertion in a kernel", folder / "device_assert.cu"),
                 (faults.fault, "all memory taken", folder / "takes_all_memory.cu"),
                 (faults.fault, "a process that is killed while its kernel runs", folder / "dies_in_kernel.cu"),
                 (faults.cancelled, "a run that is cancelled in the middle", wrong / "never_ends.cu"),
                 (faults.remains_readable, "a run that looks for what the last one left", folder)]
        for work, what, *arguments in steps:
            if time.monotonic() + 2 * SHORT > end:
                section.late.append(what)
                continue
            try:
                work(what, *arguments)
            except Trouble as trouble:
                section.test(what, False, trouble, **{**engine.explain(), **trouble.evidence})
        if end - time.monotonic() > 10:
            faults.many(end - time.monotonic() - 5)
        section.table(("fault", "result", "time", "message", "next job after", "memory after", "driver message"), faults.rows)
