# SPDX-License-Identifier: MIT
"""Programs that are shared objects, and processes of kettle-host that are prepared for one such run on a GPU."""
from exec_driver import *
import difflib

import exec_prepared
from exec_prepared import await_prepared, prepared, start, warned

OPENED = "cuInit\ncuDevicePrimaryCtxRetain 0\n"
PROGRAM_TEXT = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static void *idle(void *arg) { for (;;) pause(); return arg; }
static void bye(void) { printf("at the end\n"); }
static struct before { before() { printf("%s %s\n", getcwd(NULL, 0), getenv("KETTLE_MARK")); } } constructed;

int main(int argc, char **argv, char **envp)
{
    const char *what = argc > 1 ? argv[1] : "";
    FILE *log = fopen("/tmp/driver.log", "r");
    pthread_t thread;
    printf("%d %s %d\n", argc, argv[0], envp == environ);
    if (!log)
        printf("not opened\n");
    for (int c; log && (c = getc(log)) != EOF;)
        putchar(c);
    if (log)
        fclose(log);
    if (!strcmp(what, "abort"))
        abort();
    if (!strcmp(what, "exit"))
        atexit(bye), exit(7);
    if (!strcmp(what, "thread"))
        return pthread_create(&thread, NULL, idle, NULL) ? 1 : 8;
    if (!strcmp(what, "detach"))
        pthread_create(&thread, NULL, idle, NULL), pthread_exit(NULL);
    if (!strcmp(what, "null"))
        *(volatile int *)8 = 1;
    if (!strcmp(what, "sh")) {
        fflush(stdout);
        return WEXITSTATUS(system(argv[2]));
    }
}
"""
THREADS = "grep -hE 'Uid|Gid|Cap|NoNewPrivs|Seccomp:|Groups' /proc/$PPID/task/*/status"
VIEW = """
pwd; ls -a . / /run /dev /dev/shm; env | sort | grep -v ^RESULT=
for path in made /made out/made /tmp/made /dev/shm/made /proc/self/comm; do
    (echo x >$path) 2>/dev/null && echo $path written
