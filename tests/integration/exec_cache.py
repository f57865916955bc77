# SPDX-License-Identifier: MIT
"""The build cache: what is kept, when it is used, how it heals and stays small."""
import base64
import hashlib
import pathlib

import exec_driver
from exec_driver import *

SOURCE_TEXT = "int main(void) { int unused; return 0; }\n"


def build(**more):
    return dict({"id": "b", "kind": "build", "cache": True, "argv": ["gcc", "-Wall", "a.c", "-o", "out/p"],
                 "inputs": {"a.c": text(SOURCE_TEXT)}, "outputs": ["p"]}, **more)


def entries(x):
    folder = os.path.join(x.state, "cache")
    return [os.path.join(folder, name) for name in os.listdir(folder)]


def hits(folder):
    """The second build of the same is cached, its warnings come again, and the result still runs"""
    steps = [build(), {"id": "r", "kind": "run", "argv": ["./p"], "inputs": {"p": {"step": "b", "output": "p"}}}]
    first = None
    for number in range(3):
        # The third time in another process.
        with Exec(folder) as x:
            for _ in range(2 if number == 0 else 1):
                outcomes = x.outcomes("j", steps)
                equal([outcome["state"] for outcome in outcomes.values()], ["passed", "passed"])
                contains(outcomes["b"]["stderr"]["text"], "unused variable")
                equal((outcomes["b"]["cached"], outcomes["b"]["exit"]), (first is not None, 0))
                begun = [e for e in x.events if e["event"] == "step" and e["step"] == "b"][-1]
                equal((begun["state"], begun["cached"]), ("building", first is not None))
                first = first or outcomes["b"]
                equal(len(entries(x)), 1)


def read_back(spool, outcome):
    """The outputs that an outcome has given back, as `ended` of a step takes them."""
    for output in outcome["outputs"]:
        if not output.get("folder"):
            data = pathlib.Path(spool, outcome["step"], output["path"]).read_bytes()
            equal((len(data), hashlib.sha256(data).hexdigest()), (output["size"], output["sha256"]))
            output["base64"] = base64.b64encode(data).decode()
    return outcome.pop("outputs")


def two_machines(folder):
    """What a plan gives back, built or from the cache, is there in a plan that goes on with it on another machine, and nothing is built"""
    steps = [build(), {"id": "c", "kind": "prepare", "argv": ["sh", "-c", "mkdir -p out/made/empty && echo made >out/made/file"], "outputs": ["made"]},
             build(id="wrong", inputs={"a.c": text("nonsense")}, cache=False),
             {"id": "some", "kind": "prepare", "optional": True, "argv": ["sh", "-c", "mkdir out/some; echo some >out/some/file; exit 1"],
              "outputs": ["some"]}]
    ended = []
    with Exec(folder) as x:
        for number in range(2):
            spool = os.path.join(folder, f"spool{number}")
            x.send(op="run", job="first", spool=spool, plan={"version": 1, "steps": steps, "return_outputs": True})
            done = x.done("first")
            outcomes, tools = done["outcomes"], done["system"]["tools"]
            equal([(one["state"], one["cached"]) for one in outcomes], [("passed", number == 1), ("passed", False), ("failed", False), ("failed", False)])
            equal("outputs" in outcomes[2], False)
            ended = [{"outcome": one, "outputs": read_back(spool, one) if "outputs" in one else []} for one in outcomes]
            equal([output["path"] for output in ended[1]["outputs"]][0], "made")
        equal("outputs" in x.outcomes("j", [build()])["b"], False)
    run = [{"id": "r", "kind": "run", "argv": ["./p"], "inputs": {"p": {"step": "b", "output": "p"}}},
           {"id": "s", "kind": "run", "argv": ["sh", "-c", "cat out/kept/file >&2; [ ! -e a.c ]"], "inputs": {"out/kept": {"step": "c", "output": "made"}}},
           {"id": "t", "kind": "run", "argv": ["./p"], "inputs": {"p": {"step": "wrong", "output": "p"}}},
           {"id": "u", "kind": "run", "argv": ["cat", "in/file"], "inputs": {"in": {"step": "some", "output": "some"}}}]
    other = os.path.join(folder, "other")
    os.makedirs(other)
    with Exec(other) as x:
        rest = [dict(step, argv=["false"], ended={**end, "tools": tools}) for step, end in zip(steps, ended)] + run
        x.run("second", rest)
        done = x.done("second")
        outcomes = {one["step"]: one for one in done["outcomes"]}
        assert "gcc" in tools and tools["gcc"] == done["system"]["tools"]["gcc"], (tools, done["system"])
        equal([outcomes[one["id"]] for one in steps], [end["outcome"] for end in ended])
        equal([outcomes[one]["state"] for one in "rstu"], ["passed", "passed", "skipped", "passed"])
        equal((outcomes["s"]["stderr"]["text"], outcomes["u"]["stdout"]["text"]), ("made\n", "some\n"))
        equal(os.path.exists(os.path.join(x.state, "cache")) and entries(x), [])
        broken = {"outcome": {"step": "b", "kind": "build", "state": "passed"}, "outputs": [{"path": "p", "base64": "!"}]}
        outcomes = x.outcomes("broken", [build(ended=broken), run[0]])
        equal((outcomes["b"]["state"], outcomes["r"]["state"]), ("error", "skipped"))
        broken["outputs"] = []
        outcomes = x.outcomes("empty", [build(ended=broken), run[0]])
        equal((outcomes["b"]["state"], outcomes["r"]["state"]), ("error", "skipped"))
        # The key of a later step in the cache would have that digest.
        lie = dict(ended[0]["outputs"][0], base64=base64.b64encode(b"other").decode())
        outcomes = x.outcomes("lie", [build(ended={"outcome": broken["outcome"], "outputs": [lie]}), run[0]])
        equal((outcomes["b"]["state"], outcomes["r"]["state"]), ("error", "skipped"))
        x.run("kind", [build(ended={"outcome": dict(broken["outcome"], kind="prepare"), "outputs": []})])
        contains(x.done("kind")["error"], "`ended`")
        x.run("outside", [build(ended={"outcome": broken["outcome"], "outputs": [{"path": "../p", "base64": ""}]})])
        equal(x.done("outside")["outcomes"][0]["state"], "error")


