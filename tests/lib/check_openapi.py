# SPDX-License-Identifier: MIT
"""Reads lines {"document", "records", "whole"} and answers each with a line [fault, …]: that recorded answers are what the document says of
them; a request that was successful must be what it says, too. An answer to what the document does not have must be an error in one of its
forms, or a page for people. whole: the document itself must be OpenAPI 3.1, which takes a second. Needs openapi-spec-validator and jsonschema."""
import json
import re
import sys
import urllib.parse

import jsonschema
import referencing
import referencing.jsonschema

ADDRESS = "document:"
ERRORS = {"application/json": ("error", "kernelbot.detail")}
REFUSED = (400, 401, 404, 405, 411, 413, 414, 415)
NO_HTTP = (400, 414)  # the server refuses what is no path before any call is chosen
# First words of addresses for people, who have no document, and of those that no board has.
PAGES = ("", "assets", "board", "devices", "diff", "favicon.ico", "join", "login", "operator", "robots.txt", "submission", "user")
OWN = ("api", "auth", "link", *PAGES)


def escaped(text):
    return text.replace("~", "~0").replace("/", "~1")


class Checker:
    def __init__(self, document):
        self.document = document
        resource = referencing.Resource(document, referencing.jsonschema.DRAFT202012)
        self.registry = referencing.Registry().with_resource(ADDRESS, resource)
        # Those with the most words first.
        self.templates = sorted(((path.strip("/").split("/"), path) for path in document["paths"]), key=lambda pair: pair[1].count("{"))
        self.validators = {}

    def follow(self, value, pointer):
        """A reference within the document, or the value itself: (value, pointer)."""
        while "$ref" in value:
            pointer, value = value["$ref"].removeprefix("#"), self.document
            for part in pointer.strip("/").split("/"):
                value = value[part.replace("~1", "/").replace("~0", "~")]
        return value, pointer

    def check(self, value, pointer):
        """Faults of a value against the schema at a place of the document."""
        if pointer not in self.validators:
            self.validators[pointer] = jsonschema.Draft202012Validator({"$ref": f"{ADDRESS}#{pointer}"}, registry=self.registry)
        return [f"{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}" for error in self.validators[pointer].iter_errors(value)]

    def operation(self, method, address):
        """(operation, its pointer), or None."""
        segments = [urllib.parse.unquote(segment) for segment in re.sub("/+", "/", address.partition("?")[0]).strip("/").split("/")]
        if any(re.search("[\x00-\x1f\x7f-\x9f]", segment) for segment in segments):
            return None  # the server refuses such paths before any call is chosen
        for template, path in self.templates:
            if template[0].startswith("{") and segments[0] in OWN:
                continue
            fits = len(template) == len(segments) and all(word == segment or (word.startswith("{") and segment) for word, segment in zip(template, segments))
            if fits and method in self.document["paths"][path]:
                return self.document["paths"][path][method], f"/paths/{escaped(path)}/{method}"
        return None

    def body(self, record, content, pointer):
        kind = (record["type"] or "").partition(";")[0]
        if kind not in content:
            return [f"the document has no `{kind}`, but {list(content)}"]
        if kind != "application/json" or record["body"] is None:
            return []
        return self.check(json.loads(record["body"]), f"{pointer}/content/{escaped(kind)}/schema")

    def unknown(self, record):
        """Faults of an answer to what is not in the document."""
        kind = (record["type"] or "").partition(";")[0]
        if kind == "text/html" or record["path"].lstrip("/").partition("?")[0].partition("/")[0] in PAGES:
            return []
        if record["status"] not in REFUSED or kind not in ERRORS:
            return [f"the document has no such call, and this is no error: {kind}"]
        found = [self.check(json.loads(record["body"]), f"/components/schemas/{name}") for name in ERRORS[kind] if record["method"] != "HEAD"]
        return min(found, key=len, default=[])

    def record(self, record):
        method = {"HEAD": "get"}.get(record["method"], record["method"].lower())
        found, status = self.operation(method, record["path"]), str(record["status"])
        if record["status"] in NO_HTTP and not record["type"]:
            return []
        if record["method"] == "OPTIONS" and record["status"] == 204:
            return []  # a browser's question before a call
        if found is None:
            return self.unknown(record)
        operation, pointer = found
        key = status if status in operation["responses"] else f"{status[0]}XX"
        if key not in operation["responses"]:
            return [f"the document has no such status, but {list(operation['responses'])}"]
        response, place = self.follow(operation["responses"][key], f"{pointer}/responses/{key}")
        faults = []
        if "content" in response and record["method"] != "HEAD":
            faults = self.body(record, response["content"], place)
        elif record["body"] and record["status"] == 304:
            faults = ["it has a body"]
        if status == "200" and record["sent"] and "requestBody" not in operation:
            faults.append("the document has no body of it")
        elif status == "200" and record["sent"] is not None and "requestBody" in operation:
            faults += [f"{fault}, and was accepted" for fault in self.check(record["sent"], f"{pointer}/requestBody/content/application~1json/schema")]
        return faults


def main():
    checkers = {}
    for line in sys.stdin:
        given, faults = json.loads(line), []
        key = json.dumps(given["document"], sort_keys=True)
        if key not in checkers:
            checkers[key] = Checker(given["document"])
        if given["whole"]:
            import openapi_spec_validator
            faults += [f"{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}" for error in
                       openapi_spec_validator.OpenAPIV31SpecValidator(given["document"]).iter_errors()]
        for record in given["records"]:
            what = f"{record['method']} {record['path'][:200]} {json.dumps(record['sent'])[:200]}: {record['status']}"
            faults += [f"{what}: {fault}" for fault in checkers[key].record(record)]
        print(json.dumps(faults), flush=True)


main()
