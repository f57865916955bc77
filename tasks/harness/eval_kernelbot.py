# SPDX-License-Identifier: MIT
"""Kettle's harness for tasks in KernelBot's form, whose task.yml says `harness: kettle`: both halves, as in
eval_single.py.

The task brings reference.py, task.py and, if it likes, utils.py. Its own utils.py, here task_utils.py, is the module
`utils` for its files and for submissions, so its check remains what its author wrote; its eval.py is not used.
"""
import os
import sys


def load():
    from eval import load_task
    if os.path.exists(os.path.join(os.path.dirname(os.path.abspath(__file__)), "task_utils.py")):
        import task_utils
        sys.modules["utils"] = task_utils
    yield from load_task()


if __name__ == "__main__":
    if "POPCORN_FD" in os.environ:
        import eval
        eval.main(sys.argv, load)
    import solver
    solver.main(load)
