# SPDX-License-Identifier: MIT
"""Finds places in C sources where a small fault can be, and rewrites them so that each fault can be switched on (mutant.h).

Kinds of faults:
  flip    a condition of an if is the opposite
  limit   a comparison of two values, neither of them 0, is off by one: < and <=, > and >=
  error   a condition that leads out of a function with an error is looked at, and ignored
  unlock  a mutex or a lock is not given back
  own     what is freed is not; a copy or a counted reference is the same memory; what was handed on stays in the old place, too

This reads C as clang-format leaves it, without a parser: what it takes for a place is right there, and what it does not
understand is no place.
"""
import collections
import dataclasses
import re

KINDS = ("flip", "limit", "error", "unlock", "own")
OTHER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
# Comments, texts and lines of the preprocessor.
NO_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#(?:\\\n|[^\n])*', re.S | re.M)
GIVES_BACK = r"(?:uv|pthread)_mutex_unlock|uv_rwlock_(?:rd|wr)unlock|toolchain_unlock"
FREES = r"free|json_decref|(?!cleanup_)\w+_(?:free|unref|release)|free_\w+"
LEAVES_WITH_ERROR = r"goto \w+;|return (?:-\w|rc\b|kettle_fail|\w*_fail\w*\(|KETTLE_E|false;|NULL;)"


@dataclasses.dataclass
class Place:
    """One fault: in the text, begin to end is replaced by before, the same text, and after; swap: what else is replaced there."""
    kind: str
    line: int
    begin: int
    end: int
    before: str
    after: str = ""
    swap: tuple = ()  # (begin, end, text)
    text: str = ""  # of the line
    path: str = ""
    number: int = 0

    @property
    def folder(self):
        return self.path.rpartition("/")[0]


def blanked(text):
    """The text, in which only code is left; each character keeps its position."""
    return NO_CODE.sub(lambda match: re.sub(r"[^\n]", "x" if match[0][0] in "\"'" else " ", match[0]), text)


def closing(code, at):
    """The position of the parenthesis or brace that closes the one at a position."""
    depth = 0
    for match in re.compile(r"[({\[]|[)}\]]").finditer(code, at):
        depth += 1 if match[0] in "({[" else -1
        if depth == 0:
            return match.start()
    return len(code)


def outermost(code):
    """The code, in which what is in parentheses is blanked."""
    depth, out = 0, []
    for char in code:
        depth -= char in ")]}"
        out.append(char if depth <= 0 else "x")
        depth += char in "([{"
    return "".join(out)


def terms(code, begin, end):
    """What && and || connect in a condition, as (begin, end)."""
    outer, at = outermost(code[begin:end]), begin
    for match in re.finditer(r"\s(?:&&|\|\|)\s|$", outer):
        yield at, begin + match.start()
        at = begin + match.end()


def limits_in(code, begin, end):
    """Places of the kind limit in a condition."""
    for first, last in terms(code, begin, end):
        outer = outermost(code[first:last])
        found = re.fullmatch(r"(\s*)(\S.*?) (<|<=|>|>=) (\S.*)", outer, re.S)
        if not found or re.search(r"[?,]| [=!<>&|^]=? ", found[2] + " " + found[4]):
            continue
        operands = code[first + found.start(2):first + found.end(2)], code[first + found.start(4):last]
        if not any(re.fullmatch(r"0|0\.0|NULL", operand) for operand in operands):
            operator = found[3]
            yield Place("limit", 0, first + found.start(2), last, f"MUTANT_LIMIT(%d, {operator}, {OTHER[operator]}, ", ")",
                        (first + found.end(2), first + found.start(4), ", "))


def leaves_with_error(code, at):
    """Whether the statement that begins there leads out of the function with an error."""
    statement = code[at:].lstrip()
    if statement.startswith("{"):
        body = statement[1:closing(statement, 0)].rstrip()
        statement = re.split(r"[;{}]\s*", body[:-1])[-1] + body[-1:]
    return re.match(LEAVES_WITH_ERROR, statement) is not None


def is_failure(condition):
    """Whether a condition says that something failed."""
    outer = outermost(condition)
    return re.fullmatch(r"!?[\w.>-]+\(x*\)|rc|.+ (< 0|(==|!=) (0|-1|NULL|\w+_OK))", outer, re.S) is not None and not re.search(
        r"&&|\|\||cmp\(|[?,]", outer)


def conditions(code):
    for match in re.finditer(r"\b(?:if|while) (\()", code):
        begin, end = match.start(1) + 1, closing(code, match.start(1))
        yield from limits_in(code, begin, end)
        if match[0].startswith("if"):
            yield Place("flip", 0, begin, end, "MUTANT(%d) != !!(", ")")
            if is_failure(code[begin:end]) and leaves_with_error(code, end + 1):
                yield Place("error", 0, begin, end, "(", ") && !MUTANT(%d)")
    for match in re.finditer(r"\breturn ([^;]*);", code):
        yield from limits_in(code, match.start(1), match.end(1))


def statements(code):
    for kind, names in ("unlock", GIVES_BACK), ("own", FREES):
        for match in re.finditer(rf"^\t+((?:\(void\))?(?:{names})\()", code, re.M):
            end = closing(code, match.end(1) - 1)
            if code[end + 1:end + 2] == ";":
                yield Place(kind, 0, match.start(1), end + 1, "MUTANT(%d) ? (void)0 : (void)")


def copies(code):
    for match in re.finditer(r"\b(xstrdup|json_incref)\(", code):
        if code[match.start() - 1] in "\t\n":
            continue  # its definition, or a statement whose value nothing takes
        yield Place("own", 0, match.start(), closing(code, match.end() - 1), f"MUTANT_ALIAS(%d, {match[1]}, ", "",
                    (match.start(), match.end(), ""))
    for match in re.finditer(r"\bSTEAL(\([\w.>-]+\))", code):
        yield Place("own", 0, match.start(), match.end(), f"(MUTANT(%d) ? {match[1]} : ", ")")


def places_in(path, text):
    """All places of a file, in their order."""
    code = blanked(text)
    found = sorted([*conditions(code), *statements(code), *copies(code)], key=lambda place: (place.begin, -place.end, place.kind))
    lines = text.split("\n")
    for place in found:
        place.path, place.line = path, text.count("\n", 0, place.begin) + 1
        place.text = lines[place.line - 1].strip()
    return found


def rewritten(text, places):
    """The text with the switches of these places, which are numbered."""
    opened, closed, swapped = collections.defaultdict(str), collections.defaultdict(str), {}
    for place in places:  # outer ones first
        opened[place.begin] += place.before.replace("%d", str(place.number))
        closed[place.end] = place.after.replace("%d", str(place.number)) + closed[place.end]
        if place.swap:
            swapped[place.swap[0]] = place.swap[1:]
    out, at = [], 0
    for position in sorted({*opened, *closed, *swapped, len(text)}):
        out += [text[at:position], closed[position], opened[position]]
        at, instead = swapped.get(position, (position, ""))
        out.append(instead)
    return "".join(out)
