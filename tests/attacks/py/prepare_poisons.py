# SPDX-License-Identifier: MIT
# class: Host: overwriting the harness's files before it starts (a pre-run of the submission is enough)
# tries: in the step that compiles its extensions, which may write to its folder: to change harness, reference and start
#        files, and to leave a poisoned cache. This mentions torch.utils.cpp_extension, so there is such a step.
# expect: passed
# mode: benchmark
# says: prepares in
# runs: 2
import os
import sys

from attack import escaped, honest, say, tried

tried()
POISON = 'import os\nos.write(2, b"ESCAPED what the step before has left was loaded\\n")\n'
preparing = not os.path.exists("cases.txt")
if preparing:
    say(f"prepares in {os.getcwd()} with {sorted(os.listdir('.'))}")
    if any("SEED" in name and name != "PYTHONHASHSEED" or name in ("POPCORN_FD", "KETTLE_SECRET_FD") for name in os.environ):
        escaped("the step has seed or channel")
    for name in ("eval.py", "reference.py", "task.py", "utils.py", "attack.py", "submission.py", ".kettle/run.py", "random.py",
                 "sitecustomize.py", "cases.txt", "out/eval.py", "out/random.py", "out/cache/eval.py", "out/cache/random.py",
                 "/tmp/random.py", os.path.expanduser("~/random.py")):
        try:
            os.makedirs(os.path.dirname(os.path.abspath(name)), exist_ok=True)
            with open(name, "w") as file:
                file.write(POISON)
        except OSError as error:
            say(f"{name}: {error}")
elif os.path.exists("/tmp/random.py") or os.path.exists("random.py") or os.path.exists("sitecustomize.py"):
    escaped("what the step before has written is here")
if not preparing and not os.path.exists("out/cache/eval.py"):
    say(f"the cache has not come: {os.listdir('out')}, {sys.path}")


def custom_kernel(data):
    return honest(data)
