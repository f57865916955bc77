# SPDX-License-Identifier: MIT
"""A real Slurm of one node in a folder of its own, for the tests of one file: its own ports, its own munged, no systemd.

It works as root and as an ordinary user: the daemons, SlurmUser and the jobs all are the user who runs the tests."""
import atexit
import ctypes
import getpass
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile

from kettle_test import poll

DAEMONS = ("munged", "slurmctld", "slurmd")
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
NODE = "kettle0"
CPUS = 64  # more than there are: jobs of tests mostly wait
CONF = """\
ClusterName=kettle
SlurmctldHost={name}({here})
SlurmctldPort={ctld_port}
SlurmdPort={d_port}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={root}/munge.socket
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd.pid
SlurmctldLogFile={root}/slurmctld.log
SlurmdLogFile={root}/slurmd.log
SlurmdParameters=config_overrides
MailProg=/bin/true
MpiDefault=none
SwitchType=switch/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=sched_interval=1,batch_sched_delay=0
ReturnToService=2
KillWait=3
MessageTimeout={patience}
SlurmdTimeout=300
MaxArraySize=4001
MaxJobCount=20000
GresTypes=bench
NodeName={node} NodeHostname={name} NodeAddr={there} CPUs={cpus} RealMemory=64000 Gres=bench:4 Feature=fast
PartitionName=main Nodes={node} Default=YES State=UP OverTimeLimit=0
PartitionName=shut Nodes={node} State=DOWN
"""


def missing():
    """What is not installed, as a reason for a skip; None: all is there."""
    absent = [name for name in (*DAEMONS, "sbatch", "squeue", "scontrol", "scancel") if not shutil.which(name, path=PATH)]
    return f"there is no {absent[0]} (install slurm-wlm and munge)" if absent else None


HELD = []


