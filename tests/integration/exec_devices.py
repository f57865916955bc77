# SPDX-License-Identifier: MIT
"""Devices: what GPUs say, throttled and dirty ones, several at once."""
from exec_driver import *

PEERS = os.path.abspath(os.path.join(BUILD, "tests", "peers", ".libs"))
ALWAYS = 1 << 30


def fake(folder, *lines):
    """Tells the stand-in of NVIDIA's library what to say; returns the environment. A line: (from, to, key, gpu, value)."""
    path = os.path.join(folder, "nvml.state")
    with open(path, "w") as file:
        file.writelines("%d %d %s %d %d\n" % line for line in lines)
    return {"FAKE_NVML": path}


def readings(folder):
    with open(os.path.join(folder, "nvml.state.count")) as file:
        return int(file.read())


def start(folder, *lines, **config):
    gpu = dict({"nvml": os.path.join(PEERS, "libnvidia-ml.so"), "rocm_smi": "/nonexistent/librocm_smi64.so"}, **config)
    return Exec(folder, config={"gpu": gpu}, env=fake(folder, (0, ALWAYS, "count", -1, 2), *lines))


def device_step(script="true", **more):
    return dict(shell(script), **dict({"id": "s", "kind": "run", "device": 1}, **more))


def facts(folder):
    """The greeting has the facts of every GPU"""
    with start(folder) as x:
        one, other = x.hello["gpus"]
        equal([one[key] for key in ("vendor", "index", "name", "driver", "cuda", "compute", "minor")],
              ["nvidia", 0, "NVIDIA Stand-in", "550.54.15", "12.4", "9.0", 7])
        equal(one["memory"], 81920 << 20)
        equal(one["used"], 500 << 20)
        equal(one["clocks"]["sm"], 1980)
        equal((one["temperature"], one["throttle"], one["processes"]), (41, [], []))
        assert "power_mw" not in one, one
        equal(other["uuid"], "GPU-00000000-0000-0000-0000-000000000001")
        equal(x.hello["gpu_errors"], [])


def amd(folder):
    """AMD's GPUs are read through the same path"""
    nodes = os.path.join(folder, "topology", "kfd", "nodes")
    for name, text_ in (("0", "cpu_cores_count 8\n"), ("1", "drm_render_minor 128\ngfx_target_version 90402\n"),
                        ("2", "drm_render_minor 129\ngfx_target_version 90010\n")):
        os.makedirs(os.path.join(nodes, name))
        with open(os.path.join(nodes, name, "properties"), "w") as file:
            file.write(text_)
    state = os.path.join(folder, "rocm.state")
    with open(state, "w") as file:
        file.write("0 9 count -1 2\n0 9 throttle 1 4\n")
    command = [os.path.join(BUILD, "kettle-gpu"), "--nvml", "/nonexistent/x.so", "--rocm-smi",
               os.path.join(PEERS, "librocm_smi64.so"), "--topology", nodes]
    answer = subprocess.run(command, stdout=subprocess.PIPE, env=dict(os.environ, FAKE_ROCM=state), timeout=PATIENCE)
    equal(answer.returncode, 0)
    report = json.loads(answer.stdout)
    equal(report["errors"], [])
    one, other = report["gpus"]
    equal([one[key] for key in ("vendor", "index", "name", "driver", "gfx", "render", "uuid", "bus", "temperature")],
          ["amd", 0, "AMD Stand-in", "6.8.5", "gfx942", 128, "GPU-000000000000abc0", "0000:41:00.0", 55])
    equal((one["clocks"], one["throttle"]), ({"sm": 2100, "memory": 1300}, []))
    equal((other["gfx"], other["throttle"]), ("gfx90a", ["status-0x4"]))


def no_library(folder):
    """Without a library there is no report; one that does not work is reported"""
    command = [os.path.join(BUILD, "kettle-gpu"), "--nvml", "/nonexistent/x.so", "--rocm-smi", "/nonexistent/y.so"]
    answer = subprocess.run(command, stdout=subprocess.PIPE, timeout=PATIENCE)
    equal((answer.returncode, json.loads(answer.stdout)), (0, {"gpus": [], "errors": []}))
    bad = os.path.join(folder, "bad.so")
    with open(bad, "w") as file:
        file.write("no library")
    command[2] = bad
    answer = subprocess.run(command, stdout=subprocess.PIPE, timeout=PATIENCE)
    equal(answer.returncode, 3)
    contains(json.loads(answer.stdout)["errors"][0]["error"], "cannot be loaded")
    equal(subprocess.run(command + ["more"], stderr=subprocess.DEVNULL, timeout=PATIENCE).returncode, 2)


