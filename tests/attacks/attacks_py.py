# SPDX-License-Identifier: MIT
"""Runs hostile submissions in Python (py/) through `kettle task run`, several at a time, beside an honest one.

The heads of the files are those of attacks.py, where `runs`, `within`, `needs` and `hides` mean the same, as is said there
of limits of time, and:
  task:     the board: py (default; the harness that Kettle brings), single (the one of boards of a single reference
            file) or field (a spawn pool, as they are in KernelBot)
  mode:     of the submission (default test)
  alone:    yes: nothing but the honest one runs beside it
  once:     yes: its variants run at the same time, and nothing else but the honest one beside them
  device:   two: on a unit with two cores, alone
  imports:  a module that the interpreter must have, else it is skipped
  preloads: a module that the warm interpreter has imported, where there is one
  rendered: yes: the report for people, too, must be free of what terminals obey
  says:     what it must print
  open:     why it is not prevented, as docs/tasks.md says: it gets this and must get nothing else
classes.py has the class of each. The requests to kettle-exec and its answers are recorded, so that the secret seed is known here: it must be in nothing
that an attack has printed, nor in the report. Whatever a group of them leaves behind is a failure of the group.
"""
import glob
import json
import os
import re
import sys
import time

import attacks
import classes
import sizes
import watch
from attacks import pythons

HONEST = {"py": "from attack import honest as custom_kernel\n",
    "single": "from attack import honest as custom_kernel\n",
    "field": "from attack import honest\n\ndef custom_kernel(data):\n    return honest(data[0])\n"}
# Beside each group runs an honest one. Those that only wait need nothing of the machine.
AT_A_TIME, WAITING_AT_A_TIME = 8, 12
LIMITS = {"wall": 8, "memory": 512 << 20, "processes": 128, "disk": 128 << 20, "shm": 64 << 20}
FIRST_LIMITS = dict(LIMITS, wall=570)
# What kettle-exec hears and says also goes into files, by the name that RECORD has.
WRAPPER = """\
{start}
[ -n "$RECORD" ] || exec "{program}" "$@"
exec 3<&0 4>&1
mkfifo "$RECORD.a" "$RECORD.b"
tee "$RECORD.in" <&3 >"$RECORD.a" 4>&- &
tee "$RECORD.out" <"$RECORD.b" >&4 3<&- &
exec "{program}" "$@" <"$RECORD.a" >"$RECORD.b" 3<&- 4>&-
"""
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


PYTHON = pythons.boards()


class Trial:
    """One attack, or one of its variants."""

    def __init__(self, attack, variant):
        self.attack, self.variant, self.head, self.expect = attack, variant, attack.head, attack.expect
        self.name = f"{attack.name}.{variant[1]}" if variant else attack.name
        language = os.path.basename(os.path.dirname(attack.path))
        self.task, self.mode = attack.head.get("task", language), attack.head.get("mode", "test")

        self.scales = list(attack.scales())

    def submit(self, bench, device, report="--json"):
        text = bench.fill(self.attack.text, self.variant)
        device = "BOTH" if "device" in self.head else device
        config = self.head.get("imports") or self.head.get("preloads")
        return bench.start(self.name, text, self.task, self.mode, device, config, report, self.scales[0])


