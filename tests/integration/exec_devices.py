# SPDX-License-Identifier: MIT
"""Devices: what GPUs say, throttled and dirty ones, several at once."""
from exec_driver import *

PEERS = os.path.abspath(os.path.join(BUILD, "tests", "peers"))
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
        equal([one[key] for key in ("clocks_locked", "power_limit_mw", "power_default_mw", "ecc", "ecc_corrected", "ecc_uncorrected",
                                    "mig", "persistence")], [False, 700000, 700000, True, 0, 0, False, True])
        equal(one["slowed_ns"], {"power-cap": 0, "thermal": 0, "thermal-hardware": 0, "power-brake": 0})
        equal((one["unfit"], one["remarks"]), ([], ["clocks-unlocked"]))
        equal(other["uuid"], "GPU-00000000-0000-0000-0000-000000000001")
        equal(x.hello["gpu_errors"], [])


def amd(folder):
    """AMD's GPUs are read through the same path"""
    nodes = os.path.join(folder, "topology", "kfd", "nodes")
    for name, text_ in (("0/properties", "cpu_cores_count 8\n"), ("1/properties", "drm_render_minor 128\ngfx_target_version 90402\n"),
                        ("2/properties", "drm_render_minor 129\ngfx_target_version 90010\n"), ("1/gpu_id", "111\n"), ("2/gpu_id", "222\n"),
                        ("../../proc/77/vram_111", "0\n"), ("../../proc/77/vram_222", "4096\n"), ("../../proc/self/vram_111", "1\n")):
        os.makedirs(os.path.dirname(os.path.join(nodes, name)), exist_ok=True)
        with open(os.path.join(nodes, name), "w") as file:
            file.write(text_)
    state = os.path.join(folder, "rocm.state")
    with open(state, "w") as file:
        # In normal operation a GPU says that its temperature limits it (36); one that is too hot by its hardware 47.
        file.write("0 9 count -1 2\n0 9 throttle 1 4\n0 9 causes 0 %d\n0 9 causes 1 %d\n0 9 uncorrected 1 3\n0 9 level 1 3\n"
                   "0 9 limit 1 600\n" % (1 << 36, 1 << 47))
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
    equal((other["gfx"], other["throttle"]), ("gfx90a", ["status-0x4", "thermal-hardware"]))
    keys = ("clocks_locked", "power_limit_mw", "power_default_mw", "ecc_uncorrected", "processes")
    equal([one[key] for key in keys], [False, 750000, 750000, 0, []])
    equal([other[key] for key in keys], [True, 600000, 750000, 3, [{"pid": 77, "memory": 4096}]])


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
        json.dump({"gpu": {"nvml": os.path.join(PEERS, "libnvidia-ml.so"), "rocm_smi": "/nonexistent/x.so"},
                   "locks": os.path.join(folder, "locks")}, file)
    command = [PROGRAM, "--doctor", "--state", os.path.join(folder, "state"), "--config", path]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ, **fake(folder)), timeout=PATIENCE)
    contains(answer.stdout, "GPU 0: NVIDIA Stand-in, 81920 MiB (GPU-00000000-0000-0000-0000-000000000000)")
    contains(answer.stdout, "fit to score: yes")
    contains(answer.stdout, "prepare: off")
    stand_in = {"nvml": os.path.join(PEERS, "libnvidia-ml.so"), "rocm_smi": "/nonexistent/x.so"}
    for settings, possible, why in (({"gpu": {**stand_in, "prepare": "idle"}}, True, ""), ({"warm": {"processes": 0}}, False, "turns it off"),
                                    ({"gpu": {"nvml": "/nonexistent/x.so"}}, False, "No GPU")):
        answer = subprocess.run(command + ["--json", "--settings", json.dumps(settings)], stdout=subprocess.PIPE, text=True,
                                env=dict(os.environ, **fake(folder)), timeout=PATIENCE)
        report = json.loads(answer.stdout)
        usable = report["level"] != "off" or not possible
        equal((report["prepare"]["set"], report["prepare"]["possible"]), (settings.get("gpu", {}).get("prepare", "off"), possible and usable))
        contains(report["prepare"].get("why", ""), why)
    answer = subprocess.run(command + ["--json"], stdout=subprocess.PIPE, text=True, env=dict(os.environ, **fake(folder, (0, ALWAYS, "pid", 0, 7))),
                            timeout=PATIENCE)
    equal(json.loads(answer.stdout)["gpus"]["gpus"][0]["unfit"], ["processes"])
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ, **fake(folder, (0, ALWAYS, "init", -1, 9))),
                            timeout=PATIENCE)
    contains(answer.stdout, "The NVIDIA driver does not respond (nvmlInit): Driver Not Loaded.")


