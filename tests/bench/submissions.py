# SPDX-License-Identifier: MIT
"""Sections submit, start, jobs, tasks: what Kettle adds to a submission, how it starts, how much it gets done."""
import os
import re
import shutil
import statistics
import subprocess
import time

from kettle_test import TASKS

from measure import (RANKED_REST, SECONDS, SUBMIT_LIMIT, Box, Cannot, Client, interpreter, plugins, poll, progress, rounds, split,
                     start_server, stop_server)

IDLE_SECONDS = 1.5
LONG_SECONDS = 30    # a ranked submission that takes longer is not repeated
BUDGET_SECONDS = 120  # after which no other task is begun
# Sections of the configuration that plugins need in order to start.
FRONTENDS = {"cli": "{}", "web": '{listen: "127.0.0.1:0"}'}
RUNNERS = ("local",)
LANGUAGES = ("cpp", "py", "cu", "hip")


def submit(section):
    """An unchanged test submission, through a server and by a command line that is the engine itself."""
    for name, served in (("server", True), ("no server", False)):
        with Box() as box:
            box.board("b")
            child = start_server(box)[0] if served else None
            box.submit(box.solution(), "b", "test")  # into the build cache
            for _ in range(rounds(20)):
                took, job = box.submit(box.solution(), "b", "test")
                run = job["timing"]["parts"]["run_ns"] / 1e6
                section.add(f"{name}: overhead", took * 1e3 - run, target="150 ms")
                split(section, name, took, job)
            if child:
                stop_server(child)


def memory(pid):
    """Resident set and its share without what other processes have too, in MB."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        values = dict(re.findall(r"^(\w+): +(\d+) kB", file.read(), re.M))
    return int(values["Rss"]) / 1000, int(values["Pss"]) / 1000


def every_plugin(built):
    """A configuration with every plugin that was built and starts without accounts elsewhere; what is left out."""
    lines = [f"{name}: {{}}" for name in LANGUAGES if name in built]
    text = "{" + ", ".join(lines) + "}"
    frontends = ", ".join(f"{name}: {section}" for name, section in FRONTENDS.items() if name in built)
    left = [name for name in built if name not in LANGUAGES + RUNNERS and name not in FRONTENDS]
    return text, f"frontends: {{{frontends}}}\n", left


def start(section):
    built = plugins()
    languages, extra, left = every_plugin(built)
    section.note(f"Plugins: {', '.join(name for name in built if name not in left)}."
                 + (f" Without {', '.join(left)}, which need accounts elsewhere." if left else ""))
    with Box(languages=languages, extra=extra) as box:
        stop_server(start_server(box)[0])  # makes the database
        for _ in range(rounds(15)):
            child, seconds = start_server(box)
            section.add("kettle serve until it answers", seconds * 1e3, target="50 ms")
            stop_server(child)
        for _ in range(rounds(15)):
            section.timed("kettle --version", lambda: box.run("--version"))
            section.timed("kettle leaderboard list, no server", lambda: box.run("leaderboard", "list"))
        child, _ = start_server(box)
        time.sleep(IDLE_SECONDS)  # nothing to poll for: this is what idling is
        whole, own = memory(child.pid)
        section.add("resident memory, idle", whole, unit="MB", target="13 MB")
        section.add("proportional memory, idle", own, unit="MB")
        box.board("b")
        for _ in range(5):
            box.submit(box.solution(), "b", "test")
        section.add("resident memory after five submissions", memory(child.pid)[0], unit="MB")
        for pid in subprocess.run(["pgrep", "-P", str(child.pid)], capture_output=True, text=True, check=False).stdout.split():
            section.add("kettle-exec beside it, resident", memory(pid)[0], unit="MB")
        stop_server(child)


def jobs(section):
    """Unchanged test submissions that wait together, to the last verdict."""
    cores = len(os.sched_getaffinity(0))
    for slots in sorted({1, cores}):
        with Box(f"{{CPU: {{runner: local, slots: {slots}}}}}") as box:
            box.board("b")
            child, _ = start_server(box)
            _, job = box.submit(box.solution(), "b", "test")
            client = Client(f"{box.database}.sock")
            number = rounds(40, 10)
            lines = [client.line("submit", {"file": {"name": "x.cpp", "base64": encoded(box.solution())},
                                            "leaderboard": "b", "mode": "test"}) for _ in range(number)]
            for _ in range(rounds(3)):
                begun = time.perf_counter()
                client.socket.sendall(b"".join(lines))
                ids = [accepted(client.file.readline()) for _ in lines]
                poll(lambda: client.call("submission.list", {"limit": 1})[0]["done"], "the last verdict")
                poll(lambda: all(row["done"] for row in client.call("submission.list", {"limit": number})), "the others")
                section.add(f"jobs a second, slots: {slots}", number / (time.perf_counter() - begun), unit="/s")
            parts = [box.timing(id)["timing"]["parts"]["run_ns"] / 1e6 for id in ids[-5:]]
            section.note(f"With {slots} slot{'s' if slots > 1 else ''}, the program of a job ran for "
                         f"{statistics.median(parts):.1f} ms.")
            client.close()
            stop_server(child)


def encoded(path):
    import base64
    return base64.b64encode(path.read_bytes()).decode()


def accepted(line):
    import json
    answer = json.loads(line)
    if "result" not in answer:
        raise Cannot(str(answer))
    return answer["result"]["id"]


# ---- shipped tasks ----

def shorter(box, name, seconds):
    """A copy of a shipped task that times for so many seconds only: what else a submission takes is measured here."""
    if not (box.root / "tasks" / "harness").exists():
        shutil.copytree(TASKS / "harness", box.root / "tasks" / "harness")
    folder = box.root / "tasks" / name
    shutil.copytree(TASKS / name, folder)
    for path in (folder, *folder.rglob("*")):  # sources may be read-only
        path.chmod(0o755 if path.is_dir() else 0o644)
    task = folder / "task.yml"
    reference = folder / "reference.py"
    if task.exists():  # on a busy machine the limits of a task end what shall be measured
        text = re.sub(r"^(test|benchmark|ranked)_timeout: .*\n", "", task.read_text(), flags=re.M)
        task.write_text(text.rstrip("\n") + "\n" + "".join(f"{run}_timeout: {SUBMIT_LIMIT}\n" for run in ("test", "benchmark", "ranked")))
    if task.exists() and reference.exists():
        reference.write_text(reference.read_text() + f"\nBENCHMARK_SECONDS = RANKED_SECONDS = {seconds}\n")
    elif task.exists():
        task.write_text(task.read_text().replace(
            "config:\n", f"config:\n  defines: {{RANKED_SECONDS: '{seconds}', BENCHMARK_SECONDS: '{seconds}'}}\n"))
    else:
        return next(folder.glob("*.py"))  # a single reference file
    return folder


def imports(folder):
    """Which of the large modules a task needs."""
    text = "".join(path.read_text() for path in folder.rglob("*.py"))
    return [module for module in ("numpy", "torch") if re.search(rf"^(import|from) {module}\b", text, re.M)]


def fastest(name):
    """One of the task's correct solutions that needs nothing besides."""
    found = sorted((TASKS / name / "solutions" / "correct").iterdir())
    plain = [path for path in found if not re.search(r"jax|triton|load_inline", path.read_text())]
    if not plain:
        raise Cannot(f"{name} has no plain solution")
    return plain[0]