class Bench(attacks.Bench):
    """Boards in Python: a device for each attack of a group, and one on another core for the honest one."""
    LANGUAGE, HONEST, MORE = "py", HONEST, {}  # of a device besides
    BOARDS, LIMITS, FIRST_LIMITS = ("task_py", "task_single", "task_field"), LIMITS, FIRST_LIMITS

    def languages(self):
        """Each run has a kettle-exec of its own, and so a warm interpreter. In the gate that has only what the board imports, nothing,
        but for attacks that say otherwise."""
        return {"py": {"python": PYTHON, "preload": ["numpy"] if sizes.EVERYTHING else []}}

    def devices(self):
        cores = sorted(os.sched_getaffinity(0))
        devices = {f"D{i}": {"cores": str(cores[0]), "lock": f"d{i}", **self.MORE} for i in range(WAITING_AT_A_TIME)}
        devices["BOTH"] = {"cores": f"{cores[0]},{cores[-1]}", "lock": "both", **self.MORE}
        return {**devices, "OTHER": {"cores": str(cores[-1]), "lock": "other", **self.MORE}}

    @classmethod
    def chosen(cls, found):
        """What this process runs: all of them, or with ./quickstart test the first of each class."""
        if cls.LANGUAGE != "py":
            return attacks.chosen(found)
        firsts = classes.first_files()
        return sizes.part([attack for attack in found if sizes.EVERYTHING or attack.name in firsts])

    def wrapper(self):
        return WRAPPER.format(start=self.canary.tells_owner(), program=os.path.abspath(attacks.KETTLE_EXEC))

    def __init__(self):
        super().__init__()
        os.mkdir(f"{self.canary.scratch}/records")
        if self.LANGUAGE == "py":
            for module in ("numpy", "torch"):
                self.configure(module, dict(self.LIMITS, wall=self.LIMITS["wall"] * attacks.AMPLE), preload=["numpy", module])

    def start(self, name, text, task=None, mode="test", device="OTHER", config=None, report="--json", scale=attacks.AMPLE):
        task = task or self.LANGUAGE
        path = os.path.join(self.canary.scratch, "records", f"{name}.{self.LANGUAGE}")
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        config = os.path.join(self.canary.scratch, f"kettle-{config or scale}.yml")
        argv = [attacks.KETTLE, "--config", config, "task", "run", self.boards[f"task_{task}", scale], path, "--mode", mode,
            "--device", device, *([report] if report else [])]
        self.forget(name)
        return attacks.Started(argv, dict(self.env, RECORD=self.record(name)))

    def record(self, name):
        return os.path.join(self.canary.scratch, "records", name)

    def forget(self, name):
        for ending in ("a", "b", "in", "out"):
            if os.path.exists(f"{self.record(name)}.{ending}"):
                os.unlink(f"{self.record(name)}.{ending}")

    def recorded(self, name, ending):
        """The lines that kettle-exec got ("in") or gave ("out")."""
        try:
            with open(f"{self.record(name)}.{ending}") as file:
                return [json.loads(line) for line in file]
        except OSError:
            return []

    def secrets(self, name):
        steps = [step for line in self.recorded(name, "in") for step in line.get("plan", {}).get("steps", [])]
        return {value for step in steps for value in step.get("secret", {}).values()}

    def outcomes(self, name):
        return [line["outcome"] for line in self.recorded(name, "out") if line.get("event") == "outcome"]


def wait_all(started, observer):
    """Waits for all of them at once; each gets its seconds."""
    left = set(started)
    while left:
        observer.sample()
        for one in list(left):
            if one.child.poll() is not None:
                one.seconds = time.monotonic() - one.begin
                left.remove(one)
            elif time.monotonic() - one.begin > attacks.HARD_LIMIT_S:
                one.child.kill()
        time.sleep(0.01)
    for one in started:
        seconds = one.seconds
        one.end = one.wait()
        one.seconds = seconds


def printed_by(outcomes):
    processes = [process for outcome in outcomes for process in (outcome, outcome.get("solver") or {})]
    texts = [process.get(stream) or {} for process in processes for stream in ("stdout", "stderr")]
    return "".join(text.get("text", "") + "\n" for text in texts)


def complaints_about(bench, trial, started):
    """Whether one attack that has ended did run; complaints about what it did, and about what is said of it."""
    status, output, errors = started.end
    everything, printed = output + errors, printed_by(bench.outcomes(trial.name))
    try:
        state, score = attacks.verdict_of(output)[:2]
    except (ValueError, AttributeError) as error:
        return True, [], [f"no report ({error}), exit {status}: {output[-300:]!r} {errors[-300:]!r}"]
    wrong = [f"exit {status} with state {state}"] if (status == 0) != (state == "passed") else []
    if state not in trial.expect:
        wrong.append(f"it is {state}, expected {' or '.join(trial.expect)}: {everything[:300]} {everything[-1500:]}")
    ran = trial.attack.ran(printed)
    if not ran or trial.head.get("says", "") not in printed:
        wrong.append(f"the attack did not run: {everything[-900:]} {printed[-900:]}")
    if "slower" in trial.head and state == "passed" and not (score and score >= float(trial.head["slower"])):
        wrong.append(f"the score is {score}")
    found, secret = findings(bench, trial, everything + printed)
    if "hides" in trial.head and bench.fill(trial.head["hides"], None) in everything:
        found.append("the report shows what must stay hidden")
    return ran, found + attacks.time_complaints(trial.attack, started), wrong + secret


def findings(bench, trial, text):
    """What it got hold of; and what it should have, but has not."""
    secrets = bench.secrets(trial.name)
    if trial.mode == "ranked" and not secrets:
        return [], ["no secret was drawn"]
    found = [secret for secret in secrets if re.search(rf"(?<!\d){secret}(?!\d)", text)]
    if "open" in trial.head:
        return [], ["it has not found the seed, so less stays open than is said"] if secrets and not found else []
    escaped = dict.fromkeys(line for line in text.splitlines() if line.startswith("ESCAPED"))
    return list(escaped)[:10] + [f"it has found the secret seed {secret}" for secret in found], []


