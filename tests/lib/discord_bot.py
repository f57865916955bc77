# SPDX-License-Identifier: MIT
"""A Kettle with the bot on the fake Discord: what the tests of the frontend discord share."""
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "peers" / "discord"))

import client  # noqa: E402  the fake's
import kettle_test as kt  # noqa: E402
import small_board  # noqa: E402

CHANNELS = [{"name": "lobby"}, {"name": "submissions"}, {"name": "announcements"}, {"name": "boards", "type": "forum"},
            {"name": "operators"}]
MEMBERS = [{"name": "ada", "roles": ["Leaderboard Admin"]}, {"name": "carl", "roles": ["Leaderboard Creator"]},
           {"name": "alice"}, {"name": "bob"}, {"name": "eve", "dms": False}]
ROLES = [{"name": "Leaderboard Admin"}, {"name": "Leaderboard Creator"}, {"name": "Participants"}]
MEMBER = ["VIEW_CHANNEL", "READ_MESSAGE_HISTORY", "USE_APPLICATION_COMMANDS", "SEND_MESSAGES_IN_THREADS", "ATTACH_FILES"]
# The least that works; docs/discord.md has the same list.
LEAST = ["VIEW_CHANNEL", "SEND_MESSAGES", "SEND_MESSAGES_IN_THREADS", "CREATE_PUBLIC_THREADS", "CREATE_PRIVATE_THREADS",
         "MANAGE_THREADS", "ATTACH_FILES", "READ_MESSAGE_HISTORY"]
PERMISSIONS = [*LEAST, "MANAGE_ROLES"]


def needed():
    """The interpreter of the fake; the whole test is skipped where there is none."""
    kt.needs("discord")
    python = client.python()
    if not python:
        print("1..0 # SKIP no environment with aiohttp and cryptography (./quickstart test makes it)")
        sys.exit(0)
    return python


def quick_board(scratch, name="vectors", *options):
    """A board whose submissions take a moment."""
    scratch.board(name, small_board.make(scratch.root / f"task-{name}"), *options)


class Bot:
    """The fake, a guild on it, and a scratch Kettle whose server has the bot. frontends: YAML of those beside it; strict: nobody may anything
    but by a role, so that the bot has LEAST alone; options: of the plugin."""

    def __init__(self, scratch, settings=None, frontends="  cli: {}\n", strict=False, **options):
        self.scratch = scratch
        self.fake = client.Fake(needed(), **{"heartbeat_interval_ms": 500, "heartbeat_grace_ms": 20000, "identify_window_s": 0.2,
                                             **(settings or {})})
        guild = {"members": [*MEMBERS, {"name": "olga"}], "roles": ROLES}
        if strict:
            guild["roles"] = [*ROLES, {"name": "Member", "permissions": MEMBER}]
            guild["members"] = [{**one, "roles": [*one.get("roles", []), "Member"]} for one in guild["members"]]
            guild["everyone"] = []
        self.ids = self.fake.post("guild", name="Kernels", owner="olga", channels=CHANNELS,
                                  bot_permissions=LEAST if strict else PERMISSIONS, **guild)
        channels = self.ids["channels"]
        section = {"token_env": "DISCORD_TOKEN", "api_url": self.fake.api, "guild": self.ids["guild"],
                   "submissions_channel": channels["submissions"], "announcements_channel": channels["announcements"],
                   "forum": channels["boards"], "operators_channel": channels["operators"], "participants_role": "Participants",
                   "attachment_hosts": ["127.0.0.1"], **options}
        lines = "".join(f"    {key}: {kt.json.dumps(value)}\n" for key, value in section.items() if value is not None)
        scratch.config.write_text(scratch.config.read_text() + f"frontends:\n{frontends}  discord:\n{lines}")
        for command in ("admin", "verifyruns", "verifydb"):  # as docs/discord.md says
            self.fake.post("integration", command=command, roles=["Leaderboard Admin"])
        self.server = None

    def start(self, env=None):
        self.server = self.scratch.serve(env={"DISCORD_TOKEN": self.fake.token, **(env or {})})
        return self

    def up(self, env=None):
        """Starts, and waits until the bot is there with its commands."""
        self.start(env)
        self.fake.connected()
        return self.registered()

    def registered(self):
        """Waits for its commands, which nobody can give before."""
        self.fake.poll(lambda: self.fake.get("commands")["commands"], lambda: f"commands\n{self.log()}")
        return self

    def log(self):
        return self.server.log.read_text() if self.server else ""

    def stop(self):
        self.server.terminate()
        status = self.server.wait(timeout=60)
        assert status == 0, f"status {status}: {self.log()}"

    def script(self):
        """For a quick_board."""
        return {"filename": "naive.cpp", "content": small_board.GOOD}

    def solution(self):
        """For a board of the shipped task."""
        return {"filename": "naive.cpp", "content": self.scratch.solution().read_text()}

    def close(self):
        self.fake.close()


def run(tests):
    """kettle_test.main, with the fake of each test ended after it."""
    needed()  # before a plan is printed
    bots = []
    made = Bot.__init__

    def remember(self, *args, **more):
        made(self, *args, **more)
        bots.append(self)
    Bot.__init__ = remember

    def wrapped(test):
        def run_one(scratch):
            try:
                test(scratch)
            except BaseException:
                for bot in bots:
                    print("".join(f"# {line}\n" for line in bot.log().splitlines()[-40:]), end="")
                raise
            finally:
                while bots:
                    bots.pop().close()
        run_one.__name__, run_one.__doc__ = test.__name__, test.__doc__
        return run_one
    kt.main([wrapped(test) for test in tests])


assert os
