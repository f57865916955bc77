# SPDX-License-Identifier: MIT
"""Kettle with the runner github on the fake GitHub: the repository, the configuration, and what submissions lead to."""
import json
import os
import sys
import tarfile

import kettle_test as kt
import small_board

client = kt.peer_client("github")


def needed():
    """The interpreter of the fake; the whole test is skipped where there is none."""
    kt.needs("github")
    python = client.python()
    if not python:
        print("1..0 # SKIP no environment with PyGithub and aiohttp (./quickstart test makes it)")
        sys.exit(0)
    return python


def archive(folder):
    """What stands for the archive of `make portable-exec`: the kettle-exec of this build, with the state that all tests share."""
    program = folder / "kettle-exec-0" / "bin" / "kettle-exec"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec {kt.FAR_EXEC} --state {kt.STATE / "exec"} "$@"\n')
    program.chmod(0o755)
    path = folder / "kettle-exec.tar.xz"
    with tarfile.open(path, "w:xz") as file:
        file.add(program.parents[1], "kettle-exec-0")
    return path


class Remote:
    """The fake, a repository that `kettle runner init` has set up, and a scratch Kettle whose devices are there.

    repos: {device: settings of its repository on the fake, and `units`: how many repositories it has}."""

    def __init__(self, scratch, repos, tokens=1, fake=None, section=None, frontends=""):
        self.scratch = scratch
        settings = {"interrupt_ms": 2000, "terminate_ms": 500, **(fake or {})}
        self.fake = client.Fake(needed(), scratch.root / "fake.log", **settings)
        self.folder = scratch.root / "repository"
        self.key_file, self.token_file = scratch.root / "kettle.key", scratch.root / "tokens"
        self.tokens = [f"token-{number:030d}" for number in range(tokens)]
        self.token_file.write_text("".join(f"{token}\n" for token in self.tokens))
        self.token_file.chmod(0o600)
        for token in self.tokens:
            self.fake.post("token", token=token)
        self.section = {"token_file": str(self.token_file), "key_file": str(self.key_file), "url": self.fake.url, "poll_ms": 150,
                        "give_up_s": 20, "exec_archive": str(archive(scratch.root / "archive")), **(section or {})}
        self.devices = {device: {"units": [{"runner": "github", "slots": one.pop("slots", 1), "options": {"repo": repo, **one.pop("options", {})}}
                                           for repo in names(device, one.pop("units", 1))]} for device, one in repos.items()}
        self.frontends = frontends
        self.write_config({})
        self.initialised = self.initialise(self.folder)
        environment = {key: value for key, value in os.environ.items() if key.endswith("SAN_OPTIONS")}
        for device, one in repos.items():
            for unit in self.devices[device]["units"]:
                self.fake.repo(unit["options"]["repo"], self.folder, env=environment, **{"secrets": {"KETTLE_KEY": self.key_file.read_text().strip()}, **one})
        self.write_config(self.section)
        self.server = None

    def write_config(self, section, **changes):
        """Without a key the first time: `runner init` makes it."""
        keys = {key: value for key, value in self.section.items() if key not in ("key_file", "token_file") or key in section}
        keys.update(changes)
        text = (f"languages: {{cpp: {{}}}}\nrunners: {{local: {{state: {self.scratch.state}}}, github: {json.dumps(keys)}}}\n"
                f"devices: {json.dumps(self.devices)}\n{self.frontends}")
        self.scratch.config.write_text(text)

    def initialise(self, folder, *options):
        """What an operator does, but for the commit and the secret, which the fake has from here. What was printed."""
        options = [word for option in (f"key_file={self.key_file}", *options) for word in ("--option", option)]
        done = self.scratch.json("runner", "init", "github", folder, *options)
        settings = {"locks": str(self.scratch.root / "locks"), **kt.EXEC_SETTINGS}
        (folder / ".github" / "kettle").mkdir(exist_ok=True)  # where the archive lies, if it is not at a URL
        (folder / ".github" / "kettle" / "exec.yml").write_text(json.dumps(settings))
        return done

    def board(self, files=None):
        """A board on all devices, whose jobs take a moment; files: {name: text} of further ones of the task."""
        more = "".join(f"{{name: {name}, source: {name}}}, " for name in files or {})
        folder = small_board.make(self.scratch.root / "small", small_board.TASK.replace("files: [", f"files: [{more}", 1))
        for name, text in (files or {}).items():
            (folder / name).write_text(text)
        self.create("far", folder)

    def real_board(self):
        """One of those that Kettle brings along."""
        self.create("real", self.scratch.task())

    def create(self, name, task):
        self.scratch.board(name, task, *(word for device in self.devices for word in ("--device", device)))

    def serve(self, **more):
        self.server = self.scratch.serve(**more)
        return self.server

    def submit(self, device, mode="test", solution=None, kind="correct"):
        """The identifier of a new submission; solution: one for the real board."""
        path = self.scratch.solution(solution, kind=kind) if solution else self.scratch.write("good.cpp", small_board.GOOD)
        return self.scratch.submit(path, "real" if solution else "far", mode, device=[device])

    def open_jobs(self, submission):
        """How many jobs of it have no verdict yet."""
        return self.scratch.rows("SELECT count(*) FROM jobs WHERE submission = ? AND state IN ('queued', 'running')", submission)[0][0]

    def ended(self, submission):
        """The submission with its verdict."""
        return self.scratch.ended(submission)

    def stop(self):
        self.server.terminate()
        status = self.server.wait(timeout=60)
        assert status == 0, f"status {status}: {self.server.log.read_text()}"

    def dispatches(self, repo):
        """How many runs a repository has had."""
        return len(self.fake.runs(repo))

    def close(self):
        self.fake.close()


def names(device, count):
    """The repositories of a device."""
    return [f"ada/{device.lower()}" + (f"-{number}" if number else "") for number in range(count)]
