# SPDX-License-Identifier: MIT
"""The fake's own rules, one by one: what no library sends, and what no library shows."""
import asyncio
import json
import time

import aiohttp

import proof

FAKE = proof.start(gateway_sends=20, file_bytes=1000, request_bytes=5000)
GENERAL, BOARDS = FAKE.ids["channels"]["general"], FAKE.ids["channels"]["boards"]
BOB = FAKE.ids["members"]["bob"]
TOKEN = {"Authorization": f"Bot {FAKE.token}", "User-Agent": "DiscordBot (https://example.org, 1)"}
COMMANDS = [{"name": "ask", "description": "Asks", "options": [
    {"type": 3, "name": "board", "description": "Which", "required": True, "autocomplete": True},
    {"type": 3, "name": "mode", "description": "How", "required": False, "choices": [{"name": "Test", "value": "test"}]},
    {"type": 11, "name": "file", "description": "What"}]},
    {"name": "secret", "description": "For some", "default_member_permissions": "8"}]
HTTP = None
control = proof.control


async def call(method, path, body=None, headers=None, form=None):
    """(status, body) of a request to REST."""
    data = {"json": body} if body is not None else {"data": form} if form is not None else {}
    async with HTTP.request(method, FAKE.api + path, headers={**TOKEN, **(headers or {})}, **data) as answer:
        text = await answer.read()
        return answer.status, json.loads(text) if text and answer.content_type == "application/json" else text


async def refused(status, code, method, path, body=None, where=None, **more):
    """A request that is refused; where: a path in the tree of errors."""
    got, found = await call(method, path, body, **more)
    assert (got, found["code"]) == (status, code), (method, path, body, got, found)
    place = found.get("errors", {})
    for part in (where or "").split(".") if where else []:
        assert part in place, (where, found)
        place = place[part]
    return found


async def gateway(first=None):
    """A websocket to the gateway; first: what is sent after HELLO."""
    socket = await HTTP.ws_connect(FAKE.gateway + "/?v=10&encoding=json")
    assert json.loads(await socket.receive_str())["op"] == 10
    if first is not None:
        await socket.send_str(first if isinstance(first, str) else json.dumps(first))
    return socket


def identify(**more):
    return {"op": 2, "d": {"token": FAKE.token, "intents": 1, "properties": {"os": "linux", "browser": "x", "device": "x"}, **more}}


async def closed(socket):
    """The code with which the server closes; the frames before it are read."""
    while True:
        frame = await socket.receive(timeout=60)
        if frame.type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED):
            return frame.data if frame.type == aiohttp.WSMsgType.CLOSE else socket.close_code


async def close_codes():
    """the gateway closes with the code that fits the fault"""
    faults = {4001: {"op": 77, "d": None}, 4002: "{", 4003: {"op": 3, "d": {}}, 4004: identify(token="wrong"), 4010: identify(shard=[3, 2]),
              4013: identify(intents=1 << 40), 4014: None, 4007: {"op": 6, "d": {"token": FAKE.token, "session_id": "?", "seq": 9}}}
    for code, frame in faults.items():
        if code == 4014:
            frame = identify(intents=1 << 1)
        if code == 4007:
            socket = await session()
            identifier = socket.session
            await socket.close(code=4000)
            frame["d"].update(session_id=identifier, seq=99)
        await control(FAKE.post, "clock", advance_s=1)
        socket = await gateway(frame)
        assert await closed(socket) == code, (code, socket.close_code)
    twice = await session()
    await twice.send_str(json.dumps(identify()))
    assert await closed(twice) == 4005
    assert await closed(await gateway("x" * 4097)) == 4002
    many = await session()
    for _ in range(25):
        await many.send_str('{"op":1,"d":null}')
    assert await closed(many) == 4008
    async with HTTP.ws_connect(FAKE.gateway + "/?v=9&encoding=json") as old:
        assert await closed(old) == 4012
    assert [one for one in FAKE.get("violations")["violations"] if one["rule"] == "gateway"]


async def session():
    """A socket with a session, named by its attribute session; it waits until IDENTIFY is possible again."""
    await control(FAKE.post, "clock", advance_s=1)
    socket = await gateway(identify())
    ready = json.loads(await socket.receive_str())
    assert ready["t"] == "READY" and ready["s"] == 1, ready
    socket.session = ready["d"]["session_id"]
    return socket


