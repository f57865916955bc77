# SPDX-License-Identifier: MIT
"""Request bodies against Discord's official description, where the file is present. What the bot sent is kept and validated
when the violations are read, so that this costs no time while requests are answered."""
import json
import re

try:
    import jsonschema
except ImportError:
    jsonschema = None

MOST_KEPT = 50000


class Schema:
    def __init__(self, path):
        self.pending, self.found, self.validators = [], [], {}
        with open(path) as file:
            self.document = json.load(file)
        self.routes = []
        for template, methods in self.document["paths"].items():
            pattern = re.compile("^" + re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template)) + "$")
            # What has fewer variables fits better: @original before {message_id}.
            self.routes.append((template.count("{"), pattern, template, methods))
        self.routes.sort(key=lambda route: route[0])

    def keep(self, number, method, path, body):
        if len(self.pending) < MOST_KEPT:
            self.pending.append((number, method, path, json.dumps(body)))

    def validator(self, template, method):
        key = template, method
        if key not in self.validators:
            content = (self.document["paths"][template].get(method.lower(), {}).get("requestBody") or {}).get("content", {})
            schema = (content.get("application/json") or {}).get("schema")
            whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", "components": self.document["components"], **(schema or {})}
            self.validators[key] = jsonschema.Draft202012Validator(whole) if schema else None
        return self.validators[key]

    def violations(self):
        """What has been sent against the description so far."""
        seen, pending, self.pending = {}, self.pending, []
        for number, method, path, text in pending:
            template = next((template for _, pattern, template, _ in self.routes if pattern.match(path)), None)
            validator = template and self.validator(template, method)
            if not validator:
                continue
            key = template, method, text
            if key not in seen:
                seen[key] = [describe(error) for error in validator.iter_errors(json.loads(text))]
            self.found.extend({"rule": "openapi", "text": f"{method} {template}: {error}", "request": number} for error in seen[key])
        return self.found


def describe(error):
    """Where and what; of several schemas of which none fits, that which the body was meant for: whose type fits, with fewest errors."""
    while error.context:
        branches = {}
        for cause in error.context:
            branches.setdefault(cause.relative_schema_path[0], []).append(cause)
        error = min(branches.values(), key=lambda causes: (any(list(cause.relative_path) == ["type"] for cause in causes), len(causes)))[0]
    return f"{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}"


def load(path):
    """The description, or None where the file or the validator is missing."""
    if not path or not jsonschema:
        return None
    try:
        return Schema(path)
    except FileNotFoundError:
        return None
