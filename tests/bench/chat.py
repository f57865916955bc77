# SPDX-License-Identifier: MIT
"""Section discord: how fast the bot answers on the fake Discord when many users submit at once, beside a bot of discord.py."""
import contextlib
import pathlib
import socket
import subprocess
import sys
import threading
import time

from kettle_test import SOURCE
from measure import Box, Cannot, plugins, poll, progress, rounds, stop_server
from submissions import memory

sys.path.insert(0, str(SOURCE / "tests" / "peers" / "discord"))
import client  # noqa: E402  the fake's

USERS = 200
TYPED = 200       # completions, one after the other
IDLE_SECONDS = 2
LOOK_SECONDS = 0.002  # from one look at the loop to the next
COMMAND, COMPLETION = "2", "4"
SETTINGS = {"identify_window_s": 0.2, "first_answer_s": 60}


class Looks:
    """How long the server's loop takes to greet a client, again and again: no longer than its longest stall."""

    def __init__(self, path):
        self.path, self.waits, self.over = str(path), [], threading.Event()
        self.thread = threading.Thread(target=self.look)

    def look(self):
        while not self.over.wait(LOOK_SECONDS):
            begin = time.perf_counter()
            with socket.socket(socket.AF_UNIX) as one:
                one.connect(self.path)
                one.recv(1)
            self.waits.append((time.perf_counter() - begin) * 1e3)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *unused):
        self.over.set()
        self.thread.join()


def guild(fake):
    """A server with the users that will submit."""
    members = [{"name": f"user{n}"} for n in range(USERS)]
    return fake.post("guild", name="Kernels", owner="olga", members=members, channels=[{"name": "submissions"}])


def submit(section, fake, name, content, **more):
    """All users at once; until each sees that the bot has the file."""
    done = {one["id"] for one in fake.get("interactions")["interactions"]}
    actions = [{"do": "command", "user": f"user{n}", "channel": "submissions", "command": "leaderboard submit test",
                "options": {"script": {"filename": f"user{n}.cpp", "content": content}, "leaderboard_name": "vectors"}}
               for n in range(USERS)]
    begin = time.perf_counter()
    fake.post("batch", actions=actions)

    def mine():
        found = [one for one in fake.get("interactions")["interactions"] if one["id"] not in done and str(one["kind"]) == COMMAND]
        return all(one["messages"] and "⏳" in one["messages"][0]["content"] for one in found) and found
    found = fake.poll(mine, lambda: "the answer to each submission")
    section.add(f"{USERS} submissions at once: {name}, first answer", *(one["first_ms"] for one in found), **more)
    section.add(f"{USERS} submissions at once: {name}, all accepted", (time.perf_counter() - begin) * 1e3)


def type_names(section, fake, name, **more):
    for n in range(TYPED):
        one = fake.post("autocomplete", user=f"user{n % USERS}", channel="submissions", command="leaderboard submit test",
                        focused="leaderboard_name", options={"leaderboard_name": "ve"})["interaction"]
        found = fake.wait(one)
        if not found["choices"]:
            raise Cannot(f"{name} completes nothing")
        section.add(f"completion: {name}", found["first_ms"], **more)


@contextlib.contextmanager
def fake_discord(python):
    with client.Fake(python, **SETTINGS) as fake:
        fake.ids = guild(fake)
        yield fake


def ready(fake, child, log):
    def there():
        if child.poll() is not None:
            raise Cannot(f"a bot ended: {log()[-300:]}")
        return fake.get("commands")["commands"] and any(one["connected"] for one in fake.get("gateway")["sessions"])
    poll(there, "a bot")


def discord_py(section, python, content):
    with fake_discord(python) as fake:
        bot = subprocess.Popen([python, "-B", pathlib.Path(__file__).with_name("discord_py.py"), fake.api, fake.gateway, fake.token],
                               stderr=subprocess.DEVNULL)
        try:
            ready(fake, bot, str)
            type_names(section, fake, "discord.py")
            submit(section, fake, "discord.py", content)
            section.add("memory after them: discord.py", memory(bot.pid)[0], unit="MB")
        finally:
            bot.kill()
            bot.wait()


def configure(box, fake):
    section = {"token_env": "DISCORD_TOKEN", "api_url": fake.api, "guild": fake.ids["guild"],
               "submissions_channel": fake.ids["channels"]["submissions"], "attachment_hosts": ["127.0.0.1"]}
    lines = "".join(f"    {key}: {value!r}\n" for key, value in section.items())
    box.config.write_text(box.config.read_text() + f"frontends:\n  cli: {{}}\n  discord:\n{lines}")


def kettle(section, python):
    with Box() as box, fake_discord(python) as fake:
        content = box.solution().read_text()
        box.board("vectors")
        box.run("device", "disable", "CPU")  # accepted, not run
        configure(box, fake)
        child = box.serve({"DISCORD_TOKEN": fake.token})
        ready(fake, child, child.log.read_text)
        time.sleep(IDLE_SECONDS)  # nothing to poll for: this is what idling is
        section.add("memory, idle: Kettle", memory(child.pid)[0], unit="MB")
        type_names(section, fake, "Kettle", target="p99 200 ms", beside="completion: discord.py")
        with Looks(f"{box.database}.sock") as looks:
            submit(section, fake, "Kettle", content, target="p99 500 ms",
                   beside=f"{USERS} submissions at once: discord.py, first answer")
        section.add("longest wait for the loop meanwhile: Kettle", max(looks.waits))
        section.add("memory after them: Kettle", memory(child.pid)[0], unit="MB")
        if box.json("submission", "count", "vectors")["count"] != USERS:
            raise Cannot("not each submission was accepted once")
        stop_server(child)
    return content


def measure(section):
    python = client.python()
    if "discord" not in plugins():
        raise Cannot("Kettle was built without the plugin discord")
    if not python:
        raise Cannot("there is no environment with aiohttp and discord.py (./quickstart test --all makes it)")
    for number in range(rounds(3, 1)):
        progress(f"    {number + 1}")
        discord_py(section, python, kettle(section, python))
    for what in ("first answer", "all accepted"):
        section.ratio(f"{what}: discord.py over Kettle", f"{USERS} submissions at once: discord.py, {what}",
                      f"{USERS} submissions at once: Kettle, {what}")
    section.ratio("completion: discord.py over Kettle", "completion: discord.py", "completion: Kettle")
