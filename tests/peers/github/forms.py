# SPDX-License-Identifier: MIT
"""What the answers of REST look like."""
from world import stamp

USER_LINKS = {"followers": "", "following": "{/other_user}", "gists": "{/gist_id}", "starred": "{/owner}{/repo}", "subscriptions": "",
              "organizations": "", "repos": "", "events": "{/privacy}", "received_events": ""}
REPO_LINKS = {"archive": "{archive_format}{/ref}", "assignees": "{/user}", "blobs": "{/sha}", "branches": "{/branch}", "collaborators": "",
              "comments": "{/number}", "commits": "{/sha}", "compare": "{base}...{head}", "contents": "{+path}", "contributors": "",
              "deployments": "", "downloads": "", "events": "", "forks": "", "git_commits": "{/sha}", "git_refs": "{/sha}",
              "git_tags": "{/sha}", "hooks": "", "issue_comment": "{/number}", "issue_events": "{/number}", "issues": "{/number}",
              "keys": "{/key_id}", "labels": "{/name}", "languages": "", "merges": "", "milestones": "{/number}", "notifications": "",
              "pulls": "{/number}", "releases": "{/id}", "stargazers": "", "statuses": "{sha}", "subscribers": "", "subscription": "",
              "tags": "", "teams": "", "trees": "{/sha}"}


def user(world, login):
    url = f"{world.url}/users/{login}"
    links = {f"{name}_url": f"{url}/{name}{rest}" if "{" in rest else f"{url}/{name}" for name, rest in USER_LINKS.items()}
    return {"login": login, "id": 583231, "node_id": "MDQ6VXNlcjU4MzIzMQ==", "avatar_url": f"{world.url}/avatars/{login}", "gravatar_id": "",
            "url": url, "html_url": f"{world.url}/{login}", "type": "User", "site_admin": False, **links}


def repository(repo):
    world, (owner, name) = repo.world, repo.name.split("/")
    url = f"{world.url}/repos/{repo.name}"
    links = {f"{part}_url": f"{url}/{part.replace('git_', 'git/')}{rest}" for part, rest in REPO_LINKS.items()}
    return {"id": repo.id, "node_id": f"R_{repo.id}", "name": name, "full_name": repo.name, "private": True, "owner": user(world, owner),
            "html_url": f"{world.url}/{repo.name}", "description": None, "fork": False, "url": url, **links}


def workflow(repo, flow, identifier):
    url, page = f"{repo.world.url}/repos/{repo.name}", f"{repo.world.url}/{repo.name}"
    return {"id": identifier, "node_id": f"W_{identifier}", "name": flow.name, "path": flow.path, "state": "active",
            "created_at": "2026-01-08T23:48:37.000Z", "updated_at": "2026-01-08T23:50:21.000Z", "url": f"{url}/actions/workflows/{identifier}",
            "html_url": f"{page}/blob/{repo.branch}/{flow.path}", "badge_url": f"{page}/workflows/{flow.name}/badge.svg"}


def run(one):
    repo, world = one.repo, one.repo.world
    url = f"{world.url}/repos/{repo.name}"
    here = f"{url}/actions/runs/{one.id}"
    person = {"name": "kettle", "email": "kettle@example.org"}
    commit = {"id": one.sha, "tree_id": one.sha, "message": "Add the workflow", "timestamp": "2026-01-08T23:48:37Z", "author": person,
              "committer": person}
    return {"id": one.id, "name": one.title, "node_id": f"WFR_{one.id}", "head_branch": repo.branch, "head_sha": one.sha, "path": one.path,
            "display_title": one.title, "run_number": one.number, "event": "workflow_dispatch", "status": one.status,
            "conclusion": one.conclusion, "workflow_id": repo.workflow_id, "check_suite_id": one.suite_id,
            "check_suite_node_id": f"CS_{one.suite_id}", "url": here, "html_url": f"{world.url}/{repo.name}/actions/runs/{one.id}",
            "pull_requests": [], "created_at": stamp(one.created), "updated_at": stamp(one.updated), "actor": user(world, "kettle"),
            "run_attempt": 1, "referenced_workflows": [], "run_started_at": stamp(one.created), "triggering_actor": user(world, "kettle"),
            "jobs_url": f"{here}/jobs", "logs_url": f"{here}/logs", "check_suite_url": f"{url}/check-suites/{one.suite_id}",
            "artifacts_url": f"{here}/artifacts", "cancel_url": f"{here}/cancel", "rerun_url": f"{here}/rerun",
            "previous_attempt_url": None, "workflow_url": f"{url}/actions/workflows/{repo.workflow_id}", "head_commit": commit,
            "repository": repository(repo), "head_repository": repository(repo), "head_repository_id": repo.id}


def job(one):
    repo, world = one.repo, one.repo.world
    url = f"{world.url}/repos/{repo.name}"
    return {"id": one.job_id, "run_id": one.id, "workflow_name": one.title, "head_branch": repo.branch,
            "run_url": f"{url}/actions/runs/{one.id}", "run_attempt": 1, "node_id": f"CR_{one.job_id}", "head_sha": one.sha,
            "url": f"{url}/actions/jobs/{one.job_id}", "html_url": f"{world.url}/{repo.name}/actions/runs/{one.id}/job/{one.job_id}",
            "status": one.status, "conclusion": one.conclusion if one.conclusion != "stale" else "neutral", "created_at": stamp(one.created),
            "started_at": stamp(one.started or one.created), "completed_at": stamp(one.completed) if one.completed else None,
            "name": "kettle", "steps": one.steps, "check_run_url": f"{url}/check-runs/{one.job_id}", "labels": one.labels,
            "runner_id": 1 if one.machine else None, "runner_name": one.machine, "runner_group_id": 1 if one.machine else None,
            "runner_group_name": "Default" if one.machine else None}


def artifact(one):
    repo, world = one.run.repo, one.run.repo.world
    url = f"{world.url}/repos/{repo.name}/actions/artifacts/{one.id}"
    return {"id": one.id, "node_id": f"A_{one.id}", "name": one.name, "size_in_bytes": one.size, "url": url, "expired": one.expired,
            "archive_download_url": f"{url}/zip", "created_at": stamp(one.created), "expires_at": stamp(one.created + 86400),
            "updated_at": stamp(one.created), "digest": one.digest,
            "workflow_run": {"id": one.run.id, "repository_id": repo.id, "head_repository_id": repo.id, "head_branch": repo.branch,
                             "head_sha": one.run.sha}}
