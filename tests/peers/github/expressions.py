# SPDX-License-Identifier: MIT
"""The expressions of workflow files: ${{ inputs.payload }}, always(), env.X == 'y' && !cancelled()."""
import json
import re

TOKEN = re.compile(r"\s*(?:(?P<string>'(?:[^']|'')*')|(?P<number>-?\d+(?:\.\d+)?)|(?P<name>[A-Za-z_][\w-]*)|(?P<op>&&|\|\||[=!<>]=|[!<>().,\[\]*]))")
INSIDE = re.compile(r"\$\{\{(.*?)\}\}", re.S)


class Wrong(Exception):
    """An expression that GitHub would not take."""


def tokens(text):
    at, out = 0, []
    text = text.rstrip()
    while at < len(text):
        found = TOKEN.match(text, at)
        if not found:
            raise Wrong(f"cannot read {text[at:]!r} in the expression {text!r}")
        out.append((found.lastgroup, found.group(found.lastgroup)))
        at = found.end()
    return out


def text_of(value):
    """As it is put into a text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value) if isinstance(value, (dict, list)) else str(value)


def equal(left, right):
    if isinstance(left, str) and isinstance(right, str):
        return left.lower() == right.lower()
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return left == right
    return text_of(left) == text_of(right)


class Expression:
    """One expression in a job; contexts: {"inputs": {…}, …}; state: {"failed", "cancelled"} of the job so far."""

    def __init__(self, text, contexts, state):
        self.rest, self.text, self.contexts, self.state = tokens(text), text, contexts, state
        self.asks_status = False  # whether it has a function such as always()

    def value(self):
        value = self.either()
        if self.rest:
            raise Wrong(f"there is more than an expression in {self.text!r}")
        return value

    def take(self, *ops):
        if self.rest and self.rest[0][0] == "op" and self.rest[0][1] in ops:
            return self.rest.pop(0)[1]
        return None

    def need(self, op):
        if not self.take(op):
            raise Wrong(f"`{op}` is missing in the expression {self.text!r}")

    def either(self):
        left = self.both()
        while self.take("||"):
            right = self.both()
            left = left or right
        return left

    def both(self):
        left = self.comparison()
        while self.take("&&"):
            right = self.comparison()
            left = left and right
        return left

    def comparison(self):
        left = self.unary()
        op = self.take("==", "!=")
        if op:
            return equal(left, self.unary()) == (op == "==")
        return left

    def unary(self):
        if self.take("!"):
            return not self.unary()
        if self.take("("):
            value = self.either()
            self.need(")")
            return value
        if not self.rest:
            raise Wrong(f"the expression {self.text!r} ends too early")
        kind, text = self.rest.pop(0)
        if kind == "string":
            return text[1:-1].replace("''", "'")
        if kind == "number":
            return float(text) if "." in text else int(text)
        if kind != "name":
            raise Wrong(f"cannot read {text!r} in the expression {self.text!r}")
        if self.take("("):
            return self.call(text)
        if text in ("true", "false", "null"):
            return {"true": True, "false": False, "null": None}[text]
        if text not in self.contexts:
            raise Wrong(f"there is no context `{text}` for the expression {self.text!r}")
        return self.member(self.contexts[text])

    def member(self, value):
        while True:
            if self.take("."):
                key = self.rest.pop(0)[1]
            elif self.take("["):
                key = self.either()
                self.need("]")
            else:
                return value
            if isinstance(value, dict):
                value = value.get(key)
            else:
                value = value[key] if isinstance(value, list) and isinstance(key, int) and key < len(value) else None

    def call(self, name):
        given = []
        while not self.take(")"):
            given.append(self.either())
            self.take(",")
        failed, cancelled = self.state["failed"], self.state["cancelled"]
        status = {"always": True, "cancelled": cancelled, "failure": failed and not cancelled, "success": not failed and not cancelled}
        if name in status:
            self.asks_status = True
            return status[name]
        functions = {"fromJSON": json.loads, "toJSON": json.dumps, "startsWith": lambda a, b: text_of(a).lower().startswith(text_of(b).lower()),
                     "endsWith": lambda a, b: text_of(a).lower().endswith(text_of(b).lower()),
                     "contains": lambda a, b: b in a if isinstance(a, list) else text_of(b).lower() in text_of(a).lower(),
                     "format": lambda form, *more: re.sub(r"\{(\d+)\}", lambda m: text_of(more[int(m.group(1))]), form)}
        if name not in functions:
            raise Wrong(f"there is no function `{name}` for the expression {self.text!r}")
        try:
            return functions[name](*given)
        except (ValueError, TypeError, IndexError) as error:
            raise Wrong(f"{name}: {error} in the expression {self.text!r}") from None


def fill(text, contexts, state):
    """A value of a workflow file with its expressions evaluated; alone, an expression keeps its type."""
    if not isinstance(text, str):
        return text
    whole = re.fullmatch(r"\s*\$\{\{((?:(?!\}\}).)*)\}\}\s*", text, re.S)
    if whole:
        return Expression(whole.group(1), contexts, state).value()
    return INSIDE.sub(lambda found: text_of(Expression(found.group(1), contexts, state).value()), text)


def holds(condition, contexts, state):
    """Whether a step with this `if` runs: without a function that asks for the status only as long as all went well."""
    if condition is None:
        return not state["failed"] and not state["cancelled"]
    text = str(condition) if not isinstance(condition, bool) else text_of(condition)
    found = INSIDE.fullmatch(text.strip())
    expression = Expression(found.group(1) if found else text, contexts, state)
    value = expression.value()
    return bool(value) and (expression.asks_status or (not state["failed"] and not state["cancelled"]))
