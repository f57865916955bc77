# SPDX-License-Identifier: MIT
# class: Host: dropping shadow modules; poisoning caches (__pycache__)
# tries: to put code in the place of the task's compiled modules, and of the library's.
# expect: passed
import importlib.util
import os
import sys
import sysconfig

from attack import escaped, honest as custom_kernel, tried

tried()
places = [importlib.util.cache_from_source(os.path.abspath(name)) for name in ("eval.py", "reference.py", "task.py", "utils.py")]
places += [importlib.util.cache_from_source(os.path.join(sysconfig.get_path("stdlib"), name)) for name in ("random.py", "os.py")]
sys.dont_write_bytecode = False
for place in places:
    try:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "ab"):
            escaped(f"{place} can be written")
    except OSError:
        pass
sys.pycache_prefix = "/tmp/bytecode"
import this  # noqa: E402, F401  (compiled anew, into its own folder)
