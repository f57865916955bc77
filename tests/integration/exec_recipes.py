# SPDX-License-Identifier: MIT
"""Recipes of warm interpreters: what runs find of them, what they leave behind, and those that fail."""
from exec_driver import *

PYTHON = pythons.boards()
CACHES = {"TORCHINDUCTOR_CACHE_DIR": "out/cache/torchinductor", "TRITON_CACHE_DIR": "out/cache/triton"}
ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1", "PYTHONUNBUFFERED": "1", "PYTHONHASHSEED": "0", **CACHES}

# A compiler that leaves one file for each kernel, and remembers where.
TRITON = {
    "triton/__init__.py": """
import inspect, os
class Kept: pass
place, kept = "", Kept()
def jit(function): return inspect.getsource(function) and function
def compile(source, target):
    global place
    folder = os.environ["TRITON_CACHE_DIR"]
    os.makedirs(os.path.join(folder, "locks"))
    place = kept.place = os.path.join(folder, "%s-%s" % (target.backend, target.arch))
    for name in (place, os.path.join(folder, "locks", "one")):
        with open(name, "w") as file: file.write("compiled")
""",
    "triton/compiler.py": "def ASTSource(*words): return words\n",
    "triton/language.py": "constexpr = int\n",
    "triton/backends/__init__.py": "",
    "triton/backends/compiler.py": "class GPUTarget:\n  def __init__(self, *words): self.backend, self.arch, self.width = words\n",
}


def packages(folder, files):
    place = os.path.join(folder, "packages")
    for name, source in files.items():
        os.makedirs(os.path.dirname(os.path.join(place, name)), exist_ok=True)
        with open(os.path.join(place, name), "w") as file:
            file.write(source)
    return place


def script(source, recipes, place=None, jit=True, preload=(), **more):
    env = {**ENVIRONMENT, **({"PYTHONPATH": place} if place else {})}
    step = {"id": "s", "kind": "run", "argv": [PYTHON, "main.py"], "env": env, "inputs": {"main.py": text(source)},
            "warm": {"tool": PYTHON, "preload": list(preload), "recipes": list(recipes)}}
    return {**step, **({"jit": {"folder": "cache"}} if jit else {}), **more}


def run(server, *args, **more):
    return server.one(script(*args, **more))


def warnings(server):
    return [event["error"] for event in server.events if event["event"] == "error" and "the rights of kettle-exec" not in event["error"]]


def compiled(folder):
    """Runs find what a recipe compiled at the place that the interpreter remembers, and cannot change it for others"""
    place = packages(folder, TRITON)
    look = ("import os, sys\nprint('triton' in sys.modules)\nimport triton\nprint(triton.place, triton.kept.place)\n"
            "print(open(triton.place).read())\nprint(sorted(os.listdir('out/cache/triton')))\n"
            "open(triton.place, 'w').write('changed')\nopen('out/cache/triton/own', 'w').write('own')\nprint(open(triton.place).read())\n")
    with Exec(folder, config={"extra_paths": [place]}) as server:
        for _ in range(2):
            outcome = run(server, look, ["triton=hip:gfx942:64"], place)
            equal((outcome["state"], outcome.get("warm"), outcome["stderr"]["text"]), ("passed", True, ""))
            shown = "/job/out/cache/triton/hip-gfx942"
            equal(outcome["stdout"]["text"].splitlines(),
                  ["True", f"{shown} {shown}", "compiled", "['hip-gfx942']", "changed"])
            # What is ours is not the submission's to keep.
            equal((outcome["jit"]["files"], outcome["jit"]["folders"]), (1, {"triton": 1}))
        equal(warnings(server), [])


def without(folder):
    """Where a run has no cache of compilers, its interpreter has compiled nothing"""
    place = packages(folder, TRITON)
    with Exec(folder, config={"extra_paths": [place]}) as server:
        outcome = run(server, "import os, sys\nprint('triton' in sys.modules, os.path.exists('out/cache'))\n", ["triton"], place, jit=False)
        equal((outcome["stdout"]["text"], outcome.get("warm")), ("False False\n", True))
        equal(warnings(server), [])


