# SPDX-License-Identifier: MIT
"""KernelBot's own server (github.com/gpu-mode/kernelbot), from a folder that has its source, with stand-ins for what is below its API:

    reference.py SOURCE

prints {"port"} and serves until its standard input ends. Users, boards and submissions are in memory; the runner takes a file that
returns 1 as right, 3 as right but in secret runs, any other number as wrong, and what returns no number as what does not compile.
Needs fastapi, uvicorn, python-multipart, python-dotenv, requests and PyYAML."""
import asyncio
import datetime
import importlib.machinery
import json
import os
import pathlib
import re
import sys
import types
import typing

import typing_extensions
import uvicorn

DEVICE = "H100"
TASK = {"lang": "cu", "files": {"submission.cpp": "@SUBMISSION@"}, "config": {"sources": ["submission.cpp"]}, "tests": [{"size": 1, "seed": 1}],
        "benchmarks": [{"size": 2, "seed": 1}], "ranking_by": "last"}
# In the server's folder: what it imports and the API does not reach.
ABSENT = {"psycopg2": {"Error": type("Error", (Exception,), {})}, "better_profanity": {"profanity": types.SimpleNamespace(contains_profanity=lambda _: False)},
          "libkernelbot.launchers.github": {"GitHubLauncher": None}, "libkernelbot.launchers.modal": {"ModalLauncher": None}}


def now():
    return datetime.datetime.now(datetime.timezone.utc)


def older(text):
    """A source as Python 3.11 can read it: in the braces of a string there is neither a new line nor a backslash."""
    text = text.replace(r"replace('\\n', '\n')}", "replace(chr(92) + 'n', chr(10))}")
    return re.sub(r'(f"[^"\n]*\{)\n(.*?)\n\s*(\}\\n\\n")', lambda found: found[1] + " ".join(found[2].split()) + found[3], text, flags=re.S)


def load(source):
    """The module of its API."""
    sys.path.insert(0, str(source / "src"))
    for name, members in ABSENT.items():
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__dict__.update(members)
    if sys.version_info < (3, 12):
        loader, compiled = importlib.machinery.SourceFileLoader, importlib.machinery.SourceFileLoader.source_to_code
        loader.source_to_code = lambda self, data, path, **more: compiled(
            self, older(data.decode()).encode() if str(path).startswith(str(source)) else data, path, **more)
        typing.TypedDict = typing_extensions.TypedDict  # which pydantic wants there
    from libkernelbot import leaderboard_db
    leaderboard_db.LeaderboardDB = Database
    from kernelbot.api import main
    return main