def misses(folder):
    """Anything that a build depends on makes another entry; a failure makes none"""
    variants = [
        build(), build(argv=["gcc", "-Wall", "-O2", "a.c", "-o", "out/p"]), build(env={"A": "1"}),
        build(inputs={"a.c": text(SOURCE_TEXT + "\n")}), build(inputs={"a.c": text(SOURCE_TEXT), "b.h": text("")}),
        build(outputs=["p", "p"]), build(toolchain=["sh"]), build(argv=["gcc", "-march=native", "a.c", "-o", "out/p"]),
    ]
    with Exec(folder) as x:
        for number, step in enumerate(variants):
            outcome = x.outcomes("j", [step])["b"]
            equal((outcome["state"], outcome["cached"]), ("passed", False))
            equal(len(entries(x)), number + 1)
        for broken in (build(inputs={"a.c": text("nonsense")}), build(outputs=["q"])):
            for _ in range(2):
                outcome = x.outcomes("j", [broken])["b"]
                equal((outcome["state"], outcome["cached"]), ("failed", False))
        equal(len(entries(x)), len(variants))
        outcome = x.outcomes("j", [build(cache=False)])["b"]
        equal((outcome["state"], outcome["cached"]), ("passed", False))
        # The title is for people, the limits and the id do not change what comes out.
        outcome = x.outcomes("j", [build(title="compile a.c", id="other", limits={"wall": 99})])["other"]
        equal(outcome["cached"], True)


def chain(folder):
    """A build from cached outputs is cached too"""
    steps = [build(id="o", argv=["gcc", "-c", "a.c", "-o", "out/a.o"], outputs=["a.o"]),
             build(id="l", argv=["gcc", "a.o", "-o", "out/p"], inputs={"a.o": {"step": "o", "output": "a.o"}})]
    with Exec(folder) as x:
        for cached in (False, True):
            outcomes = x.outcomes("j", steps)
            equal([(o["state"], o["cached"]) for o in outcomes.values()], [("passed", cached)] * 2)


