# SPDX-License-Identifier: MIT
"""The server of the frontend in tests/plugins/links.c: says its URL, passes on tokens, and sends the files that come back."""
import http.server
import os
import select
import sys


class Link(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        print(self.path.rsplit("/", 1)[1], flush=True)
        path = sys.stdin.readline().rstrip("\n")
        if not path:
            self.send_error(404)
            return
        with open(path, "rb") as file:
            data = file.read()
        os.unlink(path)
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        """Nothing: a URL is a secret."""


def main():
    server = http.server.HTTPServer(("127.0.0.1", 0), Link)
    print(f"http://127.0.0.1:{server.server_port}/link/", flush=True)
    # Between requests nothing comes on standard input but its end.
    while sys.stdin not in select.select([server, sys.stdin], [], [])[0]:
        server.handle_request()


main()
