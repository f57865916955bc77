#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A fake GitHub, as far as Actions goes. It needs aiohttp and PyYAML, and openapi-core for the official description.

    fake.py [--port N] [--specs FOLDER]

prints one line of JSON when it listens:

    {"port", "url", "files", "control", "tokens": [text], "schema", "pid"}

url is the base of REST (http://127.0.0.1:PORT), files that of the host that serves artifacts and logs (http://localhost:ANOTHER);
schema says whether requests and answers are checked against the official description, FOLDER/github-actions.openapi.json
(or KETTLE_SPECS, or ../shared/specs beside the source tree). It ends when its parent does, and what it runs with it.

A repository is a folder. A dispatch reads its workflow file there and really runs its job: bash steps in a new folder with
a clean environment, actions/checkout as a copy of the folder, actions/upload-artifact as a zip. What a step says is the
job's log, with secrets masked.

What a test does goes by HTTP with JSON to /control/NAME. client.py has it as Python without any package. POST answers
{"error"} with 400. A repository is named OWNER/NAME.

What there is on the server
    POST repo         {name, folder, branch: "main", secrets: {NAME: text}, env: of its machines beside PATH and HOME, and any
                      of world.SETTINGS for it alone}; again: a change
    POST token        {token, limit, window_s, repos: [names] or null for all, revoked: true}: a new one or a change
    POST seeds        {seeds: [text or number]}: must be readable nowhere; short ones would be found by chance
    POST release      {repo}: its runs that `hold` go on
    GET runs[?repo=]  {runs: [{id, repo, name, status, conclusion, inputs, created, completed: seconds since the epoch,
                      artifacts: [{id, name, size}], log, script}]}
    GET log[?after=N] every request: {n, time, method, path, query, host, kind, repo, token: its number, status, headers, body}
    GET counters[?repo=]  {requests: {kind: count}, not_modified: {kind: count}, total (without 304s), tokens: {number: count}};
                      kinds: dispatch, run, runs, artifacts, zip, cancel, force_cancel, jobs, logs, workflow, delete, rate_limit, file
    GET violations    [{rule, text, request}] of what a client must not do:
                      authorization  the header reached the other host
                      spacing        a change within spacing_s of the last one by the same token
                      limit          a request by a token that was told to wait, before the time
                      leak           a seed in an input, a log, an artifact or a request, also below base64, zlib and zip
                      user-agent     a request without that header
                      openapi        a request against the description
                      fake           a request that made the fake fail, or an answer of its own against the description
    POST forget       empties log, counters and violations; runs that have ended are deleted
    GET settings, faults

Settings and faults
    POST settings     {…}: world.SETTINGS says what they are
    POST behave       {repo, times: 1 or null, do: {…}}: what happens to its next runs, in that order; each takes one:
                      queue_ms, run_ms: waits; hold: true: runs until `release`
                      conclusion: text, whatever the steps say; lost: true: the machine goes away amid the steps, without artifact;
                      unstarted: true: it ends without any step (with `conclusion`)
                      deaf: true: a cancel is accepted and has no effect, only one by force has
                      artifact: "missing" | "late" (late_ms after the end) | "twice" | "expired"
                      digest: "wrong" | "none"; size: "wrong"
                      zip: "bomb" | "liar" (says it is small) | "cut" | "garbage" | "html" | "empty" | "other_name" | "path" | "two" |
                      "edited" (a byte of result.kettle) | "cut_result"; result_of: the run whose result is given instead
                      link: "expired" | "loop" (redirects to itself) | "none"
    POST faults       {match: {kind, repo, method, path: regex, token: number}, after: requests to let pass, times: 1 or null, do: {
                      delay_ms, delay_answer_ms: after it is done, drop: "before" | "after" (it is done, but the answer is lost), hang: true (no answer at all), status,
                      json, text, headers, patch: {…} over the answer, cut: bytes, length: a lie, pad: bytes of blanks,
                      run: ID (answers as if for that run), primary: {reset_s, status}, secondary: {retry_after or null, status}}}
                      kind "file" is the other host
    DELETE faults
"""
import argparse
import asyncio
import contextlib
import json
import os
import pathlib
import signal
import sys

from aiohttp import web

import api
import files
import runs
import schema
import world as state
from control import Control

MOST_BODY = 4 << 20


def specs_file(given):
    folder = given or os.environ.get("KETTLE_SPECS")
    if not folder:
        folder = pathlib.Path(__file__).resolve().parents[4] / "shared" / "specs"
    return pathlib.Path(folder) / "github-actions.openapi.json"


async def end(parent):
    """Until the one who started this has gone, or a signal comes."""
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    while os.getppid() == parent and not ended.is_set():
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(ended.wait(), 0.2)


async def listen(app, host, port):
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, host, port)
    await site.start()
    return runner, site._server.sockets[0].getsockname()[1]  # aiohttp has no public way to learn it


async def run(options, parent):
    world = state.World(schema.load(specs_file(options.specs)))
    world.machines = runs.Machines(world)
    main, other = web.Application(client_max_size=MOST_BODY), web.Application(client_max_size=MOST_BODY)
    Control(world).add_to(main.router)
    main.router.add_route("*", "/{tail:.*}", api.Api(world).serve)
    other.router.add_route("*", "/{tail:.*}", files.Files(world).serve)
    servers = [await listen(main, "127.0.0.1", options.port), await listen(other, "127.0.0.1", 0)]
    world.url, world.files = f"http://127.0.0.1:{servers[0][1]}", f"http://localhost:{servers[1][1]}"
    print(json.dumps({"port": servers[0][1], "url": world.url, "files": world.files, "control": f"{world.url}/control",
                      "tokens": list(world.tokens), "schema": world.schema is not None, "pid": os.getpid()}), flush=True)
    await end(parent)
    await world.machines.shut()
    for server, _ in servers:
        await server.cleanup()


def main():
    parser = argparse.ArgumentParser(description="A fake GitHub; the documentation is at the top of this file.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--specs", help="folder of github-actions.openapi.json")
    parent = os.getppid()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(run(parser.parse_args(), parent))


if __name__ == "__main__":
    sys.exit(main())
