# SPDX-License-Identifier: MIT
"""Section web: the frontend web on loopback, on a board with a million submissions; the load takes a part of the same cores."""
import base64
import contextlib
import json
import os
import re
import sqlite3
import subprocess
import types

import board
from accept import SLOW_MS
from chat import Looks
from kettle_test import SOURCE
from measure import SECONDS, TOOLS, Box, Cannot, Client, plugins, progress, rounds, stop_server
from remote import cpu
from submissions import memory
from web_server import Web

SIZE = 1_000_000  # submissions
STREAMS = 5000
CONNECTIONS, UPLOADERS = 16, 64
PACED = 500  # reads a second beside judging
JUDGED_SECONDS = 1  # of them
READS_BESIDE = 1000  # a second beside uploads
SHOW = "/api/v1/leaderboard.show?name=b"
PAGE = "/board/b"
PAGES = ("/", f"{PAGE}/trend", f"{PAGE}/feed", "/submission/777", "/user/user77", "/devices")
ASSET = re.compile(r'(?:href|src)="(/assets/[^"]+)"')
EVENTS = 10
REFERENCE = SOURCE / "tests" / "peers" / "popcorn" / "reference.py"


# ---- load ----

def request(box, method, path, body=b"", **headers):
    """A file with a request for web_requests."""
    head = {"Host": "127.0.0.1", **headers, **({"Content-Length": len(body)} if body else {})}
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in head.items())
    file = box.root / "request"
    while file.exists():
        file = file.with_name(file.name + "_")
    file.write_bytes(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body)
    return file