class Database:
    """What the API asks of its database."""

    def __init__(self, url, ssl_mode):
        from libkernelbot.task import LeaderboardTask
        self.users = {number: {"user_id": number, "user_name": name} for number, name in (("1", "ada"), ("2", "bob"))}
        self.ids = {"cli-ada": "1", "cli-bob": "2"}
        self.submissions, self.codes, self.limits, self.banned = {}, {}, [], set()
        self.boards = [self.board(number, name, visibility, LeaderboardTask.from_dict(TASK))
                       for number, (name, visibility) in enumerate((("small", "public"), ("shut", "closed")), 1)]

    @staticmethod
    def board(number, name, visibility, task):
        return {"id": number, "name": name, "creator_id": 0, "deadline": now() + datetime.timedelta(days=30), "description": f"the board {name}", "task": task,
                "gpu_types": [DEVICE], "forum_id": -1, "secret_seed": 7, "visibility": visibility}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def connect(self):
        return True

    disconnect = __exit__

    # ---- users ----

    def validate_identity(self, token, kind):
        user = self.users.get(self.ids.get(token))
        return user and {**user, "id_type": kind.value}

    def validate_cli_id(self, token):
        return self.users.get(self.ids.get(token)) and dict(self.users[self.ids[token]])

    def init_user_from_cli(self, cli_id, provider):
        self.ids[cli_id] = None

    def is_user_banned(self, user):
        return user in self.banned

    def ban_user(self, user):
        self.banned |= {user} & set(self.users)
        return user in self.users

    def unban_user(self, user):
        self.banned -= {user}
        return user in self.users

    # ---- boards ----

    def get_leaderboards(self):
        return self.boards

    def get_leaderboard(self, name):
        from libkernelbot.leaderboard_db import LeaderboardDoesNotExist
        for board in self.boards:
            if board["name"] == name:
                return board
        raise LeaderboardDoesNotExist(name)

    def get_leaderboard_gpu_types(self, name):
        return self.get_leaderboard(name)["gpu_types"]

    def create_leaderboard(self, name, deadline, definition, creator_id, forum_id, gpu_types, visibility):
        self.boards.append(self.board(len(self.boards) + 1, name, visibility, definition.task))

    def delete_leaderboard(self, name, force):
        from libkernelbot.utils import KernelBotError
        board = self.get_leaderboard(name)
        if not force and any(one["leaderboard_name"] == name for one in self.submissions.values()):
            raise KernelBotError("it has submissions")
        self.boards.remove(board)

    def set_leaderboard_visibility(self, name, visibility):
        self.get_leaderboard(name)["visibility"] = visibility

    def check_leaderboard_access(self, name, user):
        return self.get_leaderboard(name)["visibility"] == "public" or any(
            code["user_id"] == user and name in code["leaderboards"] for code in self.codes.values())

    def generate_invite_codes(self, names, count):
        made = [f"{len(self.codes) + i:032x}" for i in range(count)]
        for code in made:
            self.codes[code] = {"code": code, "leaderboards": names, "user_id": None, "user_name": None, "claimed_at": None, "created_at": now()}
        return made

    def claim_invite_code(self, code, user):
        from libkernelbot.utils import KernelBotError
        found = self.codes.get(code)
        if found is None or found["user_id"] not in (None, user):
            raise KernelBotError("it is invalid, or claimed already")
        found.update(user_id=user, user_name=self.users[user]["user_name"], claimed_at=now())
        return found

    def get_invite_codes(self, name):
        return [{key: value for key, value in code.items() if key != "leaderboards"} for code in self.codes.values() if name in code["leaderboards"]]

    def revoke_invite_code(self, code):
        from libkernelbot.utils import KernelBotError
        if code not in self.codes:
            raise KernelBotError("it is invalid", code=404)
        return {"code": code, "was_claimed": self.codes.pop(code)["user_id"] is not None}

    def set_rate_limit(self, name, category, per_hour):
        self.delete_rate_limit(name, category)
        self.limits.append({"id": 1, "leaderboard_id": self.get_leaderboard(name)["id"], "leaderboard_name": name, "mode_category": category,
                            "max_submissions_per_hour": per_hour})
        return self.limits[-1]

    def get_rate_limits(self, name):
        board = self.get_leaderboard(name)
        return [one for one in self.limits if one["leaderboard_id"] == board["id"]]

    def delete_rate_limit(self, name, category):
        self.limits = [one for one in self.limits if (one["leaderboard_name"], one["mode_category"]) != (name, category)]

    def check_rate_limit(self, name, user, category):
        return None

    # ---- submissions ----

    def create_submission(self, leaderboard, file_name, user_id, code, time, user_name=None, mode_category=None):
        number = len(self.submissions) + 1
        self.submissions[number] = {
            "submission_id": number, "leaderboard_id": self.get_leaderboard(leaderboard)["id"], "leaderboard_name": leaderboard, "file_name": file_name,
            "user_id": user_id, "submission_time": time, "done": False, "code": code, "runs": [], "job_status": None, "job_error": None, "job_last_heartbeat": None}
        return number

    def upsert_submission_job_status(self, submission, status, error=None, last_heartbeat=None):
        found = self.submissions[submission]
        found.update(job_status=status, job_error=error, job_last_heartbeat=last_heartbeat)
        return submission

    def mark_submission_done(self, submission):
        self.submissions[submission]["done"] = True

    def create_submission_run(self, submission, start, end, mode, secret, runner, score, compilation, result, system):
        """result: as the table's columns have it."""
        meta = {key: getattr(result, key) for key in ("stdout", "stderr", "success", "exit_code", "command", "duration")}
        self.submissions[submission]["runs"].append({
            "start_time": start, "end_time": end, "mode": mode, "secret": secret, "runner": runner, "score": score, "passed": result.passed,
            "compilation": compilation and vars(compilation), "meta": meta, "result": result.result, "system": vars(system)})

    def get_submission_by_id(self, submission):
        return self.submissions.get(submission)

    def get_user_submissions(self, user_id, leaderboard_name, limit, offset):
        mine = [one for one in self.submissions.values() if one["user_id"] == user_id and leaderboard_name in (None, one["leaderboard_name"])]
        return [{"id": one["submission_id"], **{key: one[key] for key in ("leaderboard_name", "file_name", "submission_time", "done")},
                 "runs": [{"gpu_type": run["runner"], "score": run["score"]} for run in one["runs"] if not run["secret"] and run["score"] is not None]
                 if one["job_status"] == "succeeded" else []} for one in reversed(mine)][offset:offset + limit]

    def get_leaderboard_submissions(self, name, device, user_id=None, limit=None, offset=0):
        from libkernelbot.utils import KernelBotError
        if device not in self.get_leaderboard_gpu_types(name):
            raise KernelBotError(f"{name} has no {device}")
        best = {}
        for one in self.submissions.values():
            for run in one["runs"]:
                if run["score"] is not None and not run["secret"] and one["leaderboard_name"] == name and one["job_status"] == "succeeded":
                    best.setdefault(one["user_id"], (run["score"], one))
        return [{"submission_id": one["submission_id"], "rank": rank, "submission_name": one["file_name"], "submission_time": one["submission_time"],
                 "submission_score": score, "leaderboard_name": name, "user_id": int(one["user_id"]), "user_name": self.users[one["user_id"]]["user_name"],
                 "gpu_type": device} for rank, (score, one) in enumerate(sorted(best.values(), key=lambda pair: pair[0]), 1)][offset:offset + limit if limit else None]

    def get_leaderboard_submission_count(self, name, device, user_id=None):
        return len(self.get_leaderboard_submissions(name, device))

    def get_leaderboard_submission_ids(self, name, limit, offset):
        board = self.get_leaderboard(name)
        return [number for number, one in self.submissions.items() if one["leaderboard_id"] == board["id"]][offset:offset + limit]

    def delete_submission(self, submission):
        del self.submissions[submission]

    def delete_submissions_for_user(self, leaderboard_id, user_name):
        gone = [number for number, one in self.submissions.items()
                if one["leaderboard_id"] == leaderboard_id and self.users[one["user_id"]]["user_name"] == user_name]
        runs = sum(len(self.submissions.pop(number)["runs"]) for number in gone)
        return {"deleted_submissions": len(gone), "deleted_runs": runs, "deleted_job_status": len(gone)}

    def generate_stats(self, last_day, leaderboard_name=None):
        return {"num_submissions": len(self.submissions), "sub_waiting": 0, "num_users": len(self.users)}