def absent(folder):
    """What is not installed needs no recipe, and nothing is said"""
    with Exec(folder) as server:
        outcome = run(server, "print('x')\n", ["helion", "cute"])
        equal((outcome["stdout"]["text"], outcome.get("warm")), ("x\n", True))
        equal(warnings(server), [])


def failing(folder):
    """A recipe that fails, prints, leaves threads or is unknown is said once, and runs begin with an interpreter without it"""
    wanted = {"raise ValueError('not today')\n": "ValueError: not today", "print('hello')\n": "an import prints text",
              "import missing_part\nimport os\n": "", "import helion.missing_part\n": "No module named 'helion.missing_part'",
              "import threading, time\nthreading.Thread(target=time.sleep, args=(99,), daemon=True).start()\n": "leaves 1 thread behind",
              "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n": "it printed nothing"}
    for number, (source, sentence) in enumerate(wanted.items()):
        place = packages(os.path.join(folder, str(number)), {"helion/__init__.py": source})
        with Exec(folder, config={"extra_paths": [place]}) as server:
            for _ in range(2):
                outcome = run(server, "import sys\nprint('helion' in sys.modules)\n", ["helion"], place)
                equal((outcome["stdout"]["text"], outcome["state"], outcome.get("warm")), ("False\n", "passed", True))
            equal(len(warnings(server)), 1 if sentence else 0)
            if sentence:
                contains(warnings(server)[0], sentence)
                contains(warnings(server)[0], "The recipe `helion` of warm processes failed, so steps start without it")
    with Exec(folder) as server:
        outcome = run(server, "print('x')\n", ["kettles.own", "helion"])
        equal((outcome["stdout"]["text"], outcome.get("warm")), ("x\n", True))
        server.send(op="hello")
        [one] = [one for one in server.until(event="hello")["warm"] if one["state"] == "ready"]
        equal((one["recipes"], one["absent"]), ([], ["helion"]))
        contains(warnings(server)[0], "kettles.own")


def others(folder):
    """A recipe that fails or takes too long is named and stopped with all that it started, and interpreters keep the others"""
    look = "import sys\nprint([name for name in ('cupy', 'helion', 'triton') if name in sys.modules])\n"
    marker = "kettle-hangs-%d-%s" % (os.getpid(), os.path.basename(folder))
    wanted = {"import os, subprocess\nsubprocess.run(['sh', '-c', 'while :; do sleep 1; done', '%s'])\n" % marker: "it took longer than 5 s",
              "print('hello')\n": "an import prints text", "raise ValueError('not today')\n": "ValueError: not today"}
    for number, (source, sentence) in enumerate(wanted.items()):
        place = packages(os.path.join(folder, str(number)), {**TRITON, "helion/__init__.py": source, "cupy/__init__.py": ""})
        with Exec(folder, config={"extra_paths": [place], "warm": {"recipe_seconds": 5}}) as server:
            # Of another board, too.
            for preload in ([], [], ["json"]):
                outcome = run(server, look, ["triton", "helion", "cupy"], place, preload=preload)
                equal((outcome["stdout"]["text"], outcome["state"], outcome.get("warm"), warnings(server)[1:]), ("['cupy', 'triton']\n", "passed", True, []))
            equal(len(warnings(server)), 1)
            contains(warnings(server)[0], "The recipe `helion` of warm processes failed, so steps start without it: ")
            contains(warnings(server)[0], sentence)
            poll(lambda: not processes_with(marker), "the end of what the recipe started")