async def too_many():
    """IDENTIFY is limited by time and by number, and a session ends with code 1000"""
    first = await session()
    second = await gateway(identify())
    assert json.loads(await second.receive_str()) == {"op": 9, "d": False, "s": None, "t": None}
    await first.close(code=1000)
    await second.send_str(json.dumps({"op": 6, "d": {"token": FAKE.token, "session_id": first.session, "seq": 1}}))
    assert json.loads(await second.receive_str())["op"] == 9
    await second.close()
    left = (await call("GET", "/gateway/bot"))[1]["session_start_limit"]["remaining"]
    assert 0 < left < 1000, left
    await control(FAKE.post, "gateway", do="identify_remaining", remaining=0)
    await control(FAKE.post, "clock", advance_s=1)
    assert await closed(await gateway(identify())) == 4004
    await control(FAKE.post, "settings", identify_limit=1000)


async def replays():
    """a resumed session gets what it missed, once and in order; a server op 1, silence and odd frames can be had"""
    socket = await session()
    await socket.receive_str()
    await socket.close(code=4000)
    for content in ("a", "b"):
        await control(FAKE.post, "channel", name=content)
    again = await gateway({"op": 6, "d": {"token": FAKE.token, "session_id": socket.session, "seq": 2}})
    found = [json.loads(await again.receive_str()) for _ in range(3)]
    assert [(one["t"], one["s"]) for one in found] == [("CHANNEL_CREATE", 3), ("CHANNEL_CREATE", 4), ("RESUMED", 5)], found
    await control(FAKE.post, "gateway", do="heartbeat_request")
    assert json.loads(await again.receive_str())["op"] == 1
    await control(FAKE.post, "gateway", do="duplicate")
    assert json.loads(await again.receive_str())["s"] == 5
    await control(FAKE.post, "gateway", do="text", text="no json")
    assert await again.receive_str() == "no json"
    await control(FAKE.post, "gateway", do="close", code=4009, after_events=1)
    await control(FAKE.post, "channel", name="c")
    code = await closed(again)
    assert code == 4009, code


LONG = {"description": "x" * 4096}
BUTTON = {"type": 2, "style": 1, "label": "b", "custom_id": "b"}
OPTION = {"label": "o", "value": "o"}
MESSAGES = [
    ({"content": "x" * 2001}, "content"), ({"content": "\U0001f600" * 1001}, "content"), ({"embeds": [{"title": "x" * 257}]}, "embeds.0.title"),
    ({"embeds": [LONG, LONG]}, "embeds"), ({"embeds": [{}]}, "embeds.0"), ({"embeds": [{"title": "t"}] * 11}, "embeds"),
    ({"embeds": [{"fields": [{"name": "n", "value": "x" * 1025}]}]}, "embeds.0.fields.0.value"),
    ({"embeds": [{"fields": [{"name": "", "value": "x"}]}]}, "embeds.0.fields.0.name"), ({"embeds": [{"title": "t", "url": "x:y"}]}, "embeds.0.url"),
    ({"embeds": [{"title": "t", "image": {"url": "attachment://none.png"}}]}, "embeds"),
    ({"content": "x", "flags": 64}, "flags"), ({"content": "x", "allowed_mentions": {"parse": ["all"]}}, "allowed_mentions.parse"),
    ({"content": "x", "allowed_mentions": {"parse": ["users"], "users": [BOB]}}, "allowed_mentions"),
    ({"content": "x", "attachments": [{"id": "5"}]}, "attachments.0.id"), ({"content": "x", "nonce": "n" * 26}, "nonce"),
    ({"components": [{"type": 1, "components": [BUTTON] * 6}]}, "components.0.components"), ({"components": [{"type": 1, "components": []}] * 6}, "components"),
    ({"components": [{"type": 1, "components": [BUTTON, BUTTON]}]}, "components.0.components.1.custom_id"),
    ({"components": [{"type": 1, "components": [{"type": 2, "style": 1, "label": "b"}]}]}, "components.0.components.0.custom_id"),
    ({"components": [{"type": 1, "components": [{**BUTTON, "label": "x" * 81}]}]}, "components.0.components.0.label"),
    ({"components": [{"type": 1, "components": [{**BUTTON, "custom_id": "x" * 101}]}]}, "components.0.components.0.custom_id"),
    ({"components": [{"type": 1, "components": [{"type": 3, "custom_id": "s", "options": [{**OPTION, "value": str(n)} for n in range(26)]}]}]},
     "components.0.components.0.options"),
    ({"components": [{"type": 1, "components": [{"type": 3, "custom_id": "s", "options": [OPTION], "max_values": 2}]}]}, "components.0.components.0.max_values")]


