# SPDX-License-Identifier: MIT
"""Section queue: four different C++ submissions that wait for one device, whose run steps keep one core while the others
compile beside it on the rest."""
import os

from kettle_test import TASKS, poll

from measure import SECONDS, Box, Cannot, Client, progress, rounds, start_server, stop_server
from submissions import accepted, encoded, shorter

BOARD, SOLUTION = "matmul_cpp", "blocked.cpp"
JOBS = 4
MS = 1e-6  # of a nanosecond


def different(box, number):
    """A submission that does the same and has never been compiled."""
    text = (TASKS / BOARD / "solutions" / "correct" / SOLUTION).read_text()
    return box.write(f"s{number}.cpp", f"{text}\n// {number}\n")


def jobs_of(client, ids):
    """Their jobs once all have ended, with their stamps."""
    found = []
    for id in ids:
        def look(id=id):
            job = client.call("submission.show", {"id": id})["jobs"][0]
            return job if job["ended"] and "record_ns" in ((job["timing"] or {}).get("parts") or {}) else None
        job = poll(look, "the end of a submission")
        if job["state"] != "passed":
            raise Cannot(f"it came out as {job['state']}: {job['error']}")
        found.append(job)
    return found


def share(jobs):
    """Of the time from when the first job had the device until the last one was done with it, the part in which programs of
    run steps ran on it. They hold it one after the other, and its stamps are of one clock."""
    stamps = [job["timing"]["stamps"] for job in jobs]
    between = max(one["done_ns"] for one in stamps) - min(one["device_ns"] for one in stamps)
    return sum(job["timing"]["parts"]["run_ns"] for job in jobs) / between


def submit(client, files, mode="ranked"):
    """All at once."""
    lines = [client.line("submit", {"file": {"name": "x.cpp", "base64": encoded(file)}, "leaderboard": "b", "mode": mode})
             for file in files]
    client.socket.sendall(b"".join(lines))
    return [accepted(client.file.readline()) for _ in lines]


def measure(section):
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise Cannot("there is one core only, which the device has")
    seconds = round(SECONDS / 4, 3)
    with Box(f'{{CPU: {{runner: local, cores: "{cores[-1]}"}}}}') as box:
        box.run("leaderboard", "create", "b", "--no-try", "--task", shorter(box, BOARD, seconds))
        box.run("device", "calibrate")
        child, _ = start_server(box)
        client = Client(f"{box.database}.sock")
        jobs_of(client, submit(client, [different(box, "first")]))  # starts what stays, compiles the harness
        for number in range(rounds(5, 1)):
            progress(f"    {number + 1}")
            alone = [jobs_of(client, submit(client, [different(box, f"{number}.{i}")]))[0] for i in range(JOBS)]
            queued = jobs_of(client, submit(client, [different(box, f"{number}.{i}.again") for i in range(JOBS)]))
            # The times of secret runs are nowhere.
            public = jobs_of(client, submit(client, [different(box, f"{number}.{i}.public") for i in range(JOBS)], "benchmark"))
            section.add("device in use", 100 * share(public), unit="%", target="80 %")
            section.add("compiling one job", *[job["timing"]["build_ns"] * MS for job in queued])
            section.add("running one job", *[job["timing"]["parts"]["run_ns"] * MS for job in queued])
            section.add("score, in the queue", *[job["score"] * 1e6 for job in queued], unit="µs")
            section.add("score, one at a time", *[job["score"] * 1e6 for job in alone], unit="µs")
        client.close()
        stop_server(child)
    # Better is as wrong as worse.
    moved = 100 * abs(section.median("score, in the queue") / section.median("score, one at a time") - 1)
    section.add("shift of the score", moved, unit="%", target="0.5 %")
    section.note(f"{JOBS} different submissions of {BOARD}, {seconds} s for each benchmark, run on core {cores[-1]} and compiled "
                 "on the other cores.")