def elsewhere(folder):
    """A package that hands another folder over than the one for what it compiled is refused, and nothing is taken or removed there"""
    if os.getuid() != 0:
        raise Skip("only root may read what its imports may not")
    secret = os.path.join(folder, "secret")
    os.mkdir(secret, 0o755)
    with open(os.path.join(secret, "kept"), "w") as file:
        file.write("secret")
    os.chmod(file.name, 0o600)
    # The extension has opened the cache already; in its place comes a folder of root's.
    place = packages(folder, {"helion/__init__.py": "import os\nown = os.environ['TRITON_CACHE_DIR'].rpartition('/')[0]\n"
                              "for name in os.listdir('/proc/self/fd'):\n"
                              "    if os.path.realpath('/proc/self/fd/' + name) == own: os.dup2(os.open(%r, os.O_RDONLY), int(name))\n" % secret})
    with Exec(folder, config={"extra_paths": [place]}) as server:
        outcome = run(server, "import os\nprint(os.path.exists('out/cache/kept'))\n", ["helion"], place)
        equal((outcome["stdout"]["text"], outcome.get("warm")), ("False\n", True))
        contains(warnings(server)[0], "their folder belongs to another user")
    equal(open(file.name).read(), "secret")


def keys(folder):
    """An interpreter with other recipes is another one"""
    place = packages(folder, TRITON)
    with Exec(folder, config={"extra_paths": [place]}) as server:
        found = [run(server, "import sys\nprint('triton' in sys.modules and sys.modules['triton'].place)\n", recipes, place)["stdout"]["text"]
                 for recipes in ([], ["triton"], ["triton=cuda:90:32"], [])]
        equal(found, ["False\n", "/job/out/cache/triton/cuda-80\n", "/job/out/cache/triton/cuda-90\n", "False\n"])


def ended(folder):
    """What recipes compiled stays for a run that began with it, also when its interpreter has ended"""
    place = packages(folder, TRITON)
    wait = ("import triton, sys, time\nend = time.monotonic() + 60\nwhile time.monotonic() < end and open(triton.place).read() == 'compiled':\n"
            "  time.sleep(0.01)\n")
    with Exec(folder, config={"extra_paths": [place], "warm": {"processes": 1}}) as server:
        server.run("long", [script(wait, ["triton"], place)])
        server.until(event="step", job="long")
        # There is room for one interpreter.
        server.run("short", [script("print('x')\n", ["triton=cuda:90:32"], place)], unit={"name": "other"})
        [outcome] = server.done("short")["outcomes"]
        equal((outcome["state"], outcome.get("warm")), ("passed", True))
        server.send(op="cancel", job="long")
        [outcome] = server.done("long")["outcomes"]
        equal((outcome["state"], outcome["stderr"]["text"]), ("cancelled", ""))


def again(folder):
    """A layer that is still in use does not keep an interpreter that gets the pid of the layer's from having one of its own"""
    place = packages(folder, TRITON)
    with Exec(folder, config={"extra_paths": [place]}) as server:
        [spool] = spools(server.state)
        last = subprocess.Popen(["true"])
        last.wait()
        for pid in range(last.pid, last.pid + 4096):
            os.mkdir(os.path.join(server.state, "spool", spool, "layer-%d" % pid))
        outcome = run(server, "import os\nprint(os.path.exists('out/cache/triton/cuda-80'))\n", ["triton"], place)
        equal((outcome["stdout"]["text"], outcome.get("warm"), warnings(server)), ("True\n", True, []))


def warm(server):
    server.send(op="hello")
    return [(one["recipes"], one["state"], one["runs"]) for one in server.until(event="hello")["warm"]]


def shown(folder):
    """It says what is warm, with its size and how many runs began with it"""
    place = packages(folder, TRITON)
    with Exec(folder, config={"extra_paths": [place]}) as server:
        for _ in range(2):
            run(server, "print('x')\n", ["triton"], place)
        server.send(op="hello")
        [one] = server.until(event="hello")["warm"]
        equal((one["modules"], one["recipes"], one["state"], one["runs"], one["disk"]), ([], ["triton"], "ready", 2, len("compiled")))
        assert one["memory"] > 1 << 20, one


