# SPDX-License-Identifier: MIT
"""Runs hostile submissions (cpp/, through `kettle task run`) and hostile steps (plans/, through kettle-exec).

Each file says in its head what must happen:
  class:    the class of attack, and where it bites
  tries:    what it does
  expect:   passed, failed, timed_out or compile (it does not build); several: any of them
  mode:     of the submission (default test)
  runs:     how often in a row (default 1)
  within:   seconds that it may take at most (default 40)
  memory:   MiB that the machine may be short of meanwhile
  beside:   honest: an honest submission on another core must pass at the same time
  tty:      yes: started from a terminal, which must stay untouched
  slower:   the score must be at least this many seconds
  needs:    a protection; where the machine lacks it, this is not contained, and skipped
  hides:    a word that must appear nowhere in the report
  variants: NAME=VALUE…: once for each, @NAME@ replaced
and for steps: kind, outputs, built (an output of a cached step before it, its input), results (how many must arrive).
An attack prints TRIED when it ran and ESCAPED with what worked that must not.
"""
import fcntl
import glob
import json
import os
import re
import signal
import subprocess
import sys
import termios
import time

import watch

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("top_builddir", ".")
TASK = os.path.join(HERE, "task")
KETTLE = os.environ.get("KETTLE", os.path.join(BUILD, "kettle"))
KETTLE_EXEC = os.environ.get("KETTLE_EXEC", os.path.join(BUILD, "kettle-exec"))
PLUGINS = os.environ.get("KETTLE_PLUGINS", os.path.join(BUILD, "plugins/.libs"))
DEFAULT_WITHIN_S = 40.0
HARD_LIMIT_S = 120.0
EXEC_LIMITS = {"wall": 8, "memory": 1 << 30, "processes": 256, "disk": 256 << 20, "shm": 64 << 20}
# Building the harness for the first time on a busy machine takes longer than any attack may.
FIRST_LIMITS = {"wall": 180, "memory": 2 << 30, "processes": 256, "disk": 256 << 20, "shm": 64 << 20}
# KETTLE_TEST_WARM=0: no run of any test begins as a copy of a warm interpreter.
EXEC_SETTINGS = {} if os.environ.get("KETTLE_TEST_WARM", "1") != "0" else {"warm": {"processes": 0}}


class Attack:
    """One file and what its head says."""

    def __init__(self, path):
        self.path = path
        self.name = os.path.basename(path).rsplit(".", 1)[0]
        with open(path) as file:
            self.text = file.read()
        self.head = {}
        for line in self.text.splitlines():
            match = re.match(r"(?://|#) ([a-z]+): +(.*)", line)
            if match:
                self.head[match[1]] = match[2]
            elif not line.startswith(("//", "# ", "#\t")):
                break
        self.expect = self.head["expect"].split()

    def variants(self):
        for pair in self.head.get("variants", "").split() or [None]:
            yield (f"@{pair.split('=')[0]}@", pair.split("=")[1]) if pair else None


class Started:
    """A child with its output, its time and what it used."""

    def __init__(self, argv, env, tty=False):
        self.tty = watch.open_terminal() if tty else None
        stream = self.tty[1] if tty else subprocess.DEVNULL
        self.begin = time.monotonic()
        self.out = open(os.path.join(env["SCRATCH"], f"out{os.getpid()}.{time.monotonic_ns()}"), "w+b")
        self.err = open(self.out.name + ".err", "w+b")
        self.child = subprocess.Popen(
            argv, env=env, stdin=stream, stdout=self.out, stderr=stream if tty else self.err,
            preexec_fn=self.take_terminal if tty else None, start_new_session=not tty)

    def take_terminal(self):
        os.setsid()
        fcntl.ioctl(self.tty[1], termios.TIOCSCTTY, 0)

    def wait(self, observer=None):
        while self.child.poll() is None:
            if observer:
                observer.sample()
            if time.monotonic() - self.begin > HARD_LIMIT_S:
                self.child.send_signal(signal.SIGKILL)
            time.sleep(0.01)
        self.seconds = time.monotonic() - self.begin
        texts = []
        for file in (self.out, self.err):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "surrogateescape"))
            file.close()
            os.unlink(file.name)
        return self.child.returncode, texts[0], texts[1]

    def typed(self):
        """Bytes that somebody has put into the terminal's input."""
        if not self.tty:
            return 0
        count = fcntl.ioctl(self.tty[1], termios.FIONREAD, b"\0\0\0\0")
        for end in self.tty:
            os.close(end)
        return int.from_bytes(count, sys.byteorder)


