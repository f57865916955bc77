# SPDX-License-Identifier: MIT
"""What is made once for all jobs: when, from what, who sees it, and what may not reach it."""

from exec_driver import *

MAKE = "cat known/x >out/h; echo made >>out/h"


def shared(script=MAKE, **more):
    return {"id": "h", "kind": "build", "cache": True, "shared": True, "argv": ["sh", "-c", script], "outputs": ["h"],
            "inputs": {"known/x": text("x")}, **more}


def user(script="cat h 2>&1 || true", **more):
    return {"id": "u", "kind": "prepare", "argv": ["sh", "-c", script], "inputs": {"h": {"step": "h", "output": "h"}}, **more}


def files(x):
    folder = os.path.join(x.state, "shared", "cache")
    return [os.path.join(folder, name, "files", "h") for name in os.listdir(folder) if len(name) == 64]


def wait(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "nothing was made"
        time.sleep(0.05)


def outcome(x, *steps):
    """That of the last step: nothing is told of the others."""
    outcomes = x.outcomes("j", list(steps))
    equal(list(outcomes), [steps[-1]["id"]])
    return outcomes[steps[-1]["id"]]


def made(x, *steps):
    """Runs a job that makes the file, and waits for that."""
    before = set(files(x))
    found = outcome(x, *steps)
    wait(lambda: set(files(x)) - before)
    return found


def errors(x):
    return [event["error"] for event in x.events if event["event"] == "error"]


def later(folder):
    """The first job goes on without and is done before it is made; later ones have it, in another process too"""
    go = os.path.join(folder, "go")
    os.mkfifo(go, 0o644)
    # A FIFO that is shown by itself is the same inside; what comes through it changes nothing that the step reads.
    step = shared("cat '%s'; echo made >out/h" % go)
    config = {"extra_paths": [go]}
    with Exec(folder, config=config) as x:
        contains(outcome(x, step, user())["stdout"]["text"], "No such file")
        equal((outcome(x, step, user())["state"], files(x)), ("passed", []))
        open(go, "w").close()
        wait(lambda: files(x))
        equal(outcome(x, step, user())["stdout"]["text"], "made\n")
        equal({event.get("job") for event in x.events} - {None, "j"}, set())
        equal(errors(x), [])
    with Exec(folder, config=config) as x:
        equal(outcome(x, step, user())["stdout"]["text"], "made\n")


def changed(folder):
    """It is made again after a change of what it was made of, of its tools, its arguments or its inputs, and two are there side by side"""
    include = os.path.join(folder, "include")
    os.mkdir(include, 0o755)
    source, tool = (os.path.join(include, name) for name in ("header.h", "tool"))
    step = shared("cat '%s' '%s' >out/h" % (source, source + ".missing"), **{"pass": {"exit": [0, 1]}})

    def write(path, data, mode=0o644):
        with open(path + ".new", "w") as file:
            file.write(data)
        os.chmod(file.name, mode)
        os.rename(file.name, path)
    write(source, "one\n")
    write(tool, "#!/bin/sh\nexec sh \"$@\"\n", 0o755)
    with Exec(folder, config={"extra_paths": [include], "tools": {"make-it": tool}}) as x:
        for data in ("one\n", "two\n"):
            write(source, data)
            contains(outcome(x, step, user())["stdout"]["text"], "No such file")
            wait(lambda: files(x) and open(files(x)[0]).read() == data)
            equal(outcome(x, step, user())["stdout"]["text"], data)
        # A header that would be found before counts, too.
        write(source + ".missing", "three\n")
        contains(outcome(x, step, user())["stdout"]["text"], "No such file")
        wait(lambda: files(x) and open(files(x)[0]).read() == "two\nthree\n")
        variants = [shared(), shared(argv=["make-it", "-c", MAKE]), shared(argv=["make-it", "-c", MAKE]),
                    shared(inputs={"known/x": text("y")}), shared(env={"FLAGS": "-O3"})]
        for number, variant in enumerate(variants):
            if number == 2:
                write(tool, "#!/bin/sh\n\nexec sh \"$@\"\n", 0o755)
            contains(outcome(x, variant, user())["stdout"]["text"], "No such file")
            wait(lambda: outcome(x, variant, user())["stdout"]["text"] == ("ymade\n" if number == 3 else "xmade\n"))
        equal(outcome(x, step, user())["stdout"]["text"], "two\nthree\n")


def several(folder):
    """Several of one job are made one after the other, and each is of use by itself"""
    steps = [shared("echo 1 >out/h", id="h"), shared("exit 3", id="bad"), shared("echo 2 >out/h", id="other")]
    both = user("cat h other 2>&1 || true", inputs={name: {"step": name, "output": "h"} for name in ("h", "other")})
    with Exec(folder) as x:
        made(x, steps[0], steps[2], both)
        wait(lambda: len(files(x)) == 2)
        equal(outcome(x, steps[0], steps[2], both)["stdout"]["text"], "1\n2\n")
        equal(outcome(x, steps[0], steps[1], steps[2], both)["stdout"]["text"], "1\n2\n")


def spares_time_alone(folder):
    """It is not a part of the key of what uses it"""
    with Exec(folder) as x:
        using = user(cache=True, outputs=[])
        first = made(x, shared(), using)
        equal((first["cached"], outcome(x, shared(), using)["cached"]), (False, True))


def closed(folder):
    """No step can change it, put something of its own in its place, or have its own part in what is for all"""
    attack = ("exec 2>&1; chmod 666 h; ln -f h out/link; echo evil >>out/link; truncate -s 1 h; (echo evil >>h); (echo evil >h); "
              "touch h; mv -f h x; echo evil >h; rm -f h; mkdir -p out/shared/cache; echo evil >out/h; cp out/h out/shared/cache/h; true")
    with Exec(folder) as x:
        made(x, shared(), user())
        for kind in ("prepare", "run"):
            equal(outcome(x, shared(), user(attack, kind=kind))["state"], "passed")
            path, = files(x)
            equal((open(path).read(), os.stat(path).st_mode & 0o022), ("xmade\n", 0))
            equal(outcome(x, shared(), user())["stdout"]["text"], "xmade\n")
        mine = {"id": "s", "kind": "build", "argv": ["sh", "-c", "echo evil >out/p"], "outputs": ["p"]}
        for step in (shared(owner="user-1"), shared(kind="prepare"), shared(cache=False), shared(needs=["s"]),
                     shared(inputs={"known/x": {"step": "s", "output": "p"}})):
            x.run("bad", [mine, step, user()])
            done = x.done("bad")
            equal(done["status"], "lost")
            contains(done["error"], "all jobs use its output")


def large(folder):
    """It takes nothing of the room, nor of the memory, that a step has for what it writes"""
    step = shared("head -c 100000000 /dev/zero >out/h; mkdir out/d; echo x >out/d/y", outputs=["h", "d"])
    using = user("cksum a/b/h a/b/d/y; echo own >own; cat own",
                 inputs={"a/b/h": {"step": "h", "output": "h"}, "a/b/d": {"step": "h", "output": "d"}, "a/known": text("x")},
                 limits={"disk": 1 << 20, "memory": 64 << 20})
    with Exec(folder) as x:
        made(x, step, user("true", inputs={"h": {"step": "h", "output": "h"}}))
        found = outcome(x, step, using)
        equal(found["state"], "passed")
        equal([line.split()[1:] for line in found["stdout"]["text"].splitlines()],
              [["100000000", "a/b/h"], ["2", "a/b/d/y"], []])


def damaged(folder):
    """What is not whole any more is not used"""
    with Exec(folder) as x:
        made(x, shared(), user())
        os.truncate(files(x)[0], 1)
        contains(outcome(x, shared(), user())["stdout"]["text"], "No such file")
        wait(lambda: files(x) and os.path.getsize(files(x)[0]) > 1)


def off(folder):
    """On a disk that is too small nothing is made, said once; with a budget of 0 nothing is said; a single plan makes nothing"""
    for number, (size, said) in enumerate(((1 << 60, 1), (0, 0))):
        place = os.path.join(folder, str(number))
        os.mkdir(place)
        with Exec(place, config={"cache": {"shared_bytes": size}}) as x:
            for _ in range(3):
                contains(outcome(x, shared(), user())["stdout"]["text"], "No such file")
            equal((len(errors(x)), files(x)), (said, []))
            if said:
                contains(errors(x)[0], "MiB free, but shared precompiled headers need")
    plan = os.path.join(folder, "plan.json")
    with open(plan, "w") as file:
        json.dump({"version": 1, "steps": [shared(), user()]}, file)
    state = os.path.join(folder, "single")
    done = subprocess.run([PROGRAM, "--state", state, plan], stdout=subprocess.PIPE)
    equal((done.returncode, os.listdir(os.path.join(state, "shared", "cache"))), (0, []))


def fails(folder):
    """What cannot be made is said once, with the reason, and not tried again"""
    step = shared("echo 'error: no compiler' >&2; exit 3")
    with Exec(folder) as x:
        outcome(x, step, user())
        contains(x.until(event="error")["error"], "no compiler")
        for _ in range(3):
            outcome(x, step, user())
        equal((len(errors(x)), files(x)), (1, []))


def ended(folder):
    """The end of the lease does not wait for it"""
    x = Exec(folder)
    with x:
        outcome(x, shared("sleep 10000"), user())
    equal(os.listdir(os.path.join(x.state, "shared", "cache")), [])


if __name__ == "__main__":
    sys.exit(main([later, changed, several, spares_time_alone, closed, large, damaged, off, fails, ended]))
