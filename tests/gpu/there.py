# SPDX-License-Identifier: MIT
"""The machine: what is there, and what the other sections need to know of it."""
import glob
import json
import os
import pwd
import re
import shutil
import stat
import sys
import tempfile

from commands import ends

# Models that Kettle knows by name: a device of such a name has plans before any unit is described, for the page to keep.
MODELS = r"\b(GB300|GB200|B300|B200|B100|GH200|H800|H200|H100|H20|A6000|A800|A100|A40|A30|A10|L40|L4|T4|V100)\b"
QUERY = "index,name,uuid,driver_version,memory.total,memory.used,compute_cap,persistence_mode,compute_mode,mig.mode.current," \
        "clocks.sm,clocks.max.sm,temperature.gpu,power.draw,ecc.mode.current"
MODULES = ("torch", "triton", "jax", "cupy", "numpy", "ninja")
PYTHONS = ("/opt/*/bin/python3", "/opt/*/.venv/bin/python3", "/opt/*/venv/bin/python3", "/opt/conda/bin/python3",
           "/usr/local/bin/python3", "/usr/bin/python3", "/venv/bin/python3", "/workspace/venv/bin/python3")
NVCC = ("/usr/local/cuda/bin/nvcc", "/opt/cuda/bin/nvcc")
NCU = ("/usr/local/cuda/bin/ncu", "/opt/nvidia/nsight-compute/*/ncu", "/usr/local/cuda*/bin/ncu", "/opt/cuda/bin/ncu")
# What an interpreter says of itself and of each module: one module a process, since each may crash or hang.
ASK = """
import importlib, json, sys, time
began = time.perf_counter()
module = importlib.import_module(sys.argv[1])
said = {"version": getattr(module, "__version__", "?"), "import_s": round(time.perf_counter() - began, 3)}
print(json.dumps(said), flush=True)
began = time.perf_counter()
if sys.argv[1] == "torch":
    said.update(cuda=module.version.cuda, hip=getattr(module.version, "hip", None), available=module.cuda.is_available())
    if said["available"]:
        said.update(devices=module.cuda.device_count(), name=module.cuda.get_device_name(0), archs=module.cuda.get_arch_list())
        module.ones(8, device="cuda").sum().item()
elif sys.argv[1] == "jax":
    said.update(devices=[str(device) for device in module.devices()])
    module.numpy.ones(8).sum().block_until_ready()
elif sys.argv[1] == "cupy":
    said.update(devices=module.cuda.runtime.getDeviceCount(), runtime=module.cuda.runtime.runtimeGetVersion())
    module.ones(8).sum().item()
said["first_s"] = round(time.perf_counter() - began, 3)
print(json.dumps(said), flush=True)
"""


