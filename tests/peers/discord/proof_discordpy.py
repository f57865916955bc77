# SPDX-License-Identifier: MIT
"""discord.py on the fake: an independent client shows that the fake is like Discord."""
import asyncio
import io

import discord
import yarl
from discord import app_commands

import proof

FAKE = proof.start(first_answer_s=20)
control = proof.control


class Question(discord.ui.Modal, title="Delete a board?"):
    name = discord.ui.TextInput(label="Its name", min_length=2, max_length=20)

    async def on_submit(self, interaction):
        await interaction.response.send_message(f"typed {self.name.value}", ephemeral=True)


class Choice(discord.ui.View):
    @discord.ui.select(placeholder="Devices", min_values=1, max_values=2,
                       options=[discord.SelectOption(label=one, value=one.lower()) for one in ("CPU", "H100", "B200")])
    async def devices(self, interaction, select):
        await interaction.response.edit_message(content="chosen " + " ".join(select.values), view=Buttons())


class Buttons(discord.ui.View):
    @discord.ui.button(label="Form", style=discord.ButtonStyle.danger)
    async def form(self, interaction, _button):
        await interaction.response.send_modal(Question())

    @discord.ui.button(label="Later", style=discord.ButtonStyle.secondary)
    async def later(self, interaction, _button):
        await interaction.response.defer()
        await interaction.edit_original_response(content="done later", view=None)


class Bot(discord.AutoShardedClient):
    def __init__(self):
        super().__init__(intents=discord.Intents.default(), shard_count=None, shard_ids=None)
        self.tree, self.resumed, self.readied, self.seen = app_commands.CommandTree(self), 0, 0, []

    async def on_ready(self):
        self.readied += 1

    async def on_shard_resumed(self, _shard):
        self.resumed += 1

    async def on_interaction(self, interaction):
        self.seen.append(interaction.id)


discord.http.Route.BASE = FAKE.api
discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(FAKE.gateway)
BOT = Bot()
BOARDS = app_commands.Group(name="board", description="Boards")
BOT.tree.add_command(BOARDS)


@BOARDS.command(name="submit", description="Submits a file")
@app_commands.describe(script="The file", board="The board", times="How often")
async def submit(interaction, script: discord.Attachment, board: str = "none", times: app_commands.Range[int, 1, 9] = 1):
    await interaction.response.defer(ephemeral=True, thinking=True)
    data = await script.read()
    embed = discord.Embed(title="Submission", description=f"{len(data)} bytes", colour=0x112233)
    embed.add_field(name="board", value=f"{board} {times}")
    await interaction.edit_original_response(content=data.decode(), embed=embed, view=Choice())


@submit.autocomplete("board")
async def boards(_interaction, current):
    return [app_commands.Choice(name=one, value=one) for one in ("vectoradd", "vectorsum", "matmul") if one.startswith(current)]


@BOT.tree.command(name="report", description="Sends files")
async def report(interaction, user: discord.Member, private: bool = False):
    await interaction.response.send_message(f"for {user.mention}", ephemeral=private, file=discord.File(io.BytesIO(b"first"), "a.txt"))
    extra = await interaction.followup.send("second", wait=True,
                                            files=[discord.File(io.BytesIO(b"x" * n), f"{n}.bin") for n in (1, 2)])
    await extra.edit(content="second, edited")
    gone = await interaction.followup.send("third", wait=True)
    await gone.delete()
    original = await interaction.original_response()
    assert original.attachments[0].filename == "a.txt", original.attachments


@BOT.tree.command(name="twice", description="Answers twice")
async def twice(interaction):
    await interaction.response.send_message("once")
    try:
        await interaction.client.http.request(discord.http.Route(
            "POST", f"/interactions/{interaction.id}/{interaction.token}/callback"), json={"type": 4, "data": {"content": "again"}})
    except discord.HTTPException as error:
        await interaction.edit_original_response(content=f"{error.status} {error.code}")


def guild():
    return BOT.guilds[0]


def channel(name):
    return discord.utils.get(guild().channels, name=name)


async def expect(code, awaitable):
    """The error that Discord answers with."""
    try:
        await awaitable
    except discord.HTTPException as error:
        assert error.code == code, (error.code, error)
        return error
    raise AssertionError(f"no error {code}")


async def log_in():
    """logs in, gets its server with roles, channels and members, heartbeats"""
    BOT.task = asyncio.ensure_future(BOT.start(FAKE.token))
    await proof.until(lambda: BOT.readied or BOT.task.done())
    assert guild().name == "Proof" and {role.name for role in guild().roles} == {"@everyone", "kettle", "Admin"}, guild().roles
    assert isinstance(channel("boards"), discord.ForumChannel) and channel("news").is_news(), guild().channels
    assert BOT.user.id == int(FAKE.bot_id) and BOT.application_id == int(FAKE.application_id)
    await proof.until(lambda: len(FAKE.get("gateway")["connections"][0]["heartbeats"]) >= 2)
    assert BOT.latency < 30, BOT.latency