async def forms():
    """messages that break a rule are refused, each with its place, and recorded"""
    await control(FAKE.post, "settings", integer_ids=False, rate_limits=False)
    for body, where in MESSAGES:
        await refused(400, 50035, "POST", f"/channels/{GENERAL}/messages", body, where)
    for body in ({}, {"content": "  "}, {"embeds": []}):
        await refused(400, 50006, "POST", f"/channels/{GENERAL}/messages", body)
    await refused(400, 50109, "POST", f"/channels/{GENERAL}/messages", headers={"Content-Type": "application/json"}, form=b"{")
    await refused(400, 50008, "POST", f"/channels/{BOARDS}/messages", {"content": "x"})
    assert len([one for one in FAKE.get("violations")["violations"] if one["rule"] == "form"]) >= len(MESSAGES)
    assert FAKE.messages("general") == []


def option(**more):
    return {"type": 3, "name": "o", "description": "d", **more}


COMMAND_FAULTS = [
    ({"name": "Upper", "description": "d"}, "0.name"), ({"name": "a b", "description": "d"}, "0.name"), ({"name": "x" * 33, "description": "d"}, "0.name"),
    ({"name": "a"}, "0.description"), ({"name": "a", "description": "x" * 101}, "0.description"),
    ({"name": "a", "description": "d", "options": [option(), option(name="p", required=True)]}, "0.options.1.required"),
    ({"name": "a", "description": "d", "options": [option(name=f"o{n}") for n in range(26)]}, "0.options"),
    ({"name": "a", "description": "d", "options": [option(choices=[{"name": str(n), "value": str(n)} for n in range(26)])]}, "0.options.0.choices"),
    ({"name": "a", "description": "d", "options": [option(), option()]}, "0.options"),
    ({"name": "a", "description": "d", "options": [option(autocomplete=True, choices=[{"name": "n", "value": "v"}])]}, "0.options.0.autocomplete"),
    ({"name": "a", "description": "d", "options": [option(), {"type": 1, "name": "s", "description": "d"}]}, "0.options")]


async def commands():
    """commands that break a rule are refused; the same ones again change nothing"""
    path = f"/applications/{FAKE.application_id}/guilds/{FAKE.ids['guild']}/commands"
    for body, where in COMMAND_FAULTS:
        await refused(400, 50035, "PUT", path, [body], where)
    await refused(400, 50035, "PUT", path, [COMMANDS[1], COMMANDS[1]], "1")
    first = (await call("PUT", path, COMMANDS))[1]
    assert "required" not in first[0]["options"][1] and first[0]["options"][0]["autocomplete"] is True, first
    assert (await call("PUT", path, COMMANDS))[1] == first == (await call("GET", path + "?with_localizations=true"))[1]
    await refused(403, 20012, "GET", "/applications/1/commands")


async def client_side():
    """users can do only what Discord's client lets them do"""
    async def impossible(words, path, **body):
        try:
            await control(FAKE.post, path, **body)
        except proof.client.Failed as error:
            assert words in str(error), error
            return
        raise AssertionError(words)
    await impossible("no command /none", "command", user="bob", command="none")
    await impossible("option board is required", "command", user="bob", command="ask")
    await impossible("does not offer", "command", user="bob", command="ask", options={"board": "b", "mode": "other"})
    await impossible("there is no option", "command", user="bob", command="ask", options={"board": "b", "x": 1})
    await impossible("/secret is not shown", "command", user="bob", command="secret")
    await control(FAKE.post, "integration", command="secret", roles=["Nobody"])
    await impossible("/secret is not shown", "command", user="bob", command="secret")
    await impossible("does not see closed", "command", user="bob", command="ask", channel="closed")
    await impossible("does not complete", "autocomplete", user="bob", command="ask", focused="mode", options={"mode": ""})