class Here:
    """The machine and the programs, for all sections."""

    def __init__(self, args, root, kettle, tasks, budget, commands):
        self.args, self.root, self.tasks, self.budget, self.commands = args, root, tasks, budget, commands
        self.kettle, self.exec = kettle, os.path.join(os.path.dirname(kettle), "kettle-exec")
        self.scratch = tempfile.mkdtemp(prefix="kettle-gpu-run-")
        os.chmod(self.scratch, 0o755)
        self.device, self.settings = "GPU", {}
        self.level, self.user_level = args.sandbox or "reduced", args.sandbox or "reduced"
        self.user, self.user_kettle, self.user_why = None, None, ""
        self.doctors, self.gpus, self.vendor, self.modules = {}, [], None, {}
        self.python = self.nvcc = self.ncu = None
        self.runs = args.runs

    def remove(self):
        shutil.rmtree(self.scratch, ignore_errors=True)

    # ---- What engines are configured with ----

    def unit(self):
        """What the device's section says of the GPU; include folders for what is compiled."""
        section = {"gpu": self.gpus[0]["index"]} if self.gpus else {}
        return {**section, **({"include_dirs": self.args.include} if self.args.include else {})}

    def languages(self, **py):
        languages = {"cpp": {}}
        if self.python:
            languages["py"] = {"python": self.python, **py}
        if self.vendor == "nvidia" and self.nvcc:
            languages["cu"] = {"nvcc": self.nvcc}
        if self.vendor == "amd":
            languages["hip"] = {}
        return languages

    def kettle_of(self, user):
        return self.kettle if user is None else self.user_kettle

    # ---- What explains failures ----

    def sandbox_of(self, user):
        """kettle-exec --doctor in a line; the whole is in the first section's facts."""
        report = self.doctors.get(user) or {}
        return "level %s; missing: %s; %s" % (report.get("level"), ", ".join(
            one["name"] for one in report.get("protections") or [] if not one["present"]) or "nothing",
            (report.get("cgroups") or {}).get("reason") or "cgroups present")

    def smi(self):
        """What nvidia-smi says now."""
        if self.vendor != "nvidia":
            return ""
        done = self.commands.run("nvidia-smi", limit=10)
        return ends(done.stdout + done.stderr, 5000)

    def kernel(self):
        """The kernel's last lines, where they may be read: those of the GPU's driver, and the last of all."""
        done = self.commands.run("dmesg", limit=5)
        lines = done.stdout.splitlines()
        if not lines:
            return "dmesg: " + (done.stderr.strip() or "it said nothing")
        driver = [line for line in lines if re.search(r"NVRM|nvidia|Xid|amdgpu|kfd|oom|segfault|traps:", line)]
        return "\n".join(["of the driver and of faults:", *driver[-15:], "last:", *lines[-10:]])


# ---- Finding things ----

def first(*patterns):
    return next((path for pattern in patterns for path in sorted(glob.glob(pattern), reverse=True) if os.access(path, os.X_OK)),
                None)


def find_python(here):
    """The interpreter of the boards: the first that has torch, else the first with numpy, else ours."""
    found = [here.args.python] if here.args.python else []
    found += [sys.executable, shutil.which("python3"), os.path.join(os.environ.get("VIRTUAL_ENV", "/nowhere"), "bin", "python3")]
    found += [path for pattern in PYTHONS for path in sorted(glob.glob(pattern))]
    found = [path for path in dict.fromkeys(found) if path and os.access(path, os.X_OK)]
    look = "import importlib.util as u\nprint(*(m for m in %r if u.find_spec(m)))" % (MODULES,)
    best = {path: here.commands.run(path, "-c", look, limit=20).stdout.split() for path in found[:12]}
    for wanted in ("torch", "numpy"):
        for path in found[:12]:
            if wanted in best[path]:
                return path, best
    return (found[0] if found else None), best


def find_gpus(here, section):
    """[{index, name, …}] by nvidia-smi, or what the kernel shows of AMD's."""
    keys = QUERY.split(",")
    done = here.commands.run("nvidia-smi", "--query-gpu=" + QUERY, "--format=csv,noheader,nounits", limit=20)
    if done.status not in (0, None) and not done.late:  # an older driver knows fewer words
        keys = keys[:6]
        done = here.commands.run("nvidia-smi", "--query-gpu=" + ",".join(keys), "--format=csv,noheader,nounits", limit=20)
    if done.status is not None or done.late:
        section.test("nvidia-smi answers", done.ok(), "" if done.ok() else done.why(), command=done.evidence(), kernel=here.kernel())
    gpus = [dict(zip(keys, [word.strip() for word in line.split(",")])) for line in done.stdout.splitlines()
            if done.ok() and line.count(",") >= len(keys) - 1]
    for gpu in gpus:
        gpu["index"] = int(gpu["index"])
    if gpus:
        return "nvidia", gpus
    if os.path.exists("/dev/kfd"):
        return "amd", [{"index": 0, "name": "AMD GPU"}]
    return None, []


