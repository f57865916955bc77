# SPDX-License-Identifier: MIT
"""Reads {"document", "records"} and checks that the document is OpenAPI 3.1, and that recorded answers are what it says of them; a
request that was successful must be what it says, too. Needs openapi-spec-validator and jsonschema."""
import json
import re
import sys

import jsonschema
import openapi_spec_validator
import referencing
import referencing.jsonschema

ADDRESS = "document:"


class Checker:
    def __init__(self, document):
        self.document, self.faults = document, []
        resource = referencing.Resource(document, referencing.jsonschema.DRAFT202012)
        self.registry = referencing.Registry().with_resource(ADDRESS, resource)

    def follow(self, value):
        """A reference within the document, or the value itself."""
        reference = value.get("$ref")
        if not reference:
            return value, None
        found = self.document
        for part in reference.removeprefix("#/").split("/"):
            found = found[part.replace("~1", "/").replace("~0", "~")]
        return found, reference

    def check(self, value, pointer, what):
        """Against the schema at a place of the document."""
        validator = jsonschema.Draft202012Validator({"$ref": f"{ADDRESS}#{pointer}"}, registry=self.registry)
        self.faults += [f"{what}: {'/'.join(map(str, error.absolute_path))}: {error.message[:300]}" for error in validator.iter_errors(value)]

    def record(self, record):
        path = re.sub("/+", "/", record["path"].partition("?")[0])
        method = {"HEAD": "get"}.get(record["method"], record["method"].lower())
        operation = self.document["paths"].get(path, {}).get(method)
        if operation is None:
            return
        what = f"{record['method']} {record['path']} {json.dumps(record['sent'])[:200]}: {record['status']}"
        at = f"/paths/{path.replace('~', '~0').replace('/', '~1')}/{method}"
        response = operation["responses"].get(str(record["status"]))
        if record["status"] == 304 or record["method"] == "HEAD":
            return
        if response is None:
            self.faults.append(f"{what}: the document has no such status")
            return
        response, reference = self.follow(response)
        content = response.get("content", {})
        kind = (record["type"] or "").partition(";")[0]
        if kind not in content:
            self.faults.append(f"{what}: the document has no `{kind}`")
        elif kind == "application/json":
            place = reference.removeprefix("#") if reference else f"{at}/responses/{record['status']}"
            self.check(json.loads(record["body"]), f"{place}/content/application~1json/schema", what)
        if record["status"] == 200 and method == "post" and record["sent"] is not None:
            self.check(record["sent"], f"{at}/requestBody/content/application~1json/schema", f"{what} was accepted")


def main():
    given = json.load(sys.stdin)
    openapi_spec_validator.validate(given["document"])
    checker = Checker(given["document"])
    for record in given["records"]:
        checker.record(record)
    sys.exit("\n".join(checker.faults[:20]) or 0)


main()
