# SPDX-License-Identifier: MIT
"""PyGithub goes through what Kettle's runner does: dispatch, run, list, artifacts, download, cancel."""
import io
import logging
import zipfile

import github
import requests

import proof


def connect(fake, token=None):
    """One for each token: it counts its own pauses."""
    key = token or fake.token
    if key not in fake.connections:
        fake.connections[key] = github.Github(base_url=fake.url, auth=github.Auth.Token(key), seconds_between_requests=0,
                                              seconds_between_writes=1.01, retry=None, lazy=True)
    return fake.connections[key]


def repository(fake, token=None):
    return connect(fake, token).get_repo(proof.REPO)


def flow(fake, token=None):
    """The workflow, read."""
    found = repository(fake, token).get_workflow("kettle.yml")
    found.complete()
    return found


def finished(run):
    def done():
        run.update()
        return run.status == "completed"
    proof.client.poll(done, "the end of the run")
    return run


def dispatch(fake):
    """dispatches with the run's details, and reads the run until its end"""
    workflow = flow(fake)
    assert workflow.name == "proof" and workflow.state == "active", workflow
    run = workflow.create_dispatch("main", proof.inputs(name="first"), throw=True, return_run_details=True)
    finished(run)
    assert (run.conclusion, run.display_title, run.event) == ("success", "first", "workflow_dispatch"), run.raw_data
    assert run.html_url.endswith(f"/{proof.REPO}/actions/runs/{run.id}") and run.head_branch == "main", run.html_url
    job, = run.jobs()
    assert job.labels == ["self-hosted", "gpu"], job.labels
    assert [step.conclusion for step in job.steps] == ["success", "success", "skipped", "success", "success"], job.raw_data


def without_details(fake):
    """dispatches without details, and finds the run by its name"""
    assert flow(fake).create_dispatch("main", proof.inputs(name="by its name"), throw=True) is True
    run, = [run for run in flow(fake).get_runs(event="workflow_dispatch") if run.display_title == "by its name"]
    assert run.status in ("queued", "in_progress", "completed") and finished(run).conclusion == "success"


def lists(fake):
    """lists runs by status and time, page by page"""
    repo = repository(fake)
    found = repo.get_workflow_runs(status="success")
    assert found.totalCount == 2 and [run.run_number for run in found] == [2, 1]
    assert repo.get_workflow_runs(status="queued").totalCount == 0
    assert repo.get_workflow_runs(created=">=2020-01-01").totalCount == 2 and repo.get_workflow_runs(created="<2020-01-01").totalCount == 0
    paged = github.Github(base_url=fake.url, auth=github.Auth.Token(fake.token), per_page=1, seconds_between_requests=0, lazy=True)
    assert len(list(paged.get_repo(proof.REPO).get_workflow_runs())) == 2


def download(fake):
    """finds the artifact and downloads it from the other host"""
    run = repository(fake).get_workflow_runs()[0]
    artifact, = run.get_artifacts()
    assert artifact.name == "kettle-result" and not artifact.expired, artifact.raw_data
    answer = requests.get(artifact.archive_download_url, headers={"Authorization": f"Bearer {fake.token}"}, allow_redirects=True, timeout=60)
    assert answer.status_code == 200 and answer.url.startswith(fake.files), answer
    assert len(answer.content) == artifact.size_in_bytes
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.namelist() == ["result.kettle"] and archive.read("result.kettle") == proof.RESULT, archive.namelist()


def cancel(fake):
    """cancels a run, once"""
    run = flow(fake).create_dispatch("main", proof.inputs("sleep 600", "long"), throw=True, return_run_details=True)
    proof.client.poll(lambda: (run.update(), run.status)[1] == "in_progress", "its start")
    assert run.cancel() is True
    assert finished(run).conclusion == "cancelled"
    assert run.cancel() is False


def refused(fake):
    """is refused with GitHub's errors"""
    try:
        flow(fake, "wrong")
        raise AssertionError("a wrong token is taken")
    except github.BadCredentialsException:
        pass
    for ref, given in (("nowhere", proof.inputs()), ("main", {"payload": "true", "other": "x"}), ("main", proof.inputs("x" * 65536)), ("main", {})):
        try:
            flow(fake).create_dispatch(ref, given, throw=True)
            raise AssertionError(f"taken: {ref}")
        except github.GithubException as error:
            assert error.status == 422, error
    try:
        repository(fake).get_workflow_run(1).complete()
        raise AssertionError("there is a run 1")
    except github.UnknownObjectException:
        pass
    for given, wanted in (({"primary": {"reset_s": 0}}, "rate limit exceeded"), ({"secondary": {"retry_after": 0}}, "secondary rate limit")):
        fake.fault(given)
        try:
            flow(fake)
            raise AssertionError("no limit")
        except github.RateLimitExceededException as error:
            assert wanted in str(error), error
        proof.client.poll(lambda: fake_free(fake), "the end of the limit")


def fake_free(fake):
    """Whether the token may go on; the reset is at a whole second."""
    try:
        flow(fake)
        return True
    except github.RateLimitExceededException:
        return False


def breaks_nothing(fake):
    """breaks no rule"""
    proof.unbroken(fake)


def main():
    logging.getLogger("github").setLevel("CRITICAL")
    with proof.served() as fake:
        fake.connections = {}
        proof.go_through("PyGithub", (dispatch, without_details, lists, download, cancel, breaks_nothing, refused), fake)


main()
