# SPDX-License-Identifier: MIT
"""githubkit goes through what Kettle's runner does, and its models, made from GitHub's description, take every answer."""
import io
import time
import zipfile

import githubkit
from githubkit.exception import RequestFailed

import proof

OWNER, NAME = proof.REPO.split("/")


def connect(fake):
    """What the newest version of REST offers for Actions; without a cache of its own, and without repeating by itself."""
    if not fake.kit:
        fake.kit = githubkit.GitHub(githubkit.TokenAuthStrategy(fake.token), base_url=fake.url, http_cache=False, auto_retry=False)
    return fake.kit.rest("2026-03-10").actions


def dispatched(fake, payload="echo 42", name="one", **more):
    time.sleep(max(0, fake.free - time.monotonic()))  # GitHub wants a second between two changes
    answer = connect(fake).create_workflow_dispatch(OWNER, NAME, "kettle.yml", data={"ref": "main", "inputs": proof.inputs(payload, name), **more})
    fake.free = time.monotonic() + 1.01
    return answer


def ended(fake, run):
    return proof.client.poll(lambda: (found := connect(fake).get_workflow_run(OWNER, NAME, run).parsed_data).status == "completed" and found, "the end")


def dispatch(fake):
    """dispatches with details, and reads the run until its end"""
    details = dispatched(fake, return_run_details=True).json()
    found = ended(fake, details["workflow_run_id"])
    assert found.conclusion == "success" and found.display_title == "one" and details["run_url"] == found.url, found
    jobs = connect(fake).list_jobs_for_workflow_run(OWNER, NAME, found.id).parsed_data
    assert jobs.total_count == 1 and [step.name for step in jobs.jobs[0].steps][1] == "work", jobs
    fake.run = found.id


def unbidden(fake):
    """gets details without a word about them, as this version has it, and the list has the run"""
    assert dispatched(fake, name="second").status_code == 200
    found = connect(fake).list_workflow_runs(OWNER, NAME, "kettle.yml", event="workflow_dispatch", per_page=100).parsed_data
    run, = [one for one in found.workflow_runs if one.display_title == "second"]
    assert ended(fake, run.id).conclusion == "success" and found.total_count == 2


def unchanged(fake):
    """gets 304 for what has not changed, at no cost"""
    first = connect(fake).get_workflow_run(OWNER, NAME, fake.run)
    again = connect(fake).get_workflow_run(OWNER, NAME, fake.run, headers={"If-None-Match": first.headers["ETag"]})
    assert again.status_code == 304 and not again.content, again
    assert again.headers["X-RateLimit-Remaining"] == first.headers["X-RateLimit-Remaining"], (first.headers, again.headers)


def download(fake):
    """finds the artifact and downloads it from the other host"""
    found = connect(fake).list_workflow_run_artifacts(OWNER, NAME, fake.run, name="kettle-result").parsed_data
    artifact, = found.artifacts
    answer = connect(fake).download_artifact(OWNER, NAME, artifact.id, "zip")
    assert str(answer.url).startswith(fake.files) and len(answer.content) == artifact.size_in_bytes, answer.url
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.read("result.kettle") == proof.RESULT
    job = connect(fake).list_jobs_for_workflow_run(OWNER, NAME, fake.run).parsed_data.jobs[0]
    log = connect(fake).download_job_logs_for_workflow_run(OWNER, NAME, job.id).text
    assert "the key is ***, and the run" in log and "later is mark" in log and "a-very-secret-key" not in log, log


def cancel(fake):
    """cancels and force-cancels; one that has ended cannot be"""
    for method in ("cancel_workflow_run", "force_cancel_workflow_run"):
        run = dispatched(fake, "trap '' INT TERM; sleep 600", method, return_run_details=True).json()["workflow_run_id"]
        proof.client.poll(lambda: connect(fake).get_workflow_run(OWNER, NAME, run).parsed_data.status == "in_progress", "its start")
        time.sleep(max(0, fake.free - time.monotonic()))
        assert getattr(connect(fake), method)(OWNER, NAME, run).status_code == 202
        fake.free = time.monotonic() + 1.01
        assert ended(fake, run).conclusion == "cancelled"
    time.sleep(max(0, fake.free - time.monotonic()))
    try:
        connect(fake).cancel_workflow_run(OWNER, NAME, fake.run)
        raise AssertionError("it is cancelled after its end")
    except RequestFailed as error:
        assert error.response.status_code == 409, error


def main():
    with proof.served() as fake:
        fake.free, fake.kit = 0.0, None
        proof.go_through("githubkit", (dispatch, unbidden, unchanged, download, cancel, breaks_nothing), fake)


def breaks_nothing(fake):
    """breaks no rule"""
    proof.unbroken(fake)


main()
