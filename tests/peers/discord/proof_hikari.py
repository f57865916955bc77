# SPDX-License-Identifier: MIT
"""hikari on the fake, by the gateway and by an endpoint: a second independent client, with a parser of its own for all that it gets."""
import asyncio
import socket

import hikari

import proof

FAKE = proof.start(first_answer_s=20)
control = proof.control
HIDDEN = hikari.MessageFlag.EPHEMERAL
BOT = hikari.GatewayBot(FAKE.token, rest_url=FAKE.api, banner=None, logs="CRITICAL", suppress_optimization_warning=True,
                        intents=hikari.Intents.GUILDS | hikari.Intents.GUILD_MESSAGES, max_rate_limit=20)
SEEN, EVENTS = [], []


def buttons(*names):
    row = hikari.impl.MessageActionRowBuilder()
    for name in names:
        row.add_interactive_button(hikari.ButtonStyle.PRIMARY, name, label=name)
    return row


async def on_command(one):
    if one.command_name == "task":
        sub = one.options[0]
        await one.create_initial_response(hikari.ResponseType.DEFERRED_MESSAGE_CREATE, flags=HIDDEN)
        file = one.resolved.attachments[hikari.Snowflake(next(option.value for option in sub.options if option.name == "file"))]
        data = await file.read()
        menu = hikari.impl.MessageActionRowBuilder()
        choice = menu.add_text_menu("devices", min_values=1, max_values=2)
        for name in ("CPU", "H100"):
            choice.add_option(name, name.lower())
        await one.edit_initial_response(f"{sub.name} {len(data)}", component=menu, attachment=hikari.Bytes(data, "back.bin"))
    else:
        found = await one.create_initial_response(hikari.ResponseType.MESSAGE_CREATE, "pressed yet?", component=buttons("form", "go"))
        assert found.interaction.response_message_id and found.resource.message.content == "pressed yet?", found


async def on_component(one):
    if one.custom_id == "form":
        row = hikari.impl.ModalActionRowBuilder().add_text_input("name", "Name", min_length=1, max_length=9)
        await one.create_modal_response("Which one?", "which", components=[row])
    elif one.custom_id == "devices":
        await one.create_initial_response(hikari.ResponseType.MESSAGE_UPDATE, " ".join(one.values), components=[])
    else:
        await one.create_initial_response(hikari.ResponseType.DEFERRED_MESSAGE_UPDATE)
        await one.edit_initial_response("gone", components=[])
        await one.execute("extra", flags=HIDDEN)


@BOT.listen()
async def on_interaction(event: hikari.InteractionCreateEvent):
    one = event.interaction
    SEEN.append(one.id)
    if isinstance(one, hikari.CommandInteraction):
        await on_command(one)
    elif isinstance(one, hikari.ComponentInteraction):
        await on_component(one)
    elif isinstance(one, hikari.ModalInteraction):
        await one.create_initial_response(hikari.ResponseType.MESSAGE_CREATE, f"named {one.components[0][0].value}", flags=HIDDEN)
    else:
        typed = one.options[0].options[0].value
        await one.create_response([hikari.impl.AutocompleteChoiceBuilder(name, name) for name in ("alpha", "beta") if name.startswith(typed)])


@BOT.listen()
async def on_guild(event: hikari.GuildAvailableEvent):
    EVENTS.append(event)


@BOT.listen()
async def on_thread(event: hikari.GuildThreadCreateEvent):
    EVENTS.append(event)


def channel(name):
    return int(FAKE.ids["channels"][name])


async def log_in():
    """logs in and gets its server"""
    await BOT.start(check_for_updates=False)
    found = (await proof.until(lambda: EVENTS))[0]
    assert found.guild.name == "Proof" and {one.name for one in found.channels.values()} >= {"general", "boards", "news"}, found
    assert {one.name for one in found.roles.values()} == {"@everyone", "kettle", "Admin"}
    await proof.until(lambda: len(FAKE.get("gateway")["connections"][0]["heartbeats"]) >= 2)