def heals(folder):
    """A damaged entry is dropped and built again"""
    def flip(entry):
        path = os.path.join(entry, "files", "p")
        with open(path, "rb") as file:
            data = bytearray(file.read())
        data[len(data) // 2] ^= 1
        # Through a new file: the old one may be in use by a link.
        os.unlink(path)
        with open(path, "wb") as file:
            file.write(data)

    def write(name, data):
        def damage(entry):
            with open(os.path.join(entry, name), "w") as file:
                file.write(data)
        return damage

    def remove(entry):
        os.unlink(os.path.join(entry, "files", "p"))

    def link(entry):
        path = os.path.join(entry, "files", "p")
        os.unlink(path)
        os.symlink("/etc/passwd", path)

    escape = json.dumps({"version": 1, "files": [{"path": "../../../x", "mode": 420, "size": 0, "sha256": "0" * 64}]})
    with Exec(folder) as x:
        equal(x.outcomes("j", [build()])["b"]["cached"], False)
        for damage in (flip, write("manifest.json", "{"), write("manifest.json", ""), write("manifest.json", escape), remove, link,
                       lambda entry: shutil.rmtree(os.path.join(entry, "files"))):
            equal(len(entries(x)), 1)
            damage(entries(x)[0])
            outcome = x.outcomes("j", [build()])["b"]
            equal((outcome["state"], outcome["cached"]), ("passed", False))
            outcome = x.outcomes("j", [build()])["b"]
            equal((outcome["state"], outcome["cached"]), ("passed", True))


def once(folder):
    """Equal builds at the same time build once, in one process; two processes get along"""
    slow = build(argv=["sh", "-c", "sleep 0.3; echo built; echo x >out/p"])
    with Exec(folder) as x:
        for number in range(4):
            x.run("j%d" % number, [slow])
        done = [x.until(event="done") for _ in range(4)]
        equal(sorted(d["outcomes"][0]["cached"] for d in done), [False, True, True, True])
        equal({d["outcomes"][0]["stdout"]["text"] for d in done}, {"built\n"})
        # One that fails is no result for the others: each of them tries.
        for number in range(2):
            x.run("k%d" % number, [build(argv=["sh", "-c", "sleep 0.1; exit 1"])])
        equal([x.until(event="done")["outcomes"][0]["state"] for _ in range(2)], ["failed", "failed"])
        # One that is cancelled leaves the next to build.
        other = build(argv=["sh", "-c", "sleep 0.5; echo y >out/p"])
        x.run("c0", [other])
        x.until(event="step", job="c0")
        x.run("c1", [other])
        x.until(event="started", job="c1")
        x.send(op="cancel", job="c0")
        equal(x.done("c0")["status"], "cancelled")
        equal(x.done("c1")["outcomes"][0]["state"], "passed")
        with Exec(folder) as y:
            for process in (x, y):
                process.run("both", [build(argv=["sh", "-c", "sleep 0.2; echo z >out/p"])])
            equal([process.done("both")["outcomes"][0]["state"] for process in (x, y)], ["passed", "passed"])


def toolchain(folder):
    """A tool that changes makes a new key, also while kettle-exec runs"""
    tool = os.path.join(folder, "cc1tool")

    def write(version):
        temporary = tool + ".new"
        with open(temporary, "w") as file:
            file.write("#!/bin/sh\n[ \"$1\" = --version ] && { echo tool %s; exit; }\necho %s >out/p\n" % (version, version))
        os.chmod(temporary, 0o755)
        os.rename(temporary, tool)
    os.chmod(folder, 0o755)
    write("1.0")
    step = build(argv=["cc1tool"])
    with Exec(folder, config={"tools": {"cc1tool": tool}}) as x:
        equal(x.hello["tools"]["cc1tool"], "1.0")
        equal([x.outcomes("j", [step])["b"]["cached"] for _ in range(2)], [False, True])
        write("2.0")
        poll(lambda: not x.outcomes("j", [step])["b"]["cached"], "the change is seen")
        # What it says about itself is in the key, and is looked at again somewhat later than the file.
        poll(lambda: x.outcomes("j", [step]) and len(entries(x)) == 2, "the new tool has another key")
        equal(x.outcomes("j", [step])["b"]["cached"], True)
    with Exec(folder) as x:
        equal(x.hello["tools"]["cc1tool"], "2.0")
        equal(x.outcomes("j", [step])["b"]["cached"], True)


def rewrite(path, data):
    """In place, of the same size, with the same time of change."""
    before = os.stat(path)
    with open(path, "r+") as file:
        file.write(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    equal(os.stat(path).st_size, before.st_size)


def put(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(data)


def reads(folder, arguments=()):
    """What a build read, and where it looked in vain, decides whether its outcome still holds"""
    root = os.path.join(folder, "read")
    os.chmod(folder, 0o755)
    header = lambda value: "#define VALUE \"%s\"\n" % value
    here = lambda *names: os.path.join(root, *names)
    put(here("second", "h.h"), header("a"))
    put(here("one", "linked.h"), "#define LINKED 1\n")
    put(here("two", "linked.h"), "#define LINKED 2\n")
    os.symlink("one", here("link"))
    put(here("other", "unread.h"), "")
    source = text("#include <h.h>\n#include <linked.h>\n#include <stdio.h>\nint part(void);\n"
                  "int main(void) { printf(VALUE \"%d%d\\n\", LINKED, part()); return 0; }\n")
    folders = ["-I" + here(name) for name in ("first", "second", "link")]
    steps = [build(argv=["gcc", "-O1"] + folders + ["-L" + here("lib"), "a.c", "-lpart", "-o", "out/p"],
                   inputs={"a.c": source}),
             {"id": "r", "kind": "run", "argv": ["./p"], "inputs": {"p": {"step": "b", "output": "p"}}}]

    def library(value):
        put(here("part.c"), "int part(void) { return %d; }\n" % value)
        subprocess.run(["gcc", "-c", here("part.c"), "-o", here("part.o")], check=True)
        with open(here("part.o"), "rb") as file:
            return file.read().decode("latin-1")

    def archive(value):
        """Its member is rewritten in place."""
        object_, path = library(value).encode("latin-1"), here("lib", "libpart.a")
        before = os.stat(path)
        with open(path, "r+b") as file:
            data = file.read()
            file.seek(data.index(b"\x7fELF"))
            file.write(object_)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        equal(os.stat(path).st_size, before.st_size)

    os.makedirs(here("lib"))
    library(3)
    subprocess.run(["ar", "rc", here("lib", "libpart.a"), here("part.o")], check=True)

    def link(name):
        os.unlink(here("link"))
        os.symlink(name, here("link"))

    with Exec(folder, config={"extra_paths": [root]}, arguments=arguments) as x:
        def expect(printed, cached):
            outcomes = x.outcomes("j", steps)
            equal((outcomes["b"]["state"], outcomes["b"]["cached"]), ("passed", cached))
            equal(outcomes["r"]["stdout"]["text"], printed + "\n")
        expect("a13", False)
        expect("a13", True)
        put(here("other", "unread.h"), "changed")
        expect("a13", True)
        for change, printed in ((lambda: rewrite(here("second", "h.h"), header("b")), "b13"),
                                (lambda: put(here("first", "h.h"), header("c")), "c13"),
                                (lambda: os.unlink(here("first", "h.h")), "b13"),
                                (lambda: link("two"), "b23"),
                                (lambda: archive(4), "b24")):
            change()
            expect(printed, False)
            expect(printed, True)
            equal(len(entries(x)), 1)


def reads_unsandboxed(folder):
    """The same without a sandbox"""
    reads(folder, ["--level", "off"])


def recorded(folder):
    """Every program that a build starts is followed; what it leaves in /tmp and the job's own files are not of the machine"""
    root = os.path.join(folder, "read")
    os.chmod(folder, 0o755)
    put(os.path.join(root, "script"), "#!%s/sh\necho 1\n" % root)
    shutil.copy(os.path.realpath(shutil.which("sh")), os.path.join(root, "sh"))
    os.chmod(os.path.join(root, "script"), 0o755)
    put(os.path.join(root, "late"), "old")
    # The script's interpreter is opened by the kernel; the second read comes from another folder, by a relative path.
    step = build(argv=["sh", "-c", "%s/script >out/p; cd %s/..; { read x <read/late; echo $x; } >>/job/out/p; echo >/tmp/x"
                       "; test -e /tmp/x" % (root, root)])
    with Exec(folder, config={"extra_paths": [root]}) as x:
        equal([x.outcomes("j", [step])["b"]["cached"] for _ in range(2)], [False, True])
        shutil.copy(os.path.join(root, "sh"), os.path.join(root, "sh.new"))
        os.rename(os.path.join(root, "sh.new"), os.path.join(root, "sh"))
        equal([x.outcomes("j", [step])["b"]["cached"] for _ in range(2)], [False, True])
        rewrite(os.path.join(root, "late"), "new")
        equal([x.outcomes("j", [step])["b"]["cached"] for _ in range(2)], [False, True])


# Starts a program under a listener of its own: then the kernel gives its children none.
LISTENED = """import ctypes, fcntl, os, platform, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
code = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 1, ctypes.addressof(code)))
assert libc.prctl(38, 1, 0, 0, 0) == 0
fd = libc.syscall({"x86_64": 317, "aarch64": 277}[platform.machine()], 1, 8, program)
fd < 0 and sys.exit("no listener")
fcntl.fcntl(fd, fcntl.F_SETFD, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


def unrecorded(folder):
    """Where builds cannot be followed, every file of the folders that they may read counts"""
    root = os.path.join(folder, "read")
    os.chmod(folder, 0o755)
    put(os.path.join(root, "h.h"), "int a;\n")
    put(os.path.join(root, "unread.h"), "")
    step = build(argv=["gcc", "-I" + root, "a.c", "-o", "out/p"], inputs={"a.c": text("#include <h.h>\n" + SOURCE_TEXT)})
    wrapper, program = os.path.join(folder, "kettle-exec"), exec_driver.PROGRAM
    put(wrapper, "#!/bin/sh\nexec %s %s.py %s \"$@\"\n" % (sys.executable, wrapper, os.path.abspath(program)))
    put(wrapper + ".py", LISTENED)
    os.chmod(wrapper, 0o755)
    if subprocess.run([wrapper, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
        raise Skip("this kernel has no listeners for seccomp")
    exec_driver.PROGRAM = wrapper
    try:
        with Exec(folder, config={"extra_paths": [root]}) as x:
            def cached():
                return x.outcomes("j", [step])["b"]["cached"]
            equal([cached(), cached()], [False, True])
            put(os.path.join(root, "unread.h"), "changed")
            equal([cached(), cached()], [False, True])
            put(os.path.join(root, "new.h"), "")
            equal([cached(), cached()], [False, True])
            equal(len(entries(x)), 3)
    finally:
        exec_driver.PROGRAM = program


def bounded(folder):
    """The cache stays below its size, and the oldest go first"""
    config = {"cache": {"max_bytes": 300000}}
    def blob(name):
        return build(argv=["sh", "-c", "head -c 100000 /dev/zero >out/p; echo %s >>out/p" % name])
    with Exec(folder, config=config) as x:
        begin = time.time() - 1000
        for age, name in enumerate("abcdef"):
            before = entries(x)
            x.outcomes("j", [blob(name)])
            [entry] = [entry for entry in entries(x) if entry not in before]
            os.utime(os.path.join(entry, "manifest.json"), (begin + age, begin + age))
            assert len(entries(x)) <= 2, entries(x)
        equal(x.outcomes("j", [blob("e")])["b"]["cached"], True)
        x.outcomes("j", [blob("new")])
        equal([x.outcomes("j", [blob(name)])["b"]["cached"] for name in ("e", "new", "f")], [True, True, False])


def shares(folder):
    """A submission displaces what its own user left, neither another user's nor a board's own"""
    def blob(name, size=100000, **more):
        return build(argv=["sh", "-c", "head -c %d /dev/zero >out/p; echo %s >>out/p" % (size, name)], **more)
    with Exec(folder, config={"cache": {"max_bytes": 1000000, "max_user_bytes": 250000}}) as x:
        x.outcomes("j", [blob("board")])
        x.outcomes("j", [blob("ada", owner="user-1")])
        for entry in entries(x):
            os.utime(os.path.join(entry, "manifest.json"), (1e9, time.time() - 1000))
        for number in range(12):
            x.outcomes("j", [blob("eve%d" % number, owner="user-2")])
        equal(len(entries(x)), 4)
        equal([x.outcomes("j", [blob(name, owner=owner)])["b"]["cached"]
               for name, owner in (("eve11", "user-2"), ("eve10", "user-2"), ("ada", "user-1"))], [True] * 3)
        equal(x.outcomes("j", [blob("board")])["b"]["cached"], True)
        # What exceeds the share alone is not kept, and costs the user nothing else.
        equal(x.outcomes("j", [blob("large", 300000, owner="user-2")])["b"]["cached"], False)
        equal(len(entries(x)), 4)


if __name__ == "__main__":
    if not shutil.which("gcc"):
        print("1..0 # SKIP gcc is not installed")
        sys.exit(0)
    sys.exit(main([hits, two_machines, misses, chain, heals, once, toolchain, reads, reads_unsandboxed, recorded, unrecorded, bounded, shares]))
