# SPDX-License-Identifier: MIT
"""Runs hostile submissions (cpp/, through `kettle task run`) and hostile steps (plans/, through kettle-exec).

Each file says in its head what must happen:
  class:    the class of attack, and where it bites
  tries:    what it does
  expect:   passed, failed, timed_out or compile (it does not build); several: any of them
  mode:     of the submission (default test)
  runs:     how often in a row (default 1)
  within:   seconds that it may take at most (default 40), on a machine that does little else
  endless:  yes: what is compiled goes on for ever
  memory:   MiB that the machine may be short of meanwhile
  beside:   honest: an honest submission on another core must pass at the same time
  tty:      yes: started from a terminal, which must stay untouched
  slower:   the score must be at least this many seconds
  needs:    a protection; where the machine lacks it, this is not contained, and skipped
  hides:    a word that must appear nowhere in the report
  variants: NAME=VALUE…: once for each, @NAME@ replaced; the gate has the first one
  together: yes: the gate has all variants, since a later one looks for what an earlier one left
and for steps: kind, outputs, built (an output of a cached step before it, its input), results (how many must arrive).
An attack prints TRIED when it ran and ESCAPED with what worked that must not.

No outcome may depend on how busy the machine is. Only what would go on for ever, which expects timed_out or is endless,
meets short limits of time; where the machine is too busy for it to begin within these it is tried again with longer ones.
All others have time enough, so that what stops them is what the test is about.
"""
import fcntl
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))
import classes  # noqa: E402
import known_tools  # noqa: E402
import watch  # noqa: E402
import pythons  # noqa: E402
import sizes  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("top_builddir", ".")
SOURCE = os.path.dirname(os.path.dirname(HERE))
KETTLE = os.environ.get("KETTLE", os.path.join(BUILD, "kettle"))
KETTLE_EXEC = os.environ.get("KETTLE_EXEC", os.path.join(BUILD, "kettle-exec"))
PLUGINS = os.environ.get("KETTLE_PLUGINS", os.path.join(BUILD, "plugins"))
DEFAULT_WITHIN_S = 40.0
HARD_LIMIT_S = 600.0
# How many times longer than LIMITS and the boards say things may take: what never ends is tried with one after the other.
SCALES = (1, 5, 30)
AMPLE, LITTLE = SCALES[-1], 0.5
EXEC_LIMITS = {"wall": 8, "memory": 1 << 30, "processes": 256, "disk": 256 << 20, "shm": 64 << 20}
# Building the harness for the first time on a busy machine takes longer than any attack may.
FIRST_LIMITS = {"wall": 570, "memory": 2 << 30, "processes": 256, "disk": 256 << 20, "shm": 64 << 20}
# KETTLE_TEST_WARM=0: no run of any test begins as a copy of a warm interpreter.
# Flushing all of a large cache before each timed call would make tests slow.
EXEC_SETTINGS = {"cpu_cache": 4 << 20, **({} if os.environ.get("KETTLE_TEST_WARM", "1") != "0" else {"warm": {"processes": 0}})}


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

    def scales(self):
        """Of its limits of time: one after the other until it has run."""
        if "endless" in self.head:
            return (LITTLE,)
        return SCALES if "timed_out" in self.expect else (AMPLE,)

    def ran(self, printed):
        return "compile" in self.expect or "TRIED" in printed

    def variants(self):
        pairs = self.head.get("variants", "").split()
        for pair in pairs[:None if sizes.EVERYTHING or "together" in self.head else 1] or [None]:
            yield (f"@{pair.split('=')[0]}@", pair.split("=")[1]) if pair else None


class Started:
    """A child with its output, its time and what it used."""

    def __init__(self, argv, env, tty=False):
        self.tty = watch.open_terminal() if tty else None
        stream = self.tty[1] if tty else subprocess.DEVNULL
        self.busy, self.begin = watch.busy(), time.monotonic()
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
        """Bytes in the terminal's input that the test did not write."""
        if not self.tty:
            return 0
        count = fcntl.ioctl(self.tty[1], termios.FIONREAD, b"\0\0\0\0")
        for end in self.tty:
            os.close(end)
        return int.from_bytes(count, sys.byteorder)


def copy_board(name, target, scale):
    """A board and all that its task.yml names, at the same places below another folder, with its times scaled."""
    with open(os.path.join(HERE, name, "task.yml")) as file:
        text = file.read()
    sources = [os.path.normpath(os.path.join(HERE, name, source)) for source in re.findall(r"source: ([^}\"]+)", text)]
    for source in sources:
        copy = os.path.join(target, os.path.relpath(source, SOURCE))
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        shutil.copyfile(source, copy)
    folder = os.path.join(target, os.path.relpath(HERE, SOURCE), name)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "task.yml"), "w") as file:
        file.write(re.sub(r"(?m)^(\w+_timeout): (\d+)", lambda m: f"{m[1]}: {int(m[2]) * scale}", text))
    return folder