async def commands():
    """registers commands of a server; the menus of users offer them"""
    builder = BOT.rest.slash_command_builder("task", "Tasks").add_option(hikari.CommandOption(
        type=hikari.OptionType.SUB_COMMAND, name="new", description="Makes one", options=[
            hikari.CommandOption(type=hikari.OptionType.STRING, name="name", description="Its name", is_required=True, autocomplete=True),
            hikari.CommandOption(type=hikari.OptionType.ATTACHMENT, name="file", description="Its file", is_required=True)]))
    application = await BOT.rest.fetch_application()
    made = await BOT.rest.set_application_commands(application, [builder, BOT.rest.slash_command_builder("ask", "Asks")],
                                                      int(FAKE.ids["guild"]))
    assert [one.name for one in made] == ["task", "ask"] and made[0].options[0].options[0].autocomplete
    assert [one.name for one in await BOT.rest.fetch_application_commands(application, int(FAKE.ids["guild"]))] == ["task", "ask"]
    assert await control(FAKE.complete, "bob", "task new", "name", {"name": "be"}) == [{"name": "beta", "value": "beta"}]


async def submits():
    """takes an upload, answers hidden with a file and a menu, of which a user chooses"""
    given = {"name": "beta", "file": {"filename": "x.bin", "content": "12345"}}
    asked = await control(FAKE.command, "bob", "task new", given)
    found = await control(FAKE.wait, asked)
    message = found["messages"][0]
    assert message["ephemeral"] and message["content"] == "new 5" and message["attachments"][0]["filename"] == "back.bin", message
    found = await control(FAKE.wait, await control(FAKE.select, "bob", message["id"], labels=["H100"]))
    assert found["messages"][0]["content"] == "h100" and found["messages"][0]["components"] == [], found


async def components():
    """answers buttons with a form, and later"""
    message = (await control(FAKE.ask, "ada", "ask"))["messages"][0]["id"]
    form = await control(FAKE.press, "bob", message, label="form")
    assert (await control(FAKE.wait, form))["modal"]["title"] == "Which one?"
    found = await control(FAKE.wait, await control(FAKE.submit, form, {"name": "beta"}))
    assert found["messages"][0]["content"] == "named beta", found
    later = await control(FAKE.press, "bob", message, label="go")
    found = await control(FAKE.wait, later, lambda one: len(one["messages"]) == 2)
    assert [one["content"] for one in found["messages"]] == ["gone", "extra"] and found["messages"][1]["ephemeral"], found


async def messages():
    """sends, edits, lists, deletes; is told what it may not do"""
    embed = hikari.Embed(title="t", description="d", color="#112233").add_field("a", "b")
    sent = await BOT.rest.create_message(channel("general"), "one", embed=embed)
    assert sent.embeds[0].title == "t" and sent.author.id == BOT.get_me().id
    edited = await BOT.rest.edit_message(sent.channel_id, sent.id, "two", attachment=hikari.Bytes(b"1", "a.txt"))
    assert edited.edited_timestamp and edited.attachments[0].size == 1, edited
    assert [one.content for one in await BOT.rest.fetch_messages(channel("general")).limit(1)] == ["two"]
    await BOT.rest.delete_message(sent.channel_id, sent.id)
    for wanted, attempt in ((hikari.NotFoundError, BOT.rest.fetch_message(sent.channel_id, sent.id)),
                            (hikari.ForbiddenError, BOT.rest.create_message(channel("mute"), "x")),
                            (hikari.ForbiddenError, BOT.rest.fetch_channel(channel("closed"))),
                            (hikari.BadRequestError, BOT.rest.create_message(channel("general"), "x" * 2001))):
        try:
            await attempt
        except wanted:
            continue
        raise AssertionError(f"no {wanted}")


