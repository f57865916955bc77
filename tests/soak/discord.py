#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The bot on the fake Discord under faults: users submit, cancel and look while connections break, Discord limits and fails,
answers get lost and the server is killed. At the end each interaction has an answer or a fault that explains why not, each
submission its report once, no event was dealt with twice, nothing is left in the bot's state, and Discord got no invalid
request that no fault explains; status 1 otherwise.

It lasts a quarter of KETTLE_SOAK_SECONDS; KETTLE_SOAK_USERS (12) are its users. KETTLE_SEED says what they and the faults do."""
import collections
import json
import os
import pathlib
import random
import re
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.environ.get("top_srcdir", "."), "tests", "lib"))
import discord_bot  # noqa: E402
from discord_bot import Bot, client  # noqa: E402
from kettle_test import Scratch, needs  # noqa: E402

SECONDS = float(os.environ.get("KETTLE_SOAK_SECONDS", "1200")) / 4
USERS = int(os.environ.get("KETTLE_SOAK_USERS", "12"))
SEED = int(os.environ.get("KETTLE_SEED", random.randrange(1 << 30)))
PAUSE = (0.5, 5)  # seconds from one fault to the next
SETTLE = 300     # seconds that what is open may take when all is quiet
NONCES_S = 60    # the fake forgets them sooner than Discord
ANSWER_S = 3     # for the first answer
UNSTORED_S = 15  # a command whose process ends so soon may leave its deferral as it is
PUBLIC, PRIVATE = 11, 12
THREADS = {"POST /channels/{channel}/threads": [20, 5]}  # more than Discord lets a bot make, which would be ten a minute
CODES = (4000, 4001, 4002, 4003, 4005, 4007, 4008, 4009)
GATEWAY = [{"do": "drop"}, {"do": "reconnect"}, {"do": "mute_acks", "times": 2}, {"do": "heartbeat_request"}, {"do": "duplicate"},
           {"do": "invalid_session", "resumable": True}, {"do": "invalid_session", "resumable": False},
           *({"do": "close", "code": code} for code in CODES)]
PATHS = ("/callback$", "^/webhooks/", "/messages", "/threads", "/thread-members/", "^/channels/[0-9]+$", "")
LOOKS = ("leaderboard list", "leaderboard show", "leaderboard submissions", "leaderboard show-personal", "leaderboard help", "ping")
REPORT = re.compile(r"\*\*Submission (\d+)\*\* to \*\*vectors\*\*\n")
LIVE = re.compile(r"\*\*Submission (\d+)\*\* to \*\*vectors\*\* · ")


def codes(scratch):
    """What is submitted."""
    right = scratch.solution("naive").read_text()
    return [right, right, right + "\n// %d\n", scratch.solution("off_by_one", kind="wrong").read_text(), right + "\nnonsense\n"]


class Harm:
    """When a fault was there, and what it touches: gateway, process, or a pattern of paths."""

    def __init__(self, what, begun):
        self.what, self.begun, self.ended = what, begun, None

    def touches(self, begin, end):
        return self.begun <= end and (self.ended or time.time()) >= begin


class Soak:
    def __init__(self):
        self.chance = random.Random(SEED)
        self.scratch = Scratch(devices="{CPU: {runner: local, slots: 2, prefetch: 2}}", extra="engine: {shutdown_grace: 2}\n")
        self.codes = codes(self.scratch)
        self.lock, self.over = threading.Lock(), threading.Event()
        self.did, self.refused, self.harms = collections.Counter(), collections.Counter(), []
        self.problems = []
        self.bot = Bot(self.scratch, {"identify_window_s": 0, "nonce_s": NONCES_S, "identify_limit": 100000})
        self.fake = self.bot.fake
        self.fake.post("buckets", **THREADS)

    # ---- users ----

    def follow(self, one, seconds, until):
        """An interaction once until(it) is true, or as it is when the time is over."""
        end = time.monotonic() + seconds
        while not self.over.is_set() and time.monotonic() < end:
            found = self.fake.interaction(one)
            if found["state"] == "failed" or until(found):
                return found
            self.over.wait(0.1)
        return None

    def submit(self, chance, user):
        content = chance.choice(self.codes)
        script = {"filename": "a.cpp", "content": content % chance.randrange(1 << 30) if "%d" in content else content}
        if chance.random() < 0.05:
            script["fault"] = chance.choice(("missing", "cut", "status:500"))
        mode = chance.choice(("test", "test", "test", "benchmark", "ranked", "ranked"))
        one = self.fake.command(user, f"leaderboard submit {mode}", {"script": script, "leaderboard_name": "vectors"}, channel="submissions")
        cancels = chance.random() < 0.2
        found = self.follow(one, 60, lambda f: shown(f) and (is_open(f) if cancels else not is_open(f)))
        if cancels and found and shown(found) and is_open(found):
            self.did["cancel"] += 1
            self.fake.press(user, found["messages"][0]["id"], label="Cancel")

    def act(self, chance, user):
        """One thing that a user does."""
        what = chance.random()
        if what < 0.6:
            self.did["submit"] += 1
            self.submit(chance, user)
        elif what < 0.75:
            self.did["type"] += 1
            self.fake.post("autocomplete", user=user, channel="submissions", command="leaderboard show", focused="leaderboard_name",
                           options={"leaderboard_name": "ve"})
        else:
            command = chance.choice(LOOKS)
            self.did[command] += 1
            named = command in ("leaderboard show", "leaderboard show-personal")
            one = self.fake.command(user, command, {"leaderboard_name": "vectors"} if named else {}, channel="submissions")
            self.follow(one, 20, lambda f: f["state"] == "answered")

    def user(self, number):
        chance = random.Random(SEED * 1000 + number)
        while not self.over.wait(chance.random() * 4):
            try:
                self.act(chance, f"user{number}")
            except (client.Failed, AssertionError) as error:  # what the user saw is not there any more
                with self.lock:
                    self.refused[str(error)[-90:]] += 1
            except Exception as error:  # the count at the end must come
                self.problems.append(f"user{number}: {type(error).__name__}: {error}")

    # ---- faults ----

    def harm(self, what):
        self.harms.append(Harm(what, time.time()))
        return self.harms[-1]

    def connected(self):
        self.fake.connected()

    def gateway(self):
        fault = self.chance.choice(GATEWAY)
        self.did[f"gateway: {fault['do']} {fault.get('code', '')}".rstrip()] += 1
        one = self.harm("gateway")
        if self.chance.random() < 0.2:
            self.fake.post("gateway", do="refuse", times=self.chance.randrange(1, 3))
        self.fake.post("gateway", **fault)
        self.over.wait(1.5 if fault["do"] == "mute_acks" else 0.2)
        self.connected()
        one.ended = time.time() + 1

    def rest(self):
        path, times = self.chance.choice(PATHS), self.chance.randrange(1, 4)
        fault = self.chance.choice(({"status": self.chance.choice((500, 502, 503, 504))},
                                    {"rate_limit": {"retry_after": round(self.chance.uniform(0.1, 1.5), 2), "global": self.chance.random() < 0.3}},
                                    {"drop": "before"}, {"drop": "after"}, {"delay_ms": self.chance.randrange(100, 1500)},
                                    {"delay_answer_ms": self.chance.randrange(100, 1500)}))
        self.did["REST: " + next(iter(fault))] += 1
        one = self.harm(path or "everything")
        self.fake.fault(fault, times=times, path=path)
        self.over.wait(self.chance.uniform(0.5, 3))
        self.fake.clear_faults()
        one.ended = time.time() + 3  # a 429 and the tries after a fault take time

    def process(self):
        """Its end, by force or not, and another one. The fake forgets how full its buckets are: no new process can know."""
        kill = self.chance.random() < 0.7
        self.did["process: kill -9" if kill else "process: stop"] += 1
        one = self.harm("process")
        self.bot.server.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
        status = self.bot.server.wait(60)
        if status != (-9 if kill else 0):
            self.problems.append(f"the server ended with {status}: {self.bot.log()[-2000:]}")
        self.over.wait(self.chance.uniform(0, 2))
        self.fake.post("buckets")
        self.bot.start()
        self.connected()
        one.ended = time.time() + 1

    def harm_all(self):
        while not self.over.wait(self.chance.uniform(*PAUSE)):
            what = self.chance.random()
            try:
                (self.gateway if what < 0.4 else self.rest if what < 0.85 else self.process)()
            except Exception as error:  # the count at the end must come
                self.problems.append(f"the faults: {type(error).__name__}: {error}")

    # ---- the end ----

    def open_things(self):
        """What still has to come to its end."""
        jobs = self.scratch.rows("SELECT submission, state FROM jobs WHERE state IN ('queued', 'running')")
        keys = [key for key, in self.scratch.rows("SELECT key FROM plugin_state WHERE key LIKE 'sub/%' OR key LIKE 'out/sub/%' OR key LIKE 'req/%' OR key LIKE 'ask/%'")]
        return [f"job of {number}: {state}" for number, state in jobs] + keys

    def settle(self):
        began = time.monotonic()
        while self.open_things() and time.monotonic() < began + SETTLE:
            time.sleep(0.5)
        took, quiet = time.monotonic() - began, (0, time.monotonic())
        while time.monotonic() < began + SETTLE and time.monotonic() < quiet[1] + 5:  # public results, archived threads, podiums
            requests = len(self.fake.get("log", after=0)["log"])
            if requests != quiet[0]:
                quiet = requests, time.monotonic()
            time.sleep(0.5)
        return took

    def explains(self, kinds, begin, end):
        return any(harm.what in kinds and harm.touches(begin, end) for harm in self.harms)

    def unanswered(self, interactions):
        """Interactions without an end that no fault explains."""
        found, self.explained = [], set()
        for one in interactions:
            begun = one["created"]
            first = ("gateway", "process", "/callback$", "everything")
            if one["state"] in ("failed", "waiting") and self.explains(first, begun, begun + ANSWER_S):
                self.explained.add(one["id"])
            elif one["state"] == "deferred" and self.explains(("process",), begun, begun + UNSTORED_S):
                self.explained.add(one["id"])
            elif one["state"] != "answered":
                found.append(f"{one['id']} of {one['user']} at {begun:.1f} is {one['state']}: {one['problem']} {str(one['data'])[:200]}")
        return found

    def reports(self, interactions, messages):
        """Submissions that have not exactly one report, and live messages without their end."""
        texts = [m["content"] for thread in messages[PRIVATE] for m in thread]
        texts += [m["content"] for one in interactions for m in one["messages"] if REPORT.match(m["content"])]
        count = collections.Counter(int(REPORT.match(text).group(1)) for text in texts if REPORT.match(text))
        wrong = []
        for number, state in self.scratch.rows("SELECT id, state FROM submissions"):
            if count[number] > 1 or count[number] == 0 and state != "cancelled":
                wrong.append(f"submission {number} ({state}) has {count[number]} reports")
        for one in interactions:
            for message in one["messages"]:
                if LIVE.match(message["content"]) and ("⏳" in message["content"] or message["components"]):
                    wrong.append(f"{message['content']!r} has no end")
        return wrong

    def results(self, messages):
        """Ranked results: one public thread for each job that counts, with one message."""
        ranked = [number for number, data in self.scratch.rows("SELECT submission, data_json FROM events WHERE kind = 'job.done'")
                  if json.loads(data).get("rank") or json.loads(data).get("better")]
        posted = [len([m for m in thread if m["from_bot"]]) for thread in messages[PUBLIC]]
        wrong = [f"a public thread has {count} messages" for count in posted if count != 1]
        if len(posted) != len(ranked):
            wrong.append(f"{len(ranked)} ranked results have {len(posted)} public threads")
        podiums = self.scratch.rows("SELECT count(*) FROM events WHERE kind = 'leaderboard.podium'")[0][0]
        told = len([m for m in self.fake.messages("announcements") if m["from_bot"]])
        if podiums != told:
            wrong.append(f"{podiums} podiums are announced {told} times")
        return wrong

    def doubled(self, log):
        """Messages that were posted twice, and interactions that were answered twice without a fault between."""
        wrong, nonces, faulty = [], collections.Counter(), set()
        for channel in self.fake.get("channels")["channels"]:
            for message in self.fake.messages(channel["id"]):
                if message.get("nonce") and not message["deleted"]:
                    nonces[message["nonce"]] += 1
        wrong += [f"the message with the nonce {nonce} is there {times} times" for nonce, times in nonces.items() if times > 1]
        for note in log:
            if note["code"] == 40060 and note["path"] not in faulty:
                wrong.append(f"{note['path']} was answered twice")
            if note.get("fault"):
                faulty.add(note["path"])
        return wrong

    def invalid(self, interactions, log):
        """Requests that Discord counts as invalid and that no fault explains."""
        tokens = {one["token"]: one["id"] for one in interactions}
        wrong = []
        for note in log:
            parts = note["path"].split("/")
            token = parts[3] if len(parts) > 3 and parts[1] in ("interactions", "webhooks") else None
            if note["invalid"] and tokens.get(token) not in self.explained:
                wrong.append(f"{note['method']} {note['path'].replace(token or ' ', 'TOKEN')} at {note['time']:.1f}: {note['status']} {note['code']}")
        return wrong

    def count(self, took):
        fake = self.fake
        interactions, log = fake.get("interactions")["interactions"], fake.get("log")["log"]
        threads = fake.threads(self.bot.ids["channels"]["submissions"])
        messages = {kind: [fake.messages(thread["id"]) for thread in threads if thread["type"] == kind] for kind in (PUBLIC, PRIVATE)}
        stats, states = fake.get("stats"), collections.Counter(one["state"] for one in interactions)
        unanswered = self.unanswered(interactions)
        violations = [f"{one['rule']}: {one['text']}" for one in fake.get("violations")["violations"]]
        submissions = dict(self.scratch.rows("SELECT state, count(*) FROM submissions GROUP BY 1"))
        print(f"soak: Discord, {SECONDS:.0f} s, {USERS} users, KETTLE_SEED={SEED}, settled in {took:.0f} s")
        print("did         ", dict(sorted(self.did.items())))
        print("refused     ", dict(self.refused.most_common(6)))
        print("interactions", dict(states), f"explained by faults {len(self.explained)}; first answers p50 {stats['p50']} ms, p99 {stats['p99']} ms")
        print("submissions ", submissions, f"threads {len(threads)}, requests {len(log)}")
        wrong = {"unanswered": unanswered, "reports": self.reports(interactions, messages), "results": self.results(messages),
                 "doubled": self.doubled(log), "invalid": self.invalid(interactions, log), "violations": violations,
                 "left": self.open_things(), "problems": self.problems}
        for word, found in wrong.items():
            print(f"{word:12} {len(found)}" + "".join(f"\n    {line}" for line in found[:8]))
        return 1 if any(wrong.values()) or not submissions or not states["answered"] else 0

    def run(self):
        self.scratch.board("vectors")
        for number in range(USERS):
            self.fake.post("member", name=f"user{number}")
        self.bot.up()
        threads = [threading.Thread(target=self.user, args=(number,), daemon=True) for number in range(USERS)]
        threads.append(threading.Thread(target=self.harm_all, daemon=True))
        for thread in threads:
            thread.start()
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            time.sleep(min(30, max(0.1, end - time.monotonic())))
            print(f"soak: Discord, {end - time.monotonic():.0f} s to go, {sum(self.did.values())} done", flush=True)
        self.over.set()
        for thread in threads:
            thread.join(400)
        self.fake.clear_faults()
        took = self.settle()
        status = self.count(took)
        self.bot.stop()
        return status


def shown(found):
    """The live message of a submission is there."""
    return found["messages"] and LIVE.match(found["messages"][0]["content"])


def is_open(found):
    return bool(found["messages"][0]["components"])


def main():
    needs("discord", "cpp", "local", "cli")
    if not client.python():
        print("soak: the bot is left out: no environment with aiohttp and cryptography (./quickstart test makes it)")
        return
    soak, status = Soak(), 1
    try:
        status = soak.run()
    finally:
        if status:
            kept = pathlib.Path(f"/tmp/kettle-soak-discord-{os.getpid()}.log")
            kept.write_bytes(b"".join(path.read_bytes() for path in sorted(soak.scratch.root.glob("child*.log"))))
            print(f"soak: the server's log is kept: {kept}")
        soak.bot.close()
        soak.scratch.close()
    sys.exit(status)


assert discord_bot
main()
