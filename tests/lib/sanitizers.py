# SPDX-License-Identifier: MIT
"""With which sanitizer the programs under test were built."""
import os
import pathlib


def sanitizer():
    """'', 'address,undefined' or 'thread'."""
    log = pathlib.Path(os.environ.get("top_builddir", "."), "config.log")
    for line in log.read_text(errors="replace").splitlines():
        if line.startswith("SANITIZE_FLAGS="):
            return line.split("-fsanitize=")[1].split()[0].strip("'") if "-fsanitize=" in line else ""
    return ""