def find_user(here):
    """An ordinary user for an engine of its own: its uid, and the kettle that it may run; of root alone."""
    if os.getuid() != 0:
        return None, None, "this is an ordinary user: the engine of it is the only one"
    try:
        user = pwd.getpwnam("nobody").pw_uid
    except KeyError:
        user = 65534
    for kettle in (here.kettle, copied(here)):
        if kettle and here.commands.run(kettle, "--version", limit=10, user=user, cwd="/").ok():
            return user, kettle, ""
    return None, None, "an ordinary user (uid %d) may not read %s" % (user, os.path.dirname(here.kettle))


def copied(here):
    """A copy of the folder that an ordinary user may read, where it is an installation."""
    if not os.path.exists(os.path.join(here.root, "bin", "kettle")):
        return None
    target = os.path.join(here.scratch, "copy")
    here.commands.run("cp", "-R", here.root, target, limit=60)
    here.commands.run("chmod", "-R", "a+rX", target, limit=30)
    return os.path.join(target, "bin", "kettle")


def doctor(here, user):
    """What kettle-exec offers to a user: its report, its level."""
    program = here.exec if user is None else os.path.join(os.path.dirname(here.user_kettle), "kettle-exec")
    folder = os.path.join(here.scratch, "doctor%s" % (user or ""))
    os.makedirs(folder, exist_ok=True)
    if user is not None:
        os.chown(folder, user, user)
    env = {**os.environ, "HOME": folder, "XDG_RUNTIME_DIR": folder}
    done = here.commands.run(program, "--doctor", "--json", "--state", os.path.join(folder, "state"), limit=60, env=env, user=user)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        return {"error": done.why(), **done.evidence()}
    return report


# ---- The section ----

def version(here, *command):
    done = here.commands.run(*command, limit=20)
    text = (done.stdout or done.stderr).strip()
    said = re.search(r"(release|version|Version)[ :]*v?(\d[\w.]*)", text) or re.search(r"\b(\d+)\.(\d[\w.]*)", text)
    return said.group(0) if said and done.ok() else (done.why() if not done.ok() else text.splitlines()[-1:] or [""])[0:300]


def known_modules(here):
    """What an interpreter has, without asking each module: torch is taken to see a GPU where it is made for CUDA."""
    look = """
import importlib.metadata as m, importlib.util as u, json, os
found = {}
for name in %r:
    spec = u.find_spec(name)
    if spec:
        version = next((one.version for one in m.distributions() if (one.metadata["Name"] or "").lower().split("-cuda")[0] == name), "?")
        folder = os.path.join(os.path.dirname(spec.origin or ""), "lib")
        found[name] = {"version": version, "cuda": os.path.exists(os.path.join(folder, "libtorch_cuda.so"))}
print(json.dumps(found))
""" % (MODULES,)
    done = here.commands.run(here.python, "-c", look, limit=20)
    try:
        here.modules = {name: {"version": said["version"], "works": True, "available": bool(said["cuda"] and here.gpus)}
                        for name, said in json.loads(done.stdout).items()}
    except ValueError:
        here.commands.note("%s: %s\n" % (here.python, done.why()))


def modules(here, section):
    """What the interpreter's modules say, each in a process of its own."""
    rows = []
    for module in MODULES:
        if module not in here.found.get(here.python, ()):
            rows.append((module, "none", "", "", ""))
            continue
        done = here.commands.run(here.python, "-c", ASK, module, limit=60)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        said = lines[-1] if lines else {}
        here.modules[module] = {**said, "works": done.ok()}
        if module == "torch" and done.ok() and not said.get("available"):
            section.note("torch %s sees no GPU outside of any sandbox." % said.get("version"))
        if not done.ok():
            section.test("%s works outside of any sandbox" % module, False, done.why(), command=done.evidence())
        more = {key: value for key, value in said.items() if key not in ("version", "import_s", "first_s")}
        rows.append((module, said.get("version"), said.get("import_s"), said.get("first_s"),
                     ", ".join("%s %s" % pair for pair in more.items()) if done.ok() else done.why()))
    section.table(("module", "version", "import, s", "first use, s", "says"), rows, "`%s`" % here.python)


