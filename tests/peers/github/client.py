# SPDX-License-Identifier: MIT
"""The fake GitHub for tests in Python: starts it, and does what fake.py describes. Needs no package."""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "lib"))
from fake_client import FakeClient, interpreter  # noqa: E402
from polling import BUSY, poll  # noqa: E402, F401


class Fake(FakeClient):
    def __init__(self, python, log="", before=(), **settings):
        """python: an interpreter with aiohttp and PyYAML."""
        super().__init__(HERE, python, log, before, **settings)

    def repo(self, name, folder, **more):
        return self.post("repo", name=name, folder=str(folder), **more)

    def behave(self, repo, times=1, **do):
        self.post("behave", repo=repo, times=times, do=do)

    def runs(self, repo=None):
        return self.get("runs", **({"repo": repo} if repo else {}))["runs"]

    def counters(self, repo=None):
        return self.get("counters", **({"repo": repo} if repo else {}))

    def violations(self):
        return self.get("violations")["violations"]

    def check(self):
        """Fails if a rule was broken."""
        violations = self.violations()
        if violations:
            raise AssertionError(f"{len(violations)} violations: {json.dumps(violations[:10], indent=1)}")


def python():
    """The interpreter of the tests' environment, or None."""
    return interpreter("KETTLE_TEST_GITHUB")