done
cut -d' ' -f5 /proc/self/mountinfo | sort; set -- /proc/[0-9]*; echo $#; umask; ulimit -a; nice
for fd in 3 4 5 6 7 8 9 10 11 12 20 30 31; do readlink /proc/$PPID/fd/$fd | sed "s/:.*//; s/^/$fd /"; done
find /proc/$PPID/fd -lname 'socket:*' | wc -l
cat /proc/$PPID/comm; grep -c kettle-run /proc/$PPID/maps; true
"""


def build(folder, source=PROGRAM_TEXT, *flags):
    """The bytes of a shared object, as the languages of compiled boards link one. main is not exported."""
    path = os.path.join(folder, "program.cpp")
    with open(path, "w") as file:
        file.write(source)
    subprocess.run(["g++", "-fPIC", "-shared", "-pthread", "-fvisibility=hidden", "-Wl,--entry=main", *flags, path, "-o", path + ".so"], check=True)
    with open(path + ".so", "rb") as file:
        return b64(file.read())


def step(server, program, *arguments, driver="", env=None, **more):
    env = {"LD_LIBRARY_PATH": server.driver, "KETTLE_MARK": "mark", **({"FAKE_DRIVER": driver} if driver else {}), **(env or {})}
    return {"id": "s", "kind": "run", "device": 1, "host": True, "argv": ["./program", *arguments], "env": env, "inputs": {"program": program},
            **more}


def run(server, *arguments, gpu=0, state="passed", **more):
    outcome = server.one(step(server, *arguments, **more), unit={"name": "d", "gpu": gpu})
    assert outcome["state"] == state, outcome
    return outcome


def output(outcome):
    return outcome["stdout"]["text"]


def told(opened, count=1):
    return "/job mark\n%d ./program 1\n%s" % (count, opened)


def both(folder, *runs):
    """Of each run the outcome of an ordinary start, and that of one in a prepared process."""
    with start(folder, prepare="off") as server:
        ordinary = [run(server, *arguments, **more) for arguments, more in runs]
    with start(folder) as server:
        found = []
        for arguments, more in runs:
            run(server, *arguments, **more)
            await_prepared(server)
            outcome = run(server, *arguments, **more)
            found.append(outcome)
            await_prepared(server)
        equal(warned(server), [])
    # What fails there is run again, and what comes of that counts.
    equal([outcome.get("prepared") for outcome in ordinary + found],
          [None] * len(runs) + [None if outcome["state"] == "failed" else True for outcome in found])
    return list(zip(ordinary, found))


def opened(folder):
    """After a run the GPU is open for the next one, also of another program; nothing of that runs before, and it is used once"""
    with start(folder) as server:
        program, other = build(folder), build(folder, "#include <unistd.h>\nint main() { return write(1, \"other\", 5) != 5; }")
        outcome = run(server, program)
        equal((outcome.get("warm"), outcome.get("prepared"), output(outcome)), (None, None, told("not opened\n")))
        for _ in range(2):
            await_prepared(server)
            outcome = run(server, program, env={"KETTLE_OTHER": "1"})
            equal((outcome.get("warm"), outcome.get("prepared"), output(outcome)), (None, True, told(OPENED)))
        await_prepared(server)
        outcome = run(server, other)
        equal((outcome.get("prepared"), output(outcome)), (True, "other"))
        equal(warned(server), [])
        server.send(op="hello")
        [entry] = server.until(event="hello")["warm"] or [None]
        assert entry is None or (entry["tool"], entry["state"], entry["prepared"]) == ("kettle-host", "ready", 1), entry


def off(folder):
    """It is off by default, and for runs without a GPU; such a program runs the same"""
    with start(folder, prepare="off") as server:
        program = build(folder)
        for _ in range(2):
            equal(output(run(server, program)), told("not opened\n"))
        equal(prepared(server), 0)
    with start(folder) as server:
        outcome = server.one(dict(step(server, program), device=0))
        equal((outcome["state"], output(outcome), prepared(server)), ("passed", told("not opened\n"), 0))
    with start(folder, arguments=["--level", "off"]) as server:
        for _ in range(2):
            equal(output(run(server, program)).splitlines()[1:], ["1 ./program 1", "not opened"])
        equal((prepared(server), warned(server)), (0, []))


def rights(folder):
    """A driver's threads have no more rights than the program"""
    [(ordinary, outcome)] = both(folder, ((build(folder), "sh", THREADS), {}))
    one = output(ordinary).partition("not opened\n")[2].splitlines()
    assert one
    equal(output(outcome).partition(OPENED)[2].splitlines(), one * 2)


def view(folder):
    """A program sees what it sees in an ordinary run"""
    program = build(folder)
    for ordinary, outcome in both(folder, *(((program, "sh", VIEW), more) for more in (
            {}, {"result": "RESULT"}, {"secret": {"SEED": "5"}}, {"limits": {"cpu": 100, "shm": 1 << 20, "disk": 1 << 22}}))):
        lines = (output(ordinary).splitlines(), output(outcome).replace(OPENED, "not opened\n").splitlines())
        different = [line for line in difflib.ndiff(*lines) if line[0] in "+-"]
        assert not different, "\n".join(different)


def ends(folder):
    """It ends as an ordinary program does: handlers, status, signal, threads left"""
    program = build(folder)
    cases = (("exit", 7, None), ("abort", None, signal.SIGABRT), ("thread", 8, None), ("null", None, signal.SIGSEGV), ("detach", None, signal.SIGKILL))
    found = both(folder, *(((program, what), {"state": "limit", "limits": {"wall": 1}} if what == "detach" else
                            {"pass": {"exit": [status]}} if status else {"state": "failed"}) for what, status, _ in cases))
    for (what, status, number), (ordinary, outcome) in zip(cases, found):
        equal([(of["exit"], of["signal"]) for of in (ordinary, outcome)], [(status, number)] * 2)
        equal(output(outcome), output(ordinary).replace("not opened\n", OPENED if outcome.get("prepared") else "not opened\n"))
    contains(output(found[0][1]), "at the end\n")


def broken(folder):
    """An object that cannot be loaded fails its run, not the machine, and says why"""
    undefined = "extern \"C\" int not_there();\nint main() { return not_there(); }"
    lacking = os.path.join(folder, "libmissing.so")
    subprocess.run(["g++", "-shared", "-x", "c++", "/dev/null", "-o", lacking, "-Wl,-soname=libmissing.so"], check=True)
    objects = [(build(folder, "int main() {}", "-Wl,--no-as-needed", lacking), "libmissing.so: cannot open"),
               (build(folder, undefined), "undefined symbol: not_there"), (b64(b"not an object"), "./program: "),
               (build(folder, "int other;", "-Wl,--entry=0"), "has no entry")]
    found = both(folder, *(((program,), {"pass": {"exit": [127]}}) for program, _ in objects))
    for (_, why), outcomes in zip(objects, found):
        for outcome in outcomes:
            equal((outcome["exit"], outcome["signal"]), (127, None))
            contains(outcome["stderr"]["text"], why)