def shipped():
    """The shipped tasks for a CPU: name and language, those first that may take least."""
    found = []
    for folder in sorted(TASKS.iterdir()):
        task = folder / "task.yml"
        text = task.read_text() if task.exists() else ""
        lang = re.search(r"^lang: (\w+)", text, re.M)
        limit = re.search(r"^ranked_timeout: (\d+)", text, re.M)
        single = not text and list(folder.glob("*.py")) and (folder / "solutions").exists()
        if single or (lang and lang.group(1) in ("cpp", "py")):
            found.append((int(limit.group(1)) if limit else 0, folder.name, lang.group(1) if lang else "py"))
    return [(name, lang) for _, name, lang in sorted(found)]


def one_task(section, name, lang, seconds):
    modules = imports(TASKS / name) if lang == "py" else []
    languages = f'{{py: {{python: "{interpreter(*modules)}"}}}}' if lang == "py" else "{cpp: {}}"
    with Box(languages=languages) as box:
        box.run("leaderboard", "create", "b", "--no-try", "--task", shorter(box, name, seconds))
        child, _ = start_server(box)
        text = fastest(name).read_text()
        box.submit(fastest(name), "b", "test")  # the first one starts what stays
        mark = "//" if lang == "cpp" else "#"
        for number in range(rounds(2, 2)):
            progress(f"    {name} {number + 1}")
            file = box.write(f"s{number}{fastest(name).suffix}", f"{text}\n{mark} {number}\n")
            took, job = box.submit(file, "b", "ranked")
            if job["state"] != "passed":
                raise Cannot(f"it came out as {job['state']}: {job['error']}")
            split(section, name, took, job, RANKED_REST)
            whole, job = box.submit(box.write(file.name, f"{text}\n{mark} {number} again\n"), "b", "benchmark")
            section.add(f"{name}: overhead", whole * 1e3 - job["timing"]["parts"]["run_ns"] / 1e6,
                        target="150 ms" if "torch" in modules else "400 ms" if "numpy" in modules else None)
            if took > LONG_SECONDS:
                break
        stop_server(child)


def tasks(section):
    """A ranked submission of every shipped task for CPUs, its code new each time."""
    seconds = round(min(SECONDS / 8, 1.0), 3)
    section.note(f"Benchmarks were timed for {seconds} s each; the default is 2 s, and 6 s in ranked runs.")
    section.note("*overhead* is that of a submission in the mode benchmark, since the times of a job leave out its secret runs.")
    end = time.monotonic() + BUDGET_SECONDS
    for name, lang in shipped():
        try:
            if time.monotonic() > end:
                raise Cannot(f"the others took more than {BUDGET_SECONDS} s")
            if lang not in plugins():
                raise Cannot(f"the plugin {lang} was not built")
            one_task(section, name, lang, seconds)
        except (Cannot, AssertionError, OSError, subprocess.SubprocessError) as error:
            section.note(f"{name} is left out: {str(error).strip()[-300:]}")