class Bench:
    """Configuration and environment of the programs under test."""

    def __init__(self):
        self.bait = watch.Bait()
        scratch = self.bait.scratch
        cores = sorted(os.sched_getaffinity(0))
        self.env = {"PATH": os.environ["PATH"], "HOME": f"{scratch}/home", "TMPDIR": f"{scratch}/tmp",
            "XDG_STATE_HOME": f"{scratch}/state", "XDG_DATA_HOME": f"{scratch}/state", "XDG_RUNTIME_DIR": f"{scratch}/locks",
            "LC_ALL": "C.UTF-8", "SCRATCH": scratch, "SECRET_OF_THE_MACHINE": watch.SECRET}
        self.config = f"{scratch}/kettle.yml"
        # Whose cgroups are whose can be told only by the pids of their owners.
        self.exec = f"{scratch}/kettle-exec"
        with open(self.exec, "w") as file:
            file.write(f'#!/bin/sh\necho $$ >> "{scratch}/pids"\nexec "{os.path.abspath(KETTLE_EXEC)}" "$@"\n')
        os.chmod(self.exec, 0o755)
        for name, limits in (("exec.yml", EXEC_LIMITS), ("first.yml", FIRST_LIMITS)):
            self.write(name, {"state": f"{scratch}/state", "locks": f"{scratch}/locks", "limits": limits, **EXEC_SETTINGS})
        for name, limits in (("kettle.yml", "exec.yml"), ("kettle-first.yml", "first.yml")):
            self.write(name, {"plugin_path": [os.path.abspath(PLUGINS)], "languages": {"cpp": {}},
                "runners": {"local": {"exec": self.exec, "config": f"{scratch}/{limits}",
                    "state": f"{scratch}/state"}},
                "devices": {"CPU": {"runner": "local", "cores": str(cores[0])},
                    "OTHER": {"runner": "local", "cores": str(cores[-1]), "lock": "other"}}})

    def write(self, name, value):
        """JSON is YAML."""
        with open(os.path.join(self.bait.scratch, name), "w") as file:
            json.dump(value, file)

    def fill(self, text, variant):
        words = self.bait.words()
        if variant:
            words[variant[0]] = variant[1]
        for word, value in words.items():
            text = text.replace(word, value)
        return text

    def submit(self, text, mode, device="CPU", tty=False, config="kettle.yml"):
        path = os.path.join(self.bait.scratch, f"submission{device}.cpp")
        with open(path, "w") as file:
            file.write(text)
        argv = [KETTLE, "--config", os.path.join(self.bait.scratch, config), "--json", "task", "run", TASK, path,
            "--mode", mode, "--device", device]
        return Started(argv, self.env, tty)

    def run_plan(self, plan):
        path = os.path.join(self.bait.scratch, "plan.json")
        with open(path, "w") as file:
            json.dump(plan, file)
        return Started([self.exec, "--config", f"{self.bait.scratch}/exec.yml", "--state",
            f"{self.bait.scratch}/state", path], self.env)


HONEST = '#include "attack.h"\nvoid custom_kernel(const input_t &i, output_t &o)\n{\n\thonest(i, o);\n}\n'


def verdict_of(output):
    """(state, score, texts that the attack printed) of `task run --json`."""
    report = json.loads(output)
    state = report.get("state")
    if any(not item.get("passed") for item in report.get("compilation") or []):
        state = "compile" if state in ("failed", "timed_out") else state
    printed = "".join(run.get("stderr") or "" for run in report.get("runs") or [])
    return state, report.get("score"), printed


def try_submission(bench, attack, variant):
    """Complaints about one run of a hostile submission."""
    observer = watch.Watch(bench.bait)
    text = bench.fill(attack.text, variant)
    beside = bench.submit(HONEST, "test", "OTHER") if "beside" in attack.head else None
    started = bench.submit(text, attack.head.get("mode", "test"), tty="tty" in attack.head)
    status, output, errors = started.wait(observer)
    complaints = []
    if beside:
        complaints += honest_complaints(*beside.wait(observer))
    if started.typed():
        complaints.append("something was typed into the terminal")
    try:
        state, score, printed = verdict_of(output)
    except (ValueError, AttributeError) as error:
        return complaints + [f"no report ({error}), exit {status}: {output[-300:]!r} {errors[-300:]!r}"] + observer.complaints()
    if (status == 0) != (state == "passed"):
        complaints.append(f"exit {status} with state {state}")
    complaints += common_complaints(bench, attack, state, printed, output + errors, started.seconds, observer)
    if "compile" not in attack.expect and "TRIED" not in printed:
        complaints.append(f"the attack did not run: {output[-600:]}")
    if "slower" in attack.head and not (score and score >= float(attack.head["slower"])):
        complaints.append(f"the score is {score}")
    return complaints


def honest_complaints(status, output, errors):
    try:
        if verdict_of(output)[0] == "passed":
            return []
    except (ValueError, AttributeError):
        pass
    said = re.findall(r'"(?:error|message)": "(.*)"', output)[:3]
    return [f"an honest submission beside it was harmed: exit {status} {said} {output[-500:]} {errors[-300:]}"]