def doctor(folder):
    """--doctor shows the GPUs"""
    path = os.path.join(folder, "exec.yml")
    with open(path, "w") as file:
        json.dump({"gpu": {"nvml": os.path.join(PEERS, "libnvidia-ml.so"), "rocm_smi": "/nonexistent/x.so"}}, file)
    command = [PROGRAM, "--doctor", "--state", os.path.join(folder, "state"), "--config", path]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ, **fake(folder)), timeout=PATIENCE)
    contains(answer.stdout, "GPU 0: NVIDIA Stand-in, 81920 MiB (GPU-00000000-0000-0000-0000-000000000000)")
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ, **fake(folder, (0, ALWAYS, "init", -1, 9))),
                            timeout=PATIENCE)
    contains(answer.stdout, "The NVIDIA driver does not respond (nvmlInit): Driver Not Loaded.")


def record(folder):
    """A step says what its GPU did before and after it, and sees that GPU alone"""
    with start(folder) as x:
        x.run("j", [device_step('echo "$CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER $ROCR_VISIBLE_DEVICES"')], unit={"name": "d", "gpu": 1})
        done = x.done("j")
        outcome = done["outcomes"][0]
        equal(outcome["state"], "passed")
        equal(outcome["stdout"]["text"], "GPU-00000000-0000-0000-0000-000000000001 PCI_BUS_ID \n")
        device = outcome["device"]
        equal((device["repeated"], device["throttled"]), (False, []))
        equal(device["gpus"][0]["index"], 1)
        equal(device["gpus"][0]["before"], {"clocks": x.hello["gpus"][1]["clocks"], "temperature": 41, "throttle": []})
        equal(device["gpus"][0]["after"], device["gpus"][0]["before"])
        equal(done["device"], {"checked": ["1"], "faults": {}})
        equal(x.hello["machine"]["host"], done["system"]["host"])
        equal((done["system"]["gpu"], done["system"]["count"], done["system"]["runtime"]), ("NVIDIA Stand-in", 1, "CUDA 12.4"))
        assert done["system"]["platform"].startswith("Linux-"), done["system"]
        # A build sees none.
        equal(x.one(shell('echo "[$CUDA_VISIBLE_DEVICES]"', kind="build"), unit={"gpu": 0})["stdout"]["text"], "[]\n")


def throttled(folder):
    """A step that passed while its GPU was throttled is run once more, and says so"""
    # 1: greeting, 2: before, 3: after the first time, 4: it recovered, 5: after the second.
    with start(folder, (3, 3, "reasons", 0, 0x60), (3, ALWAYS, "thermal_ns", 0, 9 * 10**9)) as x:
        x.run("j", [device_step("echo more >>out/x; wc -l <out/x", outputs=["x"], result="FD", inputs={"i": text("in")}),
                    device_step(id="t")], unit={"gpu": 0})
        done = x.done("j")
        first, second = done["outcomes"]
        equal(first["stdout"]["text"], "1\n")
        equal((first["state"], first["device"]["repeated"], first["device"]["throttled"]), ("passed", True, []))
        equal(first["device"]["throttled_before"], ["thermal", "thermal-hardware"])
        equal((second["device"]["repeated"], second["device"]["throttled"]), (False, []))
        equal(len([e for e in x.events if e["event"] == "step" and e["step"] == "s"]), 2)


def throttled_again(folder):
    """A step that is throttled twice keeps its result; one that did not pass is not repeated; a power cap is not a heat"""
    with start(folder, *[(at, ALWAYS, "thermal_ns", 0, at * 10**9) for at in range(1, 40)], (0, ALWAYS, "reasons", 1, 4)) as x:
        outcome = x.one(device_step(), unit={"gpu": 0})
        equal((outcome["device"]["repeated"], outcome["device"]["throttled"]), (True, ["thermal"]))
        outcome = x.one(device_step("exit 1"), unit={"gpu": 0})
        equal((outcome["state"], outcome["device"]["repeated"], outcome["device"]["throttled"]), ("failed", False, ["thermal"]))
        outcome = x.one(device_step(), unit={"gpu": 1})
        equal((outcome["device"]["throttled"], outcome["device"]["gpus"][0]["after"]["throttle"]), ([], ["power-cap"]))


def dirty(folder):
    """Memory that stays in use is reported with the job, and stops the next one; memory that is freed late is waited for"""
    with start(folder, (4, 5, "used", 0, 5000), (12, ALWAYS, "used", 0, 9000), (12, ALWAYS, "pid", 0, 77), left=100 << 20) as x:
        x.run("j", [device_step()], unit={"gpu": 0})
        done = x.done("j")
        equal((done["outcomes"][0]["state"], done["device"]["faults"]), ("passed", {}))
        while readings(folder) < 11:
            equal(x.one(device_step(), unit={"gpu": 1})["state"], "passed")
        x.run("k", [device_step()], unit={"gpu": 0})
        done = x.done("k")
        wanted = "GPU 0 is not free: 9000 MiB of its memory are in use (processes 77); when idle it is 500 MiB."
        equal(done["device"]["faults"], {"0": wanted})
        equal((done["status"], done["outcomes"][0]["state"], done["outcomes"][0]["error"]), ("done", "error", wanted))


