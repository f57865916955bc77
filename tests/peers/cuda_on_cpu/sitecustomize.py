# SPDX-License-Identifier: MIT
"""With this folder in PYTHONPATH, boards and submissions that are written for device="cuda" run on the CPU: torch is patched
as it is imported, in every interpreter that is started, those of spawn pools too."""
import importlib.abc
import importlib.machinery
import sys


class Finder(importlib.abc.MetaPathFinder):
    """Finds torch, and patches it once it has run."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None:
            run = spec.loader.exec_module

            def exec_module(module):
                run(module)
                import cuda_on_cpu
                cuda_on_cpu.patch(module)
            spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, Finder())