def common_complaints(bench, attack, state, printed, everything, seconds, observer):
    complaints = []
    if state not in attack.expect:
        complaints.append(f"it is {state}, expected {' or '.join(attack.expect)}: {everything[-900:]}")
    complaints += [line for line in printed.splitlines() if line.startswith("ESCAPED")][:10]
    if "hides" in attack.head and bench.fill(attack.head["hides"], None) in everything:
        complaints.append("the report shows what must stay hidden")
    if seconds > float(attack.head.get("within", DEFAULT_WITHIN_S)):
        complaints.append(f"it took {seconds:.1f} s")
    if "memory" in attack.head and observer.used_mib() > int(attack.head["memory"]):
        complaints.append(f"the machine was short of {observer.used_mib()} MiB meanwhile")
    return complaints + observer.complaints()


def plan_of(attack, text):
    kind = attack.head["kind"]
    step = {"id": "attack", "kind": kind, "argv": ["sh", "attack.sh"], "inputs": {"attack.sh": {"text": text}}}
    steps = [step]
    if "outputs" in attack.head:
        step["outputs"] = attack.head["outputs"].split()
    if "built" in attack.head:
        name = attack.head["built"]
        steps.insert(0, {"id": "built", "kind": "build", "argv": ["cp", "built.txt", f"out/{name}"],
            "inputs": {"built.txt": {"text": "built\n"}}, "outputs": [name], "cache": True})
        step["inputs"][name] = {"step": "built", "output": name}
        step["needs"] = ["built"]
    if kind == "run":
        step.update({"result": "POPCORN_FD", "unique": ["check"], "limits": {"wall": 5},
            "pass": {"exit": [0], "result": {"check": "pass"}}})
    if attack.name == "input_is_empty" or kind != "run":
        step.setdefault("limits", {"wall": 8})
    return {"version": 1, "steps": steps}


def outcome_of(output):
    for line in output.splitlines():
        event = json.loads(line)
        if event.get("event") == "done":
            return next((item for item in event["outcomes"] if item["step"] == "attack"), {"state": event.get("error")})
    return {"state": "no end"}


def try_plan(bench, attack, variant):
    """Complaints about one run of a hostile step."""
    observer = watch.Watch(bench.bait)
    started = bench.run_plan(plan_of(attack, bench.fill(attack.text, variant)))
    status, output, errors = started.wait(observer)
    try:
        outcome = outcome_of(output)
    except (ValueError, KeyError) as error:
        return [f"no outcome ({error}), exit {status}: {output[-300:]!r} {errors[-300:]!r}"] + observer.complaints()
    state = {"limit": "timed_out" if outcome.get("limit") == "wall" else "failed"}.get(outcome["state"], outcome["state"])
    printed = (outcome.get("stderr") or {}).get("text", "")
    complaints = common_complaints(bench, attack, state, printed, output + errors, started.seconds, observer)
    if "results" in attack.head and len(outcome.get("result") or {}) != int(attack.head["results"]):
        complaints.append(f"{len(outcome.get('result') or {})} results arrived")
    return complaints


def run_attack(bench, attack):
    complaints = []
    for variant in attack.variants():
        for _ in range(int(attack.head.get("runs", 1))):
            if attack.path.endswith(".cpp"):
                found = try_submission(bench, attack, variant)
            else:
                found = try_plan(bench, attack, variant)
            complaints += [f"{variant[1]}: {one}" if variant else one for one in found]
    return complaints


def protections():
    """What this machine offers, by name."""
    found = subprocess.run([KETTLE_EXEC, "--doctor", "--json"], capture_output=True, text=True, check=False).stdout
    return {item["name"] for item in json.loads(found)["protections"] if item["present"]}


def main(wanted):
    attacks = [Attack(path) for folder in ("cpp/*.cpp", "plans/*.sh") for path in sorted(glob.glob(os.path.join(HERE, folder)))]
    attacks = [attack for attack in attacks if not wanted or attack.name in wanted]
    watch.adopt_orphans()
    bench = Bench()
    offered = protections()
    print(f"1..{len(attacks) + 1}", flush=True)
    try:
        status, output, errors = bench.submit(HONEST, "ranked", config="kettle-first.yml").wait()
        bad = honest_complaints(status, output, errors)
        # A profile is built in its own way.
        if any(attack.head.get("mode") == "profile" for attack in attacks):
            bad += honest_complaints(*bench.submit(HONEST, "profile", config="kettle-first.yml").wait())
        print(("not " if bad else "") + "ok 1 - an honest submission passes", *bad, sep="\n# ", flush=True)
        for number, attack in enumerate(attacks, 2):
            begin = time.monotonic()
            if attack.head.get("needs", "user") not in offered:
                print(f"ok {number} - {attack.name} # SKIP this machine has no {attack.head['needs']}", flush=True)
                continue
            bad = run_attack(bench, attack)
            print(f"{'not ' if bad else ''}ok {number} - {attack.name} ({attack.head['class'].split(':')[0]})", flush=True)
            for line in bad:
                print("# " + line.replace("\n", "\n# "), flush=True)
            print(f"# {time.monotonic() - begin:.1f} s", flush=True)
    finally:
        watch.reap()
        bench.bait.remove()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
