#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An HTTP server for tests of outgoing HTTP, which also behaves badly, byte by byte.

http_server.py FOLDER: FOLDER has the files that tests/peers/certificates makes; without them there is no TLS. Prints one line of
JSON with its ports, and ends when its parent does. What a path does is said at each function of PATHS; everything else echoes."""
import collections
import gzip
import hashlib
import json
import os
import pathlib
import queue
import select
import socket
import ssl
import sys
import threading
import time
import zlib

LOCK = threading.Lock()
LOG = collections.defaultdict(list)  # path → requests
STREAMS = collections.defaultdict(queue.Queue)  # name → texts
CONNECTIONS = [0]
MOST = 1 << 16
HELD = 256 << 10  # bytes of a body that a client holds: HTTP_PARTS_MAX
Request = collections.namedtuple("Request", "method path query headers body connection nth port")


def read_request(stream, connection, nth, port):
    # The first record of TLS has no end of a line, but by chance.
    if stream.peek(1)[:1] == b"\x16":
        return None
    line = stream.readline(MOST)
    if not line:
        return None
    method, target, _ = line.decode("latin-1").split(" ", 2)
    headers = []
    for line in iter(lambda: stream.readline(MOST), b"\r\n"):
        if not line:
            return None
        name, _, value = line.decode("latin-1").rstrip("\r\n").partition(":")
        headers.append((name.lower(), value.strip()))
    body = stream.read(int(dict(headers).get("content-length", 0)))
    path, _, query = target.partition("?")
    return Request(method, path, query, headers, body, connection, nth, port)


def answer(out, status, body=b"", headers=(), length=True):
    lines = [f"HTTP/1.1 {status} Whatever"] + [f"{name}: {value}" for name, value in headers]
    if length:
        lines.append(f"Content-Length: {len(body)}")
    out.sendall(("\r\n".join(lines) + "\r\n\r\n").encode() + body)


def describe(request):
    return {"method": request.method, "path": request.path, "query": request.query, "headers": dict(request.headers),
            "size": len(request.body), "sha256": hashlib.sha256(request.body).hexdigest(),
            "body": request.body[:200].decode("latin-1"), "connection": request.connection, "port": request.port}


def echo(out, request):
    body = json.dumps(describe(request)).encode()
    answer(out, 200, b"" if request.method == "HEAD" else body, [("X-Seen", "one"), ("X-Seen", "two"), ("ETag", '"e1"')],
           length=request.method != "HEAD")
    return True


def seen(out, request):
    """How often the path of the query was requested, and the last such request."""
    with LOCK:
        found = list(LOG[request.query])
    answer(out, 200, json.dumps({"count": len(found), "last": describe(found[-1]) if found else None}).encode())
    return True


def status(out, request):
    """/status/N"""
    answer(out, int(request.path.split("/")[2]), b"status")
    return True


def some_bytes(out, request):
    """/bytes/N"""
    answer(out, 200, b"x" * int(request.path.split("/")[2]))
    return True


def some_file(out, request):
    """/file/NAME: a file of the folder"""
    answer(out, 200, (pathlib.Path(sys.argv[1]) / request.path.split("/")[2]).read_bytes())
    return True


def zipped(out, request):
    answer(out, 200, gzip.compress(b"hello " * 1000), [("Content-Encoding", "gzip")])
    return True


def bomb(out, request):
    """1 GiB of zeros, compressed; they come in parts, so it ends when the client goes."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    answer(out, 200, headers=[("Content-Encoding", "gzip"), ("Connection", "close")], length=False)
    for _ in range(1024):
        out.sendall(packer.compress(b"\0" * (1 << 20)))


def held(out, request):
    """/held/N: as /bytes/N; a line on the output says when the client has taken what it holds at most, and reads no more."""
    body = memoryview(b"x" * int(request.path.split("/")[2]))
    answer(out, 200, headers=[("Content-Length", len(body))], length=False)
    sent, told = 0, False
    while sent < len(body):
        if not told and sent > HELD and not select.select([], [out], [], 0.2)[1]:
            told = True
            print("blocked", flush=True)
        sent += out.send(body[sent:sent + 65536])
    if not told:
        print("sent", flush=True)
    return True


def endless_headers(out, request):
    """/headers/long: one after the other; /headers/many: short ones; /headers/line: one that does not end;
    /headers/interim: answers with status 103."""
    kind = request.path.split("/")[2]
    out.sendall(b"" if kind == "interim" else b"HTTP/1.1 200 OK\r\n")
    part = {"long": b"X-Long: " + b"y" * 1000 + b"\r\n", "many": b"a:b\r\n", "line": b"z" * 1000,
            "interim": b"HTTP/1.1 103 Hints\r\nLink: x\r\n\r\n"}[kind]
    while True:
        out.sendall(part * 20)


def endless_body(out, request):
    answer(out, 200, headers=[("Transfer-Encoding", "chunked")], length=False)
    while True:
        out.sendall(b"400\r\n" + b"x" * 1024 + b"\r\n")


def short_body(out, request):
    answer(out, 200, b"x" * 10, [("Content-Length", "100")], length=False)


def wrong_length(out, request):
    """/length/N: says so, whatever its body has; what follows "hi" looks like the next answer."""
    next_one = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
    answer(out, 200, b"hi" + next_one, [("Content-Length", request.path.split("/")[2])], length=False)
    return True


def announced_body(out, request):
    answer(out, 200, b"x" * 10, [("Content-Length", "1000000000000")], length=False)
    wait_for_end(out)