async def threads():
    """makes private threads and posts, adds a member, archives, finds them again; writes to a user"""
    private = await BOT.rest.create_thread(channel("general"), hikari.ChannelType.GUILD_PRIVATE_THREAD, "report", invitable=False)
    await BOT.rest.add_thread_member(private, int(FAKE.ids["members"]["bob"]))
    members = {str(int(one.user_id)) for one in await BOT.rest.fetch_thread_members(private.id)}
    assert members == {FAKE.bot_id, FAKE.ids["members"]["bob"]}, members
    await BOT.rest.create_message(private, "text")
    assert [one["content"] for one in FAKE.messages("report", "bob")] == ["text"]
    assert not FAKE.get("messages", channel="report", viewer="ada")["visible"]
    post = await BOT.rest.create_forum_post(channel("boards"), "vectoradd", "a board")
    assert {one.id for one in await BOT.rest.fetch_active_threads(int(FAKE.ids["guild"]))} == {private.id, post.id}
    await BOT.rest.edit_channel(private, archived=True)
    assert [one.id async for one in BOT.rest.fetch_private_archived_threads(channel("general"))] == [private.id]
    await BOT.rest.create_message(private, "awake")
    assert not (await BOT.rest.fetch_channel(private)).is_archived
    await BOT.rest.create_message(await BOT.rest.create_dm_channel(int(FAKE.ids["members"]["bob"])), "psst")
    await proof.until(lambda: len([one for one in EVENTS if isinstance(one, hikari.GuildThreadCreateEvent)]) == 2)


async def limits():
    """waits for buckets and after both kinds of 429, and tries again after errors of the server"""
    await asyncio.gather(*(BOT.rest.create_message(channel("news"), f"number {n}") for n in range(9)))
    for fault in ({"rate_limit": {"retry_after": 0.1}}, {"rate_limit": {"retry_after": 0.1, "global": True}}, {"status": 503}):
        await control(FAKE.fault, fault, method="POST", path="/channels/.*/messages")
        await BOT.rest.create_message(channel("news"), str(fault))
    assert len(FAKE.messages("news")) == 12 and all(one["left"] == 0 for one in FAKE.get("faults")["faults"])
    assert not [one for one in FAKE.get("invalid")["invalid"] if one["status"] == 429], FAKE.get("invalid")


async def resumes():
    """resumes after a close, a lost connection and op 7; answers op 1"""
    beats = FAKE.get("gateway")["connections"][-1]["heartbeats"]
    await control(FAKE.post, "gateway", do="heartbeat_request")
    await proof.until(lambda: len(FAKE.get("gateway")["connections"][-1]["heartbeats"]) > len(beats))
    for fault in ({"do": "reconnect"}, {"do": "close", "code": 4000}, {"do": "invalid_session", "resumable": True}):
        before, resumed = len(SEEN), FAKE.get("gateway")["resumes"]
        await control(FAKE.post, "gateway", **fault)
        await control(FAKE.command, "bob", "ask")
        await proof.until(lambda: FAKE.get("gateway")["resumes"] == resumed + 1)
        await proof.until(lambda: len(SEEN) == before + 1)
    assert len(set(SEEN)) == len(SEEN)


async def stops():
    """ends, having broken no rule of the gateway"""
    await BOT.close()
    proof.unbroken(FAKE)


async def endpoint():
    """takes interactions as signed POSTs, and refuses what is signed wrongly"""
    bot = hikari.RESTBot(FAKE.token, hikari.TokenType.BOT, FAKE.public_key, rest_url=FAKE.api, banner=None, logs="CRITICAL",
                         suppress_optimization_warning=True)

    async def ask(interaction):
        return interaction.build_response().set_content("by POST").set_flags(HIDDEN)
    bot.set_listener(hikari.CommandInteraction, ask)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        await bot.start(socket=listener, check_for_updates=False)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        assert (await control(FAKE.post, "endpoint", url=url))["problem"] is None
        found = await control(FAKE.ask, "bob", "ask")
        assert found["messages"][0]["content"] == "by POST" and found["messages"][0]["ephemeral"], found
        for faults in ({"spoil": True}, {"url": url + "elsewhere"}):
            assert (await control(FAKE.post, "resend", interaction=found["id"], **faults))["status"] in (400, 401, 404), faults
        await bot.close()
    problem = (await control(FAKE.post, "endpoint", url=url))["problem"]
    assert problem and "Error" in problem, problem
    await control(FAKE.post, "endpoint", url=None)


async def main():
    await proof.go_through("hikari", [log_in, commands, submits, components, messages, threads, limits, resumes, stops, endpoint])
    FAKE.close()


asyncio.run(main())
