# SPDX-License-Identifier: MIT
"""The machines: they take queued runs, run the steps of the workflow file, and keep what these say and upload.

Theory of operation. Each run is a task of the loop: it waits until its repository has a machine for it, then goes through the
steps one by one. A `run` step is a bash in a session of its own, in a folder of the run, without this program's environment;
at its end, at a cancel and at the end of this program the whole session is killed."""
import asyncio
import contextlib
import ctypes
import os
import pathlib
import shutil
import signal
import tempfile
import time

import expressions
import zips
from world import Artifact, stamp

MOST_LOG = 4 << 20
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG
prctl = ctypes.CDLL(None).prctl


def lines_of(path):
    """NAME=VALUE and NAME<<END … END of GITHUB_ENV and GITHUB_OUTPUT."""
    out, lines = {}, iter(path.read_text().splitlines())
    for line in lines:
        name, equals, value = line.partition("=")
        if "<<" in name:
            name, _, end = line.partition("<<")
            value = "\n".join(iter(lambda: next(lines, end), end))
        elif not equals:
            continue
        out[name] = value
    return out


class Cancelled(Exception):
    """The run is to end."""


class Lost(Exception):
    """The machine goes away."""


class Machines:
    def __init__(self, world):
        self.world, self.tasks = world, set()
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="kettle-github-"))

    def start(self, run, workflow):
        run.wake = asyncio.Event()
        task = asyncio.create_task(self.guarded(run, workflow))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def shut(self):
        tasks = list(self.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        shutil.rmtree(self.root, ignore_errors=True)

    async def guarded(self, run, workflow):
        try:
            await self.go(run, workflow)
        except Exception as error:  # a fault of the fake: the test must see it
            self.world.violate("fake", f"run {run.id}: {type(error).__name__}: {error}")
            run.change("completed", "failure")

    async def pause(self, run, seconds):
        """Waits, unless the run is cancelled."""
        end = time.monotonic() + seconds
        while not run.cancelled and time.monotonic() < end:
            run.wake.clear()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(run.wake.wait(), end - time.monotonic())
        if run.cancelled:
            raise Cancelled

    async def until(self, run, condition):
        while not condition():
            await self.pause(run, 0.05)

    def is_next(self, run):
        """Whether a machine of its repository is free for it."""
        busy = sum(one.status == "in_progress" for one in run.repo.runs)
        waiting = [one for one in run.repo.runs if one.status == "queued" and one.ready]
        return busy < run.repo.setting("machines") and waiting and waiting[0] is run

    async def go(self, run, workflow):
        script, repo = run.script, run.repo
        try:
            await self.pause(run, script.get("queue_ms", repo.setting("queue_ms")) / 1000)
            run.ready = True
            if not script.get("unstarted"):
                await self.until(run, lambda: self.is_next(run))
        except Cancelled:
            return run.change("completed", "cancelled")
        if script.get("unstarted"):
            return run.change("completed", script.get("conclusion", "failure"))
        run.change("in_progress")
        job = Job(self.world, run, workflow, self.root / str(run.id))
        try:
            held = repo.released
            await self.pause(run, script.get("run_ms", repo.setting("run_ms")) / 1000)
            await self.until(run, lambda: not script.get("hold") or repo.released > held)
        except Cancelled:
            job.state["cancelled"] = True
        await job.go()
        if script.get("artifact") == "late":
            artifacts, run.artifacts = run.artifacts, []
            run.change("completed", script.get("conclusion", job.conclusion))
            await asyncio.sleep(script["late_ms"] / 1000)
            run.artifacts = artifacts
        else:
            run.change("completed", script.get("conclusion", job.conclusion))


class Job:
    """The only job of a run."""

    def __init__(self, world, run, workflow, folder):
        self.world, self.run, self.workflow, self.folder = world, run, workflow, folder
        self.workspace, self.temp, self.home = folder / "work", folder / "temp", folder / "home"
        self.state, self.conclusion = {"failed": False, "cancelled": False}, None
        self.environment, self.paths, self.outputs, self.process = {}, [], {}, None
        self.said = 0
        for one in (self.workspace, self.temp, self.home):
            one.mkdir(parents=True)
        run.machine = f"machine-{run.id}"
        run.labels = expressions.fill(workflow.job["runs-on"], self.contexts(), self.state)
        run.labels = [run.labels] if isinstance(run.labels, str) else run.labels
        self.secrets = [line for secret in run.repo.secrets.values() for line in secret.splitlines() if line.strip()]

    def contexts(self):
        run = self.run
        github = {"run_id": str(run.id), "run_attempt": "1", "run_number": str(run.number), "repository": run.repo.name,
                  "ref": f"refs/heads/{run.repo.branch}", "ref_name": run.repo.branch, "sha": run.sha, "event_name": "workflow_dispatch",
                  "workflow": self.workflow.name, "job": self.workflow.job_name, "workspace": str(self.workspace), "actor": "kettle",
                  "event": {"inputs": run.inputs}, "server_url": self.world.url, "api_url": self.world.url}
        return {"inputs": run.inputs, "secrets": run.repo.secrets, "github": github, "env": self.environment, "vars": {},
                "steps": self.outputs, "runner": {"os": "Linux", "arch": "X64", "name": run.machine, "temp": str(self.temp),
                                                  "environment": "self-hosted"},
                "job": {"status": "failure" if self.state["failed"] else "success"}}

    def say(self, text):
        """A line of the log, with the secrets masked."""
        if self.said > MOST_LOG:
            return
        self.said += len(text)
        for secret in self.secrets:
            text = text.replace(secret, "***")
        self.run.log += [f"{stamp(time.time())} {line}" for line in text.splitlines() or [""]]

    async def go(self):
        try:
            self.say(f"Current runner version: 'fake'\nRequested labels: {', '.join(map(str, self.run.labels))}")
            given = self.workflow.job.get("env") or {}
            self.environment = {name: self.fill(value) for name, value in {**(self.workflow.document.get("env") or {}), **given}.items()}
            for number, step in enumerate(self.workflow.job["steps"], 1):
                await self.step(number, step)
        except Lost:
            self.state["failed"] = True
            self.run.artifacts.clear()
        finally:
            await self.kill()
            shutil.rmtree(self.folder, ignore_errors=True)
        self.conclusion = "cancelled" if self.state["cancelled"] else "failure" if self.state["failed"] else "success"

    def fill(self, value):
        return expressions.text_of(expressions.fill(value, self.contexts(), self.state))

    async def step(self, number, step):
        name = step.get("name") or step.get("uses") or f"Run {step['run'].splitlines()[0]}"
        record = {"name": name, "status": "in_progress", "conclusion": None, "number": number, "started_at": stamp(time.time()),
                  "completed_at": None}
        self.run.steps.append(record)
        self.state["cancelled"] = self.state["cancelled"] or self.run.cancelled
        ended = "skipped"
        if not self.run.forced and expressions.holds(step.get("if"), self.contexts(), self.state):
            ended = await self.perform(number, step)
        if ended == "failure" and not step.get("continue-on-error"):
            self.state["failed"] = True
        record.update(status="completed", conclusion=ended, completed_at=stamp(time.time()))
        if self.run.script.get("lost") and "run" in step and "KETTLE_KEY" in str(step.get("env")):
            raise Lost

    async def perform(self, number, step):
        """Runs a step; its conclusion."""
        try:
            if "run" in step:
                passed = await self.bash(number, step)
            else:
                passed = self.use(step)
        except expressions.Wrong as error:
            self.say(f"##[error]{error}")
            self.world.violate("fake", f"run {self.run.id}: {error}")
            passed = False
        return "success" if passed else "failure"

    def base_environment(self):
        contexts = self.contexts()["github"]
        files = {f"GITHUB_{name}": str(self.temp / name) for name in ("ENV", "PATH", "OUTPUT", "STEP_SUMMARY")}
        for path in files.values():
            pathlib.Path(path).write_text("")
        names = ("run_id", "run_attempt", "run_number", "repository", "ref", "sha", "workflow", "job", "workspace", "actor")
        paths = [*self.paths, self.run.repo.env.get("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")]
        return {"HOME": str(self.home), "CI": "true", "GITHUB_ACTIONS": "true", "LANG": "C.UTF-8", "RUNNER_OS": "Linux",
                "RUNNER_TEMP": str(self.temp), "RUNNER_ENVIRONMENT": "self-hosted", **files, **self.run.repo.env,
                **{f"GITHUB_{name.upper()}": contexts[name] for name in names}, "PATH": ":".join(paths)}

    async def bash(self, number, step):
        body = self.fill(step["run"])
        given = {name: self.fill(value) for name, value in (step.get("env") or {}).items()}
        self.say(f"##[group]Run {body}\nshell: /usr/bin/bash -e {{0}}")
        for name, value in {**self.environment, **given}.items():
            self.say(f"  {name}: {value}")
        self.say("##[endgroup]")
        script = self.temp / f"step{number}.sh"
        script.write_text(body)
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail"] if step.get("shell") == "bash" else ["bash", "-e"]
        where = self.workspace / self.fill(step.get("working-directory", "."))
        environment = {**self.base_environment(), **self.environment, **given}
        self.process = await asyncio.create_subprocess_exec(
            *shell, script, cwd=where, env=environment, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT, start_new_session=True, preexec_fn=lambda: prctl(DIE_WITH_PARENT, signal.SIGKILL))
        # What the step has started may keep the pipe: only the shell is waited for.
        reader, ended = asyncio.create_task(self.read(self.process.stdout)), asyncio.create_task(self.process.wait())
        await self.attend(ended)
        await self.kill()
        await reader
        status = ended.result()
        if status != 0:
            self.say(f"##[error]Process completed with exit code {status}.")
        self.environment.update(lines_of(self.temp / "ENV"))
        self.paths[:0] = (self.temp / "PATH").read_text().split()
        if step.get("id"):
            self.outputs[step["id"]] = {"outputs": lines_of(self.temp / "OUTPUT")}
        return status == 0

    async def read(self, stream):
        rest = b""
        while data := await stream.read(65536):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self.say(line.decode(errors="replace"))
        if rest:
            self.say(rest.decode(errors="replace"))

    async def attend(self, ended):
        """Waits for the end of the step; interrupts it, terminates it and kills it when the run is cancelled."""
        run = self.run
        was = self.state["cancelled"]  # then it is a step that runs nevertheless
        while not ended.done() and (was or not run.cancelled):
            run.wake.clear()
            waked = asyncio.create_task(run.wake.wait())
            await asyncio.wait({ended, waked}, return_when=asyncio.FIRST_COMPLETED, timeout=1)
            waked.cancel()
            if run.forced:
                break
        if ended.done():
            return
        self.state["cancelled"] = True
        self.say("##[error]The operation was canceled.")
        for number, name in ((signal.SIGINT, "interrupt_ms"), (signal.SIGTERM, "terminate_ms")):
            if not run.forced:
                with contextlib.suppress(ProcessLookupError):
                    self.process.send_signal(number)
                await asyncio.wait({ended}, timeout=run.repo.setting(name) / 1000)
        await self.kill()
        await ended

    async def kill(self):
        """All that the last step has started and that is in its session still."""
        if self.process:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            await self.process.wait()

    def use(self, step):
        action = step["uses"].partition("@")[0]
        given = {name: self.fill(value) for name, value in (step.get("with") or {}).items()}
        self.say(f"##[group]Run {step['uses']}")
        for name, value in given.items():
            self.say(f"  {name}: {value}")
        self.say("##[endgroup]")
        if action == "actions/checkout":
            return self.checkout(given)
        if action == "actions/upload-artifact":
            return self.upload(given)
        raise expressions.Wrong(f"the fake has no action {action}")

    def checkout(self, given):
        target = self.workspace / given.get("path", ".")
        only = [one.strip("/") for one in given.get("sparse-checkout", "").split()]
        for entry in self.run.repo.folder.iterdir():
            if entry.name == ".git" or (only and entry.is_dir() and entry.name not in only):
                continue
            if entry.is_dir():
                shutil.copytree(entry, target / entry.name, symlinks=True, dirs_exist_ok=True)
            else:
                shutil.copy2(entry, target / entry.name)
        return True

    def upload(self, given):
        name, script, run = given.get("name", "artifact"), self.run.script, self.run
        files = zips.collect(self.workspace, given["path"])
        if not files:
            wanted = given.get("if-no-files-found", "warn")
            self.say(f"##[{'error' if wanted == 'error' else 'warning'}]No files were found with the provided path: {given['path']}.")
            return wanted != "error"
        if any(one.name == name for one in run.artifacts):
            if given.get("overwrite") != "true":
                self.say(f"##[error]an artifact with the name {name} already exists on the workflow run")
                return False
            run.artifacts = [one for one in run.artifacts if one.name != name]
        if script.get("artifact") == "missing":
            return True
        replaced = self.world.runs.get(script.get("result_of"))
        if replaced and replaced.artifacts:
            files = zips.unpacked(replaced.artifacts[0].data)
        artifact = Artifact(self.world, run, name, zips.pack(files, script.get("zip")))
        if script.get("digest"):
            artifact.digest = None if script["digest"] == "none" else "sha256:" + "0" * 64
        if script.get("size") == "wrong":
            artifact.size += 1
        artifact.expired = script.get("artifact") == "expired"
        for _ in range(1 + (script.get("artifact") == "twice")):
            run.artifacts.append(artifact)
            self.world.artifacts[artifact.id] = artifact
            artifact = Artifact(self.world, run, name, artifact.data)
        self.say(f"Artifact {name} has been successfully uploaded!")
        return True
