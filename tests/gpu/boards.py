# SPDX-License-Identifier: MIT
"""Boards and their solutions: what must pass passes, what must not does not, built anew and out of the cache, begun cold and
warm."""
import itertools
import os
import pathlib
import re
import shutil
import time

from engine import POLL, Engine, Trouble, built, message_of, state_of

AHEAD = 12  # submissions that are given to the engine at once: it builds some while it runs another
SHORT = 5  # seconds of a run of a solution that never ends
NEEDS = re.compile(r"^(?://|#) needs: (\S+)$", re.M)


class Work:
    """A submission to be made: of which file, to which board, what must come of it."""

    def __init__(self, board, path, mode=None, title=None, short=None):
        text = path.read_text(errors="replace")
        head = re.match(r"(?://|#) expect: (\w+)(?: in (\w+))?", text)
        self.board, self.path, self.text = board, path, text
        self.kind = path.parent.name if path.parent.name in ("correct", "wrong") else "correct"
        self.expected = head[1] if head else "failed" if self.kind == "wrong" else "passed"
        self.mode = mode or (head and head[2]) or "ranked"
        self.title = title or "%s/%s/%s" % (board, self.kind, path.stem)
        self.says = "".join(re.findall(r"^(?://|#) (?!expect|needs|SPDX)(.*)$", text, re.M)[:1])
        self.short = short
        self.number = self.job = self.trouble = None


class Shipped:
    """A task that comes with Kettle, or from --task-folder."""

    def __init__(self, folder):
        self.folder, self.name = folder, folder.name
        yml = folder / "task.yml"
        self.single = None if yml.exists() else next(iter(sorted(folder.glob("*.cuh")) + sorted(folder.glob("*.py"))), None)
        text = yml.read_text(errors="replace") if yml.exists() else ""
        said = re.search(r"^lang: *(\w+)", text, re.M)
        self.lang = said[1] if said else {".cuh": "cu", ".py": "py"}.get(self.single.suffix) if self.single else None
        self.task = self.single or folder
        self.text = text + "".join(path.read_text(errors="replace") for path in sorted(folder.glob("*.py")) + sorted(folder.glob("*.cuh")))
        self.templates = sorted(folder.glob("template*")) + sorted(folder.glob("submission*"))

    def solutions(self, kind):
        return sorted((self.folder / "solutions" / kind).glob("*.*"))

    def uses(self, word):
        """Whether task or template import a module."""
        text = self.text + "".join(path.read_text(errors="replace") for path in self.templates)
        return re.search(r"^\s*(import|from) %s\b" % word, text, re.M) is not None


def shipped(here, lang):
    """The tasks in a language, those that --tasks names first and alone."""
    folders = [folder for folder in sorted(pathlib.Path(here.tasks).iterdir()) if folder.is_dir() and folder.name not in
               ("harness", "calibration")]
    found = [Shipped(folder) for folder in folders if not here.args.tasks or folder.name in here.args.tasks]
    return [task for task in found if task.lang == lang]


def lacks(here, work, include):
    """A header or a module that a solution needs and the machine has not."""
    for header in NEEDS.findall(work.text):
        if not any(os.path.exists(os.path.join(folder, header)) for folder in include):
            return header
    for module in ("torch", "triton", "jax", "cupy", "numpy"):
        if re.search(r"^(import|from) %s\b" % module, work.text, re.M) and module not in here.modules:
            return module
        if module in ("torch", "triton", "jax", "cupy") and work.path.suffix == ".py" and \
                re.search(r"^(import|from) %s\b" % module, work.text, re.M) and not here.modules[module].get("works", True):
            return "a %s that works" % module
    return None


def include_folders(here):
    folders = list(here.args.include)
    if here.nvcc:
        toolkit = os.path.dirname(os.path.dirname(os.path.realpath(here.nvcc)))
        folders += [os.path.join(toolkit, "include"), os.path.join(toolkit, "targets/x86_64-linux/include")]
    return folders + ["/usr/include"]


def run_all(engine, works, share, each=60, at_once=AHEAD):
    """Gives all to the engine, some at a time, until they have ended or the share of the time is used up. Where none ends for
    `each` seconds, the first one is given up. Returns how many have not ended."""
    end = time.monotonic() + min(share, max(1, engine.here.budget.left() - 20))
    ahead, waiting, moved = list(works), [], time.monotonic()
    while (ahead or waiting) and time.monotonic() < end:
        while ahead and len(waiting) < at_once:
            work = ahead.pop(0)
            try:
                work.number = engine.submit(work.board, str(work.path), work.mode)
                waiting.append(work)
            except Trouble as trouble:
                work.trouble = trouble
        done = take_ended(engine, waiting)
        if done or engine.builds():
            moved = time.monotonic()
        elif time.monotonic() - moved > each:
            give_up(engine, waiting, time.monotonic() - moved)
            moved = time.monotonic()
        time.sleep(POLL)
    if waiting and time.monotonic() - moved > min(each, 25):  # the first one has hung, it has not waited
        give_up(engine, waiting, time.monotonic() - moved)
    for work in waiting:
        engine.run("submission", "cancel", work.number, limit=10, quiet=True)
    return len(ahead) + len(waiting)