async def interaction(user="bob", command="ask", **more):
    """(identifier, path of the callback, path of the webhook) of a new interaction."""
    one = await control(FAKE.post, "command", user=user, command=command, options=more or {"board": "b"})
    token = FAKE.interaction(one["interaction"])["token"]
    return one["interaction"], f"/interactions/{one['interaction']}/{token}/callback", f"/webhooks/{FAKE.application_id}/{token}"


async def answers():
    """first answers: their types, only one, in time; deferrals keep what is hidden; modals cannot follow"""
    one, callback, webhook = await interaction()
    await refused(404, 10015, "POST", webhook, {"content": "x"})
    for kind in (1, 6, 7, 8, 99):
        await refused(400, 50035, "POST", callback, {"type": kind, "data": {}}, "type")
    await refused(400, 50006, "POST", callback, {"type": 4, "data": {}})
    assert (await call("POST", callback, {"type": 5, "data": {"flags": 64}}))[0] == 204
    assert FAKE.interaction(one)["state"] == "deferred"
    assert FAKE.messages("general", "ada") == [] and FAKE.messages("general", "bob")[0]["loading"]
    await refused(400, 40060, "POST", callback, {"type": 9, "data": {"title": "t", "custom_id": "c", "components": []}})
    status, filled = await call("POST", webhook, {"content": "filled"})
    assert status == 200 and filled["flags"] == 64 and FAKE.interaction(one)["state"] == "answered", filled
    await refused(404, 10008, "PATCH", f"/channels/{GENERAL}/messages/{filled['id']}", {"content": "x"})
    await call("PATCH", webhook + "/messages/@original", {"content": "edited"})
    stored = FAKE.messages("general", "bob")[0]
    assert [part["content"] for part in stored["history"]] == ["", "filled", "edited"] and stored["ephemeral_for"] == "bob", stored
    one, callback, _ = await interaction()
    await control(FAKE.post, "clock", advance_s=4)
    assert FAKE.interaction(one)["problem"] == "The application did not respond"
    await refused(404, 10062, "POST", callback, {"type": 4, "data": {"content": "late"}})
    rules = {found["rule"] for found in FAKE.get("violations")["violations"]}
    assert {"modal", "callback"} <= rules and FAKE.get("stats")["failed"] == 1, (rules, FAKE.get("stats"))


async def nonces():
    """an enforced nonce makes one message, for some minutes, and is not read later; texts are trimmed; mentions ping unless they are excluded"""
    body = {"content": f"<@{BOB}> @everyone", "nonce": "n", "enforce_nonce": True}
    first, again = [(await call("POST", f"/channels/{GENERAL}/messages", body))[1]["id"] for _ in range(2)]
    assert first == again
    await control(FAKE.post, "clock", advance_s=200)
    later = (await call("POST", f"/channels/{GENERAL}/messages", {**body, "allowed_mentions": {"parse": []}}))[1]["id"]
    assert later != first
    trimmed = (await call("POST", f"/channels/{GENERAL}/messages", {"content": " x \n", "nonce": 5}))[1]
    read = (await call("GET", f"/channels/{GENERAL}/messages?limit=1"))[1][0]
    assert (trimmed["content"], trimmed["nonce"], read["content"], read.get("nonce")) == ("x", 5, "x", None), (trimmed, read)
    pings = {one["id"]: one["pings"] for one in FAKE.messages("general")}
    assert pings[first] == {"users": [BOB], "roles": [], "everyone": False} and pings[later]["users"] == [], pings


def form(*files, **body):
    out = aiohttp.FormData()
    out.add_field("payload_json", json.dumps(body), content_type="application/json")
    for number, (name, data) in enumerate(files):
        out.add_field(f"files[{number}]", data, filename=name, content_type="text/plain")
    return out