async def commands():
    """registers its commands; the same ones again keep their identifiers"""
    first = await BOT.tree.sync()
    again = await BOT.tree.sync()
    assert [one.id for one in first] == [one.id for one in again] and len(first) == 3, first
    assert {one.name for one in await BOT.tree.fetch_commands()} == {"board", "report", "twice"}


async def completes():
    """completes an option"""
    found = await control(FAKE.complete, "bob", "board submit", "board", {"board": "vec"})
    assert [one["value"] for one in found] == ["vectoradd", "vectorsum"], found


async def submits():
    """answers a command with an upload: deferred, then with an embed and a menu"""
    file = {"filename": "kernel.py", "content": "print(1)"}
    found = await control(FAKE.ask, "bob", "board submit", {"script": file, "board": "matmul", "times": 3})
    message = found["messages"][0]
    assert found["answer"] == 5 and message["ephemeral"] and message["content"] == "print(1)", found
    assert message["embeds"][0]["fields"][0]["value"] == "matmul 3", message
    assert not [one for one in FAKE.messages("general", "ada") if one["id"] == message["id"]]
    BOT.menu = message["id"]


async def components():
    """takes choices, buttons and forms"""
    chosen = await control(FAKE.select, "bob", BOT.menu, labels=["CPU", "B200"])
    found = await control(FAKE.wait, chosen)
    assert found["answer"] == 7 and found["messages"][0]["content"] == "chosen cpu b200", found
    pressed = await control(FAKE.press, "bob", BOT.menu, label="Form")
    found = await control(FAKE.wait, pressed)
    assert found["modal"]["title"] == "Delete a board?", found
    field = found["modal"]["components"][0]["components"][0]["custom_id"]
    found = await control(FAKE.wait, await control(FAKE.submit, pressed, {field: "matmul"}))
    assert found["messages"][0]["content"] == "typed matmul", found
    later = await control(FAKE.press, "bob", BOT.menu, label="Later")
    found = await control(FAKE.wait, later, lambda one: one["messages"] and one["messages"][0]["content"] == "done later")
    assert found["answer"] == 6 and found["messages"][0]["components"] == [], found


async def files():
    """sends files in an answer and in follow-ups, edits and deletes these"""
    asked = await control(FAKE.ask, "ada", "report", {"user": "bob"})
    await control(FAKE.wait, asked["id"], lambda one: len(one["messages"]) == 2 and one["messages"][1]["content"] == "second, edited")
    await proof.until(lambda: [one for one in FAKE.messages("general") if one["content"] == "third" and one["deleted"]])
    first = FAKE.interaction(asked["id"])["messages"][0]
    assert [one["filename"] for one in first["attachments"]] == ["a.txt"] and first["flags"] == 0, first
    assert await control(FAKE.request, "GET", f"files/{first['attachments'][0]['id']}", raw=True) == b"first"
    assert [one for one in FAKE.messages("general") if one["id"] == first["id"]][0]["pings"]["users"] == [FAKE.ids["members"]["bob"]]


async def once():
    """gets 40060 for a second answer"""
    asked = await control(FAKE.command, "bob", "twice")
    await control(FAKE.wait, asked, lambda one: one["messages"] and one["messages"][0]["content"] == "400 40060")


async def messages():
    """sends, edits, lists and deletes messages; a nonce that is enforced makes one"""
    place = channel("general")
    sent = await place.send("hello <@" + FAKE.ids["members"]["bob"] + ">", allowed_mentions=discord.AllowedMentions.none(), nonce="n1")
    twin = await place.send("hello", nonce="n1")
    assert twin.id == sent.id, (twin, sent)
    await sent.edit(content="edited", embeds=[discord.Embed(title="t")])
    assert (await place.fetch_message(sent.id)).edited_at and [one.content async for one in place.history(limit=1)] == ["edited"]
    stored = [one for one in FAKE.messages("general") if one["id"] == str(sent.id)][0]
    assert [one["content"][:5] for one in stored["history"]] == ["hello", "edite"]
    assert stored["pings"] == {"users": [], "roles": [], "everyone": False}
    await sent.delete()
    await expect(10008, place.fetch_message(sent.id))