def alone(folder):
    """A kettle-exec for one plan makes one interpreter for all runs that gain by it, with the recipes that are worth it, and else none"""
    counted = TRITON["triton/__init__.py"].replace('"compiled"', "str(os.getpid())")
    place = packages(folder, {**TRITON, "triton/__init__.py": counted, "helion/__init__.py": ""})
    look = "import sys\nprint('helion' in sys.modules, 'triton' in sys.modules and open(sys.modules['triton'].place).read())\n"
    def plan(worth):
        steps = [dict(script(look, ["triton", "helion"], place), id="r%d" % number) for number in range(3)]
        for one in steps:
            one["warm"].update(worth)
        path, config = os.path.join(folder, "plan.json"), os.path.join(folder, "exec.yml")
        for name, value in ((path, {"version": 1, "steps": steps}), (config, {"extra_paths": [place]})):
            with open(name, "w") as file:
                json.dump(value, file)
        answer = subprocess.run([PROGRAM, "--state", os.path.join(folder, "state"), "--config", config, path], stdout=subprocess.PIPE,
                                text=True, timeout=PATIENCE)
        equal(answer.returncode, 0)
        events = [json.loads(line) for line in answer.stdout.splitlines()]
        outcomes = [event["outcome"] for event in events if event["event"] == "outcome"]
        equal(len(outcomes), 3)
        return {(outcome.get("warm"), *outcome["stdout"]["text"].split()) for outcome in outcomes}
    equal(plan({}), {(None, "False", "False")})
    [(warm, helion, interpreter)] = plan({"alone": ["triton"]})
    equal((warm, helion, interpreter.isdigit()), (True, "False", True))
    equal(plan({"alone": []}), {(True, "False", "False")})
    equal(spools(os.path.join(folder, "state")), [])


def budget(folder):
    """Within the memory that all may have together, what is asked for most stays; what is larger alone is not warm"""
    place = packages(folder, {**TRITON, "helion/__init__.py": "kept = bytearray(b'x' * (64 << 20))\n",
                              "cupy/__init__.py": "kept = bytearray(b'x' * (300 << 20))\n"})
    memory = 64 << 20
    with Exec(folder, config={"extra_paths": [place], "warm": {"memory": 4 * memory}}) as server:
        for recipe in ("triton", "triton", "helion"):
            equal(run(server, "pass", [recipe], place).get("warm"), True)
        both = warm(server)
        # The file with its memory, where there is one, is as large again.
        equal(both if len(both) == 1 else sorted(both), [(["helion"], "ready", 1)] if len(both) == 1 else
              [(["helion"], "ready", 1), (["triton"], "ready", 2)])
        outcome = run(server, "import sys\nprint('cupy' in sys.modules)\n", ["cupy"], place)
        equal((outcome["stdout"]["text"], outcome.get("warm")), ("False\n", True))
        contains(warnings(server)[0], "`warm: memory`")
        assert (["cupy"], "failed", 0) in warm(server), warm(server)