async def uploads():
    """files have limits; downloads expire, lie about their size and break off"""
    path = f"/channels/{GENERAL}/messages"
    status, made = await call("POST", path, form=form(("a.txt", b"hello"), content="c", attachments=[{"id": "0", "filename": "b.txt"}]))
    assert status == 200 and made["attachments"][0]["filename"] == "b.txt", made
    url = made["attachments"][0]["url"]
    async with HTTP.get(url) as answer:
        assert (answer.status, await answer.read()) == (200, b"hello")
    async with HTTP.get(url.replace("hm=", "hm=x")) as answer:
        assert answer.status == 404
    await refused(413, 40005, "POST", path, form=form(("a", b"x" * 1001)))
    await refused(413, 40005, "POST", path, form=form(*[(str(n), b"x" * 900) for n in range(6)]))
    await refused(400, 50035, "POST", path, form=form(*[(str(n), b"x") for n in range(11)]), where="attachments")
    await refused(400, 50035, "POST", path, form=form(("a", b"x"), attachments=[{"id": 0}]), where="attachments.0.id")
    await refused(400, 50035, "POST", path, headers={"Content-Type": "multipart/form-data; boundary=b"}, form=b"--b\r\nx")
    await control(FAKE.post, "clock", advance_s=86401)
    async with HTTP.get(url) as answer:
        assert answer.status == 404
    for fault, wanted in (("missing", 404), ("status:500", 500), ("cut", None), ("endless", 200000)):
        one = await control(FAKE.post, "command", user="bob", command="ask", options={
            "board": "b", "file": {"filename": "k.py", "content": "0123456789", "size": 3, "fault": fault}})
        told = list(FAKE.interaction(one["interaction"])["data"]["resolved"]["attachments"].values())[0]
        assert told["size"] == 3
        try:
            async with HTTP.get(told["url"]) as answer:
                if wanted == 200000:
                    assert len(await answer.content.readexactly(wanted)) == wanted
                else:
                    assert answer.status == wanted or not await answer.read(), fault
        except aiohttp.ClientPayloadError:
            assert fault == "cut"


async def threads():
    """threads: their names, the limit, who may do what, what cannot be done in archived ones"""
    path = f"/channels/{GENERAL}/threads"
    await refused(400, 50035, "POST", path, {"name": "x" * 101, "type": 12}, "name")
    await refused(400, 50035, "POST", path, {"name": "x", "type": 12, "auto_archive_duration": 7}, "auto_archive_duration")
    await refused(400, 50035, "POST", f"/channels/{BOARDS}/threads", {"name": "post"}, "message")
    thread = (await call("POST", path, {"name": "t", "type": 12, "invitable": False}))[1]["id"]
    message = (await call("POST", f"/channels/{thread}/messages", {"content": "in"}))[1]["id"]
    await call("PATCH", f"/channels/{thread}", {"archived": True})
    await refused(400, 50083, "PATCH", f"/channels/{thread}/messages/{message}", {"content": "x"})
    await refused(400, 50083, "PUT", f"/channels/{thread}/thread-members/{BOB}")
    await control(FAKE.post, "settings", active_threads=0)
    await refused(400, 160006, "POST", path, {"name": "t", "type": 11})
    await control(FAKE.post, "settings", active_threads=1000)
    await control(FAKE.post, "role", name="kettle", permissions=["VIEW_CHANNEL", "SEND_MESSAGES"])
    await control(FAKE.post, "role", name="@everyone", permissions=["VIEW_CHANNEL"])
    for method, place, body in (("POST", path, {"name": "t", "type": 12}),
                                ("POST", f"/channels/{GENERAL}/messages", {"embeds": [{"title": "t"}]}),
                                ("POST", f"/guilds/{FAKE.ids['guild']}/channels", {"name": "x"})):
        await refused(403, 50013, method, place, body)
    await refused(403, 50001, "GET", f"/channels/{FAKE.ids['channels']['closed']}")
    await refused(404, 10003, "GET", "/channels/1")


async def faults():
    """faults: an answer that is lost after the work was done, one that is cut, delays, statuses, garbage"""
    path = f"/channels/{GENERAL}/messages"
    before = len(FAKE.messages("general"))
    for do in ({"drop": "after"}, {"drop": "before"}, {"cut": 5, "length": 500}):
        await control(FAKE.fault, do, method="POST", path=path)
        try:
            await call("POST", path, {"content": str(do)})
        except aiohttp.ClientError:
            continue
        raise AssertionError(do)
    assert len(FAKE.messages("general")) == before + 2
    await control(FAKE.fault, {"garbage": "<html>"}, path=path, after=1)
    assert isinstance((await call("POST", path, {"content": "passes"}))[1], dict)
    try:
        await call("POST", path, {"content": "x"})
        raise AssertionError("no garbage")
    except ValueError:
        pass
    await control(FAKE.fault, {"delay_ms": 60}, path=path)
    began = time.monotonic()
    await call("POST", path, {"content": "late"})
    assert time.monotonic() - began > 0.05
    assert not [one for one in FAKE.get("faults")["faults"] if one["left"] != 0]