async def threads():
    """makes private and public threads and posts, adds members, archives"""
    private = await channel("general").create_thread(name="report", type=discord.ChannelType.private_thread,
                                                      invitable=False, auto_archive_duration=60)
    member = await guild().fetch_member(int(FAKE.ids["members"]["bob"]))
    await private.add_user(member)
    await private.send("the report")
    assert [one["content"] for one in FAKE.messages("report", "bob")] == ["the report"]
    assert FAKE.get("messages", channel="report", viewer="ada")["visible"] is False
    message = await channel("general").send("ranked")
    public = await message.create_thread(name="result", auto_archive_duration=1440)
    await public.edit(archived=True, locked=True)
    assert public.id == message.id and [one.id async for one in channel("general").archived_threads()] == [public.id]
    post = await channel("boards").create_thread(name="vectoradd", content="a board", file=discord.File(io.BytesIO(b"png"), "plot.png"))
    assert post.message.id == post.thread.id and post.message.attachments[0].filename == "plot.png"
    assert {one.id for one in await guild().active_threads()} == {private.id, post.thread.id}
    await control(FAKE.post, "settings", active_threads=2)
    await expect(160006, channel("general").create_thread(name="one more"))
    await control(FAKE.post, "settings", active_threads=1000)
    await private.delete()


async def direct():
    """writes to a user, but not to one that takes no direct messages"""
    bob, eve = [await guild().fetch_member(int(FAKE.ids["members"][one])) for one in ("bob", "eve")]
    await bob.send("psst")
    await expect(50007, eve.send("psst"))


async def rights():
    """is refused what the bot may not do, and what is no form"""
    await expect(50013, channel("mute").send("x"))
    closed = FAKE.ids["channels"]["closed"]
    await expect(50001, BOT.http.get_channel(int(closed)))
    await expect(50013, guild().create_role(name="more"))
    error = await expect(50035, channel("general").send("x" * 2001))
    assert "2000" in str(error), error
    await expect(50006, channel("general").send(" "))


async def limits():
    """waits where a bucket is used up, at both kinds of 429, and after errors of the server"""
    await asyncio.gather(*(channel("news").send(f"number {n}") for n in range(9)))
    assert len(FAKE.messages("news")) == 9
    for fault in ({"rate_limit": {"retry_after": 0.1}}, {"rate_limit": {"retry_after": 0.1, "global": True}}, {"status": 502}):
        await control(FAKE.fault, fault, method="POST", path="/channels/.*/messages")
        await channel("news").send(str(fault))
    assert len(FAKE.messages("news")) == 12 and all(one["left"] == 0 for one in FAKE.get("faults")["faults"])
    await control(FAKE.clear_faults)


async def resumes():
    """resumes after closes, lost connections and op 7, and what came meanwhile is replayed"""
    for fault in ({"do": "close", "code": 4000}, {"do": "drop"}, {"do": "reconnect"}, {"do": "close", "code": 1001}):
        before, resumed = len(BOT.seen), FAKE.get("gateway")["resumes"]
        await control(FAKE.post, "gateway", **fault)
        await control(FAKE.command, "bob", "twice")
        await proof.until(lambda: FAKE.get("gateway")["resumes"] == resumed + 1)
        await proof.until(lambda: len(BOT.seen) == before + 1)
    assert FAKE.get("gateway")["connections"][-1]["resume_url"] and len(FAKE.get("gateway")["identifies"]) == 1
    assert len(set(BOT.seen)) == len(BOT.seen)


async def begins_again():
    """identifies again after op 9 without resuming"""
    await control(FAKE.post, "gateway", do="invalid_session", resumable=False)
    await proof.until(lambda: len(FAKE.get("gateway")["identifies"]) == 2 and BOT.readied == 2)


async def zombie():
    """takes a server that acknowledges no heartbeat for dead, and resumes"""
    BOT._connection.heartbeat_timeout = 1.0
    for shard in BOT._AutoShardedClient__shards.values():
        shard.ws._keep_alive.heartbeat_timeout = 1.0
    resumed = FAKE.get("gateway")["resumes"]
    await control(FAKE.post, "gateway", do="mute_acks", times=3)
    await proof.until(lambda: FAKE.get("gateway")["resumes"] > resumed)
    await control(FAKE.post, "gateway", do="mute_acks", times=0)


async def expires():
    """cannot use a token after 15 minutes"""
    asked = await control(FAKE.ask, "bob", "twice")
    await control(FAKE.post, "clock", advance_s=901)
    await expect(50027, BOT.http.request(discord.http.Route(
        "PATCH", f"/webhooks/{FAKE.application_id}/{FAKE.interaction(asked['id'])['token']}/messages/@original"), json={"content": "late"}))


async def rules():
    """broke none of Discord's rules but those that it was to break"""
    proof.unbroken(FAKE)


async def stops():
    """ends its session; a wrong token is refused"""
    await BOT.close()
    await proof.until(lambda: FAKE.get("gateway")["open"] == 0)
    assert FAKE.get("gateway")["sessions"] == [], FAKE.get("gateway")["sessions"]
    other = discord.Client(intents=discord.Intents.none())
    try:
        await other.login("wrong")
    except discord.LoginFailure:
        await other.close()
        return
    raise AssertionError("a wrong token logs in")


async def main():
    await proof.go_through("discord.py", [log_in, commands, completes, submits, components, files, once, messages, threads, direct, rights,
                                          limits, resumes, begins_again, zombie, expires, rules, stops])
    FAKE.close()


asyncio.run(main())
