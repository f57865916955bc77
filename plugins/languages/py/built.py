# SPDX-License-Identifier: MIT
"""Counts what compilers for GPUs have built in a run, and what they found ready. run.py loads it as it starts; the harness asks for
`text` at the end. What it says may be forged by the submission, in whose process it is: it is shown, and decides nothing."""
import os
import time

CACHE = os.path.join(os.getcwd(), "out", "cache")
SINCE = time.time_ns()
WORDS = {"missing", "version", "device", "import", "task", "value", "failed", "compiler", "configs", "cases"}  # of precompile.py
OWN = "__grp__kettle_recipe.json"  # of recipes.py
LIBRARIES = {"jax": ("-cache",), "cupy": (".cubin", ".hsaco")}  # that no step compiles for, and how names of their results end
MOST = 10000  # results that are looked at


def listed(folder):
    try:
        return sorted(os.listdir(folder))[:MOST]
    except OSError:
        return []


def results():
    """(kind, path) of each result: kernels of Triton, also those of torch.compile; its graphs; extensions; programs of JAX; kernels of
    CuPy."""
    for name in listed(os.path.join(CACHE, "triton")):
        folder = os.path.join(CACHE, "triton", name)
        for file in listed(folder):
            if file.startswith("__grp__") and file != OWN:
                yield "triton", os.path.join(folder, file)
    graphs = os.path.join(CACHE, "torchinductor", "fxgraph")
    for some in listed(graphs):
        for name in listed(os.path.join(graphs, some)):
            for file in listed(os.path.join(graphs, some, name))[:1]:
                yield "graph", os.path.join(graphs, some, name, file)
    for name in listed(os.path.join(CACHE, "torch_extensions")):
        folder = os.path.join(CACHE, "torch_extensions", name)
        for file in listed(folder):
            if file.endswith(".so"):
                yield "extension", os.path.join(folder, file)
    for kind, endings in LIBRARIES.items():
        for file in listed(os.path.join(CACHE, kind)):
            if file.endswith(endings):
                yield kind, os.path.join(CACHE, kind, file)


def reasons(kind):
    """Why something of a kind was left for the device: what the steps before say, else that it was something else, or that there
    was no such step."""
    try:
        with open(os.path.join(CACHE, "kettle", "left"), encoding="ascii", errors="replace") as file:
            lines = [line.split() for line in file.read(1 << 16).splitlines()]
    except OSError:
        lines = []
    if kind in LIBRARIES:
        return {"library"}
    if kind == "extension":
        return {"other" if os.path.isdir(os.path.join(CACHE, "bin")) else "off"}
    if not lines:
        return {"off"}
    found = WORDS.intersection(words[-1] for words in lines if len(words) == 1 or words[:-1] == [kind])
    return found | ({"ended"} if ["done"] not in lines else set()) or {"other"}


def text():
    """JSON, on one line: of each kind of which there is something, how many were there, how many this run has built, and why."""
    import json
    counts = {}
    for kind, path in results():
        try:
            new = os.lstat(path).st_ctime_ns > SINCE
        except OSError:
            continue
        counts.setdefault(kind, [0, 0])[new] += 1
    return json.dumps([{"kind": kind, "ready": ready, "device": built, "reasons": sorted(reasons(kind)) if built else []}
                       for kind, (ready, built) in sorted(counts.items())], separators=(",", ":")) if counts else ""