def take_ended(engine, waiting):
    """Takes those that have ended off the list, with their jobs. Returns how many."""
    try:
        ended = {entry["id"] for entry in engine.json("submission", "list", "--limit", "100", quiet=True) if entry["done"]}
    except Trouble as trouble:
        waiting[0].trouble = trouble
        ended = {waiting[0].number}
    found = [work for work in waiting if work.number in ended]
    for work in found:
        waiting.remove(work)
        try:
            work.job = work.job or engine.ended(work.number)
        except Trouble as trouble:
            work.trouble = trouble
    return len(found)


def give_up(engine, waiting, seconds):
    work = waiting.pop(0)
    try:
        work.job = engine.give_up(work.number, seconds)
    except Trouble as trouble:
        work.trouble = trouble


def judge(engine, section, work, rows, remark=""):
    """Says of one that has ended whether it is what it must be."""
    if work.trouble:
        section.test(work.title + remark, False, work.trouble, **work.trouble.evidence)
        rows.append((work.title, work.mode, work.expected, "trouble", "", "", str(work.trouble)))
        return
    if not work.job:
        section.late.append(work.title + remark)
        return
    job, found = work.job, state_of(work.job)
    ok = found == work.expected and (found != "passed" or work.mode != "ranked" or (job.get("score") or 0) > 0)
    seconds, cached = built(job)
    parts = (job.get("timing") or {}).get("parts") or {}
    section.test(work.title + remark, ok, "" if ok else "expected %s in %s, found %s: %s" % (
        work.expected, work.mode, found, message_of(job)), **({} if ok else engine.explain(job, work.board, work.mode)))
    rows.append((work.title, work.mode, work.expected, found if ok else "**%s**" % found,
                 "%.2f µs" % (job["score"] * 1e6) if job.get("score") else "",
                 "cache" if cached else "%.1f s" % seconds,
                 "%.1f s" % ((parts.get("run_ns") or 0) / 1e9),
                 (message_of(job) or "")[:200] if work.expected != "passed" or not ok else
                 " ".join(sorted({"warm" if run.get("warm") else "cold" for run in job.get("runs") or [] if not run.get("secret")})
                          if work.path.suffix == ".py" else ""),
                 work.says if work.expected != "passed" else ""))


COLUMNS = ("solution", "mode", "expected", "result", "score", "build time", "run time", "message", "reason")


def make_boards(engine, section, tasks):
    """Leaderboards of the tasks; those that could be made."""
    made = []
    for task in tasks:
        try:
            engine.board(task.name, str(task.task), task.lang if task.single else None)
            made.append(task)
        except Trouble as trouble:
            if " lacks " in str(trouble):  # what the board needs and the machine has not
                section.skip(task.name, trouble)
                continue
            section.test("a leaderboard of %s" % task.name, False, trouble, **trouble.evidence)
    return made


def shortened(here, task):
    """A copy of a task whose runs may take SHORT seconds: for what never ends."""
    folder = pathlib.Path(here.scratch) / "short" / task.name
    if not folder.exists():
        shutil.copytree(pathlib.Path(here.tasks) / "harness", folder.parent / "harness", dirs_exist_ok=True)
        shutil.copytree(task.folder, folder)
        os.chmod(folder, 0o755)
        os.chmod(folder / "task.yml", 0o644)
        text = (folder / "task.yml").read_text()
        (folder / "task.yml").write_text(re.sub(r"^(\w+_timeout): *\d+$", r"\1: %d" % SHORT, text, flags=re.M))
    return folder


def works_of(here, section, tasks, kinds=("correct", "wrong")):
    """Templates first, then what must pass, then what must not, the boards in turn, each with what it needs."""
    include, works = include_folders(here), []
    for kind in kinds:
        rounds = []
        for task in tasks:
            mine = [Work(task.name, path) for path in task.solutions(kind)]
            rounds.append([work for work in mine if not left_out(here, section, work, include)])
        while any(rounds):
            works += [mine.pop(0) for mine in rounds if mine]
    return works


def left_out(here, section, work, include):
    lacking = lacks(here, work, include)
    if lacking:
        section.skip(work.title, "%s is missing here" % lacking)
    return lacking


# ---- Boards in CUDA ----

