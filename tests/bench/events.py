# SPDX-License-Identifier: MIT
"""Section events: what an event costs a server with many subscriptions."""
import json
import pathlib
import subprocess
import tempfile

from measure import TOOLS, rounds

SUBSCRIPTIONS, TIMES = 5000, 100


def measure(section):
    for _ in range(rounds(5)):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([TOOLS / "subscriptions", pathlib.Path(folder) / "kettle.db", str(SUBSCRIPTIONS), str(TIMES)],
                                  check=True, stdout=subprocess.PIPE, timeout=120, text=True)
        result = json.loads(done.stdout)
        section.add(f"an event that all {SUBSCRIPTIONS:,} want", *result["all"], target="5 ms")
        section.add("an event that none of them wants", *(1000 * ms for ms in result["none"]), unit="µs", target="100 µs")