def gone(folder):
    """A driver that goes away in the middle is the machine's fault, and the GPU's"""
    with start(folder, (3, ALWAYS, "init", -1, 9)) as x:
        x.run("j", [device_step("exit 110")], unit={"gpu": 0})
        done = x.done("j")
        outcome = done["outcomes"][0]
        equal(outcome["state"], "error")
        contains(outcome["error"], "Driver Not Loaded")
        contains(done["device"]["faults"]["0"], "Driver Not Loaded")
    os.remove(os.path.join(folder, "nvml.state.count"))
    with start(folder, (0, ALWAYS, "lost", 1, 1)) as x:
        equal(x.one(device_step(), unit={"gpu": 0})["state"], "passed")
        contains(x.one(device_step(), unit={"gpu": 1})["error"], "GPU is lost")
        contains(x.one(device_step(), unit={"gpu": "GPU-other"})["error"], "GPU is lost")


def several(folder):
    """A step gets as many devices as it needs, in one piece, and what several need"""
    with start(folder) as x:
        script = 'echo "$CUDA_VISIBLE_DEVICES"; df -k /dev/shm | tail -1'
        both = x.outcomes("j", [device_step(script, device=2), device_step("echo $CUDA_VISIBLE_DEVICES", id="t")], unit={"gpu": [1, 0]})
        one, other = ("GPU-00000000-0000-0000-0000-00000000000%d" % i for i in (0, 1))
        lines = both["s"]["stdout"]["text"].splitlines()
        equal(lines[0], other + "," + one)
        equal(int(lines[1].split()[1]), 2 << 20)
        equal(both["t"]["stdout"]["text"], other + "\n")
        equal([e["device"]["locks"] for e in x.events if e["event"] == "device"], [["gpu-0", "gpu-1"]])
        # The same, as two units of one machine.
        unit = {"name": "d", "gpu": 0, "more": [{"name": "d", "gpu": 1}]}
        contains(x.one(device_step(script, device=2), unit=unit)["stdout"]["text"], one + "," + other)
        x.run("k", [device_step(device=3)], unit=unit)
        contains(x.done("k")["error"], "needs 3 devices at once, but unit `d` has 2")
        for bad, wanted in (({"gpu": []}, "empty list"), ({"gpu": [{}]}, "string or an integer"), ({"more": 1}, "list of units"),
                            ({"gpu": list(range(65))}, "more than 64")):
            x.run("bad", [device_step()], unit=bad)
            contains(x.done("bad")["error"], wanted)


def loopback(folder):
    """Processes of a step on several devices find each other on 127.0.0.1"""
    script = ("import socket, threading\n"
              "s = socket.create_server(('127.0.0.1', 0))\n"
              "threading.Thread(target=lambda: socket.create_connection(s.getsockname()).sendall(b'hello')).start()\n"
              "print(s.accept()[0].recv(5).decode())\n")
    with Exec(folder) as x:
        step = {"id": "s", "kind": "run", "device": 2, "argv": [pythons.boards(), "-c", script]}
        equal(x.one(step, unit={"cores": "0", "more": [{"lock": "b"}]})["stdout"]["text"], "hello\n")


def order(folder):
    """Jobs that need several devices and jobs that need one, of two kettle-execs, all get their turn"""
    one, other = Exec(folder), Exec(folder, state=os.path.join(folder, "other"))

    def unit(*locks):
        return dict({"name": "d", "lock": locks[0]}, more=[{"name": "d", "lock": lock} for lock in locks[1:]])
    # In every order of names: were they taken as they are named, some would wait for each other for ever.
    for number in range(6):
        for x, locks in ((one, "abc"), (other, "cba"), (one, "bc"), (other, "ca"), (one, "a"), (other, "b"), (one, "c")):
            x.run("%s.%d" % (locks, number), [dict(shell("sleep 0.02"), id="d", kind="run", device=len(locks))], unit=unit(*locks))
    used = {}
    for x, count in ((one, 24), (other, 18)):
        for _ in range(count):
            done = x.until(event="done")
            outcome = done["outcomes"][0]
            equal(outcome["state"], "passed")
            for lock in done["job"].split(".")[0]:
                used.setdefault(lock, []).append((outcome["start_ns"], outcome["start_ns"] + outcome["wall_ns"]))
        equal(x.close(), 0)
    for spans in used.values():
        spans.sort()
        for before, after in zip(spans, spans[1:]):
            assert before[1] <= after[0], (before, after)