def cuda(here, section, share):
    """Every shipped board in CUDA (or HIP): references, right and wrong solutions, with and without what was built before."""
    lang = {"nvidia": "cu", "amd": "hip"}[here.vendor]
    if lang == "cu" and not here.nvcc:
        section.skip("boards in CUDA", "there is no nvcc")
        return
    with Engine(here, "boards-" + lang) as engine:
        end = time.monotonic() + share
        tasks = make_boards(engine, section, shipped(here, lang))
        rows, works = [], works_of(here, section, tasks)
        for work in works:
            if work.expected == "timed_out":
                task = next(task for task in tasks if task.name == work.board)
                work.board = engine.board(task.name + "_short", str(shortened(here, task)))
        again = [Work(work.board, work.path, "test", work.title) for work in works if work.expected == "passed"]
        correct = [work for work in works if work.kind == "correct"]
        wrong = [work for work in works if work.kind == "wrong"]
        ranked_once(correct)
        run_all(engine, correct, (end - time.monotonic()) * 0.7)
        run_all(engine, again, (end - time.monotonic()) * 0.4)
        run_all(engine, wrong, end - time.monotonic())
        for work in correct + wrong:
            judge(engine, section, work, rows)
        section.table(COLUMNS, rows)
        rows = []
        for work in again:
            judge(engine, section, work, rows, ", built before")
            if work.job and work.job.get("compilation"):
                section.test("%s: built before is not built again" % work.title, built(work.job)[1],
                             "" if built(work.job)[1] else "anew: " + ", ".join(
                                 step["title"] for step in work.job["compilation"] if not step.get("cached")),
                             compilation=work.job["compilation"])
        section.table(COLUMNS, rows, "The same files once more, in the mode test, out of the build cache")
        architectures(here, section, correct)


def ranked_once(works):
    """Of right solutions one of each board is ranked, which takes longest; the others show that they are right in the mode
    test."""
    seen = set()
    for work in works:
        if work.mode == "ranked" and work.board in seen:
            work.mode = "test"
        seen.add(work.board)


def architectures(here, section, works):
    """The architecture that the compiler got: that of the GPU."""
    job = next((work.job for work in works if work.job and work.job.get("compilation")), None)
    if not job:
        return
    command = job["compilation"][0]["command"]
    said = re.search(r"(-gencode=\S+|--offload-arch=\S+)", command)
    wanted = str(here.gpus[0].get("compute_cap", "")).replace(".", "") if here.gpus else ""
    section.note("Compiled with `%s`." % command)
    section.test("the architecture is the GPU's", said is not None and wanted in said[1], "%s for compute %s" % (
        said[1] if said else command, here.gpus[0].get("compute_cap") if here.gpus else "?"), command=command)


# ---- Boards in Python ----

PYTHON = ("matmul_py", "softmax_triton", "vectoradd_py", "softmax_py", "llama_block_py")  # by what they tell
# Fails a right solution whose inputs are not on a GPU: on the CPU it would be right as well.
ON_GPU = """

def _tensors(data):
    import torch
    if isinstance(data, torch.Tensor):
        return [data]
    parts = data.values() if isinstance(data, dict) else data if isinstance(data, (list, tuple)) else ()
    return [tensor for part in parts for tensor in _tensors(part)]


_kernel = custom_kernel


def custom_kernel(data):
    if not all(tensor.is_cuda for tensor in _tensors(data)):
        raise RuntimeError("the inputs are not on the GPU")
    return _kernel(data)
"""


def python(here, section, share):
    """Every shipped board for torch, Triton and JAX, and CUDA within torch: warm, then cold; then what must fail."""
    torch = here.modules.get("torch", {})
    if not torch.get("available"):
        section.skip("boards in Python", "torch sees no GPU" if torch else "there is no torch")
        return
    tasks = sorted((task for task in shipped(here, "py") if task.uses("torch")),
                   key=lambda task: PYTHON.index(task.name) if task.name in PYTHON else len(PYTHON))
    end, found = time.monotonic() + share, {}
    with Engine(here, "python-warm", languages=here.languages(warm=True)) as warm, \
            Engine(here, "python-cold", languages=here.languages(warm=False), cache=warm) as cold:
        made = make_boards(warm, section, tasks)
        make_boards(cold, section, made)
        for engine, part in ((warm, 0.45), (cold, 0.5)):
            works = right_in_python(here, section if engine is warm else Quiet(), made, engine)
            run_all(engine, works, (end - time.monotonic()) * part, at_once=4)  # so that they run as they are ordered
            found[engine] = tell(section, engine, works, "Begun warm" if engine is warm else "Begun cold")
            if engine is warm:
                for work in works:
                    begun_warm(section, engine, work)
                untouched(here, section, engine)
        ready(section, found[warm], found[cold])
        wrong = works_of(here, Quiet(), made, ("wrong",))
        run_all(warm, wrong, (end - time.monotonic()) * 0.7)
        tell(section, warm, wrong, "What must fail")
        ranked = [Work(task.name, path, "ranked") for task in made[:1] for path in task.solutions("correct")[:1]]
        run_all(warm, ranked, end - time.monotonic())
        tell(section, warm, ranked, "Ranked")