# The last one leaves a process on the other GPU.
KEYS = [{"env": {"OTHER": "1"}}, {"limits": {"memory": 1 << 30}}, {"gpu": 1}]


def keys(folder):
    """A run in another environment, with other limits, or on another GPU gets none"""
    with start(folder) as server:
        program = build(folder)
        for more in KEYS:
            run(server, program)
            await_prepared(server)
            outcome = run(server, program, **more)
            equal((outcome.get("prepared"), output(outcome)), (None, told("not opened\n")))


def failures(folder):
    """A driver that fails, ends or hangs is told once, and runs start the ordinary way"""
    for driver, why in (("fail", "it ended"), ("end", "it ended"), ("hang", "took longer than 2 s")):
        with start(folder, warm={"idle_seconds": 0, "start_seconds": 2 if driver == "hang" else PATIENCE}) as server:
            program = build(folder)
            for _ in range(2):
                equal(output(run(server, program, driver=driver)), told("not opened\n"))
                poll(lambda: prepared(server) == 0 and len(warned(server)) == 1, "the report")
            contains(warned(server)[0], why)


def waiting(server):
    """Of what waits: init, the supervisor, and the process that has opened the GPU."""
    children = exec_prepared.exec_warm.children
    return [(init, above, pid) for init in children(server.process.pid) if exec_prepared.exec_warm.is_init(init) for above in children(init)
            for pid in children(above)]


def killed(folder):
    """One that is killed while it waits is gone, also where that shows only when its run comes, and the run starts without"""
    with start(folder) as server:
        program = build(folder)
        run(server, program)
        await_prepared(server)
        [(init, above, pid)] = waiting(server)
        os.kill(init, signal.SIGSTOP)
        os.kill(pid, signal.SIGKILL)
        poll(lambda: open("/proc/%d/stat" % above).read().rsplit(")", 1)[1].split()[0] == "Z", "the supervisor's end")
        server.run("j", [step(server, program)], unit={"name": "d", "gpu": 0})
        server.until(event="step", job="j")
        os.kill(init, signal.SIGCONT)
        outcome = server.done("j")["outcomes"][0]
        equal((outcome["state"], outcome.get("prepared"), output(outcome)), ("passed", None, told("not opened\n")))
    for which in (1, 2):
        with start(folder) as server:
            run(server, program)
            await_prepared(server)
            [found] = waiting(server)
            os.kill(found[which], signal.SIGKILL)
            poll(lambda: prepared(server) == 0 and len(warned(server)) == 1, "the report")
            poll(lambda: not any(os.path.exists("/proc/%d" % pid) for pid in found), "their end")
            equal(run(server, program).get("prepared"), None)


def ended(folder):
    """Another configuration and the end of kettle-exec end them"""
    with start(folder) as server:
        program = build(folder)
        run(server, program)
        await_prepared(server)
        [found] = waiting(server)
        server.send(op="tools", report=[])
        poll(lambda: not any(os.path.exists("/proc/%d" % pid) for pid in found), "their end")
        equal(prepared(server), 0)
        run(server, program)
        await_prepared(server)
        [found] = waiting(server)
    poll(lambda: not any(os.path.exists("/proc/%d" % pid) for pid in found), "their end")


def refused(folder):
    """What no program of kettle-host can be"""
    with start(folder) as server:
        usual = step(server, text("x"))
        for more, why in (({"kind": "build", "device": 0}, "only a run"), ({"argv": ["sh"]}, "./FILE"),
                          ({"profile": "ncu", "run": {"mode": "profile", "secret": False}}, "only a run")):
            plan = {key: value for key, value in dict(usual, **more).items() if key != "device" or value}
            server.run("j", [plan])
            contains(str(server.done("j")["error"]), why)


if __name__ == "__main__":
    sys.exit(main([opened, off, rights, view, ends, broken, keys, failures, killed, ended, refused]))