def doctor(folder):
    """--doctor makes a warm interpreter of each, with all recipes of one that exec.yml names, and says what came of it"""
    failing = "raise ValueError('not today')\n"
    place = packages(folder, {**TRITON, "torch/__init__.py": failing, "helion/__init__.py": failing, "cupy/__init__.py": "",
                              "numba/__init__.py": "def njit(function): return function\n", "jax/__init__.py": "", "jax/numpy.py": "",
                              **{f"jaxlib/{name}.py": "" for name in ("__init__", "mlir/__init__", "mlir/dialects/__init__",
                                                                     "mlir/dialects/builtin", "mlir/dialects/mhlo")}})
    def ask(config, *more):
        path = os.path.join(folder, "doctor.yml")
        with open(path, "w") as file:
            json.dump({"env": {"python3": {"PYTHONPATH": place, **CACHES}}, **config}, file)
        return subprocess.run([PROGRAM, "--doctor", "--state", os.path.join(folder, "state"), "--config", path, *more],
                              stdout=subprocess.PIPE, text=True, timeout=PATIENCE).stdout
    named = {"tools": {"python3": PYTHON}}
    warm = json.loads(ask(named, "--json"))["warm"]["python3"]
    known = {}
    with open(os.path.join(SOURCE, "plugins", "languages", "py", "recipes.py")) as file:
        exec(file.read(), known)
    failed = {name for name in known["RECIPES"] if any("The recipe `%s` of" % name in error for error in warm["errors"])}
    equal((warm["state"], warm["tried"], sorted(warm["recipes"]), sorted(failed)),
          ("ready", True, ["cupy", "jax", "numba", "triton"], ["helion", "torch.compile", "torch.compiler"]))
    equal(sorted([*warm["recipes"], *warm["absent"], *failed]), sorted(known["RECIPES"]))
    assert 1 << 20 < warm["memory"] < warm["budget"], warm
    people = ask(named)
    contains(people, "warm start: yes, ")
    contains(people, "prepared for triton, jax, numba, cupy")
    contains(people, "The recipe `helion` of warm processes failed, so steps start without it: the interpreter ended: ValueError: not today")
    # One that is found in PATH is not made to wait for.
    equal({(one["state"], one["tried"]) for one in json.loads(ask({}, "--json"))["warm"].values()}, {("ready", False)})
    contains(ask({**named, "warm": {"processes": 0}}), "`warm: {processes: 0}` of exec.yml turns warm interpreters off")
    contains(ask({**named, "warm": {"memory": 1 << 20}}), "would exceed `warm: memory`")
    equal(spools(os.path.join(folder, "state")), [])


STATE = """
import gc, json, logging, os, random, signal, sys, threading, warnings
import numpy, torch
import torch._dynamo, torch._inductor.config, torch._functorch.config, torch._inductor.compile_fx
found = {}
for module in (torch._inductor.config, torch._dynamo.config, torch._functorch.config):
    found[module.__name__] = {name: sorted(value) if isinstance(value, (set, frozenset)) else repr(value)
                              for name, value in module.get_config_copy().items()}
found["threads"] = [torch.get_num_threads(), torch.get_num_interop_threads(), threading.active_count()]
found["torch"] = [torch.are_deterministic_algorithms_enabled(), torch.is_grad_enabled(), str(torch.get_default_dtype()),
                  str(torch.get_default_device()), torch.backends.cudnn.benchmark, torch.get_float32_matmul_precision(),
                  torch.is_inference_mode_enabled(), torch.backends.mkldnn.enabled, torch.is_anomaly_enabled()]
found["dynamo"] = len(torch._dynamo.utils.counters)
found["warnings"] = [repr(one) for one in warnings.filters]
found["logging"] = [logging.root.level, repr(logging.root.handlers), logging.root.manager.disable]
found["collector"] = [gc.isenabled(), gc.get_threshold(), len(gc.callbacks)]
found["import"] = [type(one).__name__ for one in sys.meta_path] + sys.path
found["signals"] = [str(signal.getsignal(number)) for number in range(1, 32)]
found["interpreter"] = [sys.getrecursionlimit(), sys.getswitchinterval(), str(sys.gettrace()), str(sys.getprofile()),
                        sys.excepthook is sys.__excepthook__, os.umask(0o22)]
# Torch makes the one absolute when it is imported, and takes the others from the working directory of that moment.
found["environment"] = sorted((name, value) for name, value in os.environ.items() if name != "TORCHINDUCTOR_CACHE_DIR")
del found["torch._dynamo.config"]["debug_dir_root"], found["torch._inductor.config"]["xpu.cutlass_dir"]
found["numpy"] = repr(numpy.geterr()), repr(numpy.get_printoptions())
print(json.dumps(found, indent=1))
"""
COMPILE = """
import gc, os, sys
ready = "torch._inductor.compile_fx" in sys.modules
folder = os.path.join(os.getcwd(), os.environ["TORCHINDUCTOR_CACHE_DIR"])
os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
headers = os.path.join(folder, "precompiled_headers")
def found(): return sorted(name for _, _, names in os.walk(headers) for name in names if not name.endswith(".lock"))
before = found() if ready else []
import torch
def scale(x): return torch.softmax(x * 2, 0) + torch.exp(x).mean()
x = torch.arange(500.0) / 500
wrong = (torch.compile(scale)(x) - scale(x)).abs().max()
print(ready, len(before) > 0, found() == before, float(wrong) < 1e-5)
"""
REMEMBERS = """
import gc, sys
needles = [%r + "/", "/dev/" + "pts/"]
def strings(value, depth=2):
    try: inside = gc.get_referents(value)
    except ReferenceError: return
    for one in inside:
        if type(one) is str or type(one) is bytes: yield one if type(one) is str else one.decode(errors="replace")
known = [(type(value).__name__, text[:200]) for value in gc.get_objects() + [vars(module) for module in list(sys.modules.values()) if hasattr(module, "__dict__")]
         for text in strings(value) if len(text) < 4000 for needle in needles if text.startswith(needle) and text != needle]
print([(kind, text) for kind, text in known if kind != "cell" and "precompiled_headers" not in text])
"""


