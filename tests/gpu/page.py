# SPDX-License-Identifier: MIT
"""What was found: a page for people and a file for programs, both written anew after each section."""
import datetime
import json
import os
import threading
import time

from commands import ends

PAGE, FACTS = "result.md", "result.json"
LIMIT = 15 << 20  # bytes of a file
ON_PAGE = 4000  # characters of a piece of evidence on the page; the whole of it is in the other file
IN_FULL_ONLY = ("report", "plan")  # evidence that is in the other file alone
SHOWN = 40  # failures that are shown in full on the page


class Section:
    """One section: tables, notes, and how each of its tests ended."""

    def __init__(self, name, title):
        self.name, self.title, self.state, self.seconds = name, title, "not run", 0.0
        self.tables, self.notes, self.tests, self.facts, self.late = [], [], [], {}, []

    def table(self, columns, rows, title=""):
        self.tables.append({"title": title, "columns": list(columns), "rows": [[show(cell) for cell in row] for row in rows]})

    def note(self, text):
        self.notes.append(text)

    def test(self, name, ok, detail="", **evidence):
        """One test's end; of one that failed all that explains it is kept."""
        self.tests.append({"name": name, "result": "passed" if ok else "failed", "detail": str(detail),
                           **({} if ok else {"evidence": evidence})})
        return ok

    def skip(self, name, why):
        self.tests.append({"name": name, "result": "skipped", "detail": str(why)})

    def count(self, result):
        return sum(test["result"] == result for test in self.tests)


def show(cell):
    if cell is None:
        return ""
    if isinstance(cell, float):
        return "%.4g" % cell
    return str(cell)


def cell(text):
    return " ".join(text.replace("|", "\\|").split())


class Report:
    """All sections, and where they are written."""

    def __init__(self, folder, head, names):
        """names: folders of this machine, and what stands in their place in what is written."""
        self.folder, self.head, self.sections = folder, head, []
        self.names = {folder: name for folder, name in names.items() if len(folder) > 1}
        self.began, self.lock, self.trouble = datetime.datetime.now(datetime.timezone.utc), threading.Lock(), []
        self.started = time.monotonic()

    def section(self, name, title):
        made = Section(name, title)
        self.sections.append(made)
        return made

    def failed(self):
        return sum(section.count("failed") for section in self.sections) + len(self.trouble)

    def write(self):
        """Writes both files, each as a whole or not at all."""
        with self.lock:
            replace(os.path.join(self.folder, FACTS), self.renamed(json.dumps(self.document(), indent=1, ensure_ascii=False)))
            replace(os.path.join(self.folder, PAGE), self.renamed(self.page()))

    def renamed(self, text):
        for folder, name in self.names.items():
            text = text.replace(folder + "/", name + "/")
        return text

    def document(self):
        document = {"began": self.began.isoformat(timespec="seconds"), "seconds": round(time.monotonic() - self.started, 1),
                    "head": self.head, "trouble": self.trouble, "sections": [vars(section) for section in self.sections]}
        text = json.dumps(document, ensure_ascii=False)
        if len(text.encode("utf-8", "replace")) < LIMIT:
            return document
        for section in document["sections"]:  # what explains failures is the largest part by far
            for test in section["tests"]:
                test["evidence"] = {key: ends(str(value), 1500) for key, value in test.get("evidence", {}).items()}
        return document

    def page(self):
        head = self.head
        lines = ["# Kettle on a GPU", "", "%s, %s." % (self.began.date(), head.get("title", "")), ""]
        lines += ["| section | | passed | failed | skipped | not reached | seconds |", "|---|---|---|---|---|---|---|"]
        for section in self.sections:
            lines.append("| %s | %s | %d | %d | %d | %d | %.0f |" % (
                section.title, section.state, section.count("passed"), section.count("failed"), section.count("skipped"),
                len(section.late), section.seconds))
        lines += [""] + ["- **%s**" % cell(text) for text in self.trouble]
        failures = [(section, test) for section in self.sections for test in section.tests if test["result"] == "failed"]
        if failures:
            lines += ["", "## What failed", ""]
            lines += ["%d. %s: **%s**: %s" % (number, section.name, cell(test["name"]), cell(test["detail"][:600]))
                      for number, (section, test) in enumerate(failures, 1)]
        for section in self.sections:
            lines += ["", "## %s" % section.title, ""] + self.body(section)
        if failures:
            lines += ["", "## What explains the failures"]
            for number, (section, test) in enumerate(failures[:SHOWN], 1):
                lines += self.explained(number, section, test)
        return "\n".join(lines) + "\n"

    @staticmethod
    def body(section):
        lines = [line for note in section.notes for line in (note, "")]
        for table in section.tables:
            if table["title"]:
                lines += [table["title"], ""]
            lines += ["| %s |" % " | ".join(table["columns"]), "|%s" % ("---|" * len(table["columns"]))]
            lines += ["| %s |" % " | ".join(cell(text[:600]) for text in row) for row in table["rows"]] + [""]
        passed = [test for test in section.tests if test["result"] == "passed"]
        skipped = [test for test in section.tests if test["result"] == "skipped"]
        if passed:
            lines += ["Passed: %s." % "; ".join(cell(test["name"] + (" (%s)" % test["detail"][:200] if test["detail"] else ""))
                                              for test in passed), ""]
        lines += ["- skipped: %s: %s" % (cell(test["name"]), cell(test["detail"])) for test in skipped]
        if section.late:
            lines.append("- not reached, since the section's time was over: %s" % "; ".join(cell(name) for name in section.late))
        return lines

    @staticmethod
    def explained(number, section, test):
        lines = ["", "### %d. %s: %s" % (number, section.name, cell(test["name"])), "", cell(test["detail"]), ""]
        for key, value in test.get("evidence", {}).items():
            text = value if isinstance(value, str) else json.dumps(value, indent=1, ensure_ascii=False)
            if text.strip() and key not in IN_FULL_ONLY:
                lines += ["%s:" % key, "", "~~~"] + ends(text, ON_PAGE).replace("~~~", "~ ~").splitlines() + ["~~~", ""]
        return lines


def replace(path, text):
    data = text.encode("utf-8", "replace")[:LIMIT]
    with open(path + ".new", "wb") as file:
        file.write(data)
    os.replace(path + ".new", path)
