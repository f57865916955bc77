# SPDX-License-Identifier: MIT
"""The rules of the fake by themselves: limits, violations, faults, and everything that a run can do."""
import base64
import http.client
import io
import json
import time
import urllib.parse
import zipfile
import zlib

import proof

ACTIONS = f"/repos/{proof.REPO}/actions"


class Answer:
    def __init__(self, status, headers, data):
        self.status, self.headers, self.data = status, headers, data

    def json(self):
        return json.loads(self.data)


def connect(url):
    where = urllib.parse.urlsplit(url)
    return http.client.HTTPConnection(where.hostname, where.port, timeout=60)


def ask(url, path, token=None, method="GET", body=None, kept=None, **headers):
    """One request, byte by byte: nothing is followed or repeated. kept: a connection that stays, instead of one of its own."""
    connection = kept or connect(url)
    try:
        given = {"User-Agent": "proof", **({"Authorization": f"Bearer {token}"} if token else {}),
                 **{name.replace("_", "-"): value for name, value in headers.items()}}
        connection.request(method, path, None if body is None else json.dumps(body), given)
        answer = connection.getresponse()
        return Answer(answer.status, answer.headers, answer.read())
    finally:
        if not kept:
            connection.close()


def call(fake, path, method="GET", body=None, token=None, **headers):
    return ask(fake.url, path if path.startswith("/") else f"{ACTIONS}/{path}", token or fake.token, method, body, **headers)


def dispatch(fake, payload="echo 42", name="one"):
    """The identifier of a new run; each by a token of its own, so that nothing need be waited for."""
    fake.count += 1
    fake.post("token", token=f"token-{fake.count}")
    answer = call(fake, "workflows/kettle.yml/dispatches", "POST", {"ref": "main", "inputs": proof.inputs(payload, name), "return_run_details": True},
                  f"token-{fake.count}")
    assert answer.status == 200, answer.data
    return answer.json()["workflow_run_id"]


def ended(fake, run):
    return proof.client.poll(lambda: (found := call(fake, f"runs/{run}").json())["status"] == "completed" and found, "its end")


def artifacts(fake, run):
    return call(fake, f"runs/{run}/artifacts").json()["artifacts"]


def downloaded(fake, artifact, **headers):
    link = call(fake, f"artifacts/{artifact['id']}/zip")
    assert link.status == 302 and not link.data, link.data
    where = urllib.parse.urlsplit(link.headers["Location"])
    return ask(f"http://{where.netloc}", f"{where.path}?{where.query}", **headers)


def rules(fake):
    return sorted({one["rule"] for one in fake.violations()})


def expect(fake, *wanted):
    """These rules were broken, and no others; they are forgotten."""
    assert rules(fake) == sorted(wanted), fake.violations()
    fake.post("forget")


def authorization(fake):
    """no token, a wrong one, one that was revoked, one for another repository"""
    assert call(fake, "runs/1", token="wrong").status == 401 and ask(fake.url, f"{ACTIONS}/runs/1").status == 401
    fake.post("token", token="short", revoked=True)
    assert call(fake, "runs/1", token="short").status == 401
    fake.post("token", token="short", revoked=False, repos=["ada/other"])
    assert call(fake, "runs", token="short").status == 404 and call(fake, "/repos/no/where/actions/runs").status == 404
    assert call(fake, "/user").status == 404 and call(fake, "runs", "PUT").status == 404
    assert call(fake, "runs", X_GitHub_Api_Version="1999-01-01").status == 400
    expect(fake)
    assert call(fake, "runs", User_Agent="").status == 403
    expect(fake, "user-agent")


def description(fake):
    """a request against the description is noted"""
    call(fake, "runs?status=bogus")
    call(fake, "workflows/kettle.yml/dispatches", "POST", {"inputs": {}}, token="fresh")
    expect(fake, *(["openapi"] if fake.schema else []))


def spacing(fake):
    """two changes within a second are noted, by two tokens they are not"""
    dispatch(fake)
    dispatch(fake)
    expect(fake)
    for _ in range(2):
        call(fake, "runs/1/cancel", "POST")
    expect(fake, "spacing")


