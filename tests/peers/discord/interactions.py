# SPDX-License-Identifier: MIT
"""Interactions: what users do, how the bot gets to know, and the ways in which it answers."""
import asyncio
import dataclasses
import json
import secrets
import time

import aiohttp
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

import messages
import permissions
import rules
import world as state
from rest import route

PING, COMMAND, COMPONENT, AUTOCOMPLETE, MODAL = 1, 2, 3, 4, 5
PONG, MESSAGE, DEFERRED, DEFERRED_UPDATE, UPDATE, CHOICES, MODAL_OUT = 1, 4, 5, 6, 7, 8, 9
ANSWERS = {PONG: (PING,), MESSAGE: (COMMAND, COMPONENT, MODAL), DEFERRED: (COMMAND, COMPONENT, MODAL), DEFERRED_UPDATE: (COMPONENT, MODAL),
           UPDATE: (COMPONENT, MODAL), CHOICES: (AUTOCOMPLETE,), MODAL_OUT: (COMMAND, COMPONENT)}
NO_ANSWER = "The application did not respond"
FLAGS = (state.EPHEMERAL, state.SUPPRESS_EMBEDS, 1 << 12)


@dataclasses.dataclass
class Interaction:
    id: str
    token: str
    kind: int
    user: object
    guild: object
    channel: object
    data: dict
    created: float
    began: float = dataclasses.field(default_factory=time.monotonic)
    message: object = None  # of a component, or of the component whose modal this is
    source: object = None  # of a modal: the interaction that it answered
    answer: int = None  # the type of the first answer
    first_ms: float = None
    original: object = None
    deferred: bool = False  # and not filled yet
    shown: list = dataclasses.field(default_factory=list)  # identifiers of all messages that answer it
    choices: list = None
    modal: dict = None
    problem: str = None
    expects: bool = True  # False: raw ones, for which no answer is a good answer, too

    def metadata(self):
        out = {"id": self.id, "type": self.kind, "user": self.user.json(),
               "authorizing_integration_owners": {"0": self.guild.id if self.guild else "0"}}
        if self.kind == COMMAND:
            out.update(name=self.data.get("name"), command_type=1)
        elif self.kind == COMPONENT and self.message:
            out["interacted_message_id"] = self.message.id
        elif self.kind == MODAL and self.source:
            out["triggering_interaction_metadata"] = self.source.metadata()
        return out