async def bans():
    """wrong tokens are refused and counted; too many of them ban"""
    await control(FAKE.post, "forget")
    await refused(401, 0, "GET", "/users/@me", headers={"Authorization": "Bot wrong"})
    assert len(FAKE.get("invalid")["invalid"]) == 1
    await control(FAKE.post, "settings", invalid_limit=FAKE.get("invalid")["counted"] + 2)
    for _ in range(2):
        await call("GET", "/users/@me", headers={"Authorization": "Bot wrong"})
    status, body = await call("GET", "/users/@me")
    assert status == 429 and not isinstance(body, dict), (status, body)
    await control(FAKE.post, "clock", advance_s=3601)
    assert (await call("GET", "/users/@me"))[0] == 200


async def described():
    """bodies are checked against the official description where that is present"""
    await control(FAKE.post, "forget")
    await call("POST", f"/channels/{GENERAL}/messages", {"content": "right", "allowed_mentions": {"parse": []}})
    found = FAKE.get("violations")
    assert found["violations"] == [], found
    await call("POST", f"/channels/{GENERAL}/messages", {"content": "wrong", "enforce_nonce": "yes"})
    found = FAKE.get("violations")
    assert [one["rule"] for one in found["violations"]] == ["openapi"] * found["schema"], found


async def page():
    """the page shows what a user sees, and nothing that others see"""
    _, callback, _ = await interaction()
    await call("POST", callback, {"type": 4, "data": {
        "content": f"hidden **bold** <b> <@{BOB}>", "flags": 64, "components": [{"type": 1, "components": [BUTTON]}],
        "embeds": [{"title": "Ranking", "description": "```\n1  bob\n```"}]}})
    mine, other = FAKE.transcript(user="bob"), FAKE.transcript(user="ada")
    for part in ("hidden <b>bold</b> &lt;b&gt;", "@bob</span>", '<span class="bt s1">b</span>', "<pre title=\"\">1  bob</pre>", "/ask board:b"):
        assert part in mine, part
    assert "hidden" not in other and "/ask" not in other and "late" in other


async def passes():
    """time archives threads; Discord itself writes who was added; the bot can be thrown out; commands come in direct messages"""
    await control(FAKE.post, "role", name="kettle", permissions=permissions_of_bot())
    thread = (await call("POST", f"/channels/{GENERAL}/threads", {"name": "long", "type": 12, "auto_archive_duration": 60}))[1]["id"]
    await call("PUT", f"/channels/{thread}/thread-members/{BOB}")
    written = (await call("GET", f"/channels/{thread}/messages"))[1]
    assert [(one["type"], one["mentions"][0]["id"]) for one in written] == [(1, BOB)] and FAKE.messages(thread) == [], written
    await refused(403, 50021, "PATCH", f"/channels/{thread}/messages/{written[0]['id']}", {"content": "x"})
    for seconds, archived in ((3500, False), (200, True)):
        await control(FAKE.post, "clock", advance_s=seconds)
        assert (await call("GET", f"/channels/{thread}"))[1]["thread_metadata"]["archived"] is archived, seconds
    one = await control(FAKE.post, "command", user="bob", command="ask", channel="dm:bob", options={"board": "b"}, unchecked=True)
    assert FAKE.interaction(one["interaction"])["channel"] not in (GENERAL, BOARDS)
    await control(FAKE.post, "member", name="kettle", remove=True)
    await refused(403, 50001, "GET", f"/guilds/{FAKE.ids['guild']}")


def permissions_of_bot():
    return ["VIEW_CHANNEL", "SEND_MESSAGES", "SEND_MESSAGES_IN_THREADS", "CREATE_PRIVATE_THREADS", "READ_MESSAGE_HISTORY"]


async def main():
    global HTTP
    HTTP = aiohttp.ClientSession()
    FAKE.post("role", name="@everyone", permissions=["VIEW_CHANNEL", "SEND_MESSAGES", "USE_APPLICATION_COMMANDS", "READ_MESSAGE_HISTORY"])
    await proof.go_through("rules", [close_codes, too_many, replays, forms, commands, client_side, answers, nonces, uploads, faults,
                                     described, page, threads, bans, passes])
    await HTTP.close()
    FAKE.close()


asyncio.run(main())