def no_starvation(folder):
    """One job that needs both devices is not passed by for ever by those that need one"""
    with Exec(folder) as x:
        single = [dict(shell("sleep 0.05"), id="d", kind="run", device=1)]
        for number in range(4):
            x.run("before%d" % number, single, unit={"name": "d", "lock": "ab"[number % 2]})
        x.run("both", [dict(shell("true"), id="d", kind="run", device=2)], unit={"lock": "a", "more": [{"lock": "b"}]})
        # Jobs are prepared side by side, so one that was sent later may be ready earlier: this one is ready.
        seen = [x.event()]
        while seen[-1].get("job") != "both" or seen[-1]["event"] not in ("waiting", "done"):
            seen.append(x.event())
        jobs = [event["job"] for event in seen if event["event"] == "done"]
        for number in range(40):
            x.run("after%d" % number, single, unit={"name": "d", "lock": "ab"[number % 2]})
        jobs += [x.until(event="done")["job"] for _ in range(45 - len(jobs))]
        # Those that came before it, and on each device at most one that had begun while it still waited for the other.
        assert jobs.index("both") <= 6, jobs


def cancelled(folder):
    """A cancel while it gathers, looks or runs gives everything back"""
    with start(folder) as x:
        long = [device_step("sleep 60", device=1)]
        x.run("holder", long, unit={"gpu": 1})
        x.until(event="step", job="holder")
        x.run("both", [device_step(device=2)], unit={"gpu": [0, 1]})
        x.until(event="waiting", job="both")
        x.run("third", [device_step()], unit={"gpu": 0})
        x.until(event="waiting", job="third")
        x.send(op="cancel", job="both")
        equal(x.done("both")["status"], "cancelled")
        equal(x.done("third")["status"], "done")
        x.send(op="cancel", job="holder")
        done = x.done("holder")
        equal((done["status"], done["device"]), ("cancelled", {"checked": ["1"], "faults": {}}))
        for number in range(5):
            x.run("now", [device_step("sleep 60", device=2)], unit={"gpu": [1, 0]})
            x.send(op="cancel", job="now")
            equal(x.done("now")["status"], "cancelled")
        equal(x.one(device_step(device=2), unit={"gpu": [1, 0]})["state"], "passed")


def expected(folder):
    """A job for another machine ends before any step, and says what came and what was needed"""
    whole = {"gpu": "NVIDIA Stand-in", "whole": True}
    with start(folder) as x:
        cpu = x.hello["machine"]["cpu"]
        for number, expect in enumerate(({"gpu": "stand-IN"}, whole, {"cpu": cpu[1:].upper()}, {"cpu": cpu, "whole": True}, {})):
            for gpu in ({"gpu": 0}, {}):
                x.run("fits%d" % number, [shell("true", id="s", kind="run")], unit=dict(gpu, name="H100", expect=expect))
                equal(x.done("fits%d" % number)["status"], "done")
        mark = os.path.join(folder, "ran")
        for expect, unit, sentence in (
                ({"gpu": "H100"}, {"gpu": [0, 1]}, "The machine has the GPU NVIDIA Stand-in, but `H100` needs one whose name contains `H100`."),
                ({"gpu": "H100"}, {}, "The machine has the GPU NVIDIA Stand-in"),
                ({"gpu": "Stand-in", "whole": True}, {"gpu": 0}, "but `H100` needs `Stand-in`."),
                ({"gpu": "Stand-in"}, {"gpu": 7}, "The machine has no GPU, but `H100` needs"),
                ({"cpu": "Z80"}, {"gpu": 0}, "The machine has the processor " + cpu)):
            x.run("other", [shell("echo >" + mark, id="s", kind="build")], unit=dict(unit, name="H100", expect=expect))
            done = x.event()
            equal((done["event"], done["status"], done.get("gone"), done.get("uncounted"), done["outcomes"]),
                  ("done", "lost", True, True, []))
            contains(done["error"], sentence)
        for wrong in ("H100", {"gpu": 7}, {"cpu": ""}, {"gpu": "x" * 401}):
            x.run("wrong", [shell("true", id="s", kind="run")], unit={"expect": wrong})
            done = x.done("wrong")
            contains(done["error"], "of the unit must be")
            assert done["status"] == "lost" and "uncounted" not in done, done
    with Exec(folder, config={"gpu": {"nvml": "/nonexistent/x.so", "rocm_smi": "/nonexistent/y.so"}}) as x:
        x.run("none", [shell("true", id="s", kind="run")], unit={"expect": {"gpu": "H100"}})
        contains(x.done("none")["error"], "The machine has no GPU, but `local` needs one whose name contains `H100`.")


if __name__ == "__main__":
    sys.exit(main([facts, amd, no_library, doctor, record, throttled, throttled_again, dirty, gone, several, loopback, order, no_starvation,
                   cancelled, expected]))
