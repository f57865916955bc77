# SPDX-License-Identifier: MIT
"""Section sandbox: start to end of a static `true`, in Kettle's sandbox and in others, interleaved."""
import json
import subprocess

from measure import TOOLS, Cannot, rounds

KINDS = (("spare", "kettle", "5 ms, p99 15 ms"), ("cold", "kettle, nothing prepared ahead", None), ("bubblewrap", "bubblewrap", None),
         ("isolate", "isolate", None), ("nsjail", "nsjail", None), ("spawn", "no sandbox", None))


def measure(section):
    done = subprocess.run([str(TOOLS / "sandbox_start"), str(TOOLS / "static_true"), str(rounds(200, 20))],
                          capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise Cannot(done.stderr.strip()[-300:])
    answer = json.loads(done.stdout)
    for key, name, target in KINDS:
        if answer[key]:
            section.add(name, *[us / 1e3 for us in answer[key]], target=target)
        else:
            section.note(f"{name} is not installed, or does not work here.")
    for _, name, _ in KINDS[1:]:
        section.ratio(f"{name} over kettle", name, "kettle")