def needs_compiler():
    if not pythons.has("torch") or not pythons.has("torch._dynamo") or not shutil.which("g++"):
        raise Skip("torch 2 is missing")


def torch_compiles(folder):
    """torch.compile finds its compiler loaded and its header compiled; the interpreter remembers no folder that has gone"""
    needs_compiler()
    with Exec(folder, config={"warm": {"recipe_seconds": 280}}) as server:
        outcome = run(server, COMPILE, ["torch.compile"], preload=["numpy", "torch"], limits={"wall": 300})
        equal((outcome["state"], outcome.get("warm"), outcome["stdout"]["text"]), ("passed", True, "True True True True\n"))
        outcome = run(server, "import gc\ngc.unfreeze()\n" + REMEMBERS % os.path.realpath(folder), ["torch.compile"], preload=["numpy", "torch"])
        # The table of headers has the place where one was made; what asks it gets the other, and knows both (compiling.translated).
        equal(outcome["stdout"]["text"], "[]\n")
        equal(warnings(server), [])


def leaves(value, path=""):
    """The members of JSON by their paths."""
    if not isinstance(value, (dict, list)):
        return {path: value}
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    return {name: leaf for key, one in inside for name, leaf in leaves(one, "%s/%s" % (path, key)).items()}


def unchanged(folder):
    """After a recipe, threads, flags, settings, environment and handlers are those of an interpreter that has compiled nothing"""
    needs_compiler()
    with Exec(folder, config={"warm": {"recipe_seconds": 280}}) as server:
        warm = run(server, STATE, ["torch.compile"], preload=["numpy", "torch"], limits={"wall": 300})
        cold = server.one({key: value for key, value in script(STATE, []).items() if key != "warm"})
        equal((warm.get("warm"), warm["state"], cold.get("warm"), cold["state"]), (True, "passed", None, "passed"))
        first, second = (leaves(json.loads(outcome["stdout"]["text"])) for outcome in (warm, cold))
        equal({name: (first.get(name), second.get(name)) for name in sorted(first.keys() | second.keys())
               if first.get(name) != second.get(name)}, {})


if __name__ == "__main__":
    # What torch does is the interpreter's own affair, which no sanitizer sees.
    with_torch = [] if sanitizer() else [torch_compiles, unchanged]
    sys.exit(main([compiled, without, absent, failing, others, elsewhere, keys, ended, again, shown, alone, budget, doctor], with_torch))
