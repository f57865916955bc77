# SPDX-License-Identifier: MIT
"""Logins by a browser: a provider of the tests, and a browser with its cookies."""
import base64
import hashlib
import http.cookies
import http.server
import json
import re
import threading
import time
import urllib.parse

from web_server import Web


class Provider(http.server.ThreadingHTTPServer):
    """Knows users by the code with which they come back: {"subject", "name"}; answer: what it says in their place, with what status."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.users, self.asked, self.claims, self.answer = {}, {}, {}, None
        self.here = None  # the code of the user who sits at a real browser
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_port}"

    def options(self, name):
        return {f"{name}_client_id": f"id-of-{name}", f"{name}_client_secret_env": "PROVIDER_SECRET", f"{name}_authorize_url": f"{self.url}/authorize",
                f"{name}_token_url": f"{self.url}/token", f"{name}_user_url": f"{self.url}/user"}


class Handler(http.server.BaseHTTPRequestHandler):
    def say(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        provider, code = self.server, form.get("code")
        asked = provider.asked.get(code)
        digest = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest()).decode().rstrip("=")
        right = asked and form["client_secret"] == "s3cret" and form["grant_type"] == "authorization_code" and \
            (form["client_id"], form["redirect_uri"], digest) == (asked["client_id"], asked["redirect_uri"], asked["code_challenge"])
        if not right or provider.answer:
            self.say(*(provider.answer or (400, {"error": "invalid_grant"})))
            return
        claims = {"iss": "this test", "sub": "s-1", "aud": asked["client_id"], "exp": int(time.time()) + 600, "nonce": asked.get("nonce"),
                  **(provider.claims or {})}
        encoded = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
        answer = {"access_token": code, "token_type": "bearer"}
        self.say(200, {**answer, **({"id_token": f"e30.{encoded}.none"} if provider.claims is not None else {})})

    def do_GET(self):
        if self.path.startswith("/authorize?"):
            asked = dict(urllib.parse.parse_qsl(self.path.partition("?")[2]))
            self.server.asked[self.server.here] = asked
            self.send_response(303)
            self.send_header("Location", f"{asked['redirect_uri']}?{urllib.parse.urlencode({'code': self.server.here, 'state': asked['state']})}")
            self.end_headers()
            return
        user = self.server.users.get(self.headers.get("Authorization", "").removeprefix("Bearer "))
        self.say(200 if user else 401, user or {})

    def log_message(self, *_):
        pass


class Browser:
    def __init__(self, web, provider):
        self.web, self.provider, self.cookies = web, provider, {}
        self.ends = None  # of the session's cookie

    def go(self, path, method="GET", form=None, headers=()):
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()), **dict(headers)}
        body = urllib.parse.urlencode(form).encode() if form is not None else None
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        found = self.web.request(method, path, body, headers)
        for line in found.headers.get_all("Set-Cookie") or ():
            assert "HttpOnly" in line and "SameSite=Lax" in line and "Path=/" in line, line
            for name, morsel in http.cookies.SimpleCookie(line).items():
                self.cookies[name] = morsel.value
                if name == "kettle":
                    self.ends = time.time() + int(morsel["max-age"])
                if morsel["max-age"] == "0":
                    del self.cookies[name]
        return found

    def start(self, name="github", next_path="/docs", join=False):
        """Where the provider would ask the user: the parameters of its address."""
        found = self.go(f"/auth/start/{name}?{'join=1&' * join}{urllib.parse.urlencode({'next': next_path})}")
        assert found.status == 303 and found.headers["Location"].startswith(f"{self.provider.url}/authorize?"), found
        asked = dict(urllib.parse.parse_qsl(found.headers["Location"].partition("?")[2]))
        assert asked["client_id"] == f"id-of-{name}" and asked["redirect_uri"] == f"http://kettle.test/auth/return/{name}", asked
        assert asked["response_type"] == "code" and asked["code_challenge_method"] == "S256", asked
        return asked

    def back(self, asked, code, name="github"):
        """The user comes back from the provider."""
        self.provider.asked[code] = asked
        return self.go(f"/auth/return/{name}?{urllib.parse.urlencode({'code': code, 'state': asked['state']})}")

    def join(self, code, name="github"):
        """The user who is logged in adds an account of a provider: where that leads."""
        found = self.back(self.start(name, join=True), code, name)
        assert found.status == 303, found
        return found.headers["Location"]

    def log_in(self, code="octo", **more):
        found = self.back(self.start(**more), code)
        assert found.status == 303 and "kettle" in self.cookies, found
        return found.headers["Location"]


def make(scratch, **more):
    """A server, not started yet, whose users log in by a provider, which knows one."""
    provider = Provider()
    provider.users["octo"] = {"id": 42, "login": "octo"}
    options = {**provider.options("github"), **provider.options("oidc"), "oidc_issuer": "this test"}
    return Web(scratch, env={"PROVIDER_SECRET": "s3cret"}, **options, **more), provider


def serve(scratch, **more):
    web, provider = make(scratch, **more)
    return web.start(), provider


def token_of(page):
    """Of the form of a page."""
    return re.search(r'name="token" value="([A-Za-z0-9_-]+)"', page.body.decode())[1]