def ended(folder):
    """A kettle-gpu that ends without a reading is reported by how it ended and the last line that it said; it does not hang"""
    helper = os.path.join(os.path.abspath(SOURCE), "tests", "peers", "kettle-gpu")
    for ends, says, wanted in (("127", "first\\nno library.so.1 \\033[1m\\n\\n", "status 127"),
                               ("0", "", "status 0"), ("SEGV", "at the end", "(Segmentation fault): at the end"),
                               (None, "", "(No such file")):
        config = {"gpu": {"helper": helper if ends else os.path.join(folder, "none"), "nvml": "/nonexistent/x.so"}}
        env = {"STAND_IN_ENDS": ends or "", "STAND_IN_SAYS": says}
        with Exec(folder, config=config, env=env) as x:
            [error] = x.hello["gpu_errors"]
            assert says.startswith("first") == error["error"].endswith(": no library.so.1 \ufffd[1m"), error
            contains(error["error"], wanted)
            assert "hang" not in error["error"] and "\033" not in error["error"], error
            equal(x.hello["gpus"], [])
            x.run("j", [device_step()], unit={"gpu": 0})
            equal(x.done("j")["device"]["faults"], {"0": error["error"]})
        command = [PROGRAM, "--doctor", "--state", x.state, "--config", os.path.join(folder, "exec.yml")]
        answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ, **env), timeout=PATIENCE)
        contains(answer.stdout, error["error"])


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
        equal(done["device"], {"checked": ["1"], "faults": {}, "unfit": {}})
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


UNFIT = (("reasons", 8, "hardware-slowdown"), ("reasons", 0x20, "thermal"), ("reasons", 0x40, "thermal-hardware"),
         ("reasons", 0x80, "power-brake"), ("uncorrected", 3, "ecc"), ("pid", 77, "processes"))


def unfit(folder):
    """A job whose times are scores runs no step on a GPU that is unfit, and names the cause; other jobs run"""
    lines = [(0, ALWAYS, key, gpu, value) for gpu, (key, value, _) in enumerate(UNFIT)]
    with start(folder, (0, ALWAYS, "count", -1, len(UNFIT)), *lines) as x:
        equal([gpu["unfit"] for gpu in x.hello["gpus"]], [[word] for _, _, word in UNFIT])
        for gpu in range(len(UNFIT)):
            x.run("score%d" % gpu, [device_step()], unit={"name": "d%d" % gpu, "gpu": gpu, "score": True})
        ended = {}
        while len(ended) < len(UNFIT):
            done = x.until(event="done")
            ended[done["job"]] = done
        for gpu, (_, _, word) in enumerate(UNFIT):
            done = ended["score%d" % gpu]
            equal((done["status"], done["outcomes"][0]["state"]), ("done", "error"))
            contains(done["outcomes"][0]["error"], "GPU %d is not fit" % gpu)
            equal(done["device"], {"checked": [str(gpu)], "faults": {}, "unfit": {str(gpu): [word]}})
        outcome = x.one(device_step(), unit={"gpu": 5})
        equal((outcome["state"], outcome["device"]["unfit"]), ("passed", {}))
        # Errors of the memory do not depend on the moment.
        outcome = x.one(device_step(), unit={"gpu": 4})
        equal((outcome["state"], outcome["device"]["unfit"]), ("passed", {"4": ["ecc"]}))


def unfit_for_a_moment(folder):
    """What passes within seconds is waited for"""
    with start(folder, (2, 4, "pid", 0, 77), (2, 3, "reasons", 0, 0x88)) as x:
        x.run("j", [device_step()], unit={"gpu": 0, "score": True})
        done = x.done("j")
        equal((done["outcomes"][0]["state"], done["device"]["unfit"]), ("passed", {}))


def unfit_in_a_run(folder):
    """What the hardware did during both times of a step, and a process that stays behind, are named with the result"""
    hot = [(at, ALWAYS, key, 0, at * 10**9) for at in range(1, 20) for key in ("hot_ns", "brake_ns")]
    # 1: greeting, 2: before, 3 and 4: after the step and its repetition, 5: after the job; 6, 7, 8: of the other job.
    with start(folder, *hot, (7, ALWAYS, "uncorrected", 1, 1), (8, ALWAYS, "pid", 1, 77)) as x:
        x.run("k", [device_step()], unit={"gpu": 0, "score": True})
        done = x.done("k")
        equal((done["outcomes"][0]["state"], done["outcomes"][0]["device"]["repeated"]), ("passed", True))
        equal(sorted(done["device"]["unfit"]["0"]), ["power-brake", "thermal-hardware"])
        x.run("j", [device_step()], unit={"gpu": 1, "score": True})
        done = x.done("j")
        equal((done["outcomes"][0]["state"], done["outcomes"][0]["device"]["unfit"]), ("passed", {"1": ["ecc"]}))
        equal(sorted(done["device"]["unfit"]["1"]), ["ecc", "processes"])


