# SPDX-License-Identifier: MIT
"""Section web: the frontend web on loopback, by wrk, which runs on the same cores."""
import base64
import json
import re
import shutil
import subprocess

from measure import SECONDS, Box, Cannot, poll, start_server

CONNECTIONS = 16
ENTRIES = 100  # of the ranking
SLEEPER = '#include <unistd.h>\n#include "task.h"\nvoid custom_kernel(const input_t &, output_t &) { sleep(1000); }\n'
UPLOAD = """
local number = 0
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer TOKEN"
request = function()
	number = number + 1
	return wrk.format(nil, nil, nil, string.format(BODY, number))
end
"""


def wrk(url, *more):
    """Requests a second, the 99th percentile in milliseconds, answers that were no success."""
    if not shutil.which("wrk"):
        raise Cannot("there is no wrk (Debian's package wrk)")
    done = subprocess.run(["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{max(1, round(SECONDS))}s", "--latency", *more, url], capture_output=True,
                          text=True, check=True).stdout
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", done)[1])
    slow, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", done).groups()
    wrong = re.search(r"Non-2xx or 3xx responses: (\d+)", done)
    return rate, float(slow) * {"us": 1e-3, "ms": 1, "s": 1e3}[unit], int(wrong[1]) if wrong else 0


def add(section, name, target, found):
    rate, slow, wrong = found
    if wrong:
        raise Cannot(f"{name}: {wrong} answers were no success")
    section.add(name, rate, unit="/s", target=target)
    section.add(f"{name}: 99th percentile", slow, unit="ms")


def measure(section):
    with Box("{CPU: {runner: local, slots: 1, prefetch: 0}}") as box:
        config = box.root / "kettle.yml"
        socket = 'frontends: {cli: {}, web: {listen: "127.0.0.1:0"}}\n'
        config.write_text(config.read_text() + socket)
        server, _ = start_server(box)
        found = poll(lambda: re.search(r"web.* port (\d+)\.", server.log.read_text()), "the frontend's port")
        url = f"http://127.0.0.1:{found[1]}"
        box.board("b")
        token = box.json("token", "create", "bench")["token"]
        id = box.json("submit", box.write("sleeper.cpp", SLEEPER), "--leaderboard", "b", "--mode", "test", "--no-wait")["id"]
        poll(lambda: box.json("submission", "show", id)["jobs"][0]["state"] != "queued", "the job that fills the device")
        show = f"{url}/api/v1/leaderboard.show?name=b"
        add(section, "a board, kept", "10,000/s", wrk(show))
        tag = re.search(r'ETag: (".*")', subprocess.run(["curl", "-si", show], capture_output=True, text=True, check=True).stdout)[1]
        add(section, "a board, unchanged (304)", "15,000/s", wrk(show, "-H", f"If-None-Match: {tag}"))
        add(section, "a board for a user", None, wrk(show, "-H", f"Authorization: Bearer {token}"))
        code = base64.b64encode(b"// %08d\n" + b"void custom_kernel();\n" * 180).decode()
        body = json.dumps({"leaderboard": "b", "mode": "test", "note": "%d", "file": {"name": "x.cpp", "base64": code}})
        script = box.write("upload.lua", UPLOAD.replace("TOKEN", token).replace("BODY", f"[[{body}]]"))
        add(section, "uploads of 4 KiB, answered after their commit", "2,000/s", wrk(f"{url}/api/v1/submit", "-s", str(script)))
        server.kill()
