# SPDX-License-Identifier: MIT
"""Requests, and the fake's own answers, against GitHub's official description, where the file is present. They are kept and
validated when the violations are read, so that this costs no time while requests are answered."""
import json

try:
    import openapi_core
    from openapi_core.testing import MockRequest, MockResponse
except ImportError:
    openapi_core = None

SERVER = "https://api.github.com"  # which the description is about
MOST_KEPT = 50000


def describe(error):
    """What was wrong and where, down to the value."""
    causes = []
    while error:
        found = getattr(error, "schema_errors", None)
        causes += [f"{'/'.join(map(str, one.absolute_path))}: {one.message[:300]}" for one in found] if found else [str(error)[:300]]
        error = error.__cause__
    return "; ".join(causes)


class Schema:
    def __init__(self, path):
        self.description = openapi_core.OpenAPI.from_dict(json.loads(path.read_text()))
        self.pending, self.seen, self.found = [], set(), []

    def keep(self, note, answer=None):
        """A request, or the answer (status, bytes, headers) to it."""
        content = json.dumps([note["path"], note["method"], note["query"], note["body"]]), answer and (answer[0], answer[1])
        if content not in self.seen and len(self.pending) < MOST_KEPT:
            self.seen.add(content)
            self.pending.append((note, answer))

    def check(self, note, answer):
        body = note["body"]
        # `created` is a range, such as >=TIME: the description calls it a date and means "search syntax".
        query = {name: value for name, value in note["query"].items() if name != "created"}
        request = MockRequest(SERVER, note["method"].lower(), note["path"], args=query,
                              data=None if body is None else json.dumps(body).encode(), content_type="application/json")
        if answer is None:
            self.description.validate_request(request)
        else:
            status, data, headers = answer
            self.description.validate_response(request, MockResponse(data, status, headers=headers))

    def forget(self):
        self.pending.clear()
        self.found.clear()

    def violations(self):
        pending, self.pending = self.pending, []
        for note, answer in pending:
            try:
                self.check(note, answer)
            except openapi_core.exceptions.OpenAPIError as error:
                self.found.append({"rule": "openapi" if answer is None else "fake", "request": note["n"], "text":
                                   f"{note['method']} {note['path']} {answer[0] if answer else ''}: {describe(error)}"})
        return self.found


def load(path):
    """The description, or None where the file or openapi-core is missing."""
    return Schema(path) if openapi_core and path.exists() else None