def unreadable(folder):
    """A reading that fails or hangs after a step leaves the result, and names the cause"""
    for key, value in (("init", 9), ("hang", 1)):
        with start(folder, (3, 3, key, -1, value)) as x:
            x.run("j", [device_step()], unit={"gpu": 0, "score": True})
            done = x.done("j")
            equal((done["outcomes"][0]["state"], done["outcomes"][0]["device"]["unfit"]), ("passed", {"0": ["unreadable"]}))
            equal(done["device"], {"checked": ["0"], "faults": {}, "unfit": {"0": ["unreadable"]}})
        os.remove(os.path.join(folder, "nvml.state.count"))


def remarks(folder):
    """What one should know of scores, and does not prevent them"""
    usual = [(0, ALWAYS, key, 1, value) for key, value in (("reasons", 0x14), ("limit", 500000), ("mig", 1), ("ecc", 0), ("persistence", 0))]
    rises = [(at, ALWAYS, key, 0, at * 10**9) for at in range(1, 40) for key in ("corrected", "power_ns")]
    with start(folder, *usual, *rises, (0, ALWAYS, "reasons", 0, 2), (0, ALWAYS, "pid", 1, 77)) as x:
        def said(gpu):
            x.run("j%d" % gpu, [device_step()], unit={"gpu": gpu, "score": True})
            done = x.done("j%d" % gpu)
            equal((done["outcomes"][0]["state"], done["device"]["unfit"], done["outcomes"][0]["device"]["unfit"]), ("passed", {}, {}))
            return done["outcomes"][0]["device"]["remarks"]
        # Whose the processes are that use parts of a divided GPU is not known.
        equal(x.hello["gpus"][1]["unfit"], [])
        equal(said(1), ["clocks-unlocked", "power-cap", "power-limit", "sync-boost", "ecc-off", "mig", "persistence-off"])
        equal(said(0), ["power-cap", "ecc-corrected"])
    with start(folder, (0, ALWAYS, "set", 0, 1410)) as x:
        equal((x.hello["gpus"][0]["clocks_locked"], x.hello["gpus"][0]["remarks"]), (True, []))


def absurd(folder):
    """What cannot be is left out, and prevents nothing"""
    most = (1 << 64) - 1
    lines = [(0, ALWAYS, key, 0, most) for key in ("uncorrected", "corrected", "hot_ns", "brake_ns", "thermal_ns", "temperature", "sm")]
    with start(folder, *lines, (0, ALWAYS, "limit", 0, 0), (3, ALWAYS, "brake_ns", 0, 0)) as x:
        gpu = x.hello["gpus"][0]
        assert "ecc_uncorrected" not in gpu and "thermal" not in gpu["slowed_ns"], gpu
        x.run("j", [device_step()], unit={"gpu": 0, "score": True})
        done = x.done("j")
        equal((done["outcomes"][0]["state"], done["device"]["unfit"]), ("passed", {}))
        equal(done["outcomes"][0]["device"]["remarks"], ["clocks-unlocked", "power-limit"])


def processes_of_jobs(folder):
    """While jobs use devices, and where they share one, processes are not others'"""
    with start(folder, (2, ALWAYS, "pid", -1, 77)) as x:
        outcome = x.one(device_step(), unit={"gpu": 1, "slots": 2, "score": True})
        equal(outcome["state"], "passed")
        x.run("holder", [device_step("sleep 60")], unit={"gpu": 0})
        x.until(event="step", job="holder")
        hello = x.hello
        while not hello["gpus"][0]["processes"]:  # a greeting that was on its way has an older reading
            x.send(op="hello")
            hello = x.until(event="hello")
        equal([gpu["unfit"] for gpu in hello["gpus"]], [[], []])
        x.send(op="cancel", job="holder")
        x.done("holder")
        while [gpu["unfit"] for gpu in hello["gpus"]] != [["processes"], ["processes"]]:
            x.send(op="hello")
            hello = x.until(event="hello")


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
        equal((done["status"], done["device"]), ("cancelled", {"checked": ["1"], "faults": {}, "unfit": {}}))
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
    sys.exit(main([facts, amd, no_library, doctor, ended, record, throttled, throttled_again, dirty, gone, unfit, unfit_for_a_moment,
               unfit_in_a_run, unreadable, remarks, absurd, processes_of_jobs, several, loopback, order, no_starvation,
                   cancelled, expected]))