def own_ports(count):
    """Ports for daemons that are told theirs: below those that the system gives to sockets that ask for any, and kept from other
    tests by a name in the abstract namespace, which lasts as long as this process."""
    found = []
    while len(found) < count:
        port, name = random.randrange(10000, 30000), socket.socket(socket.AF_UNIX)
        try:
            name.bind(f"\0kettle-test-port-{port}")
            socket.create_server(("", port)).close()
        except OSError:
            name.close()
            continue
        HELD.append(name)
        found.append(port)
    return found


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Cluster:
    """Started by the constructor, once its node takes jobs; close() ends everything that belongs to it. host: of remote_hosts.py, where
    slurmd runs, with this machine's files; close() closes it."""

    def __init__(self, host=None, before=()):
        """before: words of a command that runs slurmd, where it runs elsewhere."""
        self.host = host
        self.before = [*(host.command() if host else ()), *before]
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="kettle-slurm-"))
        os.chmod(self.root, 0o755)
        for name in ("state", "spool"):
            (self.root / name).mkdir()
        self.conf, self.daemons_conf = self.root / "slurm.conf", self.root / "daemons.conf"
        self.children = {}
        atexit.register(self.close)
        (self.root / "munge.key").write_bytes(os.urandom(64))
        os.chmod(self.root / "munge.key", 0o600)
        ctld_port, d_port = own_ports(2)
        # A command ends soon where no controller answers. Between daemons a job whose node is silent for so long is taken from it, and
        # this node is as busy as the tests are.
        for path, patience in ((self.conf, 3), (self.daemons_conf, 100)):
            path.write_text(CONF.format(root=self.root, user=getpass.getuser(), name=socket.gethostname().split(".")[0],
                                        here=host.gateway if host else "127.0.0.1", there=host.address if host else "127.0.0.1",
                                        ctld_port=ctld_port, d_port=d_port, node=NODE, cpus=CPUS, patience=patience))
        (self.root / "gres.conf").write_text(f"NodeName={NODE} Name=bench Count=4\n")
        self.env = {**{k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "SBATCH", "SQUEUE", "SCANCEL"))},
                    "SLURM_CONF": str(self.conf), "PATH": PATH}
        self.restart("munged")
        poll((self.root / "munge.socket").exists, "munged's socket")
        self.restart("slurmctld")
        self.restart("slurmd")
        poll(self.is_up, "a node that takes jobs")

    def command(self, daemon):
        if daemon == "munged":
            return ["munged", "--foreground", "--force", *(f"--{what}={self.root}/munge.{end}" for what, end in (
                ("key-file", "key"), ("socket", "socket"), ("pid-file", "pid"), ("log-file", "log"), ("seed-file", "seed")))]
        own = ["-D", "-f", str(self.daemons_conf)]
        return [*self.before, "slurmd", *own, "-N", NODE] if daemon == "slurmd" else [daemon, *own]

    def restart(self, daemon):
        """Starts a daemon, or starts it again after kill."""
        child = self.children.get(daemon)
        assert child is None or child.poll() is not None, f"{daemon} still runs"
        with open(self.root / f"{daemon}.out", "a") as out:
            self.children[daemon] = subprocess.Popen(
                self.command(daemon), env=self.env, cwd=self.root, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                executable=shutil.which(self.command(daemon)[0], path=PATH), preexec_fn=die_with_parent, start_new_session=True)

    def kill(self, daemon):
        """kill -9; its jobs go on."""
        self.children[daemon].kill()
        self.children[daemon].wait()

    def run(self, *args, status=0):
        """One of Slurm's commands; its output."""
        done = subprocess.run([str(arg) for arg in args], env=self.env, cwd=self.root, capture_output=True, text=True,
                              timeout=120)
        if status is not None and done.returncode != status:
            raise AssertionError(f"{' '.join(map(str, args))}: status {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def node_state(self):
        return self.run("sinfo", "--noheader", "--format=%T", "--partition=main", status=None).strip()

    def is_up(self):
        for daemon, child in self.children.items():
            if child.poll() is not None:
                log = (self.root / f"{daemon}.out").read_text(errors="replace")
                raise AssertionError(f"{daemon} ended with {child.returncode}:\n{log[-2000:]}")
        return self.node_state() in ("idle", "mixed", "allocated")

    def silence_allowed(self, seconds):
        """How long its node may be unreachable until it is down."""
        text = self.daemons_conf.read_text()
        self.daemons_conf.write_text(re.sub("SlurmdTimeout=.*", f"SlurmdTimeout={seconds}", text))
        self.run("scontrol", "reconfigure")

    def set_node(self, state):
        """down (its jobs fail), drain (no new jobs) or resume, which a node that is up already refuses."""
        update = "scontrol", "update", f"NodeName={NODE}", f"State={state}"
        if state != "resume":
            self.run(*update, "Reason=test")
        else:
            poll(lambda: self.run(*update, status=None) == "" and self.is_up(), "a node that takes jobs")

    def jobs(self, prefix="", states="PD,R,CG"):
        """[{id, name, state}] of the jobs whose name begins so; a task of an array is one."""
        rows = self.run("squeue", "--noheader", "--array", f"--states={states}", "--format=%i|%T|%j", status=None)
        rows = [row.split("|", 2) for row in rows.splitlines() if row.count("|") >= 2]
        return [dict(zip(("id", "state", "name"), row)) for row in rows if row[2].startswith(prefix)]

    def step_daemons(self):
        """The process ids of the slurmstepds."""
        return [pid for pid, line in self.processes() if "slurmstepd" in line]

    def processes(self):
        """(pid, command line) of everything that has a configuration of this cluster in its environment, and is not a daemon."""
        own = {os.getpid(), *(child.pid for child in self.children.values())}
        mark = f"SLURM_CONF={self.root}/".encode()
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) in own:
                continue
            try:
                if any(word.startswith(mark) for word in (entry / "environ").read_bytes().split(b"\0")):
                    yield int(entry.name), (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue

    def clear(self):
        """Ends all jobs, whatever they do, and waits until none is left."""
        def left():
            self.run("scancel", f"--user={getpass.getuser()}", status=None)
            return self.jobs()
        poll(lambda: not left(), "the end of all jobs")

    def close(self):
        for daemon in reversed(DAEMONS):
            if daemon in self.children and self.children[daemon].poll() is None:
                self.kill(daemon)

        def gone():
            there = list(self.processes())
            for pid, _ in there:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            return not there
        poll(gone, "the end of the cluster's processes")
        if self.host:
            self.host = self.host.close()
        shutil.rmtree(self.root, ignore_errors=True)
