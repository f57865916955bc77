# SPDX-License-Identifier: MIT
# class: Host: dropping sitecustomize, .pth, shadow modules
# tries: to leave modules and start files wherever it may write, so that the next run, step or job loads them; says so if
#        an earlier one's is loaded, or is there. Among the caches of compilers lies what the same submission left, and is not
#        loaded either.
# expect: passed
# mode: benchmark
# runs: 2
# variants: WHO=one WHO=two
# together: yes
import os
import site
import sys

from attack import escaped, honest as custom_kernel, tried

POISON = 'import os\nos.write(2, b"ESCAPED what a run of @WHO@ has left was loaded\\n")\n'
NAMES = ("sitecustomize.py", "usercustomize.py", "random.py", "reference.py", "task.py", "eval.py", "utils.py", "_ctypes.py",
         "ctypes.py", "select.py", "traceback.py", "kettle.pth", ".pythonrc.py", "pyvenv.cfg", "python311._pth")


def folders():
    home = os.environ["HOME"]
    yield from (".", "out", "out/cache", ".kettle", home, "/tmp", "/var/tmp", "/dev/shm", "/job", "/etc", "/usr/local/lib")
    yield from sys.path[1:]
    yield from (site.getusersitepackages(), f"{home}/.config", sys.prefix, os.path.dirname(sys.executable), "/run", "/mnt")


tried()
for folder in folders():
    for name in NAMES:
        path = os.path.join(folder, name)
        if folder not in (".", "/job", "") and not folder.startswith(sys.prefix) and os.path.exists(path):
            with open(path, errors="replace") as file:
                text = file.read()
                if "ESCAPED" in text and not (folder == "out/cache" and "a run of @WHO@" in text):
                    escaped(f"{path} of an earlier run is still there")
        try:
            os.makedirs(folder, exist_ok=True)
            with open(path, "w") as file:
                file.write(POISON if not name.endswith(".pth") else POISON.replace("\n", ";"))
        except OSError:
            continue
        if folder.startswith((sys.prefix, "/etc", "/usr", "/job")) or folder in (".", ".kettle"):
            escaped(f"{path} can be written")
os.environ["PYTHONSTARTUP"] = "/tmp/.pythonrc.py"
os.environ["PYTHONPATH"] = "/tmp:out"