def stream(out, request):
    """/stream/NAME: sends each text that /push/NAME?TEXT brings; "end" ends the body, "break" the connection."""
    texts = STREAMS[request.path.split("/")[2]]
    answer(out, 200, headers=[("Transfer-Encoding", "chunked")], length=False)
    while (text := texts.get()) not in ("end", "break"):
        out.sendall(f"{len(text):x}\r\n{text}\r\n".encode())
    if text == "end":
        out.sendall(b"0\r\n\r\n")
    return text == "end"


def push(out, request):
    STREAMS[request.path.split("/")[2]].put(request.query)
    answer(out, 204)
    return True


def bad_chunks(out, request):
    answer(out, 200, b"5\r\nhello\r\nzz\r\n", [("Transfer-Encoding", "chunked")], length=False)


def bad_gzip(out, request):
    answer(out, 200, b"this is not gzip", [("Content-Encoding", "gzip")])


def garbage(out, request):
    out.sendall(b"220 smtp.example ready\r\n")


def wait_for_end(out):
    """Until the client has gone."""
    try:
        while out.recv(MOST):
            pass
    except OSError:
        pass


def silent(out, request):
    wait_for_end(out)


def half(out, request):
    """The first half of a body, and then nothing."""
    answer(out, 200, b"x" * 10, [("Content-Length", "20")], length=False)
    wait_for_end(out)


def redirect(out, request):
    """/redirect/STATUS?URL"""
    answer(out, int(request.path.split("/")[2]), b"elsewhere", [("Location", request.query)])
    return True


def circle(out, request):
    answer(out, 302, headers=[("Location", "/circle?secret")])
    return True


def big_redirect(out, request):
    """Like it, with a body that nobody wants."""
    answer(out, 302, b"x" * (1 << 20), [("Location", request.query)])
    return True


def retry(out, request):
    """/retry/NAME/STATUS/N: the first N requests get this status, with the query as Retry-After."""
    _, _, _, code, times = request.path.split("/")
    if len(LOG[request.path]) <= int(times):
        answer(out, int(code), b"not yet", [("Retry-After", request.query.replace("%20", " "))] if request.query else ())
    else:
        answer(out, 200, b"at last")
    return True


def hang_up(out, request):
    """/hang-up/NAME/N: the first N requests are read and not answered."""
    if len(LOG[request.path]) <= int(request.path.split("/")[3]):
        return False
    answer(out, 200, b"at last")
    return True


def second(out, request):
    """Hangs up on whatever is not the first request of its connection."""
    if request.nth > 1:
        return False
    answer(out, 200, b"first")
    return True


PATHS = {"seen": seen, "status": status, "bytes": some_bytes, "held": held, "file": some_file, "gzip": zipped, "bomb": bomb, "headers": endless_headers,
         "endless": endless_body, "short": short_body, "length": wrong_length, "announced": announced_body, "stream": stream, "push": push, "chunks": bad_chunks, "bad-gzip": bad_gzip,
         "garbage": garbage, "silent": silent, "half": half, "redirect": redirect, "big-redirect": big_redirect, "circle": circle, "retry": retry,
         "hang-up": hang_up, "second": second}


def tunnel(one, other):
    try:
        while data := one.recv(MOST):
            other.sendall(data)
    except OSError:
        pass
    for end in (one, other):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def proxy(out, request, ports):
    """A tunnel to the server with TLS, whatever is wanted; other requests are answered with what came."""
    if request.method != "CONNECT":
        return echo(out, request)
    if request.path.startswith("denied."):
        answer(out, 403)
        return False
    with socket.create_connection(("127.0.0.1", ports["tls"])) as other:
        out.sendall(b"HTTP/1.1 200 Connected\r\nX-Proxy: yes\r\n\r\n")
        threading.Thread(target=tunnel, args=(other, out), daemon=True).start()
        tunnel(out, other)
    return False


def serve_connection(out, port, ports):
    with LOCK:
        CONNECTIONS[0] += 1
        connection = CONNECTIONS[0]
    nth = 0
    with out, out.makefile("rb") as stream:
        while True:
            nth += 1
            request = read_request(stream, connection, nth, port)
            if not request:
                return
            with LOCK:
                LOG[request.path].append(request)
            if port == "proxy":
                more = proxy(out, request, ports)
            else:
                more = PATHS.get(request.path.split("/")[1], echo)(out, request)
            if not more:
                return


def handle(out, port, ports, context):
    try:
        if port == "mute":
            return wait_for_end(out)
        if context:
            out = context.wrap_socket(out, server_side=True)
        serve_connection(out, port, ports)
    except (OSError, ValueError):
        out.close()  # the client has gone


def listen(name, ports, context=None, path=None):
    listener = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
    listener.bind(path or ("127.0.0.1", 0))
    listener.listen(200)
    ports[name] = path or listener.getsockname()[1]

    def accept():
        while True:
            out, _ = listener.accept()
            threading.Thread(target=handle, args=(out, name, ports, context), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()


def listen_full(ports):
    """A port that takes no connection: its backlog is full."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    waiting = []
    for _ in range(4):
        one = socket.socket()
        one.setblocking(False)
        one.connect_ex(listener.getsockname())
        waiting.append(one)
    ports["full"] = listener.getsockname()[1]
    return listener, waiting


def start(folder):
    """Everything listens when it returns. The ports, and what has to be kept."""
    ports = {}
    for name in ("http", "other", "proxy", "mute"):
        listen(name, ports)
    listen("unix", ports, path=str(folder / "http.sock"))
    for name in ("tls", "wrong", "expired"):
        if (folder / f"{name}.pem").exists():
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(folder / f"{name}.pem")
            listen(name, ports, context)
    return ports, listen_full(ports)


def main():
    parent = os.getppid()
    ports, _kept = start(pathlib.Path(sys.argv[1]))
    print(json.dumps({**ports, "pid": os.getpid()}), flush=True)
    while os.getppid() == parent:
        time.sleep(0.2)


if __name__ == "__main__":
    main()