def rendered_complaints(bench, trial):
    """The same report as people read it."""
    status, output, errors = trial.submit(bench, "D0", report="").wait()
    found = CONTROL.search(output + errors)
    return [f"the report for people has {found[0]!r}: {(output + errors)[-900:]!r}"] if found else []


def run_group(bench, group, complaints):
    """Adds complaints by trial. Returns those that the machine was too busy for, and what was left behind or harmed."""
    observer = watch.Watch(bench.canary)
    started = {trial: trial.submit(bench, f"D{i}") for i, trial in enumerate(group)}
    honest = bench.start("honest", bench.HONEST[bench.LANGUAGE])
    wait_all([*started.values(), honest], observer)
    again = []
    for trial, one in started.items():
        ran, found, wrong = complaints_about(bench, trial, one)
        if not ran and len(trial.scales) > 1:
            trial.scales.pop(0)
            again.append(trial)
            wrong = []
        complaints[trial] += found + wrong
        if "rendered" in trial.head:
            complaints[trial] += rendered_complaints(bench, trial)
    return again, attacks.honest_complaints(*honest.end) + observer.complaints()


def grouped(trials):
    """Trials that may run at the same time, group by group."""
    def kind_of(trial):
        once = trial.attack.name if "once" in trial.head else ""
        alone = "alone" in trial.head or "device" in trial.head
        return (alone, trial.expect[0] == "timed_out", int(trial.head.get("runs", 1)), trial.mode, once)
    groups = []
    for kind in sorted({kind_of(trial) for trial in trials}):
        alike = [trial for trial in trials if kind_of(trial) == kind]
        most = 1 if kind[0] else WAITING_AT_A_TIME if kind[1] else AT_A_TIME
        groups += [alike[i:i + most] for i in range(0, len(alike), most)]
    return groups


def reason_to_skip(attack, offered):
    if attack.head.get("needs", "user") not in offered:
        return f"this machine has no {attack.head['needs']}"
    if "device" in attack.head and len(os.sched_getaffinity(0)) < 2:
        return "this machine has one core"
    module = attack.head.get("imports")
    if module and not pythons.has(module):
        return f"this interpreter has no {module}"
    return None


class Tap:
    """Numbered lines."""

    def __init__(self, count):
        self.number = 0
        print(f"1..{count}", flush=True)

    def say(self, what, bad):
        self.number += 1
        print(f"{'not ' if bad else ''}ok {self.number} - {what}", flush=True)
        for line in bad:
            print("# " + line.replace("\n", "\n# "), flush=True)


def try_group(bench, tap, group):
    begin, runs = time.monotonic(), int(group[0].head.get("runs", 1))
    complaints, behind = {trial: [] for trial in group}, []
    for _ in range(runs):
        again = group
        while again:
            again, left = run_group(bench, again, complaints)
            behind += left
    for trial, bad in complaints.items():
        tap.say(f"{trial.name} ({trial.head['class'].split(':')[0]})", bad)
    names = " ".join(trial.name for trial in group)
    tap.say(f"nothing was left behind or harmed by {names}", behind)
    print(f"# {time.monotonic() - begin:.1f} s", flush=True)


def main(wanted, make_bench=Bench):
    files = os.path.join(attacks.HERE, make_bench.LANGUAGE, f"*.{make_bench.LANGUAGE}")
    found = [attacks.Attack(path) for path in sorted(glob.glob(files))]
    found = [attack for attack in found if attack.name in wanted] if wanted else make_bench.chosen(found)
    watch.stand_apart()
    offered, bench = attacks.protections(), make_bench()
    skipped = {attack: reason for attack in found if (reason := reason_to_skip(attack, offered))}
    groups = grouped([Trial(attack, variant) for attack in found if attack not in skipped for variant in attack.variants()])
    tap = Tap(1 + len(skipped) + sum(len(group) + 1 for group in groups))
    try:
        bad = []
        for task, text in bench.HONEST.items():
            first = bench.start("first", text, task, "ranked", config="first")
            bad += attacks.honest_complaints(*first.wait())
        tap.say("honest submissions pass", bad)
        for attack, reason in skipped.items():
            tap.say(f"{attack.name} # SKIP {reason}", [])
        for group in groups:
            try_group(bench, tap, group)
    finally:
        watch.reap()
        bench.canary.remove()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
