# SPDX-License-Identifier: MIT
"""kettle-exec --sealed: a plan comes and its result goes in an envelope, and nothing else tells what was in it."""
import hashlib
import hmac
import re
import resource
import zlib

from exec_driver import *

SEAL = os.path.abspath(os.path.join(BUILD, "tests", "lib", "seal"))
PROGRAM = os.path.abspath(PROGRAM)
JOB = "kettle-1f0c9a3e-12.1"
SEED = "seed-7340912655"


class Sealed:
    """One unit with its key, one job with its plan, and the kettle-exec that runs it."""

    def __init__(self, folder, steps, job=JOB, key=None, unit=None):
        self.folder, self.job, self.raw = folder, job, key or os.urandom(32)
        self.key = base64.b64encode(self.raw).decode()
        self.plan = {"version": 1, "steps": steps}
        self.hash = hashlib.sha256(json.dumps(self.plan, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
        self.content = json.dumps(dict({"plan": self.plan}, **({"unit": unit} if unit else {}))).encode()
        self.state = os.path.join(folder, "state")
        self.result, self.progress = os.path.join(folder, "result"), os.path.join(folder, "progress")
        known_tools.give(self.state)

    def seal(self, *arguments, data=b"", key=None):
        return subprocess.run([SEAL, *arguments], input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=dict(os.environ, SEAL_KEY=key or self.key))

    def envelope(self, kind="plan", job=None, content=None):
        made = self.seal("make", kind, job or self.job, self.hash, data=self.content if content is None else content)
        assert made.returncode == 0, made.stderr
        return made.stdout

    def command(self, *more):
        with open(os.path.join(self.folder, "exec.yml"), "w") as file:
            json.dump(dict({"locks": os.path.join(self.folder, "locks")}, **EXEC_SETTINGS), file)
        return [PROGRAM, "--sealed", "-", "--result", self.result, "--progress", self.progress, "--state", self.state,
                "--config", os.path.join(self.folder, "exec.yml"), *more]

    def start(self, *more, envelope=None, env=None, before=()):
        process = subprocess.Popen([*before, *self.command(*more)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=dict(os.environ, KETTLE_KEY=self.key) if env is None else env)
        try:
            process.stdin.write(self.envelope() if envelope is None else envelope)
            process.stdin.close()
        except BrokenPipeError:  # it has refused something before it reads
            pass
        process.stdin = None
        return process

    def run(self, *more, **how):
        """Exit status and standard error; it prints nothing else."""
        process = self.start(*more, **how)
        out, err = process.communicate(timeout=PATIENCE)
        equal(out, b"")
        return process.returncode, err.decode()

    def unpack(self, into="artifacts", job=None):
        with open(self.result, "rb") as file:
            return self.seal("unpack", job or self.job, self.hash, os.path.join(self.folder, into), data=file.read())

    def completion(self, status):
        opened = self.unpack()
        assert opened.returncode == 0, opened.stderr
        completion = json.loads(opened.stdout)["completion"]
        equal((completion["status"], completion["job"], completion.get("error") if status == "done" else None), (status, self.job, None))
        Exec.lines.add(json.dumps(completion).encode())  # for as_documented
        return completion

    def events(self):
        with open(self.progress) as file:
            return [json.loads(line) for line in file]


def forever(marker):
    return [dict(shell("echo %s >out/told; sleep %s" % (SEED, marker)), id="s", kind="run",
                 cases={"name": "cases.txt", "text": "seed: %s\n" % SEED})]


def children_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        return [int(word) for word in file.read().split()]


def is_root():
    return os.geteuid() == 0


def runs(folder):
    """A plan runs, its result opens, its artifacts come"""
    steps = [dict(shell("mkdir out/deep; echo one >out/deep/a; printf 'b\\000\\377' >out/b; cat cases.txt"), id="s", kind="run",
                  artifacts=["deep/a", "b"], cases={"name": "cases.txt", "text": SEED}),
             dict(shell("exit 3"), id="t", kind="run")]
    x = Sealed(folder, steps, unit={"name": "CPU", "runner": "github"})
    equal(x.run("--run", "run 7"), (0, ""))
    opened = json.loads(x.unpack().stdout)
    equal((opened["run"], opened["completion"]["status"]), ("run 7", "done"))
    outcomes = {outcome["step"]: outcome for outcome in opened["completion"]["outcomes"]}
    equal((outcomes["s"]["state"], outcomes["s"]["stdout"]["text"], outcomes["t"]["exit"]), ("passed", SEED, 3))
    for name, data in (("deep/a", b"one\n"), ("b", b"b\0\xff")):
        with open(os.path.join(folder, "artifacts", "s", name), "rb") as file:
            equal(file.read(), data)
    equal([(event["event"], event.get("step"), event.get("state")) for event in x.events()],
          [("started", None, None), ("step", "s", "running"), ("step", "t", "running")])
    equal(spools(x.state), [])


def leaves_much(folder):
    """More than a result takes, and names as long as they may be: the verdict comes, with the files that fit"""
    long = "d/" + "n" * 198
    steps = [dict(shell("mkdir out/d; echo one >out/%s; truncate -s 257M out/big; echo last >out/e" % long), id="s", kind="run",
                  artifacts=["d", "big", "e"])]
    x = Sealed(folder, steps)
    equal(x.run(), (0, ""))
    outcome, = x.completion("done")["outcomes"]
    equal((outcome["state"], [file["name"] for file in outcome["artifacts"]]), ("passed", [long, "big", "e"]))
    equal(sorted(os.listdir(os.path.join(folder, "artifacts", "s"))), ["d", "e"])
    with open(os.path.join(folder, "artifacts", "s", long)) as file:
        equal(file.read(), "one\n")
    assert os.path.getsize(x.result) < 1 << 20


def forms(folder):
    """Text or bytes, by file or standard input, with the key from the environment or a file"""
    x = Sealed(folder, [dict(shell("true"), id="s", kind="run")])
    text = os.path.join(folder, "envelope")
    with open(text, "wb") as file:
        file.write(base64.b64encode(x.envelope()) + b"\n")
    equal(x.run("--sealed", text), (0, ""))
    x.completion("done")
    os.unlink(x.result)
    key = os.path.join(folder, "key")
    with open(key, "w") as file:
        file.write(x.key + "\n")
    env = {name: value for name, value in os.environ.items() if name != "KETTLE_KEY"}
    equal(x.run("--key-file", key, env=env), (0, ""))
    x.completion("done")
    os.unlink(x.result)
    # The file's wins, and the variable is overwritten all the same.
    equal(x.run("--key-file", key, env=dict(env, KETTLE_KEY="x")), (0, ""))
    os.unlink(x.result)
    link = os.path.join(folder, "link")
    os.symlink(key, link)
    for arguments, word in (((), "KETTLE_KEY"), (("--key-file", link), "symbolic link"), (("--key-file", folder), "regular file"),
                            (("--key-file", "/nonexistent"), "No such file")):
        status, err = x.run(*arguments, env=env)
        equal(status, 3)
        contains(err, word)
    status, err = x.run(env=dict(env, KETTLE_KEY=x.key[:-4]))
    equal(status, 3)
    assert "32 bytes" in err and x.key[:8] not in err, err
    assert not os.path.exists(x.result)


def refuses(folder):
    """What is not an envelope for this unit is refused, without a word of its content, and there is no result"""
    x = Sealed(folder, [dict(shell("true"), id="s", kind="run", env={"SEED": SEED})])
    other = Sealed(folder, [], key=os.urandom(32))
    good = x.envelope()
    place = good.index(JOB.encode())
    cases = [
        (good[:-1] + bytes([good[-1] ^ 1]), "changed"),
        (good[:60] + bytes([good[60] ^ 1]) + good[61:], "changed"),
        # One attempt's as another's: the name is bound.
        (good[:place] + b"kettle-1f0c9a3e-12.2" + good[place + len(JOB):], "changed"),
        (other.envelope(), "another key"),
        (x.envelope(kind="result"), "contains a result where a plan is expected"),
        (good[:-20], "changed"),
        (b"", "not a sealed envelope"),
        (x.content, "not a sealed envelope"),
        (b"KTLE2" + good[5:], "version 2, and Kettle"),
    ]
    for envelope, word in cases:
        status, err = x.run(envelope=envelope)
        equal((word, status, err.count("\n")), (word, 3, 1))
        contains(err, word)
        for secret in (SEED, x.key):
            assert secret not in err, err
        assert not os.path.exists(x.result), word


def void(folder):
    """A result of another attempt, unit or plan, or one that was edited, opens nowhere"""
    x = Sealed(folder, [dict(shell("true"), id="s", kind="run")])
    equal(x.run(), (0, ""))
    x.completion("done")
    contains(x.unpack(job="kettle-1f0c9a3e-12.2").stderr, b"is of job " + JOB.encode())
    y = Sealed(folder, [dict(shell("true"), id="t", kind="run")], key=x.raw)
    contains(y.unpack().stderr, b"another plan")
    z = Sealed(folder, [dict(shell("true"), id="s", kind="run")])
    contains(z.unpack().stderr, b"another key")
    with open(x.result, "r+b") as file:
        data = bytearray(file.read())
        data[-30] ^= 4
        file.seek(0)
        file.write(data)
    contains(x.unpack().stderr, b"changed")


def independent(folder):
    """Another implementation opens the result and makes the envelope"""
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise Skip("the Python of the tests has no package cryptography")
    x = Sealed(folder, [dict(shell("echo hi"), id="s", kind="run")])
    extracted = hmac.new(bytes(32), x.raw, "sha256").digest()
    aead = AESGCM(hmac.new(extracted, x.job.encode() + b"\x01", "sha256").digest())
    head = b"KTLE1\n\x01" + len(x.job).to_bytes(2, "big") + x.job.encode() + bytes.fromhex(x.hash) + os.urandom(12)
    equal(x.run(envelope=head + aead.encrypt(head[-12:], zlib.compress(x.content), head)), (0, ""))
    with open(x.result, "rb") as file:
        data = file.read()
    equal((data[:6], data[6], data[9:9 + len(x.job)], data[len(head) - 44:len(head) - 12].hex()),
          (b"KTLE1\n", 2, x.job.encode(), x.hash))
    package = zlib.decompress(aead.decrypt(data[len(head) - 12:len(head)], data[len(head):], data[:len(head)]))
    line = json.loads(package.split(b"\n")[0])
    equal((line["protocol"], line["completion"]["status"], line["files"], "run" in line), (1, "done", [], False))


def memory_of(pid):
    """All that a process can write to, and so may have a secret in."""
    with open("/proc/%d/maps" % pid) as maps, open("/proc/%d/mem" % pid, "rb", 0) as memory:
        for line in maps:
            found = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
            if found:
                start, end = (int(word, 16) for word in found.groups())
                if end - start > 1 << 30:  # a sanitizer's own
                    continue
                try:
                    memory.seek(start)
                    yield memory.read(end - start)
                except (OSError, ValueError):
                    pass


def readable(what):
    """What of each process this one may read; a process that has ended, or is closed to it, has nothing."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) == os.getpid():
            continue
        try:
            with open("/proc/%s/%s" % (pid, what), "rb") as file:
                yield int(pid), file.read()
        except OSError:
            pass


def closed(folder):
    """While it runs, the key is nowhere, the seed only where the step is, and what holds the attempt's key is closed"""
    marker = "6%d.25" % os.getpid()
    x = Sealed(folder, forever(marker))
    process = x.start()
    poll(lambda: processes_with("sleep\0" + marker), "the step runs")
    parent, child = process.pid, children_of(process.pid)[0]
    with open("/proc/%d/limits" % child) as limits:
        equal(re.search(r"Max core file size +(\S+) +(\S+)", limits.read()).groups(), ("0" if sanitizer() else "1", "1"))
    if resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] != 0 and not sanitizer():  # which locks nothing
        with open("/proc/%d/status" % parent) as status:  # out of the swap, the attempt's key
            assert re.search(r"VmLck:\s+[1-9]", status.read())
    extracted = hmac.new(bytes(32), x.raw, "sha256").digest()
    attempt = hmac.new(extracted, x.job.encode() + b"\x01", "sha256").digest()
    for what in ("environ", "cmdline"):
        for pid, data in readable(what):
            assert x.key.encode() not in data and x.raw not in data, (what, pid)
            # The step's own command has the seed; kettle-exec's have not.
            assert pid not in (parent, child) or SEED.encode() not in data, (what, pid)
    if is_root() and not sanitizer():  # which keeps what was freed
        # Root finds the key of the attempt, where it is needed, and nothing of the unit's.
        memory = b"\n".join(memory_of(parent))
        assert attempt in memory
        for secret in (x.key.encode(), x.raw, extracted):
            assert secret not in memory
        memory = b"\n".join(memory_of(child))
        for secret in (x.key.encode(), x.raw, extracted, attempt):
            assert secret not in memory
    elif not is_root():
        for name in ("environ", "mem", "maps", "fd"):
            path = "/proc/%d/%s" % (parent, name)
            try:
                os.listdir(path) if name == "fd" else open(path, "rb").close()
            except PermissionError:
                continue
            raise AssertionError("%s is open" % path)
    process.send_signal(signal.SIGTERM)
    equal(process.communicate(timeout=PATIENCE), (b"", b""))
    equal(process.returncode, 0)
    contains(x.completion("lost")["error"], "by signal 15 (Terminated)")
    poll(lambda: not processes_with("sleep\0" + marker), "the step ends")
    for root, _, names in os.walk(folder):
        for name in names:
            if not name.startswith("artifacts"):
                with open(os.path.join(root, name), "rb") as file:
                    data = file.read()
                for secret in (SEED.encode(), x.key.encode(), x.raw):
                    assert secret not in data, os.path.join(root, name)


# What a step can open of the process that holds the key of the attempt.
LOOK = """
for p in /proc/[0-9]*; do
    [ $p != /proc/$$ ] && tr '\\000' ' ' <$p/cmdline | grep -q -e '--result %s ' || continue
    echo saw
    for file in environ mem maps auxv fd/0 exe; do
        (exec <$p/$file) 2>/dev/null && echo "opened $file"
    done
done
exit 0
"""


def inside(folder, level, before=()):
    """The level that the machine has, and what a step sees at this one."""
    look = shell(LOOK % os.path.join(folder, "result"))
    x = Sealed(folder, [dict(look, id="s", kind="run")], unit={"name": "CPU", "sandbox": level})
    status, err = x.run(before=before)
    equal((status, err), (0, ""))
    completion = x.completion("done")
    equal(completion["outcomes"][0]["state"], "passed")
    return completion["system"]["level"], completion["outcomes"][0]["stdout"]["text"]


def levels(folder):
    """A step at level full or reduced sees nothing of kettle-exec, and at level off it can open nothing of what has the key"""
    low = os.path.join(folder, "low")
    os.mkdir(low)
    if not is_root():
        equal(inside(low, "off")[1], "saw\n")
    machine, seen = inside(folder, "reduced")
    equal(seen, "")
    if machine != "full":
        raise Skip("this machine has no full sandbox")
    # A user namespace in which no network can be made, as in many a container.
    before = ["unshare", "--user", "--map-root-user", "sh", "-c", 'echo 0 >/proc/sys/user/max_net_namespaces && exec "$@"', "-"]
    if subprocess.run([*before, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        raise Skip("this machine has no limits on namespaces")
    equal(inside(low, "reduced", before=before), ("reduced", ""))
    mark = os.path.join(folder, "ran")
    x = Sealed(folder, [dict(shell("echo >" + mark), id="s", kind="build")], unit={"name": "CPU", "sandbox": "full"})
    equal(x.run(before=before), (0, ""))
    lost = x.completion("lost")
    equal((lost.get("gone"), lost.get("uncounted"), lost["outcomes"], os.path.exists(mark)), (True, True, [], False))
    contains(lost["error"], "supports sandbox level reduced, but full is required; missing: net (no network but its own loopback).")


def ends(folder):
    """The child dies, or all of it does"""
    marker = "6%d.5" % os.getpid()
    x = Sealed(folder, forever(marker))
    process = x.start()
    poll(lambda: processes_with("sleep\0" + marker), "the step runs")
    os.kill(children_of(process.pid)[0], signal.SIGKILL)
    equal(process.communicate(timeout=PATIENCE), (b"", b""))
    equal(process.returncode, 0)
    contains(x.completion("lost")["error"], "ended by signal 9 (Killed)")
    poll(lambda: not processes_with("sleep\0" + marker), "the step ends")
    os.unlink(x.result)
    process = x.start()
    poll(lambda: processes_with("sleep\0" + marker), "the step runs again")
    child = children_of(process.pid)[0]
    process.kill()
    process.wait()
    process.stdout.close()
    process.stderr.close()
    poll(lambda: not processes_with("sleep\0" + marker), "the step ends with the parent")
    poll(lambda: not os.path.exists("/proc/%d" % child), "the child ends")
    assert not os.path.exists(x.result)


def faults(folder):
    """A job that this machine cannot do has a result that says why"""
    x = Sealed(folder, [dict(shell("true"), id="s", kind="run")])
    for content, word in ((b"[]", "no `plan`"), (b"{}", "no `plan`"), (b'{"plan": {"version": 1}}', "`steps`"),
                          (b'{"plan": {"version": 1, "steps": []}, "unit": {"cores": "9999"}}', "")):
        equal((content, x.run(envelope=x.envelope(content=content))), (content, (0, "")))
        contains(x.completion("lost")["error"], word)
        os.unlink(x.result)
    # Another machine than the device's: no attempt.
    y = Sealed(folder, [dict(shell("true"), id="s", kind="run")], unit={"name": "CPU", "expect": {"cpu": "Z80"}})
    equal(y.run(), (0, ""))
    lost = y.completion("lost")
    equal((lost.get("gone"), lost.get("uncounted")), (True, True))
    contains(lost["error"], "Z80")
    os.unlink(y.result)
    # The disk is no folder: no state, and so no place for artifacts.
    with open(os.path.join(folder, "file"), "w"):
        pass
    equal(x.run("--state", os.path.join(folder, "file")), (0, ""))
    contains(x.completion("lost")["error"], "file has that name")
    # No result can be written.
    status, err = x.run("--result", os.path.join(folder, "none", "result"))
    equal(status, 3)
    contains(err, "none/result")


def usage(folder):
    """Wrong usage"""
    x = Sealed(folder, [])
    for arguments in (["--sealed", "-"], ["--result", "r"], ["--sealed", "-", "--result", "r", "plan.json"],
                      ["--sealed", "-", "--result", "r", "--run", "x" * 201], ["--sealed", "-", "--result", "r", "--level", "iron"],
                      ["--sealed", "-", "--result", "r", "--progress", folder], ["--key-file", "k", "--serve"]):
        got = subprocess.run([PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             cwd=folder, env=dict(os.environ, KETTLE_KEY=x.key))
        equal((arguments, got.returncode, got.stdout), (arguments, 2, b""))


if __name__ == "__main__":
    sys.exit(main([runs, leaves_much, forms, refuses, void, independent, closed, levels, ends, faults, usage]))