class Interactions:
    def __init__(self, world):
        self.world = world
        self.key = ed25519.Ed25519PrivateKey.generate()
        world.public_key = self.key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw).hex()
        self.http, self.tasks, self.tokens = None, set(), {}

    def begin(self, kind, user, guild, channel, data, message=None, raw=None, source=None):
        """A new interaction; it is on its way to the bot when this returns. raw: what is to be different in its payload."""
        world = self.world
        one = Interaction(world.new_id(), secrets.token_urlsafe(48), kind, user, guild, channel, data, world.clock.now(),
                          message=message, source=source)
        world.interactions[one.id] = self.tokens[one.token] = one
        payload = {**self.payload(one), **(raw or {})}
        one.expects = raw is None
        if world.settings["endpoint"]:
            task = asyncio.ensure_future(self.post(one, payload))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        else:
            world.send_event("INTERACTION_CREATE", payload)
        return one

    def payload(self, one):
        world, channel = self.world, one.channel
        bits = permissions.in_channel(world, channel, one.user.id)
        out = {"id": one.id, "application_id": world.application_id, "type": one.kind, "data": one.data, "token": one.token, "version": 1,
               "channel_id": channel.id, "channel": {**world.channel_json(channel), "permissions": str(bits)},
               "locale": "en-US", "entitlements": [], "authorizing_integration_owners": {"0": one.guild.id if one.guild else "0"},
               "context": 0 if one.guild else 1, "attachment_size_limit": world.settings["file_bytes"],
               "app_permissions": str(permissions.in_channel(world, channel, world.bot.id))}
        if one.guild:
            member = one.guild.members[one.user.id].json()
            member["permissions"] = str(bits)
            out.update(guild_id=one.guild.id, guild={"id": one.guild.id, "locale": "en-US", "features": []}, guild_locale="en-US",
                       member=member)
        else:
            out["user"] = one.user.json()
        if one.message:
            out["message"] = world.message_json(one.message)
        return out

    def find(self, identifier, token):
        one = self.world.interactions.get(identifier)
        return one if one and secrets.compare_digest(one.token, token) else None

    def by_token(self, token):
        return self.tokens.get(token)

    def failed(self, one):
        """Whether the user was told that the application did not respond."""
        return one.answer is None and self.world.clock.now() - one.created > self.world.settings["first_answer_s"]

    def expired(self, one):
        return self.world.clock.now() - one.created > self.world.settings["token_s"]

    # The endpoint

    async def signed(self, url, body, spoil=False, age_s=0):
        """(status, JSON or None) of a signed POST. spoil: with a wrong signature; age_s: signed so many seconds ago."""
        raw, stamp = json.dumps(body).encode(), str(int(self.world.clock.now() - age_s))
        sign = self.key.sign(stamp.encode() + raw)
        if spoil:
            sign = bytes(64)
        headers = {"X-Signature-Ed25519": sign.hex(), "X-Signature-Timestamp": stamp, "Content-Type": "application/json",
                   "User-Agent": "Discord-Interactions/1.0 (+https://discord.com)"}
        self.http = self.http or aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10))
        async with self.http.post(url, data=raw, headers=headers, ssl=False, allow_redirects=False) as answer:
            text = await answer.text()
            try:
                return answer.status, json.loads(text) if text.strip() else None
            except ValueError:
                self.world.violate("endpoint", f"an answer that is no JSON: {text[:100]}")
                return answer.status, None

    async def post(self, one, payload):
        try:
            status, body = await self.signed(self.world.settings["endpoint"], payload)
        except (aiohttp.ClientError, asyncio.TimeoutError, OSError) as error:
            one.problem = f"the endpoint: {type(error).__name__} {error}"
            return
        if status not in (200, 202, 204):
            one.problem = f"the endpoint answered {status}"
        elif body is not None:
            call = Inline(self, body)
            try:
                answer(call, one)
            except state.Refusal as refusal:
                one.problem = f"the answer to the POST was refused: {refusal.body}"

    async def try_endpoint(self, url):
        """What is wrong with an endpoint, as Discord tries it before it takes it; None: nothing."""
        ping = {"id": self.world.new_id(), "application_id": self.world.application_id, "type": PING, "token": secrets.token_urlsafe(30),
                "version": 1, "user": self.world.bot.json(), "entitlements": []}
        try:
            status, body = await self.signed(url, ping)
            if status != 200 or not isinstance(body, dict) or body.get("type") != PONG:
                return f"PING is answered {status} {body}."
            status, body = await self.signed(url, ping, spoil=True)
            if status != 401:
                self.world.violate("endpoint", f"a wrong signature is answered {status}, not 401")
            return None if 400 <= status < 500 else f"A wrong signature is answered {status}."
        except (aiohttp.ClientError, asyncio.TimeoutError, OSError) as error:
            return f"{type(error).__name__} {error}."

    async def shut(self):
        if self.http:
            await self.http.close()

    # What tests see

    def json(self, one):
        world = self.world
        found = []
        for identifier in one.shown:
            channel, message = world.any_message(identifier)
            if not message.deleted:
                found.append({**world.message_json(message), "ephemeral": bool(message.ephemeral_for),
                              "loading": bool(message.flags & state.LOADING), "channel": channel.name})
        failed = self.failed(one)
        status = "failed" if failed else "waiting" if one.answer is None else "deferred" if one.deferred else "answered"
        return {"id": one.id, "token": one.token, "kind": one.kind, "user": one.user.name, "channel": one.channel.id, "state": status,
                "answer": one.answer, "first_ms": one.first_ms, "messages": found, "choices": one.choices, "modal": one.modal,
                "expired": self.expired(one), "problem": NO_ANSWER if failed else one.problem, "created": one.created, "data": one.data}


class Inline:
    """What stands for a request where the answer comes with the response to the POST."""

    def __init__(self, interactions, body):
        self.interactions, self.world, self.body, self.files = interactions, interactions.world, body, {}
        self.note = {}

    def number(self):
        return None

    def violate(self, rule, text):
        self.world.violate(rule, text)


# The first answer

def answer(call, one):
    """Takes the body of a callback for an interaction that waits for it."""
    body = call.body if isinstance(call.body, dict) else {}
    kind, data = body.get("type"), body.get("data") or {}
    if one.answer is not None:
        if kind == MODAL_OUT:
            call.violate("modal", "a modal after another answer")
        raise state.Refusal(400, 40060, "Interaction has already been acknowledged.")
    if one.kind not in ANSWERS.get(kind, ()) or kind in (UPDATE, DEFERRED_UPDATE) and not one.message:
        call.violate("callback", f"answer {kind} to an interaction of type {one.kind}")
        raise state.Refusal(400, 50035, "Invalid Form Body", {"type": {"_errors": [
            {"code": "BASE_TYPE_CHOICES", "message": "This type of answer does not fit the interaction."}]}})
    take_answer(call, one, kind, data)
    one.answer, one.first_ms = kind, round((time.monotonic() - one.began) * 1000, 1)


