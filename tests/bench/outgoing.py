# SPDX-License-Identifier: MIT
"""Section http: the CPU that one request of a plugin takes, beside curl and Python."""
import asyncio
import contextlib
import http.client
import json
import os
import pathlib
import resource
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

REQUESTS, AT_A_TIME = 1000, 64
BODY = b'{"ok": true, "name": "' + b"x" * 200 + b'"}'
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nETag: \"1\"\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY


# ---- processes of their own: outgoing.py serve FOLDER, outgoing.py threads URL CA ----

class Server(asyncio.Protocol):
    """Answers whatever comes with the same, as fast as Python can."""

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.transport.write(ANSWER * data.count(b"\r\n\r\n"))


async def serve(folder):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.pem")
    loop = asyncio.get_running_loop()
    servers = [await loop.create_server(Server, "127.0.0.1", 0, backlog=200, ssl=one) for one in (None, context)]
    print(json.dumps([server.sockets[0].getsockname()[1] for server in servers]), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    os._exit(0)  # whatever connections are open


def threads(url, ca):
    """The CPU of one request in µs, in 64 threads with a connection each; the first request of each does not count."""
    parts = urllib.parse.urlsplit(url)
    context = ssl.create_default_context(cafile=ca) if parts.scheme == "https" else None

    def connect():
        if context:
            return http.client.HTTPSConnection(parts.hostname, parts.port, context=context)
        return http.client.HTTPConnection(parts.hostname, parts.port)

    def send(connection, times):
        for _ in range(times):
            connection.request("GET", "/")
            connection.getresponse().read()

    connections = [connect() for _ in range(AT_A_TIME)]
    for connection in connections:
        send(connection, 1)
    each = -(-REQUESTS // AT_A_TIME)
    began = time.process_time()
    workers = [threading.Thread(target=send, args=(connection, each)) for connection in connections]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print((time.process_time() - began) * 1e6 / (each * AT_A_TIME))


# ---- the section ----

@contextlib.contextmanager
def server(folder):
    with subprocess.Popen([sys.executable, "-B", __file__, "serve", folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.stdin.close()


def kettle(section, name, url, ca, rounds):
    from measure import TOOLS
    lines = subprocess.run([TOOLS / "http_requests", url, ca, str(REQUESTS), str(AT_A_TIME), str(rounds)], check=True,
                           stdout=subprocess.PIPE, timeout=120, text=True).stdout.splitlines()
    first, *rest = map(json.loads, lines)
    section.add(f"{name}: kettle", *(one["cpu_us"] for one in rest), unit="µs", target="60 µs")
    section.add(f"{name}: kettle, longest stall of the loop", *(one["stall_ms"] for one in [first, *rest]), target="5 ms")
    section.add(f"{name}: kettle, most CPU of the loop without a pause", *(one["stall_cpu_ms"] for one in [first, *rest]))
    section.add(f"{name}: kettle, each of the first {AT_A_TIME}", first["cpu_us"], unit="µs")
    section.add(f"{name}: kettle, requests a second", *(one["a_second"] for one in rest), unit="/s")


def curl(section, name, url, ca):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["curl", "-q", "-s", "--http1.1", "--cacert", ca, "--parallel", "--parallel-max", str(AT_A_TIME), "-o", "/dev/null",
                    f"{url}[1-{REQUESTS}]"], check=True, stderr=subprocess.DEVNULL, timeout=120)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    section.add(f"{name}: curl --parallel", used * 1e6 / REQUESTS, unit="µs")


def python(section, name, url, ca):
    done = subprocess.run([sys.executable, "-B", __file__, "threads", url, ca], check=True, stdout=subprocess.PIPE, timeout=120,
                          text=True)
    section.add(f"{name}: Python's http.client", float(done.stdout), unit="µs")


def measure(section):
    from measure import BUILD, TOOLS, Cannot, rounds
    if not (TOOLS / "http_requests").exists():
        raise Cannot("Kettle was built without libcurl")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([BUILD / "tests" / "peers" / "certificates", folder], check=True, timeout=60)
        ca = f"{folder}/ca.pem"
        with server(folder) as ports:
            for _ in range(rounds(5)):
                for name, url in (("HTTP", f"http://127.0.0.1:{ports[0]}/"), ("HTTPS", f"https://127.0.0.1:{ports[1]}/")):
                    kettle(section, name, url, ca, 4)
                    if shutil.which("curl"):
                        curl(section, name, url, ca)
                    python(section, name, url, ca)
    for name in ("HTTP", "HTTPS"):
        section.ratio(f"{name}: curl over kettle", f"{name}: curl --parallel", f"{name}: kettle")
        section.ratio(f"{name}: Python over kettle", f"{name}: Python's http.client", f"{name}: kettle")


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        asyncio.run(serve(pathlib.Path(sys.argv[2])))
    else:
        threads(*sys.argv[2:])