@contextlib.contextmanager
def load(web, file, seconds=SECONDS, rate=0, connections=CONNECTIONS):
    """Sends the request for some time, beside what the block does; what came of it is in the object at its end."""
    found = {}
    with subprocess.Popen([TOOLS / "web_requests", str(web.port), str(connections), str(seconds), str(rate), file],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        yield found
        out, err = child.communicate(timeout=seconds + 60)
    if child.returncode:
        raise Cannot(err.strip()[-300:])
    found.update(json.loads(out))


def measured(section, web, name, file, status, rate_target=None, time_target=None, **more):
    """As fast as the answers come; what one costs the server."""
    used = cpu(web.server.pid)
    with load(web, file, **more) as found:
        pass
    count = sum(found["statuses"].values())
    if set(found["statuses"]) != {status}:
        raise Cannot(f"{name}: answers by status: {found['statuses']}")
    section.add(name, *found["rates"], unit="/s", target=rate_target)
    section.add(f"{name}: time of one", *found["ms"], target=time_target)
    section.add(f"{name}: CPU of the server for one", (cpu(web.server.pid) - used) * 1e6 / count, unit="µs")


@contextlib.contextmanager
def streams(web, path):
    """Streams of events, all of them open; next_event() waits until one has come on all of them."""
    child = subprocess.Popen([TOOLS / "web_streams", str(web.port), str(STREAMS), path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    try:
        def next_event():
            line = child.stdout.readline()
            if not line:
                raise Cannot(child.stderr.read().strip()[-300:])
            return json.loads(line)
        next_event()
        yield next_event
    finally:
        child.stdin.close()
        child.wait(60)
        child.stdout.close()
        child.stderr.close()


# ---- reads and streams ----

def reads(section, box, web, beside=""):
    tag = re.search(r'".*"', web.get(SHOW).headers["ETag"])[0]
    kept, unchanged = request(box, "GET", SHOW), request(box, "GET", SHOW, If_None_Match=tag)
    for _ in range(rounds(2, 1)):
        measured(section, web, f"a board{beside}", kept, "200", "10,000/s", "p99 10 ms")
        measured(section, web, f"a board, unchanged (304){beside}", unchanged, "304", "15,000/s")
        measured(section, web, f"a board's page{beside}", request(box, "GET", PAGE), "200", "10,000/s", "p99 10 ms")


def measure_page(section, box, web, token):
    """A page that is rendered for its user, and what a browser loads with it."""
    mine = request(box, "GET", PAGE, Cookie=f"kettle={token}")
    measured(section, web, "a board's page for a user, one at a time", mine, "200", time_target="5 ms", connections=1)
    for path in PAGES:
        file = request(box, "GET", path, Cookie=f"kettle={token}")
        measured(section, web, f"the page {path} for a user, one at a time", file, "200", time_target="5 ms", connections=1)
    page = web.get(PAGE).body.decode()
    assets = {path: len(web.get(path).body) for path in ASSET.findall(page)}
    section.add("a board's page with its style and scripts", (len(page) + sum(assets.values())) / 1024, unit="KiB", target="350 KiB")


def at_of(box, seq):
    """When an event was made, in ms since the epoch."""
    database = sqlite3.connect(f"file:{box.database}?mode=ro", uri=True, timeout=60)
    try:
        return database.execute("SELECT at FROM events WHERE seq = ?", (seq,)).fetchone()[0]
    finally:
        database.close()


def change_board(client, days):
    client.call("leaderboard.update", {"name": "b", "deadline": f"+{days}d"}, "root")


def measure_streams(section, box, web):
    client = Client(f"{box.database}.sock")
    for days in range(EVENTS):  # what the engine keeps of the board is no memory of streams
        change_board(client, days + 1)
        web.get(SHOW)
    before = memory(web.server.pid)[0]
    with streams(web, "/api/v1/events?leaderboard=b") as next_event:
        section.add(f"memory of {STREAMS:,} streams", memory(web.server.pid)[0] - before, unit="MB", target="64 MB")
        reads(section, box, web, f", beside {STREAMS:,} streams")
        for days in range(EVENTS):
            change_board(client, days + 1)
            event = next_event()
            made = at_of(box, event["id"])
            section.add(f"an event on the first of {STREAMS:,} streams", event["first_ms"] - made)
            section.add(f"an event on all {STREAMS:,} streams", event["last_ms"] - made, target="250 ms")
        section.add(f"memory of {STREAMS:,} streams after {EVENTS} events", memory(web.server.pid)[0] - before, unit="MB", target="64 MB")
    client.close()


# ---- what else the server does meanwhile ----

def measure_judging(section, box, web, token):
    """Submissions by turns alone and beside reads that the engine answers."""
    mine = request(box, "GET", SHOW, Authorization=f"Bearer {token}")
    measured(section, web, "a board for a user", mine, "200")
    box.submit(box.solution(), "b", "test")  # into the build cache
    beside = f"beside {PACED} reads a second"
    for _ in range(rounds(10)):
        section.add("a submission, alone", box.submit(box.solution(), "b", "test")[0] * 1e3)
        with load(web, mine, JUDGED_SECONDS, PACED) as found, Looks(f"{box.database}.sock") as looks:
            section.add(f"a submission, {beside}", box.submit(box.solution(), "b", "test")[0] * 1e3)
        section.add(f"a board for a user, {PACED} a second beside a submission: time of one", *found["ms"])
        section.add(f"longest wait for the loop, {beside}", max(looks.waits), target="20 ms")
    alone, loaded = (section.median(f"a submission, {how}") for how in ("alone", beside))
    section.add(f"a submission: slower {beside}", (loaded / alone - 1) * 100, unit="%", target="5 %")


def upload(box, token):
    """A request that submits 4 KiB of code, which no other one has."""
    code = base64.b64encode(b"// ").decode() + "########" + base64.b64encode(b"\n" + b"void custom_kernel();\n" * 186).decode()
    body = {"leaderboard": "b", "mode": "test", "file": {"name": "x.cpp", "base64": code}}
    return request(box, "POST", "/api/v1/submit", json.dumps(body).encode(), Content_Type="application/json",
                   Authorization=f"Bearer {token}")


def measure_uploads(section, box, web, token):
    box.run("device", "disable", "CPU")  # accepted, not run
    file, show = upload(box, token), request(box, "GET", SHOW)
    name = f"uploads of 4 KiB, every sync {SLOW_MS} ms"
    for _ in range(rounds(2, 1)):
        measured(section, web, name, file, "200", connections=UPLOADERS)
        with load(web, show, rate=READS_BESIDE) as found:
            measured(section, web, f"{name}, beside {READS_BESIDE:,} reads a second", file, "200", "2,000/s", "p99 50 ms",
                     connections=UPLOADERS)
        section.add(f"a board, {READS_BESIDE:,} a second beside uploads: time of one", *found["ms"])


# ---- KernelBot's own server ----

# It lets 10 requests a second through; here as many as it can answer.
KERNELBOT = """
import pathlib, reference, sys
load = reference.load
async def no_limit():
    pass
def unlimited(source):
    api = load(source)
    api.simple_rate_limit = no_limit
    return api
reference.load = unlimited
reference.serve(pathlib.Path(sys.argv[1]).absolute())
"""


@contextlib.contextmanager
def kernelbot(python, source):
    """It, on a database in memory, in place of a Web."""
    child = subprocess.Popen([python, "-B", "-c", KERNELBOT, source], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                             text=True, env={**os.environ, "PYTHONPATH": str(REFERENCE.parent)})
    try:
        line = child.stdout.readline()
        if not line:
            raise Cannot("KernelBot's server does not start")
        yield types.SimpleNamespace(port=json.loads(line)["port"], server=child)
    finally:
        child.communicate()


def measure_kernelbot(section, box, web):
    python, source = os.environ.get("KETTLE_TEST_WEB"), os.environ.get("KETTLE_KERNELBOT")
    if not python or not source or not REFERENCE.exists():
        section.note("KernelBot's own server is left out: KETTLE_KERNELBOT and KETTLE_TEST_WEB name no source of it and no Python with FastAPI.")
        return
    path, name = request(box, "GET", "/leaderboards"), "KernelBot's API, the list of boards"
    with kernelbot(python, source) as other:
        for _ in range(rounds(2, 1)):
            measured(section, web, f"{name}: Kettle", path, "200")
            measured(section, other, f"{name}: KernelBot", path, "200")
    for what in ("time of one", "CPU of the server for one"):
        section.ratio(f"{name}, {what}: KernelBot over Kettle", f"{name}: KernelBot: {what}", f"{name}: Kettle: {what}")
    section.note("KernelBot's own server has its database in memory here, and is not held to its 10 requests a second.")


# ---- the section ----

def measure_command_line(section, box, web):
    """The same command by the socket, and by HTTP on loopback."""
    for _ in range(rounds(20)):
        section.timed("kettle leaderboard show, by DB.sock", lambda: box.run("leaderboard", "show", "b"))
        section.timed("kettle leaderboard show, --server", lambda: box.run("--server", web.url, "leaderboard", "show", "b"))
    near, far = (section.median(f"kettle leaderboard show, {how}") for how in ("by DB.sock", "--server"))
    section.add("kettle leaderboard show: added by --server", far - near, target="10 ms")


def measure(section):
    if "web" not in plugins():
        raise Cannot("Kettle was built without the plugin web")
    with Box("{CPU: {runner: local, slots: 1, prefetch: 0}}") as box:
        progress("  a million submissions")
        board.prepare(box)
        board.grow(box.database, 0, SIZE, 0)
        web = Web(box, port=True).start()
        progress("  reads")
        reads(section, box, web)
        progress("  streams")
        measure_streams(section, box, web)
        progress("  the command line, judging")
        measure_command_line(section, box, web)
        token = web.token()
        measure_page(section, box, web, token)
        measure_judging(section, box, web, token)
        measure_kernelbot(section, box, web)
        stop_server(web.server)
        progress("  uploads")
        web.env = {"LD_PRELOAD": str(TOOLS / "sync_delay.so"), "KETTLE_SYNC_MS": str(SLOW_MS)}
        measure_uploads(section, box, web.start(), token)
        web.server.kill()
