# SPDX-License-Identifier: MIT
"""The device inside the sandbox: the same two programs bare, in an engine of root, and in one of an ordinary user."""
import os
import re

from engine import Engine, Trouble, message_of

ALLOWED = re.compile(r"/dev/(null|zero|full|random|urandom|tty|ptmx|pts/ptmx|console|shm|std(in|out|err)|fd)$")
SHARED = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/kfd")


def lines(text):
    """key: value of a program that ran without Kettle."""
    return dict(line.split(": ", 1) for line in text.splitlines() if re.match(r"[\w.-]+: ", line))


def bare_cuda(here, folder):
    """Compiles and runs the program without Kettle: what the machine itself can do. Returns its lines and the command."""
    program = os.path.join(here.scratch, "looks")
    flags = [flag for flag in ("-O1", "-std=c++17")]
    done = here.commands.run(here.nvcc, *flags, "-o", program, os.path.join(folder, "eval.cu"), os.path.join(folder, "submission.cu"),
                             limit=60)
    if done.ok():
        done = here.commands.run(program, limit=40, cwd=here.scratch)
    return lines(done.stdout), done


def bare_python(here, folder):
    done = here.commands.run(here.python, "-B", os.path.join(folder, "eval.py"), "test", "cases.txt", limit=90, cwd=folder)
    return lines(done.stdout), done


def judged(engine, name, folder, file, section, title, mode="test"):
    """Runs one of the two programs as a submission; the lines of its result channel."""
    engine.board(name, folder)
    job = engine.judge(name, file, mode, limit=120)
    run = next(iter(job.get("runs") or []), {})
    ok = job["state"] == "passed"
    section.test(title, ok, "" if ok else "%s: %s" % (job["state"], message_of(job)),
                 **({} if ok else engine.explain(job, name, mode)))
    return {**(run.get("result") or {}), "whole-run": "%.0f ms" % ((run.get("wall_ns") or 0) / 1e6),
            "memory-peak": "%d MiB" % ((run.get("memory_peak") or 0) >> 20)}


def sees_only_its_own(here, section, found, who):
    """No node, process, variable or folder that is not the run's own."""
    nodes = found.get("nodes", "").split()
    mine = {"/dev/nvidia%s" % gpu["index"] for gpu in here.gpus[:1]}
    cards = [node for node in nodes if re.match(r"/dev/(nvidia\d+|dri/renderD\d+)$", node)]
    other = [node for node in nodes if not ALLOWED.match(node) and node not in SHARED and node not in cards]
    section.test("%s: it sees no other GPU" % who, len(cards) <= 1 and (len(here.gpus) != 1 or set(cards) <= mine or here.vendor != "nvidia"),
                 " ".join(cards), nodes=found.get("nodes"))
    section.test("%s: it sees no other node" % who, not other, " ".join(other), nodes=found.get("nodes"))
    section.test("%s: it sees no process of the machine" % who, int(found.get("processes", "0").split(" ")[0] or 0) <= 8,
                 found.get("processes", ""))
    section.test("%s: it has no variable of the engine's" % who, found.get("mark") == "not seen", found.get("mark", ""),
                 environment=found.get("environment"))
    section.test("%s: root's home is closed" % who, found.get("home-of-root") != "readable", found.get("home-of-root", ""))


LEFT_OUT = re.compile(r"environment|mountinfo|test[.-]|check|processes|cgroup$|.*-params$|home-of-root|mark|nodes$")


def compare(section, title, columns):
    """A table of the keys that say the same or another thing by where the program ran."""
    columns = [(name, found) for name, found in columns if found]
    keys = list(dict.fromkeys(key for _, found in columns for key in found if not LEFT_OUT.match(key)))
    section.table(("", *(name for name, _ in columns)), [(key, *(found.get(key, "–") for _, found in columns)) for key in keys], title)


def differing(section, bare, found, who):
    """System calls and mappings that the sandbox does not give: a note, and what to look at first where CUDA fails."""
    for key in ("calls", "maps"):
        outside = dict(pair.split("=", 1) for pair in bare.get(key, "").strip("; ").split("; ") if "=" in pair)
        inside = dict(pair.split("=", 1) for pair in found.get(key, "").strip("; ").split("; ") if "=" in pair)
        other = ["%s: %s, not %s" % (name, said, outside.get(name)) for name, said in inside.items() if outside.get(name) != said]
        if other:
            section.note("%s, %s: %s." % (who, "system calls that differ" if key == "calls" else "mappings that differ",
                                          "; ".join(other)))


def look(here, section, share):
    boards = os.path.join(here.root_of_tests, "boards")
    cuda, py = os.path.join(boards, "looks_cuda"), os.path.join(boards, "looks_py")
    told = {"cuda": [], "py": []}  # [(where, what it said)]
    torch = here.modules.get("torch", {})
    if here.nvcc:
        bare, done = bare_cuda(here, cuda)
        section.test("CUDA works outside of any sandbox", bare.get("check") == "pass", "" if done.ok() else done.why(),
                     command=done.evidence(), said=bare)
        told["cuda"].append(("bare", bare))
    else:
        section.skip("a CUDA program", "there is no nvcc")
    if not torch.get("available"):
        section.skip("a torch program", "torch sees no GPU outside of any sandbox" if torch else "there is no torch")
    for user, who in ((None, "root" if os.getuid() == 0 else "user"), (here.user, "ordinary user")):
        if who == "ordinary user" and here.user is None:
            section.skip("an engine of an ordinary user", here.user_why)
            continue
        try:
            with Engine(here, "inside-" + who.replace(" ", "-"), user=user, languages=here.languages(warm=False)) as engine:
                if here.nvcc:
                    one(section, engine, who, "CUDA", cuda, os.path.join(cuda, "submission.cu"), told["cuda"])
                if torch.get("available"):  # one user's run looks at all of it
                    few = engine.write("submission.py", 'MODULES = ("torch", "triton")\n')
                    one(section, engine, who, "torch", py, few if user else os.path.join(py, "submission.py"), told["py"])
        except Trouble as trouble:
            section.test("an engine of %s" % who, False, trouble, **trouble.evidence, kernel=here.kernel())
    if torch.get("available"):
        found, done = bare_python(here, py)
        section.test("torch, Triton, JAX and CuPy work outside of any sandbox", done.ok(), "" if done.ok() else done.why(),
                     command=done.evidence())
        told["py"].insert(0, ("bare", found))
    if told["cuda"]:
        compare(section, "A CUDA program, bare and inside", told["cuda"])
    if told["py"]:
        compare(section, "A Python program, bare and inside (cold)", told["py"])


def one(section, engine, who, kind, folder, file, told):
    """One of the two programs in one engine, and whether it sees what it should not."""
    title = "%s: a %s program in the sandbox, level %s" % (who, kind, engine.level)
    try:
        found = judged(engine, "looks-" + kind.lower(), folder, file, section, title)
    except Trouble as trouble:
        section.test(title, False, trouble, **{**engine.explain(), **trouble.evidence})
        return
    section.facts["%s, %s" % (kind, who)] = found
    if kind == "CUDA" and found.get("nodes"):
        sees_only_its_own(engine.here, section, found, who)
        differing(section, dict(told).get("bare", {}), found, who)
    if "jax.devices" in found:
        section.test("%s: JAX sees the GPU" % who, "cuda" in found["jax.devices"].lower(), found["jax.devices"])
    if kind == "torch" and "mark" in found:
        section.test("%s: torch's run has no variable of the engine's" % who, found["mark"] == "not seen", found["mark"])
    told.append((who, found))