def limits(fake):
    """a client that goes on in spite of a limit is noted: of the hour, and the other one with and without a header"""
    fake.post("token", token="poor", limit=1, window_s=600)
    assert call(fake, "runs", token="poor").headers["X-RateLimit-Remaining"] == "0"
    refused = call(fake, "runs", token="poor")
    assert refused.status == 403 and refused.headers["X-RateLimit-Remaining"] == "0", refused.data
    assert int(refused.headers["X-RateLimit-Reset"]) > time.time() + 500
    expect(fake)
    for given in ({"primary": {"reset_s": 30, "status": 429}}, {"secondary": {"retry_after": 30, "status": 429}}, {"secondary": {}}):
        fake.count += 1
        token = f"token-{fake.count}"
        number = fake.post("token", token=token)["number"]
        fake.fault(given, token=number)
        kept = connect(fake.url)
        refused = call(fake, "runs", token=token, kept=kept)
        kind, = given
        assert refused.status == given[kind].get("status", 403), refused.status
        assert (refused.headers["Retry-After"] == "30") == (given[kind].get("retry_after") == 30), refused.headers
        assert call(fake, "runs", token=token).status == 403  # that may have been on its way
        expect(fake)
        assert call(fake, "runs", token=token, kept=kept).status == 403  # that cannot
        kept.close()
        expect(fake, "limit")
    fake.fault({"secondary": {"retry_after": 0}})
    assert call(fake, "runs").status == 403
    assert call(fake, "runs").status == 200
    expect(fake)


def unchanged(fake):
    """a 304 costs nothing and is counted apart; a change of the run ends it"""
    fake.behave(proof.REPO, hold=True)
    run = dispatch(fake)
    proof.client.poll(lambda: call(fake, f"runs/{run}").json()["status"] == "in_progress", "its start")
    fake.post("forget")
    first = call(fake, f"runs/{run}")
    again = call(fake, f"runs/{run}", If_None_Match=first.headers["ETag"])
    assert again.status == 304 and not again.data and again.headers["X-RateLimit-Used"] == first.headers["X-RateLimit-Used"]
    counters = fake.counters(proof.REPO)
    assert counters["not_modified"] == {"run": 1} and counters["requests"] == {"run": 1}, counters
    fake.post("release", repo=proof.REPO)
    assert ended(fake, run)["conclusion"] == "success"
    assert call(fake, f"runs/{run}", If_None_Match=first.headers["ETag"]).status == 200


def links(fake):
    """the link to an artifact is another host's, ends, and must not see the token"""
    run = dispatch(fake)
    ended(fake, run)
    artifact, = artifacts(fake, run)
    assert zipfile.ZipFile(io.BytesIO(downloaded(fake, artifact).data)).read("result.kettle") == proof.RESULT
    expect(fake)
    fake.repo(proof.REPO, fake.folder, link_s=0)
    assert downloaded(fake, artifact).status == 403
    fake.repo(proof.REPO, fake.folder, link_s=60)
    assert ask(fake.files, f"/artifact/{artifact['id']}").status == 403
    expect(fake)
    downloaded(fake, artifact, Authorization="Bearer x")
    expect(fake, "authorization")


def seeds(fake):
    """a seed is found wherever it can be read, and only there"""
    seed = 1928374655
    fake.post("seeds", seeds=[seed])
    plain = f'{{"seed": {seed}}}'.encode() * 20
    packed = base64.b64encode(zlib.compress(plain)).decode()
    ended(fake, dispatch(fake, f"echo {seed}7"))
    expect(fake)
    for payload in (f"echo {seed}", f": {packed}", f"printf {base64.b64encode(packed.encode()).decode()}", "printf 1928374; echo 655"):
        ended(fake, dispatch(fake, payload))
        expect(fake, "leak")
    ended(fake, dispatch(fake, "printf 1928374 >&2; echo 655 >&2"))
    expect(fake, "leak")


def conclusions(fake):
    """every conclusion, a lost machine, and the faults of artifacts"""
    for conclusion in ("failure", "neutral", "cancelled", "skipped", "timed_out", "action_required", "stale"):
        fake.behave(proof.REPO, unstarted=True, conclusion=conclusion)
        run = dispatch(fake)
        assert ended(fake, run)["conclusion"] == conclusion and not artifacts(fake, run)
        assert call(fake, f"runs?status={conclusion}").json()["total_count"] >= 1 or conclusion == "stale"
    run = dispatch(fake, "exit 3")
    assert ended(fake, run)["conclusion"] == "failure" and len(artifacts(fake, run)) == 1
    fake.behave(proof.REPO, artifact="missing")
    assert not artifacts(fake, ended(fake, dispatch(fake))["id"])
    fake.behave(proof.REPO, artifact="late", late_ms=500)
    run = ended(fake, dispatch(fake))["id"]
    assert proof.client.poll(lambda: artifacts(fake, run), "the artifact")
    fake.behave(proof.REPO, artifact="expired")
    artifact, = artifacts(fake, ended(fake, dispatch(fake))["id"])
    assert call(fake, f"artifacts/{artifact['id']}/zip").status == 410
    fake.behave(proof.REPO, digest="wrong", size="wrong")
    artifact, = artifacts(fake, ended(fake, dispatch(fake))["id"])
    assert artifact["digest"] == "sha256:" + "0" * 64 and len(downloaded(fake, artifact).data) == artifact["size_in_bytes"] - 1
    expect(fake)


