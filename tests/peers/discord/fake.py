#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A fake Discord. It needs aiohttp and cryptography, and jsonschema for the official description.

    fake.py [--port N] [--specs FOLDER]

prints one line of JSON when it listens:

    {"port", "url", "api", "gateway", "control", "token", "application_id", "bot_id", "public_key", "schema", "pid"}

api is the base of REST (http://127.0.0.1:PORT/api/v10); schema says whether bodies are checked against the official description,
FOLDER/discord.openapi.json (or KETTLE_SPECS, or ../shared/specs beside the source tree). It ends when its parent does.

What a test does goes by HTTP with JSON to /control/NAME. client.py has it as Python without any package.
Users, channels, roles and guilds are named by name or by identifier. POST answers {"error"} with 400, and with 409 where
Discord's client would not let a user do that.

The server
    POST guild        {name, owner, everyone: [permission], bot_permissions: [permission], bot: true,
                       roles: [{name, permissions: [], mentionable}], members: [{name, roles: [], nick, dms}],
                       channels: [{name, type: text|forum|announcement|category|voice, topic, parent, tags: [], tag_required,
                                   overwrites: [{role or user, allow: [], deny: []}]}]}
                      → {guild, owner, bot, roles: {name: id}, members: {name: id}, channels: {name: id}}
    POST channel      a channel as above and guild; with channel: change it (name, topic, overwrites, archived, locked, deleted)
    POST member       {name, roles, nick, dms: false, remove: true}, a new one or a change; the bot, kettle, can be removed, too
    POST role         {name, permissions, rename, delete: true}

Users. Each answers {interaction: id}. channel is the first text channel if it is left out; dm:NAME is a direct one. unchecked:
true does what no client would; raw: {…} is put over the payload.
    POST command      {user, channel, command: "leaderboard submit ranked", options: {name: value}}; a file is
                      {filename, content or base64, content_type, size: a lie, lies: {other fields}, keep_name: true, fault:
                      "missing"|"expired"|"cut"|"slow"|"endless"|"unsized"|"status:500"|"redirect:URL"}
    POST autocomplete {user, channel, command, options, focused: option}
    POST press        {user, message, custom_id or label}
    POST select       {user, message, custom_id, values or labels}
    POST modal        {interaction: the one that showed it, values: {custom_id: text}, user}
    POST interaction  {user, channel, kind: 1-5, data, message, raw}: whatever
    POST say          {user, channel, content} → {message}
    POST batch        {actions: [{do: "command", …}, …]} → {results: [ids]}, all at once
    GET interactions/ID  {state: waiting|deferred|answered|failed, answer: type, first_ms, messages: [what is visible], choices,
                      modal, problem}; deferred: "thinking" is shown; failed: no first answer within first_answer_s
    GET interactions  all of them
    GET stats[?kind=2]  {interactions, answered, failed, p50, p99, most} of the first answers, in ms

What there is
    GET messages?channel=…[&viewer=…]  {visible, messages: [{…, ephemeral_for, loading, deleted, from_bot, history: [{time, content,
                      embeds, components, attachments, flags}], pings: {users, roles, everyone}}]}; viewer: what that one sees;
                      types 1 and 18 are Discord's own: who was added to a thread, which thread was made
    GET channels      with threads: members, number of messages, deleted, thread_metadata
    GET commands, members[?guild=], roles[?guild=]
    GET files/ID      the bytes of an attachment
    GET transcript.html[?user=…][&channel=…]  the conversation as a page

The bot's behaviour
    GET log[?after=N] every request: {n, time, method, path, route, query, body, files, status, code, headers, invalid, ms}
    GET invalid       those that a bot without fault never makes: 401, 403, 404, a 429 of a bucket of which an answer had said
                      0.25 s before that nothing remains; what a fault provoked does not count. counted: what Discord counts
    GET violations    [{rule, text, request}]: rules of Discord that were broken (form, gateway, heartbeat, user-agent, openapi, …);
                      rule "fake" is a request that made the fake fail
    GET gateway       {connections: [{opened, closed, heartbeats, received, resume_url}], open, sessions, identifies, resumes, remaining}
    POST forget       empties log and violations

Settings and faults
    POST settings     see world.SETTINGS, such as heartbeat_interval_ms, first_answer_s, active_threads, token_s, rate_limits
    POST clock        {advance_s}: tokens, nonces, attachments, sessions and buckets age; heartbeats do not
    POST buckets      {"POST /channels/{channel}/messages": [limit, seconds]}; limits.BUCKETS are the ones to begin with
    POST faults       {match: {method, path: regex, body: regex}, after: requests to let pass, times: 1 or null, do: {delay_ms,
                      delay_answer_ms, drop: "before"|"after", status, json, headers, rate_limit: {retry_after, global, scope, header},
                      garbage: text, cut: bytes, length: a lie}}; drop "after": done, but the answer is lost
    GET faults        with hits; DELETE faults
    POST gateway      {do: "close", code} | drop | reconnect (op 7) | invalid_session, resumable | heartbeat_request (op 1) |
                      mute_acks, times | silence, on | refuse, times (connections) | forget_sessions | identify_remaining, remaining |
                      text, text | bytes, hex | large, bytes | event, name, data | duplicate (the last event again); with after_events: n,
                      after so many events
    POST endpoint     {url or null}: interactions go there as signed POSTs from now on, if it passes Discord's trial: {problem}
    POST resend       {interaction, age_s, spoil: true, raw, url}: it goes to the endpoint once more: {status, body}
"""
import argparse
import asyncio
import contextlib
import json
import os
import pathlib
import sys

from aiohttp import web

import gateway
import guilds
import interactions
import messages
import rest
import schema
import world as state
from control import Control

assert guilds and messages  # they register what they serve


def specs_file(given):
    folder = given or os.environ.get("KETTLE_SPECS")
    if not folder:
        folder = pathlib.Path(__file__).resolve().parents[4] / "shared" / "specs"
    return pathlib.Path(folder) / "discord.openapi.json"


async def wait_for_parent(parent):
    """Until the one who started this has gone."""
    while os.getppid() == parent:
        await asyncio.sleep(0.2)


async def run(options, parent):
    app = web.Application(client_max_size=rest.MOST_BODY)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    world = state.World("")
    description = schema.load(specs_file(options.specs))
    one = gateway.Gateway(world)
    api = rest.Api(world, one, description)
    api.interactions = interactions.Interactions(world)
    app.router.add_route("*", "/api/v10/{tail:.*}", api.serve)
    app.router.add_get("/attachments/{channel}/{id}/{name}", rest.files_of(world))
    for path in ("/gateway", "/gateway/", "/resume", "/resume/"):
        app.router.add_get(path, one.serve)
    Control(world, api, one, api.interactions, description).add_to(app.router)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", options.port)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]  # aiohttp has no public way to learn it
    world.base = f"http://127.0.0.1:{port}"
    print(json.dumps({"port": port, "url": world.base, "api": f"{world.base}{rest.API}", "gateway": one.url(),
                      "control": f"{world.base}/control", "token": world.token, "application_id": world.application_id,
                      "bot_id": world.bot.id, "public_key": world.public_key, "schema": description is not None, "pid": os.getpid()}), flush=True)
    await wait_for_parent(parent)
    await api.interactions.shut()
    await runner.cleanup()


def main():
    parser = argparse.ArgumentParser(description="A fake Discord; the documentation is at the top of this file.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--specs", help="folder of discord.openapi.json")
    parent = os.getppid()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(run(parser.parse_args(), parent))


if __name__ == "__main__":
    sys.exit(main())