def take_answer(call, one, kind, data):
    errors = rules.Errors()
    call.body = data
    if kind == MESSAGE:
        checked = messages.check_body(call, FLAGS)
        show(call, one, checked, (checked.get("flags") or 0) & sum(FLAGS))
    elif kind == DEFERRED:
        hidden = (data.get("flags") or 0) & state.EPHEMERAL
        if (data.get("flags") or 0) & ~state.EPHEMERAL:
            errors.add("data.flags", "BASE_TYPE_BAD_FLAGS", "Only EPHEMERAL can be set on a deferral.")
        errors.check(call.world, call.number())
        message = call.world.add_message(one.channel, call.world.bot, flags=state.LOADING | hidden, interaction=one,
                                         ephemeral_for=one.user.id if hidden else None, kind=20 if one.kind == COMMAND else 19)
        one.original, one.deferred = message, True
        one.shown.append(message.id)
    elif kind == UPDATE:
        one.original = messages.change(call, call.world.channels[one.message.channel_id], one.message, messages.check_body(call))
        one.shown.append(one.message.id)
    elif kind == DEFERRED_UPDATE:
        one.original = one.message
        one.shown.append(one.message.id)
    elif kind == CHOICES:
        choices = errors.items("data.choices", data.get("choices"), 25)
        rules.check_choice_list(errors, "data.choices", choices)
        errors.check(call.world, call.number())
        one.choices = choices
    elif kind == MODAL_OUT:
        rules.check_modal(errors, data)
        errors.check(call.world, call.number())
        one.modal = data


def show(call, one, body, flags):
    """A new message that answers an interaction."""
    message = messages.create(call, one.channel, body, interaction=one, flags=flags, kind=20 if one.kind == COMMAND else 19,
                              ephemeral_for=one.user.id if flags & state.EPHEMERAL else None)
    one.original = one.original or message
    one.shown.append(message.id)
    return message


@route("POST", "/interactions/{interaction}/{token}/callback", open=True, exempt=True, plain=True)
def callback(call, interaction, token):
    one = call.api.interactions.find(interaction, token)
    if not one or one.answer is None and call.api.interactions.failed(one):
        raise state.Refusal(404, 10062, "Unknown interaction")
    answer(call, one)
    if not call.flag("with_response"):
        return None
    out = {"interaction": {"id": one.id, "type": one.kind}}
    if one.original:
        out["interaction"].update(response_message_id=one.original.id, response_message_loading=one.deferred,
                                  response_message_ephemeral=bool(one.original.ephemeral_for))
        out["resource"] = {"type": one.answer, "message": call.world.message_json(one.original)}
    return out


# What follows

def answered(call, webhook, token):
    """The interaction of a token that may still be used."""
    one = call.api.interactions.by_token(token)
    if webhook != call.world.application_id or not one:
        raise state.unknown("Webhook", 10015)
    if call.api.interactions.expired(one):
        raise state.Refusal(401, 50027, "Invalid Webhook Token")
    if one.answer is None:
        raise state.unknown("Webhook", 10015)
    return one


def message_of(call, one, identifier):
    found = one.original if identifier == "@original" else None
    if not found and identifier in one.shown:
        found = call.world.any_message(identifier)[1]
    if not found or found.deleted:
        raise state.unknown("Message", 10008)
    return call.world.channels[found.channel_id], found


@route("POST", "/webhooks/{webhook}/{token}", open=True, exempt=True)
def follow_up(call, webhook, token):
    one = answered(call, webhook, token)
    body = messages.check_body(call, FLAGS)
    if one.kind == AUTOCOMPLETE:
        raise state.Refusal(400, 50006, "Cannot send an empty message")
    if one.deferred and not one.original.deleted:  # the first one fills what was deferred, hidden or not as that is
        message = messages.change(call, one.channel, one.original, body)
        one.deferred = False
    else:
        message = show(call, one, body, (body.get("flags") or 0) & sum(FLAGS))
    return call.world.message_json(message)


@route("GET", "/webhooks/{webhook}/{token}/messages/@original", open=True, exempt=True)
def get_original(call, webhook, token):
    return get_follow_up(call, webhook, token, "@original")


@route("PATCH", "/webhooks/{webhook}/{token}/messages/@original", open=True, exempt=True)
def edit_original(call, webhook, token):
    return edit_follow_up(call, webhook, token, "@original")


@route("DELETE", "/webhooks/{webhook}/{token}/messages/@original", open=True, exempt=True)
def delete_original(call, webhook, token):
    return delete_follow_up(call, webhook, token, "@original")


@route("GET", "/webhooks/{webhook}/{token}/messages/{message}", open=True, exempt=True)
def get_follow_up(call, webhook, token, message):
    return call.world.message_json(message_of(call, answered(call, webhook, token), message)[1])


@route("PATCH", "/webhooks/{webhook}/{token}/messages/{message}", open=True, exempt=True)
def edit_follow_up(call, webhook, token, message):
    one = answered(call, webhook, token)
    channel, found = message_of(call, one, message)
    if call.body and (call.body.get("flags") or 0) & state.EPHEMERAL and not found.ephemeral_for:
        call.violate("ephemeral", "EPHEMERAL in an edit: it must be in the first answer")
    messages.change(call, channel, found, messages.check_body(call, FLAGS))
    if found is one.original:
        one.deferred = False
    return call.world.message_json(found)


@route("DELETE", "/webhooks/{webhook}/{token}/messages/{message}", open=True, exempt=True)
def delete_follow_up(call, webhook, token, message):
    channel, found = message_of(call, answered(call, webhook, token), message)
    messages.remove(call.world, channel, found)
    return None
