# SPDX-License-Identifier: MIT
"""A real browser, Debian's Chromium, and what is looked for on each page that it shows. A script that uses it calls `use` first."""
import contextlib
import os
import pathlib
import re
import shutil
import sys

from fake_client import interpreter
from polling import LIMIT_S

PROGRAM = shutil.which("chromium") or "/usr/bin/chromium"
ORIGIN = "http://kettle.test"  # the option `url` of the tests' servers, wherever they listen
PHONE = {"width": 360, "height": 740}
LIMIT_MS = LIMIT_S * 1000
SHIFT_MOST = 0.1
# What keeps people from using a page; the rest is advice.
SERIOUS = {"serious", "critical"}


def use():
    """The script goes on in the environment that has playwright; without it all is skipped."""
    python = interpreter("KETTLE_TEST_BROWSER")
    missing = "no environment with playwright (./quickstart test makes it)" if not python else \
        None if os.access(PROGRAM, os.X_OK) else "no chromium on this machine"
    if missing:
        print(f"1..0 # SKIP {missing}")
        sys.exit(0)
    if pathlib.Path(sys.prefix) != pathlib.Path(python).parents[1]:
        os.execv(python, [python, "-B", *sys.argv])


@contextlib.contextmanager
def browser(port):
    """A browser for which ORIGIN is a server on this port."""
    from playwright.sync_api import sync_playwright
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=PROGRAM, args=[
            "--no-proxy-server", f"--host-resolver-rules=MAP kettle.test:80 127.0.0.1:{port}", *(["--no-sandbox"] if os.geteuid() == 0 else [])])
        try:
            yield found
        finally:
            found.close()


class Person:
    """A browser: its cookies, and what went wrong on its pages."""

    def __init__(self, found, script=True, **options):
        self.context = found.new_context(base_url=ORIGIN, java_script_enabled=script, reduced_motion="reduce", **options)
        self.context.set_default_timeout(LIMIT_MS)
        self.context.add_init_script("""window.shift = 0; new PerformanceObserver(list => { for (const entry of list.getEntries())
            if (!entry.hadRecentInput) window.shift += entry.value; }).observe({type: "layout-shift", buffered: true});""")
        self.page, self.faults, self.script = self.context.new_page(), [], script
        self.visited = set()  # the console also says what the status of a page is
        self.page.on("request", lambda request: request.is_navigation_request() and self.visited.add(request.url))
        self.page.on("console", lambda said: said.type == "error" and said.location["url"] not in self.visited and
                     self.faults.append(f"{self.page.url}: {said.text} {said.location['url']}"))
        self.page.on("pageerror", lambda error: self.faults.append(f"{self.page.url}: {error}"))

    def go(self, path, status=200):
        answer = self.page.goto(path)
        assert answer.status == status, f"{path}: {answer.status}, not {status}: {self.text()[:500]}"
        return answer

    def text(self):
        return self.page.locator("body").inner_text()

    def press(self, name, role="button"):
        """What has this name, in a form or as a link; the page that follows is loaded."""
        self.page.get_by_role(role, name=re.compile(name)).first.click()
        self.page.wait_for_load_state()

    def check(self):
        """No error, nothing that the policy stopped, nothing that jumped."""
        assert not self.faults, "\n".join(self.faults)
        if self.script:
            shift = self.page.evaluate("window.shift")
            assert shift < SHIFT_MOST, f"{self.page.url}: what is shown moves by {shift}"

    def fits_phone(self):
        size = self.page.viewport_size
        self.page.set_viewport_size(PHONE)
        wide = self.page.evaluate("""() => [document.scrollingElement.scrollWidth, [...document.querySelectorAll("main *")]
            .filter(one => one.getBoundingClientRect().right > innerWidth && !one.closest(".scroll")).slice(0, 3).map(one => one.outerHTML.slice(0, 120))]""")
        lines = self.page.evaluate("""() => { const boxes = [...document.querySelectorAll("header.site nav > :is(a, bdi)")].map(one => one.getBoundingClientRect());
            return boxes.length === 0 || Math.max(...boxes.map(box => box.top)) < Math.min(...boxes.map(box => box.bottom)); }""")
        self.page.set_viewport_size(size)
        assert lines, f"{self.page.url}: the head has several lines on a phone"
        assert wide[0] <= PHONE["width"], f"{self.page.url} is {wide[0]} wide on a phone: {wide[1]}"

    def is_accessible(self):
        """In light and dark."""
        from axe_playwright_python.sync_playwright import Axe
        for scheme in ("light", "dark"):
            self.page.emulate_media(color_scheme=scheme)
            found = [f"{one['id']} ({one['impact']}): {[node['html'][:150] for node in one['nodes'][:3]]}"
                     for one in Axe().run(self.page).response["violations"] if one["impact"] in SERIOUS]
            assert not found, f"{self.page.url} ({scheme}):\n" + "\n".join(found)
        self.page.emulate_media(color_scheme="light")

    def walks_by_keyboard(self):
        """Tab reaches everything that can be used, in order, and shows where it is; the first stop leads past the head, where there is one."""
        count = self.page.evaluate("""() => { let number = 0; for (const one of document.querySelectorAll(
            "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")) if (!one.disabled && one.checkVisibility() &&
            !(one.type === "radio" && !one.checked)) one.dataset.stop = ++number; return number; }""")
        reached, has_head = set(), self.page.get_by_role("banner").count() > 0
        self.page.evaluate("document.activeElement.blur()")
        for step in range(count):
            self.page.keyboard.press("Tab")
            stop = self.page.evaluate("""() => { const one = document.activeElement, style = getComputedStyle(one); return [one.dataset.stop, one.className,
                style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 || style.boxShadow !== "none", one.outerHTML.slice(0, 120)]; }""")
            assert step or stop[1] == "skip" or not has_head, f"{self.page.url}: the first stop is {stop[3]}"
            assert stop[2], f"{self.page.url}: the focus cannot be seen on {stop[3]}"
            reached.add(stop[0])
        left = self.page.evaluate("(reached) => [...document.querySelectorAll('[data-stop]')].filter(one => !reached.includes(one.dataset.stop))"
                                  ".map(one => one.outerHTML.slice(0, 120))", sorted(reached - {None}))
        assert not left, f"{self.page.url}: Tab does not reach {left[:5]}"

    def look(self):
        """All of it, on the page that is shown now."""
        self.check()
        if self.script:
            self.fits_phone()
            self.is_accessible()
            self.walks_by_keyboard()

    def close(self):
        self.context.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