class Bench:
    """Configuration and environment of the programs under test."""
    BOARDS, LIMITS, FIRST_LIMITS = ("task",), EXEC_LIMITS, FIRST_LIMITS

    def languages(self):
        return {"cpp": {}}

    def devices(self):
        cores = sorted(os.sched_getaffinity(0))
        return {"CPU": {"cores": str(cores[0])}, "OTHER": {"cores": str(cores[-1]), "lock": "other"}}

    def wrapper(self):
        """Starts kettle-exec, and keeps whose cgroups are ours."""
        return f'{self.canary.tells_owner()}\nexec "{os.path.abspath(KETTLE_EXEC)}" "$@"\n'

    def __init__(self):
        self.canary = watch.Canary()
        scratch = self.canary.scratch
        self.env = {"PATH": os.environ["PATH"], "HOME": f"{scratch}/home", "TMPDIR": f"{scratch}/tmp",
            "XDG_STATE_HOME": f"{scratch}/state", "XDG_DATA_HOME": f"{scratch}/state", "XDG_RUNTIME_DIR": f"{scratch}/locks",
            "LC_ALL": "C.UTF-8", "SCRATCH": scratch, "SECRET_OF_THE_MACHINE": watch.SECRET}
        known_tools.give(f"{scratch}/state")
        self.exec = f"{scratch}/kettle-exec"
        with open(self.exec, "w") as file:
            file.write(self.wrapper())
        os.chmod(self.exec, 0o755)
        self.boards = {(name, scale): copy_board(name, f"{scratch}/boards/{scale}", scale)
            for name in self.BOARDS for scale in SCALES}
        self.boards.update({(name, LITTLE): self.boards[name, 1] for name in self.BOARDS})
        self.configure("first", self.FIRST_LIMITS)
        for scale in (LITTLE, *SCALES):
            self.configure(scale, dict(self.LIMITS, wall=self.LIMITS["wall"] * scale))

    def configure(self, name, limits, **options):
        """exec-NAME.yml and kettle-NAME.yml; options: more of them for the language."""
        scratch = self.canary.scratch
        self.write(f"exec-{name}.yml", {"state": f"{scratch}/state", "locks": f"{scratch}/locks", "limits": limits, **EXEC_SETTINGS})
        self.write(f"kettle-{name}.yml", {"plugin_path": [os.path.abspath(PLUGINS)],
            "languages": {language: {**usual, **options} for language, usual in self.languages().items()},
            "runners": {"local": {"exec": self.exec, "config": f"{scratch}/exec-{name}.yml", "state": f"{scratch}/state"}},
            "devices": {device: {"runner": "local", **more} for device, more in self.devices().items()}})

    def write(self, name, value):
        """JSON is YAML."""
        with open(os.path.join(self.canary.scratch, name), "w") as file:
            json.dump(value, file)

    def fill(self, text, variant):
        words = self.canary.words()
        if variant:
            words[variant[0]] = variant[1]
        for word, value in words.items():
            text = text.replace(word, value)
        return text

    def submit(self, text, mode, device="CPU", tty=False, scale=AMPLE, config=None):
        path = os.path.join(self.canary.scratch, f"submission{device}.cpp")
        with open(path, "w") as file:
            file.write(text)
        config = os.path.join(self.canary.scratch, f"kettle-{config or scale}.yml")
        argv = [KETTLE, "--config", config, "--json", "task", "run", self.boards["task", scale], path, "--mode", mode,
            "--device", device]
        return Started(argv, self.env, tty)

    def run_plan(self, plan):
        path = os.path.join(self.canary.scratch, "plan.json")
        with open(path, "w") as file:
            json.dump(plan, file)
        return Started([self.exec, "--config", f"{self.canary.scratch}/exec-{AMPLE}.yml", "--state",
            f"{self.canary.scratch}/state", path], self.env)


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
    """Complaints about one run of a hostile submission, with limits of time in which it could begin."""
    complaints = []
    for scale in attack.scales():
        ran, harm, wrong = submit_once(bench, attack, variant, scale)
        complaints += harm
        if ran:
            break
    return complaints + wrong


def submit_once(bench, attack, variant, scale):
    """Whether it ran; complaints about what it did to others; complaints about what is said of it."""
    observer = watch.Watch(bench.canary)
    text = bench.fill(attack.text, variant)
    beside = bench.submit(HONEST, "test", "OTHER") if "beside" in attack.head else None
    started = bench.submit(text, attack.head.get("mode", "test"), tty="tty" in attack.head, scale=scale)
    status, output, errors = started.wait(observer)
    harm = honest_complaints(*beside.wait(observer)) if beside else []
    if started.typed():
        harm.append("something was typed into the terminal")
    try:
        state, score, printed = verdict_of(output)
    except (ValueError, AttributeError) as error:
        return True, harm, [f"no report ({error}), exit {status}: {output[-300:]!r} {errors[-300:]!r}"] + observer.complaints()
    harm += harm_complaints(bench, attack, printed, output + errors, started, observer)
    wrong = [f"exit {status} with state {state}"] if (status == 0) != (state == "passed") else []
    wrong += state_complaints(attack, state, output + errors)
    if not attack.ran(printed):
        wrong.append(f"the attack did not run: {output[-600:]}")
    if "slower" in attack.head and not (score and score >= float(attack.head["slower"])):
        wrong.append(f"the score is {score}")
    return attack.ran(printed), harm, wrong


