# SPDX-License-Identifier: MIT
"""Records one answer of each form that the simulated sides (world.h) are compared with: record.py SIDE [BUILD] >tests/fixtures/remote/SIDE.json

github and modal are the proven fakes beside this folder, slurm is a Slurm of one node, ssh the lines of a kettle-exec of the folder BUILD.
github needs KETTLE_TEST_GITHUB's Python, slurm its daemons."""
import importlib
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

PEERS = pathlib.Path(__file__).resolve().parent.parent
TOP = PEERS.parent.parent
MOST_TEXT = 60  # characters of a text: what counts is that it is one


def form(value):
    """The same with one element of each list, and short texts."""
    if isinstance(value, dict):
        return {key: form(one) for key, one in value.items()}
    if isinstance(value, list):
        return [form(one) for one in value[:1]]
    return value[:MOST_TEXT] if isinstance(value, str) else value


def plain(run):
    """A run of GitHub's without people, repositories and commits, which are long and not looked at."""
    return {key: value for key, value in run.items() if not isinstance(value, dict)}


def until(condition):
    end = time.monotonic() + 600
    while not (value := condition()):
        assert time.monotonic() < end, "what is to be recorded does not come"
        time.sleep(0.1)
    return value


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Web:
    """Sends requests, and keeps the answers by method, path and status."""

    def __init__(self, base, headers, names):
        self.base, self.headers, self.names, self.kept = base, headers, names, {}
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirect)

    def send(self, method, path, body=None, **more):
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {**self.headers, **more}, method=method)
        try:
            with self.opener.open(request, timeout=60) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                status, text = error.code, error.read()
        try:
            answer = json.loads(text)
        except ValueError:
            answer = None  # bytes, or nothing
        if set(answer or ()) == {"workflow_runs", "total_count"}:
            answer["workflow_runs"] = [plain(one) for one in answer["workflow_runs"]]
        elif "run_attempt" in (answer or ()):
            answer = plain(answer)
        key = f"{method} {re.sub(self.names, 'N', path.partition('?')[0])} {status}"
        self.kept.setdefault(key, form(answer))
        return answer


def github():
    sys.path.insert(0, str(PEERS / "github"))
    proof = importlib.import_module("proof")
    with proof.served(spacing_s=0) as fake:
        fake.repo("o/r", fake.folder, secrets={"KETTLE_KEY": "a-very-secret-key"})
        web = Web(fake.url, {"Authorization": f"Bearer {fake.token}", "User-Agent": "kettle", "X-GitHub-Api-Version": "2026-03-10"},
                  r"(?<=/)\d+")
        actions = "/repos/o/r/actions"
        body = {"ref": "main", "inputs": proof.inputs(), "return_run_details": True}
        run = web.send("POST", f"{actions}/workflows/kettle.yml/dispatches", body)["workflow_run_id"]
        until(lambda: web.send("GET", f"{actions}/runs/{run}")["status"] == "completed")
        web.kept.clear()
        web.send("GET", f"{actions}/runs/{run}")
        web.send("POST", f"{actions}/workflows/kettle.yml/dispatches", body)
        web.send("GET", f"{actions}/workflows/kettle.yml/runs?per_page=100")
        found = web.send("GET", f"{actions}/runs/{run}/artifacts?per_page=100")
        web.send("GET", f"{actions}/artifacts/{found['artifacts'][0]['id']}/zip")
        web.send("POST", f"{actions}/runs/{run}/cancel", {})
        other = web.send("POST", f"{actions}/workflows/kettle.yml/dispatches", body)["workflow_run_id"]
        web.send("POST", f"{actions}/runs/{other}/cancel", {})
        web.send("GET", f"{actions}/runs/1")
        return web.kept


def modal():
    sys.path.insert(0, str(PEERS / "modal"))
    client = importlib.import_module("client")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        program = folder / "program"
        program.write_text('#!/bin/sh\nwhile [ "$1" != --result ]; do shift; done\necho result >"$2"\n')
        program.chmod(0o755)
        served = client.Served(TOP / "plugins/runners/modal/modal_app.py", folder / "far", program, "key", devices="far")
        web = Web(served.url, client.CREDENTIALS, r"(?<=[a-z]/).*")

        def submit(job):
            return web.send("POST", "/submit/far", b"KTLE1\n plan", **{"Idempotency-Key": job})["id"]

        def poll(call):
            return web.send("POST", "/poll", {"ids": [call]})["calls"][call]

        served.control(hold=True)
        waiting = submit("waiting")
        web.send("GET", f"/result/{waiting}")
        web.send("POST", f"/cancel/{waiting}", b"")
        served.control(hold=False)
        call = submit("job")
        until(lambda: poll(call) == "done")
        web.send("GET", f"/result/{call}")
        web.send("GET", f"/result/{waiting}")
        web.send("POST", "/find/job", b"")
        web.send("POST", "/find/none", b"")
        web.send("GET", "/result/fc-none")
        served.close()
        for key in web.kept:
            if key.startswith("POST /poll "):
                web.kept[key] = {"calls": {"N": "done"}}  # by the names of calls
        return web.kept


def slurm():
    sys.path.insert(0, str(TOP / "tests/lib"))
    lib = importlib.import_module("slurm_cluster")
    rows = "--format=%F|%K|%T|%r|%j|."
    cluster = lib.Cluster()
    try:
        submit = ["sbatch", "--parsable", "--no-requeue", "--hold", "--job-name=kettle-1f0c9a3e-10.1", "--output=/dev/null"]
        kept = {"sbatch": cluster.run(*submit, "--wrap=true").splitlines()}
        cluster.run(*submit, "--array=0-2", "--wrap=true")
        cluster.run("sbatch", "--job-name=kettle-1f0c9a3e-11.1", "--output=/dev/null", "--wrap=sleep 60")
        until(lambda: "RUNNING" in cluster.run("squeue", "--array", "--all", rows))
        kept["squeue"] = cluster.run("squeue", "--array", "--all", rows).splitlines()
        cluster.kill("slurmctld")
        for command in (["sbatch", "--parsable", "--wrap=true"], ["squeue", rows]):
            done = subprocess.run(command, env=cluster.env, cwd=cluster.root, capture_output=True, text=True, timeout=300)
            kept[f"{command[0]} without a controller"] = [str(done.returncode), *done.stderr.splitlines()[-1:]]
    finally:
        cluster.close()
    return kept


def ssh():
    program = pathlib.Path(sys.argv[2]) / "kettle-exec"
    kept = {}
    with tempfile.TemporaryDirectory() as folder:
        step = {"id": "run", "kind": "run", "argv": ["/bin/sleep", "0.1"], "device": 1}
        process = subprocess.Popen([program, "--serve", "--lease", "60", "--state", folder, "--level", "off"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        for job, op in (("1.1", "run"), ("2.1", "run"), ("2.1", "cancel")):
            line = {"op": op, "job": job, **({"unit": {"name": "FAR", "cores": "0"}, "plan": {"version": 1, "steps": [step]}} if op == "run" else {})}
            print(json.dumps(line), file=process.stdin)
        print('{"op": "heartbeat"}', file=process.stdin, flush=True)
        ended = 0
        while ended < 2:
            event = json.loads(process.stdout.readline())
            ended += event["event"] == "done"
            event = {key: value for key, value in event.items() if key not in ("machine", "system", "warm", "tools")}  # of one machine
            if event["event"] != "outcome":  # the same as in `done`
                kept.setdefault(event["event"] + (f" {event['status']}" if event["event"] == "done" else ""), form(event))
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    return kept


print(json.dumps(globals()[sys.argv[1]](), indent=1, sort_keys=True))