def launcher():
    """A runner whose verdict is in the file."""
    from libkernelbot.launchers import Launcher, RunnerQueueStatus
    from libkernelbot.run_eval import CompileResult, EvalResult, FullResult, RunResult, SystemInfo, run_evaluation

    class Stand(Launcher):
        async def get_queue_status(self, gpu_type, config=None):
            return RunnerQueueStatus(runner=self.name, gpu=gpu_type.name, queued_jobs=0, running_jobs=0, available_runners=1)

        async def run_submission(self, config, gpu_type, status):
            code, secret = config["sources"]["submission.cpp"], config["mode"] == "private"
            found = re.search(r"return (\d)", code)
            right = bool(found) and (found[1] == "1" or (found[1] == "3" and not secret))
            compiled = CompileResult(True, "13", bool(found), "nvcc submission.cpp", "", "" if found else "error: `nothing` is not declared", 0 if found else 1)

            def call(mode, **_):
                if mode == "test" or not right:
                    rows = {"test-count": "1", "test.0.spec": "n: 8", "test.0.status": "pass" if right else "fail", "check": "pass" if right else "fail"}
                    rows |= {} if right else {"test.0.error": "mismatch at 3"}
                else:
                    rows = {"benchmark-count": "1", "benchmark.0.spec": "n: 512", "benchmark.0.runs": "3", "benchmark.0.mean": "2500", "benchmark.0.std": "1",
                            "benchmark.0.err": "1", "benchmark.0.best": "2400", "benchmark.0.worst": "2600", "check": "pass"}
                run = RunResult(True, right, "./eval", "", "", 0 if right else 112, 0.5, rows)
                return EvalResult(now(), now(), compiled, run if found else RunResult(False, False, "", "", "", 0, 0.0, {}), None)
            return FullResult(True, "", SystemInfo(gpu="NVIDIA H100", cpu="a CPU", runtime="CUDA", platform="Linux", torch="2", hostname="here"),
                              run_evaluation(call, config["mode"], {}))
    return Stand


def serve(source):
    os.environ.update(ADMIN_TOKEN="t" * 40, PROBLEM_DEV_DIR=str(source / "examples"))
    # What its modules print is no answer of this program.
    answers = sys.stdout
    sys.stdout = sys.stderr
    api = load(source)
    from libkernelbot import backend, background_submission_manager, consts
    engine = backend.KernelBackend(types.SimpleNamespace(DATABASE_URL=""))
    engine.register_launcher(launcher()("here", consts.ModalGPU))
    manager = background_submission_manager.BackgroundSubmissionManager(engine)
    api.init_api(engine)
    api.init_background_submission_manager(manager)

    async def run():
        server = uvicorn.Server(uvicorn.Config(api.app, host="127.0.0.1", port=0, log_level="warning"))
        await manager.start()
        task = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        answers.write(json.dumps({"port": server.servers[0].sockets[0].getsockname()[1]}) + "\n")
        answers.flush()
        await asyncio.to_thread(sys.stdin.read)
        server.should_exit = True
        await task
        await manager.stop()
    asyncio.run(run())


if __name__ == "__main__":
    serve(pathlib.Path(sys.argv[1]).absolute())