def reasons(report):
    """The first ones that a report gives: its end has times alone."""
    return re.findall(r'"(?:error|message|stderr)": "(.{1,400})', report)[:6]


def honest_complaints(status, output, errors):
    try:
        if verdict_of(output)[0] == "passed":
            return []
    except (ValueError, AttributeError):
        pass
    return [f"an honest submission beside it was harmed: exit {status} {reasons(output)} {output[-500:]} {errors[-300:]}"]


def state_complaints(attack, state, everything):
    if state in attack.expect:
        return []
    return [f"it is {state}, expected {' or '.join(attack.expect)}: {reasons(everything)} {everything[-900:]}"]


def time_complaints(attack, started):
    within = float(attack.head.get("within", DEFAULT_WITHIN_S)) * started.busy
    return [f"it took {started.seconds:.1f} s, not {within:.1f} s at most"] if started.seconds > within else []


def harm_complaints(bench, attack, printed, everything, started, observer):
    complaints = [line for line in printed.splitlines() if line.startswith("ESCAPED")][:10]
    if "hides" in attack.head and bench.fill(attack.head["hides"], None) in everything:
        complaints.append("the report shows what must stay hidden")
    complaints += time_complaints(attack, started)
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
        step.update({"result": "POPCORN_FD", "unique": ["check"],
            "pass": {"exit": [0], "result": {"check": "pass"}}})
    return {"version": 1, "steps": steps}


def outcome_of(output):
    for line in output.splitlines():
        event = json.loads(line)
        if event.get("event") == "done":
            return next((item for item in event["outcomes"] if item["step"] == "attack"), {"state": event.get("error")})
    return {"state": "no end"}


def try_plan(bench, attack, variant):
    """Complaints about one run of a hostile step."""
    observer = watch.Watch(bench.canary)
    started = bench.run_plan(plan_of(attack, bench.fill(attack.text, variant)))
    status, output, errors = started.wait(observer)
    try:
        outcome = outcome_of(output)
    except (ValueError, KeyError) as error:
        return [f"no outcome ({error}), exit {status}: {output[-300:]!r} {errors[-300:]!r}"] + observer.complaints()
    state = {"limit": "timed_out" if outcome.get("limit") == "wall" else "failed"}.get(outcome["state"], outcome["state"])
    printed = (outcome.get("stderr") or {}).get("text", "")
    complaints = state_complaints(attack, state, output + errors)
    complaints += harm_complaints(bench, attack, printed, output + errors, started, observer)
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


def chosen(attacks):
    """What this process runs: all of them, or with ./quickstart test the first of each class."""
    return sizes.part(sizes.one_of_each(attacks, lambda attack: classes.head_of(attack.head["class"])))


def protections():
    """What this machine offers, by name."""
    found = subprocess.run([KETTLE_EXEC, "--doctor", "--json"], capture_output=True, text=True, check=False).stdout
    return {item["name"] for item in json.loads(found)["protections"] if item["present"]}


def main(wanted):
    attacks = [Attack(path) for folder in ("cpp/*.cpp", "plans/*.sh") for path in sorted(glob.glob(os.path.join(HERE, folder)))]
    attacks = [attack for attack in attacks if attack.name in wanted] if wanted else chosen(attacks)
    watch.stand_apart()
    bench = Bench()
    offered = protections()
    print(f"1..{len(attacks) + 1}", flush=True)
    try:
        status, output, errors = bench.submit(HONEST, "ranked", config="first").wait()
        bad = honest_complaints(status, output, errors)
        # A profile is built in its own way.
        if any(attack.head.get("mode") == "profile" for attack in attacks):
            bad += honest_complaints(*bench.submit(HONEST, "profile", config="first").wait())
        print(("not " if bad else "") + "ok 1 - an honest submission passes", *bad, sep="\n# ", flush=True)
        for number, attack in enumerate(attacks, 2):
            begin, used = time.monotonic(), sum(os.times()[:4])
            if attack.head.get("needs", "user") not in offered:
                print(f"ok {number} - {attack.name} # SKIP this machine has no {attack.head['needs']}", flush=True)
                continue
            bad = run_attack(bench, attack)
            print(f"{'not ' if bad else ''}ok {number} - {attack.name} ({attack.head['class'].split(':')[0]})", flush=True)
            for line in bad:
                print("# " + line.replace("\n", "\n# "), flush=True)
            print(f"# {time.monotonic() - begin:.1f} s, {sum(os.times()[:4]) - used:.1f} s of processor time", flush=True)
    finally:
        watch.reap()
        bench.canary.remove()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
