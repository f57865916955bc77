#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pictures of the pages:

    make.py ADDRESS TOKEN FOLDER [NAME[=PATH]...]

of a server as `./quickstart web` starts it, as the user of the token, by an interpreter with playwright and Pillow. Without a
NAME those that are kept: each main page in light, the leaderboard also in dark and on a phone; a NAME is drawn in all three."""
import pathlib
import sys

from PIL import Image
from playwright.sync_api import sync_playwright

BOARD = "/board/vectoradd_cpp"
PAGES = {"boards": "/", "board": BOARD, "trend": BOARD + "/trend", "task": BOARD + "/task", "submit": BOARD + "/submit",
         "feed": BOARD + "/feed", "wall": BOARD + "/feed?wall", "submission": "/submission/1", "diff": "/diff/1/3",
         "user": "/user/ada", "devices": "/devices", "operator": "/operator", "docs": "/docs", "login": "/login",
         "error": "/board/none"}
WAYS = {"": (1100, "light"), "-dark": (1100, "dark"), "-phone": (360, "light")}
KEPT = {"": ["board", "submission", "trend", "diff", "user", "task", "submit", "operator"],
        "-dark": ["board"], "-phone": ["board"]}
TALLEST = 1000  # pixels of a page, more is cut
MOST = 100_000  # bytes of a picture


def draw(page, path):
    page.evaluate("document.fonts.ready")
    height = page.evaluate("document.documentElement.scrollHeight")
    page.set_viewport_size({"width": page.viewport_size["width"], "height": min(height, TALLEST)})
    page.wait_for_function("[...document.querySelectorAll('canvas')].every(canvas => canvas.height > 0)")
    page.screenshot(path=path)
    Image.open(path).convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)
    if path.stat().st_size > MOST:
        print(f"{path} has {path.stat().st_size} bytes")


def main(address, token, folder, *named):
    paths = PAGES | dict(name.split("=", 1) for name in named if "=" in name)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for suffix, (width, scheme) in WAYS.items():
            context = browser.new_context(viewport={"width": width, "height": 600}, color_scheme=scheme, reduced_motion="reduce")
            context.add_cookies([{"name": "kettle", "value": token, "url": address}])
            for name in [name.split("=")[0] for name in named] or KEPT[suffix]:
                page = context.new_page()
                page.goto(address + paths[name], wait_until="load")
                draw(page, pathlib.Path(folder, f"{name}{suffix}.png"))
                page.close()
        browser.close()


main(*sys.argv[1:])