def broken_zips(fake):
    """zips as they should not be"""
    names = {}
    for kind in ("liar", "cut", "garbage", "html", "empty", "other_name", "path", "two", "edited"):
        fake.behave(proof.REPO, zip=kind)
        artifact, = artifacts(fake, ended(fake, dispatch(fake, "seq 100"))["id"])
        data = downloaded(fake, artifact).data
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                names[kind] = archive.namelist()
        except zipfile.BadZipFile:
            names[kind] = None
    assert names == {"liar": ["result.kettle"], "cut": None, "garbage": None, "html": None, "empty": [], "other_name": ["result.json"],
                     "path": ["../result.kettle"], "two": ["result.kettle"] * 2, "edited": ["result.kettle"]}, names


def broken_answers(fake):
    """lost, cut, false and late answers"""
    before = len(fake.runs())
    fake.fault({"drop": "after"}, kind="dispatch")
    try:
        dispatch(fake)
        raise AssertionError("the answer came")
    except (ConnectionError, http.client.HTTPException):
        pass
    assert len(fake.runs()) == before + 1, "it was not done"
    run = dispatch(fake)
    ended(fake, run)
    fake.fault({"cut": 10}, kind="run")
    try:
        call(fake, f"runs/{run}")
        raise AssertionError("it was not cut")
    except (ConnectionError, http.client.HTTPException):
        pass
    fake.fault({"status": 502, "text": "<html>"}, kind="run")
    answer = call(fake, f"runs/{run}")
    assert (answer.status, answer.data) == (502, b"<html>"), answer.data
    fake.fault({"patch": {"status": 7}}, kind="run")
    assert call(fake, f"runs/{run}").json()["status"] == 7
    other = dispatch(fake)
    fake.fault({"run": other}, kind="run")
    assert call(fake, f"runs/{run}").json()["id"] == other
    fake.fault({"pad": 1 << 20}, kind="run")
    assert len(call(fake, f"runs/{run}").data) > 1 << 20
    assert call(fake, f"runs/{run}").json()["id"] == run and not any(one["left"] for one in fake.get("faults")["faults"])


def queues(fake):
    """machines take runs in order, and a queued run can be cancelled"""
    fake.repo(proof.REPO, fake.folder, machines=0)
    first, second = dispatch(fake), dispatch(fake)
    assert call(fake, "workflows/kettle.yml/runs?status=queued&per_page=1").json()["total_count"] == 2
    assert call(fake, f"runs/{second}/cancel", "POST", token=f"token-{fake.count - 1}").status == 202
    assert ended(fake, second)["conclusion"] == "cancelled"
    fake.repo(proof.REPO, fake.folder, machines=1)
    assert ended(fake, first)["conclusion"] == "success"


def enterprise(fake):
    """an Enterprise server answers 204, and knows no newer version"""
    fake.repo(proof.REPO, fake.folder, enterprise=True)
    fake.post("token", token="old")
    body = {"ref": "main", "inputs": proof.inputs(name="enterprise"), "return_run_details": True}
    assert call(fake, "workflows/kettle.yml/dispatches", "POST", body, "old", X_GitHub_Api_Version="2026-03-10").status == 400
    fake.post("token", token="older")
    assert call(fake, "workflows/kettle.yml/dispatches", "POST", body, "older").status == 204
    run, = [run for run in call(fake, f"runs?created={urllib.parse.quote('>=2020-01-01T00:00:00Z')}").json()["workflow_runs"] if run["name"] == "enterprise"]
    ended(fake, run["id"])
    fake.repo(proof.REPO, fake.folder, enterprise=False)


def main():
    with proof.served() as fake:
        fake.count = 0
        proof.go_through("rules", (authorization, description, spacing, limits, unchanged, links, seeds, conclusions, broken_zips, broken_answers,
                                   queues, enterprise), fake)
        wrong = [one for one in fake.violations() if one["rule"] == "fake"]
        proof.passed("rules: the fake never fails", AssertionError(wrong) if wrong else None)


main()
