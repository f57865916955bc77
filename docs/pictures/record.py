#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records the main job on a terminal: create a leaderboard, submit twice, show the ranking.

    record.py KETTLE FOLDER

writes to FOLDER the recording, main-job.cast (asciicast 2, which `asciinema play` shows), and its pictures,
main-job-running.svg (up to a moment of the first job) and main-job.svg (the rest), which the library rich draws.
`make pictures` runs it; tests/integration/narrow.test compares recording and pictures with what kettle prints."""
import fcntl
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import time

WIDTH, HEIGHT = 100, 50
SOURCE = pathlib.Path(__file__).resolve().parents[2]
SOLUTIONS = "tasks/vectoradd_cpp/solutions/correct"
COMMANDS = [
    "kettle leaderboard create vectoradd --task tasks/vectoradd_cpp --deadline +30d",
    f"kettle --user ada submit {SOLUTIONS}/naive.cpp -l vectoradd",
    f"kettle --user grace --quiet submit {SOLUTIONS}/simd.cpp -l vectoradd",
    "kettle leaderboard show vectoradd",
]
LIVE = "CPU: running ranked run"  # what the first job does in the picture
REDRAW = "\r\033[K"


def record(kettle, env):
    """The commands one after the other on a terminal, as (seconds, text); each must succeed."""
    began, events = time.monotonic(), []
    for command in COMMANDS:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
        events.append((time.monotonic() - began, f"$ {command}\r\n"))
        child = subprocess.Popen([str(kettle), *command.split()[1:]], env=env, cwd=SOURCE, stdin=subprocess.DEVNULL,
                                 stdout=theirs, stderr=theirs)
        os.close(theirs)
        with open(ours, "rb", buffering=0) as terminal:
            events += [(time.monotonic() - began, text) for text in texts(terminal)]
        if child.wait() != 0:
            raise SystemExit(f"{command}: exit status {child.returncode}\n{events[-1][1]}")
    return events


def texts(terminal):
    """What comes from a terminal until its last program ends (EIO)."""
    while True:
        try:
            data = terminal.read(65536)
            while len(data) < 65536 and data[-1:] > b"\x7f":  # within a character
                data += terminal.read(1)
        except OSError:
            return
        yield data.decode()


def halves(events):
    """The lines of the terminal with their colours: while the first job runs, and those that come later."""
    output = "".join(text for _, text in events)
    now = output.find(LIVE) + len(LIVE)
    running, done = shown(output[:now]), shown(output)
    return running, done[len(running) - 1:]


def shown(output):
    return [line.rstrip("\r").split(REDRAW)[-1] for line in output.rstrip("\n").split("\n")]


def plain(line):
    return re.sub("\033\\[[0-9;]*m", "", line).rstrip()


def pictures(events):
    return zip(("main-job-running.svg", "main-job.svg"), halves(events))


def draw(lines, path):
    import rich.console
    import rich.text
    from rich._export_format import CONSOLE_SVG_FORMAT
    # A picture loads nothing: the fonts are those of the reader.
    template = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    console = rich.console.Console(record=True, width=WIDTH, file=open(os.devnull, "w"), color_system="standard",
                                   force_terminal=True, legacy_windows=False)
    for line in lines:
        console.print(rich.text.Text.from_ansi(line), soft_wrap=True)
    path.write_text(console.export_svg(title="kettle", code_format=template, unique_id=path.stem))


def main():
    kettle, folder = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as scratch:
        # What was built before is not built again.
        state = os.environ.get("XDG_STATE_HOME") or str(pathlib.Path.home() / ".local" / "state")
        env = {"PATH": os.environ["PATH"], "HOME": scratch, "XDG_STATE_HOME": state, "TERM": "xterm-256color",
               "LANG": "C.UTF-8", "KETTLE_DB": f"{scratch}/kettle.db"}
        events = record(kettle, env)
    header = {"version": 2, "width": WIDTH, "height": HEIGHT, "title": "Kettle: from a task to a ranking"}
    rows = [header, *([round(seconds, 3), "o", text] for seconds, text in events)]
    (folder / "main-job.cast").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    for name, lines in pictures(events):
        draw(lines, folder / name)


if __name__ == "__main__":
    main()
