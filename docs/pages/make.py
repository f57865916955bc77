#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pictures of the pages, in light, dark and on a phone:

    make.py http://127.0.0.1:8481 TOKEN FOLDER [NAME...]

of a server as `./quickstart web` starts it, by an interpreter with playwright (build/environments/browser). NAME: only these."""
import pathlib
import sys

from playwright.sync_api import sync_playwright

PAGES = {"boards": "/", "board": "/board/vectoradd_cpp", "trend": "/board/vectoradd_cpp/trend", "task": "/board/vectoradd_cpp/task",
         "submit": "/board/vectoradd_cpp/submit", "feed": "/board/vectoradd_cpp/feed", "wall": "/board/vectoradd_cpp/feed?wall=1",
         "submission": "/submission/1", "diff": "/diff/1/3", "user": "/user/ada", "devices": "/devices", "operator": "/operator",
         "docs": "/docs", "login": "/login", "error": "/board/none"}
WAYS = {"": (1100, "light"), "-dark": (1100, "dark"), "-phone": (360, "light")}
HEIGHT, MOST = 400, 150_000  # pixels; bytes of a picture
TALLEST = 1300  # of a page, more is cut


def main(address, token, folder, *names):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for suffix, (width, scheme) in WAYS.items():
            context = browser.new_context(viewport={"width": width, "height": HEIGHT}, color_scheme=scheme, reduced_motion="reduce")
            context.add_cookies([{"name": "kettle", "value": token, "url": address}])
            for name in names or PAGES:
                page = context.new_page()
                page.goto(address + PAGES[name], wait_until="load")
                page.evaluate("document.fonts.ready")
                height = min(page.evaluate("document.documentElement.scrollHeight"), TALLEST)
                path = pathlib.Path(folder, f"{name}{suffix}.png")
                page.set_viewport_size({"width": width, "height": height})
                page.screenshot(path=path)
                page.close()
                if path.stat().st_size > MOST:
                    print(f"{path} has {path.stat().st_size} bytes")
        browser.close()


main(*sys.argv[1:])