def tell(section, engine, works, title):
    """A table of works that were run; their jobs by title."""
    rows = []
    for work in works:
        judge(engine, section, work, rows, ", " + engine.name.split("-")[1])
    section.table(COLUMNS, rows, title)
    return {work.title: work.job for work in works if work.job}


def right_in_python(here, section, tasks, engine):
    """Right solutions, in the mode test and each with a look at where its inputs are: what takes longest to build first, then
    one of each board, then the others, and last what takes longest to run."""
    extra = pathlib.Path(here.root_of_tests) / "submissions"
    rounds = []
    for task in tasks:
        paths = sorted(task.solutions("correct"), key=lambda path: path.stem not in ("plain", "library", "rows"))
        works = [Work(task.name, path, "test", "%s/%s" % (task.name, path.stem))
                 for path in [*paths, *sorted((extra / task.name).glob("*.py"))]]
        for work in works:
            work.path = pathlib.Path(engine.write("given/%s/%s" % (work.board, work.path.name), work.text + ON_GPU))
        rounds.append([work for work in works if not left_out(here, section, work, [])])
    works = [work for entry in itertools.zip_longest(*rounds) for work in entry if work]
    return sorted(works, key=lambda work: (not re.search("load_inline", work.text), work.board == "llama_block_py",
                                           "torch.compile" in work.text))


class Quiet:
    """A section in which the omission is recorded already."""

    def skip(self, *_):
        pass


def begun_warm(section, engine, work):
    if not work.job:
        return
    cold = [run["mode"] for run in work.job.get("runs") or [] if not run.get("secret") and not run.get("warm")]
    if not section.test("%s begins warm" % work.title, not cold, "cold: " + ", ".join(cold) if cold else "",
                        serve=engine.said() if cold else "") and "jax" in work.text:
        section.note("%s imports JAX, which may keep it from beginning warm." % work.title)


def untouched(here, section, engine):
    """What is kept warm has opened no device: no library of the driver's context, no node, no process of nvidia-smi's."""
    looked, touched = 0, []
    kept = [(pid, command) for pid, command in engine.processes() if "kettle" not in command.split(" ")[0]]
    for pid, command in kept:
        try:
            links = [os.readlink("/proc/%d/fd/%s" % (pid, fd)) for fd in os.listdir("/proc/%d/fd" % pid)]
            with open("/proc/%d/maps" % pid) as file:
                maps = file.read()
        except OSError:
            continue
        looked += 1
        nodes = sorted({link for link in links if link.startswith("/dev/nvidia")} | set(re.findall(r"/dev/nvidia\S*", maps)))
        driver = sorted(set(re.findall(r"\S*libcuda\.so\S*", maps)))
        section.note("Warm process %d (`%s`): %d mapped files, %s, %s." % (
            pid, command[:60].strip(), len(set(re.findall(r" (/\S+)$", maps, re.M))),
            "libcuda is loaded" if driver else "no libcuda", "nodes %s" % nodes if nodes else "no node of a GPU"))
        if nodes:
            touched.append("%d has %s" % (pid, ", ".join(nodes)))
    apps = here.commands.run("nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader", limit=10).stdout
    mine = [line for line in apps.splitlines() if line.split(",")[0].strip() in [str(pid) for pid, _ in kept]]
    if not looked:
        section.skip("warm interpreters have made no context", "there is none to look at (what ran below the engine: %s)" %
                     engine.processes())
        return
    section.test("warm interpreters have made no context", not touched and not mine, "; ".join(touched + mine), apps=apps,
                 processes=engine.processes())


def ready(section, warm, cold):
    """The runs in the mode test side by side: from the start of the program to its end."""
    rows = []
    for title, job in warm.items():
        pair = [(judged, next((run for run in judged.get("runs") or [] if run["mode"] == "test"), None))
                for judged in (cold.get(title) or {}, job)]
        if not all(run for _, run in pair):
            continue
        rows.append((title, *("%.2f s" % ((run.get("wall_ns") or 0) / 1e9) for _, run in pair),
                     *("%.1f ms" % (((judged.get("timing") or {}).get("parts") or {}).get("start_ns", 0) / 1e6) for judged, _ in pair),
                     *("%d MiB" % ((run.get("memory_peak") or 0) >> 20) for _, run in pair)))
    if rows:
        section.table(("solution", "test run, cold", "warm", "sandboxes made in, cold", "warm", "memory, cold", "warm"),
                      rows, "The run in the mode test, cold and warm")
