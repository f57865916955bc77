# SPDX-License-Identifier: MIT
"""One Kettle with a device on each runner at once: this machine, the fake GitHub, the app of Modal, a real Slurm, a real sshd."""
import base64
import json
import os

import remote_machine
import github_runner
import kettle_test as kt
import slurm_cluster
import small_board
import ssh_server
from small_board import GOOD

DEVICES = ("LOCAL", "GITHUB", "MODAL", "SLURM", "SSH")
APP = kt.SOURCE / "plugins" / "runners" / "modal" / "modal_app.py"


def missing():
    """What this machine lacks, as a reason for a skip; None: all is there."""
    if not github_runner.client.python():
        return "no environment with PyGithub and aiohttp (./quickstart test makes it)"
    return slurm_cluster.missing() or ssh_server.missing()


class RemoteRunners:
    """All remote sides, started; the configuration of a scratch Kettle on them, and a board on all devices."""

    def __init__(self, scratch, slots=2, quick=True, restricted=False):
        """quick: they are looked at more often than by default. restricted: all run on a remote_machine.Machine, which is."""
        self.quick, self.machine, self.before = quick, None, []
        self.scratch, self.slots, self.server, self.closes = scratch, slots, None, []
        self.key = base64.b64encode(os.urandom(32)).decode()
        self.key_file = scratch.write("kettle.key", self.key + "\n")
        self.key_file.chmod(0o600)
        self.program = scratch.write("far-exec", f"#!/bin/sh\nexec '{kt.FAR_EXEC}' --config '{scratch.root}/.config/kettle/exec.yml' "
                                     f"--state '{scratch.state}' \"$@\"\n")
        self.program.chmod(0o755)
        try:
            self.sections, self.units = {"local": {"state": str(scratch.state)}}, {"LOCAL": {"runner": "local", "slots": slots}}
            self.env = {}
            if restricted:
                self.start_machine()
            for start in (self.start_github, self.start_modal, self.start_slurm, self.start_ssh):
                device, section, unit = start()
                self.sections[unit["runner"]] = section
                self.units[device] = {"slots": slots, **unit}
            self.configure()
            self.initialise()
        except BaseException:
            self.close()
            raise

    def configure(self, **more):
        """more: what all units have besides."""
        units = {device: {**unit, **more} for device, unit in self.units.items()}
        self.scratch.config.write_text(f"languages: {{cpp: {{}}}}\nrunners: {json.dumps(self.sections)}\ndevices: {json.dumps(units)}\n"
                                       "engine: {shutdown_grace: 3}\n")

    def start_machine(self):
        self.machine = remote_machine.Machine()
        self.closes.append(self.machine.close)
        self.machine.restrict()
        self.before = self.machine.command
        local = self.scratch.write("local-exec", f"#!/bin/sh\nexec {' '.join(self.before)} '{kt.EXEC}' \"$@\"\n")
        local.chmod(0o755)
        self.sections["local"]["exec"] = str(local)

    def start_github(self):
        root = self.scratch.root
        self.github = github_runner.client.Fake(github_runner.needed(), root / "fake.log", self.before, interrupt_ms=2000, terminate_ms=500)
        self.closes.append(self.github.close)
        tokens = self.scratch.write("tokens", "token-0123456789\n")
        tokens.chmod(0o600)
        self.github.post("token", token="token-0123456789")
        section = {"token_file": str(tokens), "key_file": str(self.key_file), "url": self.github.url,
                   "exec_archive": str(github_runner.archive(root / "archive")), **({"poll_ms": 250, "give_up_s": 20} if self.quick else {})}
        return "GITHUB", section, {"runner": "github", "options": {"repo": "ada/far"}}

    def start_modal(self):
        modal = kt.peer_client("modal")
        self.modal = modal.Served(APP, self.scratch.root / "modal", self.program, self.key, before=self.before)
        self.closes.append(self.modal.close)
        self.env.update(ID=modal.TOKEN_ID, SECRET=modal.TOKEN_SECRET)
        section = {"url": self.modal.url, "token_id_env": "ID", "token_secret_env": "SECRET", "key_file": str(self.key_file)}
        return "MODAL", section, {"runner": "modal", "options": {"function": "gpu"}}

    def start_slurm(self):
        self.slurm = slurm_cluster.Cluster(before=self.before)
        self.closes.append(self.slurm.close)
        self.shared = self.scratch.root / "shared"
        self.shared.mkdir(mode=0o700)
        self.env.update(SLURM_CONF=str(self.slurm.conf), PATH=self.slurm.env["PATH"])
        section = {"folder": str(self.shared), "exec": str(self.program), "key_file": str(self.key_file),
                   **({"grace_s": 2, "queue_ms": 300, "poll_ms": 100} if self.quick else {})}
        return "SLURM", section, {"runner": "slurm", "options": {"memory_mb": 512, "cores": 1}}

    def start_ssh(self):
        self.ssh = ssh_server.Server(self.scratch.root / "ssh", "far", before=self.before)
        self.closes.append(self.ssh.close)
        state = self.scratch.root / "ssh" / "state"
        kt.known_tools.give(state)
        program = self.scratch.write("ssh/kettle-exec", f"#!/bin/sh\nexec '{kt.FAR_EXEC}' \"$@\" --config "
                                     f"'{self.scratch.root}/.config/kettle/exec.yml' --state '{state}'\n")
        program.chmod(0o755)
        return "SSH", {"lease_s": 5}, {"runner": "ssh", "options": {"host": "far", "exec": str(program), "flags": ["-F", str(self.ssh.client)]}}

    def initialise(self):
        """What an operator does once: the repository, the shared folder, the boards: on `brief` a test has one second."""
        folder = self.scratch.root / "repository"
        self.scratch.run("runner", "init", "github", folder, "--option", f"key_file={self.key_file}", env=self.env)
        settings = {"locks": str(self.scratch.root / "locks"), **kt.EXEC_SETTINGS}
        (folder / ".github" / "kettle" / "exec.yml").write_text(json.dumps(settings))
        self.github.repo("ada/far", folder, secrets={"KETTLE_KEY": self.key}, machines=self.slots)
        self.scratch.run("runner", "init", "slurm", self.shared, env=self.env)
        for board, text in (("b", small_board.TASK), ("brief", small_board.BRIEF)):
            self.scratch.board(board, small_board.make(self.scratch.root / board, text), *(word for device in DEVICES for word in ("--device", device)),
                               env=self.env)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def stop(self):
        if self.server and self.server.poll() is None:
            self.server.terminate()
            self.server.wait(120)

    def close(self):
        self.stop()
        while self.closes:
            self.closes.pop()()

    def serve(self, **more):
        self.server = self.scratch.serve(env={**self.env, **more})

    def submit(self, device, code=GOOD, mode="test", board="b"):
        """The number of a submission that was accepted."""
        return self.scratch.submit(self.scratch.write(f"given-{device}.cpp", code), board, mode, device=[device])

    def heard(self, runner):
        """Whether the engine knows of all jobs on this side that they run."""
        jobs = self.scratch.call("runner.status", {"name": runner})["jobs"]
        return jobs and all(job["state"] == "running" for job in jobs)

    def ended(self):
        """{submission: its state} of those that have a verdict."""
        return dict(self.scratch.rows("SELECT submission, state FROM jobs WHERE done_at IS NOT NULL"))

    def show(self, submission):
        return self.scratch.run("submission", "show", submission, status=None, env=self.env).stdout
