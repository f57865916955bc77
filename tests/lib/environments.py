#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Virtual environments for the tests, made by pip: FOLDER/python with torch, Triton and JAX, FOLDER/cuda with NVIDIA's
toolkit of nvcc's version, FOLDER/discord and FOLDER/github with what the fakes of these and their proofs need, FOLDER/modal with
the client of Modal, FOLDER/web with independent clients of the frontend web, FOLDER/browser with what drives a browser.

    environments.py FOLDER [--large-torch | --only NAME...]

An environment is there as a whole, with the file complete.json, or not at all. A file is announced before it is
downloaded; one that would go over the limit is not, and what is longer or unpacks to more than it should is stopped.
Nothing is waited for longer than STALL seconds without progress. What cannot be made is said in a sentence; the exit
status is 0 then too.
"""
import ctypes
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

MB, GB = 10**6, 10**9
DOWNLOADS, UNPACKED = 1400 * MB, 4 * GB  # of all environments together
LARGE_DOWNLOADS, LARGE_UNPACKED = 6 * GB, 14 * GB  # with the torch for CUDA, which brings most of its toolkit
STALL = 30  # seconds
SAYING, WALKING = 10, 2  # seconds between two lines about one file, and between two looks at what is unpacked
UNANNOUNCED = 64 * MB  # that may come without: package lists, files whose size the index does not say
OLDEST_PYTHON = (3, 11)  # that the packages below are built for
# Python 3.11 brings pip 23, which compares each file of an index with a list of 900 tags: three times the work of a newer one.
NEWER_PIP = "pip==26.*"
TORCH = "torch==2.13.0"
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"  # where the builds for the CPU are that the public index has not
PYTHON_PACKAGES = ("triton==3.9.0", "jax==0.10.2", "numpy==2.4.*", "ninja==1.13.*")
CUDA_WITHOUT_NVCC = (13, 0)
# The largest last: what is missing of the others is known before.
CUDA_PACKAGES = ("nvidia-cuda-crt", "nvidia-cuda-cccl", "nvidia-cuda-runtime", "nvidia-cuda-nvcc", "nvidia-nvvm",
                 "nvidia-cuda-nvrtc", "nvidia-cublas")
CUDA_12_PACKAGES = ("nvidia-cuda-cccl-cu12", "nvidia-cuda-runtime-cu12", "nvidia-cuda-nvcc-cu12", "nvidia-cuda-nvrtc-cu12",
                    "nvidia-cublas-cu12")
CUTLASS = "nvidia-cutlass==4.2.*"
# The fake Discord (tests/peers/discord) is a server of aiohttp; discord.py and hikari are the clients that prove it.
DISCORD_PACKAGES = ("discord.py==2.7.*", "hikari==2.7.*", "aiohttp==3.14.*", "jsonschema==4.26.*", "cryptography>=41",
                    "PyNaCl==1.*")  # hikari checks signatures with it
# plugins/runners/modal/modal_app.py is read with it. Older ones name what tells of a function otherwise.
MODAL_PACKAGES = ("modal==1.6.*",)
# The fake GitHub (tests/peers/github) is a server of aiohttp; PyGithub and githubkit are the clients that prove it.
GITHUB_PACKAGES = ("aiohttp==3.14.*", "PyYAML==6.*", "openapi-core==0.23.*", "PyGithub==2.10.*", "githubkit==0.16.*",
                   "hishel==1.4.*")  # githubkit 0.16 does not work with 2.0, which it allows
# What holds the frontend web to OpenAPI and to Prometheus' text format, and what KernelBot's server, which proves tests/peers/popcorn, runs on.
WEB_PACKAGES = ("schemathesis==4.32.*", "openapi-spec-validator==0.9.*", "prometheus-client==0.26.*", "fastapi==0.165.*", "uvicorn==0.54.*",
                "python-multipart==0.0.*")
# What drives Debian's Chromium, which playwright does not download, and looks for what keeps people from using a page.
BROWSER_PACKAGES = ("playwright==1.65.*", "axe-playwright-python==0.1.*")
# What `--only` and PARTS name, but for the toolkit, which is of nvcc's version.
PACKAGES = {"python": PYTHON_PACKAGES, "discord": DISCORD_PACKAGES, "modal": MODAL_PACKAGES, "github": GITHUB_PACKAGES, "web": WEB_PACKAGES,
            "browser": BROWSER_PACKAGES}
# Imported once: this shows that they can be, and leaves their bytecode, which neither runs in the sandbox nor the fakes, which are
# started often, write themselves.
MODULES = {
    "python": ("torch", "torch.utils.cpp_extension", "torch._dynamo", "torch._inductor.compile_fx", "triton.language",
               "triton.runtime.interpreter", "jax.numpy", "numpy.random", "multiprocessing.pool"),
    "discord": ("aiohttp.web", "jsonschema", "cryptography.hazmat.primitives.asymmetric.ed25519", "discord.app_commands", "hikari"),
    "modal": ("modal", "modal._utils.async_utils"),
    "github": ("aiohttp.web", "yaml", "openapi_core.testing", "github", "githubkit.exception"),
    "web": ("schemathesis", "openapi_spec_validator", "prometheus_client.parser", "jsonschema", "requests", "fastapi", "uvicorn"),
    "browser": ("playwright.sync_api", "axe_playwright_python.sync_playwright"),
}

PIP = ("-m", "pip", "install", "--only-binary=:all:", "--no-compile", "--no-input", "--disable-pip-version-check",
       "--progress-bar=off", "--timeout=15", "--retries=1")
ANNOUNCED = re.compile(r"^\s*(Downloading|Using cached|Processing) (\S+)(?: \(([\d.]+) (bytes|kB|MB|GB)\))?")
UNITS = {"bytes": 1, "kB": 1000, "MB": MB, "GB": GB}
MISSING = re.compile(r"No matching distribution found for ([^\s(]+)")
UNREACHABLE = re.compile(r"ConnectionError|ConnectTimeout|ReadTimeout|Max retries|NameResolution|name resolution|SSLError|"
                         r"ProxyError|ProtocolError|IncompleteRead|Could not fetch URL|timed out|Response ended|"
                         r"Connection (refused|reset|broken|aborted)")
DAMAGED = re.compile(r"DO NOT MATCH THE HASHES|is invalid|BadZipFile|not a zip")
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


class Failed(Exception):
    """An environment that cannot be made: says why in a sentence."""


class Unreachable(Failed):
    """No package index answers, or one stopped in the middle."""


class NotOffered(Failed):
    """The package `name` is not offered in the wanted version."""

    def __init__(self, name):
        super().__init__(f"the package index offers no `{name}` for this machine")
        self.name = name


def say(text):
    print(f"   {text}", flush=True)


def size(count):
    return f"{count / GB:.1f} GB" if count >= GB else f"{count / MB:.0f} MB" if count >= MB else f"{count / 1000:.0f} kB"


def bytes_below(folder):
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(path, name)).st_size
            except OSError:
                pass  # it is gone already
    return total


class Budget:
    """What may still be downloaded and unpacked, in bytes."""

    def __init__(self, downloads, unpacked):
        self.downloads, self.unpacked, self.downloaded = downloads, unpacked, 0
        self.unreachable = None  # the reason, once it has turned out

    def announce(self, file, count):
        if count > self.downloads:
            raise Failed(f"{file} has {size(count)}, and {size(self.downloads)} are left of what may be downloaded")
        self.downloads -= count
        self.downloaded += count


class Pip:
    """One pip install, watched from outside."""

    def __init__(self, folder, arguments, budget):
        self.folder, self.budget, self.lines, self.problem = folder, budget, [], None
        self.file = None  # that is being downloaded
        self.announced = self.loaded = self.unpacked = 0  # bytes
        self.changed = self.said = self.walked = time.monotonic()
        self.scratch = tempfile.mkdtemp(dir=folder.parent, prefix="pip-")
        environment = dict(os.environ, TMPDIR=self.scratch, PYTHONUNBUFFERED="1")
        prctl = ctypes.CDLL(None).prctl
        self.process = subprocess.Popen([str(folder / "bin" / "python"), *PIP, *arguments], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, text=True,
                                        errors="replace", start_new_session=True,
                                        preexec_fn=lambda: prctl(DIE_WITH_PARENT, signal.SIGKILL))
        self.reader = threading.Thread(target=self.read, daemon=True)

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip())
            if not UNREACHABLE.search(line) and not line.startswith("WARNING"):
                self.changed = time.monotonic()
            try:
                self.heed(line)
            except Failed as problem:  # at once: the download begins with pip's next step
                self.problem = problem
                self.kill()

    def heed(self, line):
        if line.startswith("Installing collected packages"):
            self.file = None
            say("unpacking")
        found = ANNOUNCED.match(line)
        if not found or found.group(2).endswith(".metadata"):
            return
        how, file, number, unit = found.groups()
        file, count = urllib.parse.unquote(os.path.basename(file)), int(float(number or 0) * UNITS.get(unit, 0))
        known = size(count) if number else "of unknown size"
        if how == "Downloading":
            self.budget.announce(file, count)
            self.announced += count
            self.file = file
        say(f"{file}: {'of this machine' if how == 'Processing' else known}{', kept from before' * (how == 'Using cached')}")

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def measure(self):
        """What has come so far; walking through what is unpacked takes a while."""
        before = self.loaded, self.unpacked
        # pip's downloads are in folders of their own; beside them lies what goes to its cache.
        self.loaded = sum(bytes_below(entry.path) for entry in os.scandir(self.scratch) if entry.is_dir())
        if not self.file and time.monotonic() - self.walked > WALKING:
            self.unpacked, self.walked = bytes_below(self.folder), time.monotonic()
        if (self.loaded, self.unpacked) != before:
            self.changed = time.monotonic()

    def check_unpacked(self):
        if self.unpacked > self.budget.unpacked:
            raise Failed(f"it unpacks to more than the {size(self.budget.unpacked)} that are left for it")

    def check(self):
        """Whether it goes on, and within the limits."""
        self.measure()
        if self.loaded > 1.1 * self.announced + UNANNOUNCED:
            raise Failed(f"the package index sends more than it announces, {size(self.loaded)} so far")
        self.check_unpacked()
        if time.monotonic() - self.changed > STALL:
            raise Unreachable(f"the package index has sent nothing for {STALL} s" + (f" of {self.file}" if self.file else ""))
        if time.monotonic() - self.said > SAYING:
            self.said = time.monotonic()
            say(f"{size(self.loaded)} of {size(self.announced)} downloaded" if self.file else f"{size(self.unpacked)} unpacked")

    def run(self):
        try:
            self.reader.start()
            while self.process.poll() is None and not self.problem:
                self.check()
                time.sleep(0.2)
            self.reader.join(5)
        finally:
            self.kill()
            self.process.wait()
            shutil.rmtree(self.scratch, ignore_errors=True)
        if self.problem:
            raise self.problem
        if self.process.returncode:
            raise self.reason()
        self.unpacked = bytes_below(self.folder)
        self.check_unpacked()

    def reason(self):
        refused = next((line for line in self.lines if UNREACHABLE.search(line)), None)
        missing = next((line for line in self.lines if MISSING.search(line)), None)
        if refused:
            return Unreachable(f"no package index can be reached, or it stopped in the middle; pip says: {refused.strip()[:300]}")
        if missing:
            return NotOffered(MISSING.search(missing).group(1))
        damaged = next((line for line in self.lines if DAMAGED.search(line)), None)
        if damaged:
            return Failed(f"a file came damaged or not as a whole; pip says: {damaged.strip()[:300]}")
        errors = [line for line in self.lines if line.startswith("ERROR: ")] or self.lines or ["nothing"]
        return Failed(f"pip says: {errors[-1][:300]}")


def install(folder, budget, *arguments):
    Pip(folder, arguments, budget).run()


def install_packages(folder, budget, _large):
    install(folder, budget, *PACKAGES[folder.name])
    say("importing them once")
    check = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)\n"
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run([folder / "bin" / "python", "-c", check, *MODULES[folder.name]], env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", stdin=subprocess.DEVNULL)
    if done.returncode:
        raise Failed("what was installed cannot be imported: " + (done.stdout.strip().splitlines() or ["it crashes"])[-1][:300])


def install_python(folder, budget, large):
    if large:
        install(folder, budget, TORCH)
    else:
        try:
            install(folder, budget, f"{TORCH}+cpu")
        except NotOffered:
            say(f"pip's settings offer no {TORCH} for the CPU: trying {TORCH_INDEX}")
            try:
                install(folder, budget, "--no-deps", f"--index-url={TORCH_INDEX}", f"{TORCH}+cpu")
            except Failed as problem:
                raise Failed(f"there is no {TORCH} for the CPU, not at {TORCH_INDEX} either ({problem}); "
                             "`./quickstart test --all --large-torch` takes the one for CUDA, some gigabytes") from None
            install(folder, budget, f"{TORCH}+cpu")  # what it depends on
    install_packages(folder, budget, large)


def cuda_version():
    """(major, minor) of the machine's nvcc."""
    path = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    try:
        text = subprocess.run([path, "--version"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=STALL,
                              stdin=subprocess.DEVNULL).stdout
    except (OSError, subprocess.SubprocessError):
        return CUDA_WITHOUT_NVCC
    found = re.search(r"release (\d+)\.(\d+)", text)
    return (int(found.group(1)), int(found.group(2))) if found else CUDA_WITHOUT_NVCC


def install_cuda(folder, budget, _large):
    major, minor = cuda_version()
    if major < 12:
        raise Failed(f"there are no packages of CUDA {major}.{minor}, nvcc's version here")
    packages = {name: f"=={major}.{minor}.*" for name in (CUDA_12_PACKAGES if major == 12 else CUDA_PACKAGES)}
    while True:
        try:
            return install(folder, budget, "--no-deps", CUTLASS, *(name + version for name, version in packages.items()))
        except NotOffered as problem:
            name = problem.name.partition("=")[0]
            if packages.get(name) in (None, f"=={major}.*"):
                raise
            say(f"{name} is not offered for {major}.{minor}: taking the newest of {major}")
            packages[name] = f"=={major}.*"


# The smallest first: what is left of the limits is enough for it.
PARTS = {"discord": ("discord.py, hikari and aiohttp", install_packages, 200 * MB),
         "modal": ("the client of Modal", install_packages, 150 * MB),
         "web": ("schemathesis, prometheus-client and FastAPI", install_packages, 200 * MB),
         "browser": ("playwright and axe", install_packages, 250 * MB),
         "github": ("PyGithub, githubkit and openapi-core", install_packages, 300 * MB),
         "python": ("torch 2, Triton and JAX", install_python, 4 * GB), "cuda": ("the CUDA toolkit", install_cuda, 2 * GB)}


def wanted(name, large):
    """What an environment must have been made from."""
    base = os.path.realpath(sys.executable)
    packages = {**PACKAGES, "python": (TORCH, large, PYTHON_PACKAGES)}.get(name) or (CUTLASS, cuda_version())
    return json.loads(json.dumps({"packages": packages, "python": [base, sys.version.split()[0], platform.machine()]}))


def why_stale(folder, what):
    """Why an environment that is there cannot be taken; None: it can."""
    try:
        made = json.loads((folder / "complete.json").read_text())
    except (OSError, ValueError):
        return "it is not complete"
    if made.get("path") != str(folder):
        return f"it was made as {made.get('path')}"
    if made.get("wanted") != what:
        return "it was made with other packages, or with another Python"
    try:
        done = subprocess.run([folder / "bin" / "python", "-c", "pass"], timeout=STALL, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError) as error:
        return f"its interpreter does not start: {error}"
    return "its interpreter fails" if done.returncode else None


def run_venv(folder, *options):
    done = subprocess.run([sys.executable, "-m", "venv", *options, folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", stdin=subprocess.DEVNULL)
    if done.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        lines = done.stdout.strip().splitlines() or ["it says nothing"]
        raise Failed(f"{sys.executable} makes no virtual environment (Debian: the package python3-venv): {lines[0][:300]}")


def packages_of(folder):
    return next(folder.glob("lib/python*/site-packages"))


def make_pip(folder, budget):
    """An environment with pip, newer than Python's where that can be had."""
    part = folder.with_name("pip-part")
    shutil.rmtree(part, ignore_errors=True)
    run_venv(part)
    if budget:
        try:
            install(part, budget, NEWER_PIP)
        except Failed as problem:
            say(f"Python's own pip is taken, which is slower: {problem}")
            shutil.rmtree(part)
            run_venv(part)
    part.rename(folder)


def create(folder, budget=None):
    """An environment with pip, with a budget a newer one than Python's. That takes seconds, so it is made once for all."""
    with_pip = folder.parent / "pip-venv"
    if not with_pip.exists():
        make_pip(with_pip, budget)
    run_venv(folder, "--without-pip")
    shutil.copytree(packages_of(with_pip), packages_of(folder), dirs_exist_ok=True)


def make(folder, budget, large):
    """Makes one environment, unless it is there."""
    title, fill, takes = PARTS[folder.name]
    what = wanted(folder.name, large)
    stale = why_stale(folder, what)
    if not stale:
        budget.unpacked -= bytes_below(folder)
        return
    if folder.exists():
        say(f"{folder} is made anew: {stale}")
        shutil.rmtree(folder)
    say(f"{title}, in {folder}")
    before, began = budget.downloaded, time.monotonic()
    try:
        if budget.unreachable:
            raise budget.unreachable
        if sys.version_info < OLDEST_PYTHON:
            raise Failed(f"{sys.executable} is Python {platform.python_version()}, and the packages need "
                         f"{'.'.join(map(str, OLDEST_PYTHON))} or newer")
        free = shutil.disk_usage(folder.parent).free
        if free < takes and not large:
            raise Failed(f"it needs {size(takes)} on the disk, which has {size(free)}")
        create(folder, budget)
        fill(folder, budget, large)
        unpacked = bytes_below(folder)
        budget.unpacked -= unpacked
        partial = folder / "complete.json.new"
        partial.write_text(json.dumps({"wanted": what, "path": str(folder)}))
        partial.rename(folder / "complete.json")
        say(f"{title}: {size(budget.downloaded - before)} downloaded, {size(unpacked)} unpacked, "
            f"{time.monotonic() - began:.0f} s")
    except Failed as problem:
        if isinstance(problem, Unreachable):
            budget.unreachable = problem
        say(f"{title} cannot be had: {problem}. The tests that need it are skipped.")
    finally:
        if not (folder / "complete.json").exists():
            shutil.rmtree(folder, ignore_errors=True)


def remove_left(top):
    """What this one or one that was killed has left."""
    for folder in top.glob("pip-*"):
        shutil.rmtree(folder, ignore_errors=True)


def main(arguments):
    large, names = arguments[1:] == ["--large-torch"], list(PARTS)
    if arguments[1:2] == ["--only"] and arguments[2:] and set(arguments[2:]) <= set(PARTS):
        arguments, names = arguments[:1], arguments[2:]
    if len(arguments) != 1 + large or arguments[0].startswith("-"):
        sys.exit(f"usage: environments.py FOLDER [--large-torch | --only NAME...]; names: {', '.join(PARTS)}")
    top = pathlib.Path(arguments[0]).absolute()
    top.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    remove_left(top)
    budget = Budget(LARGE_DOWNLOADS, LARGE_UNPACKED) if large else Budget(DOWNLOADS, UNPACKED)
    try:
        for name in names:
            make(top / name, budget, large)
    finally:
        remove_left(top)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(130)