def nodes():
    """The machine's device nodes of GPUs."""
    rows = []
    for path in sorted(glob.glob("/dev/nvidia*") + glob.glob("/dev/nvidia-caps/*") + glob.glob("/dev/dri/*") + glob.glob("/dev/kfd")
                       + glob.glob("/dev/dxg")):
        try:
            found = os.stat(path)
            if stat.S_ISCHR(found.st_mode):
                rows.append("%s %s %d:%d" % (path, stat.filemode(found.st_mode), os.major(found.st_rdev), os.minor(found.st_rdev)))
        except OSError as error:
            rows.append(str(error))
    return rows


def first_line(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(2000).strip()
    except OSError as error:
        return str(error)


def system_rows(here):
    uname, shm = os.uname(), os.statvfs("/dev/shm") if os.path.exists("/dev/shm") else None
    scratch = os.statvfs(here.scratch)
    yield "kernel", "%s %s" % (uname.release, uname.version)
    yield "processor", "%d cores, %s" % (os.cpu_count() or 0, (re.search(r"model name\s*: (.*)", first_line("/proc/cpuinfo"))
                                                               or [0, "?"])[1])
    yield "memory", " ".join(first_line("/proc/meminfo").split("\n")[0].split()[1:])
    yield "system", (re.search(r'PRETTY_NAME="?([^"\n]*)', first_line("/etc/os-release")) or [0, "?"])[1]
    yield "user", "uid %d, %s" % (os.getuid(), "no_new_privs and capabilities: " + ", ".join(
        line for line in first_line("/proc/self/status").splitlines() if line.startswith(("CapEff", "CapBnd", "NoNewPrivs", "Seccomp:"))))
    yield "container", ", ".join(name for name in ("/.dockerenv", "/run/.containerenv", "/.singularity.d", "/proc/sentry-meminfo")
                                 if os.path.exists(name)) or "no sign of one"
    yield "/dev/shm", "%d MiB free" % (shm.f_bavail * shm.f_frsize >> 20) if shm else "none"
    yield "scratch", "%s, %d MiB free" % (here.scratch, scratch.f_bavail * scratch.f_frsize >> 20)
    yield "nodes", "; ".join(nodes()) or "none"
    yield "/proc/driver/nvidia/version", first_line("/proc/driver/nvidia/version").split("\n")[0]
    yield "profiling", " ".join(line for line in first_line("/proc/driver/nvidia/params").splitlines()
                                if "Profiling" in line) or "no /proc/driver/nvidia/params"
    yield "user namespaces", "max_user_namespaces %s, apparmor_restrict %s" % (
        first_line("/proc/sys/user/max_user_namespaces"), first_line("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"))
    yield "cgroup", "; ".join(first_line("/proc/self/cgroup").splitlines())
    yield "environment", ", ".join(sorted(key for key in os.environ if re.match(r"CUDA|NVIDIA|NCCL|TORCH|TRITON|XLA|JAX|LD_|PYTHON",
                                                                              key))) or "none of CUDA, NVIDIA, LD_, PYTHON, …"


def tool_rows(here):
    yield "kettle", version(here, here.kettle, "--version")
    yield "python", "%s: %s; others: %s" % (here.python, version(here, here.python, "--version"),
                                           ", ".join("%s (%s)" % (path, " ".join(has)) for path, has in here.found.items()
                                                     if path != here.python)) if here.python else "none"
    yield "nvcc", "%s: %s" % (here.nvcc, version(here, here.nvcc, "--version")) if here.nvcc else "none"
    yield "g++", version(here, "g++", "--version") if shutil.which("g++") else "none"
    yield "ncu", "%s: %s" % (here.ncu, version(here, here.ncu, "--version")) if here.ncu else "none"
    for name in ("compute-sanitizer", "nsys", "strace", "gdb"):
        found = shutil.which(name) or first("/usr/local/cuda/bin/" + name)
        yield name, found or "none"
    if here.nvcc:
        toolkit = os.path.dirname(os.path.dirname(os.path.realpath(here.nvcc)))
        parts = ("include/cublas_v2.h", "lib64/libcublas.so", "lib64/libnvrtc.so", "include/nvtx3/nvToolsExt.h", "include/cccl",
                 "include/thrust", "lib64/libcudart_static.a", "lib64/stubs/libcuda.so")
        yield "toolkit", "%s has %s; missing: %s" % (
            toolkit, ", ".join(part for part in parts if os.path.exists(os.path.join(toolkit, part))) or "nothing",
            ", ".join(part for part in parts if not os.path.exists(os.path.join(toolkit, part))) or "nothing")


def sandbox_rows(here, section, users):
    """The level that each user reaches; what lacks."""
    for user in users:
        name = "uid %d" % (os.getuid() if user is None else user)
        report = doctor(here, user)
        here.doctors[user] = report
        if not section.test("kettle-exec --doctor as %s" % name, "level" in report, report.get("error", ""), report=report):
            continue
        level = here.args.sandbox or (report["level"] if report["level"] in ("full", "reduced") else "off")
        if user is None:
            here.level = level
        else:
            here.user_level = level
        lacks = [one["name"] for one in report["protections"] if not one["present"]]
        how = {one["how"] for one in report["protections"] if not one["present"] and one["how"]}
        yield name, report["level"], level, ", ".join(lacks) or "nothing", " ".join(sorted(how)), \
            (report.get("cgroups") or {}).get("reason") or "present"


def look(here, section, whole):
    """Finds out, and says in a few words, what there is; not whole: only what other sections need to know."""
    here.vendor, here.gpus = find_gpus(here, section)
    model = re.search(MODELS, here.gpus[0]["name"]) if here.gpus else None
    here.device = model[1] if model else "GPU"
    here.python, here.found = find_python(here)
    here.nvcc = shutil.which("nvcc") or first(*NVCC)
    here.ncu = shutil.which("ncu") or first(*NCU)
    if here.gpus:
        keys = [key for key in here.gpus[0]]
        section.table(keys, [[gpu.get(key) for key in keys] for gpu in here.gpus], "GPUs")
    if whole or "inside" in here.args.sections:
        here.user, here.user_kettle, here.user_why = find_user(here)
        if here.user is None:
            section.skip("another user's engine", here.user_why)
    users = [None] + ([here.user] if here.user is not None else [])
    section.table(("user", "sandbox level", "level used", "missing", "how to enable it", "cgroups"),
                  list(sandbox_rows(here, section, users)), "The sandbox")
    if whole:
        look_further(here, section)
    elif here.python:
        known_modules(here)
    title = [gpu["name"] for gpu in here.gpus[:1]] + (["driver %s" % here.gpus[0].get("driver_version")] if here.gpus else ["no GPU"])
    return ", ".join(title + ["%s %s" % (name, here.modules[name].get("version")) for name in ("torch", "triton", "jax", "cupy")
                              if here.modules.get(name, {}).get("version")] + ["sandbox %s" % here.level])


def look_further(here, section):
    """What explains much and takes some seconds."""
    section.table(("", ""), [*system_rows(here), *tool_rows(here)])
    helper = here.commands.run(os.path.join(os.path.dirname(here.kettle), "kettle-gpu"), limit=30)
    try:
        seen = json.loads(helper.stdout)
        same = len(seen["gpus"]) == len(here.gpus)
        section.test("kettle-gpu sees the GPUs that nvidia-smi sees", same, "%d and %d" % (len(seen["gpus"]), len(here.gpus)),
                     command=helper.evidence())
        section.facts["kettle-gpu"] = seen
    except (ValueError, LookupError):
        section.test("kettle-gpu answers", False, helper.why(), command=helper.evidence())
    if here.python:
        modules(here, section)
    section.facts.update(gpus=here.gpus, doctors={str(user): report for user, report in here.doctors.items()},
                         smi=here.smi(), kernel=here.kernel(), modules=here.modules)
    if here.vendor == "nvidia":
        section.facts["smi -q"] = ends(here.commands.run("nvidia-smi", "-q", limit=20).stdout, 20000)
