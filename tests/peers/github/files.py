# SPDX-License-Identifier: MIT
"""The other host, which serves artifacts and logs by signed links: another name, no tokens, its own way to refuse."""
import time

from aiohttp import web

import faults

DENIED = '<?xml version="1.0" encoding="utf-8"?><Error><Code>AuthenticationFailed</Code><Message>Signature not valid in the specified time frame</Message></Error>'


class Files:
    def __init__(self, world):
        self.world = world

    async def serve(self, request):
        """Every request to it."""
        try:
            return await self.answer(request)
        except faults.Dropped:
            return web.Response()

    async def answer(self, request):
        world, note = self.world, self.world.note(request, "files")
        note["kind"] = "file"
        if "Authorization" in request.headers:
            world.violate("authorization", f"the header reached {request.host}", note["n"])
        kind, identifier, until = world.links.get(request.query.get("sig", ""), (None, None, 0))
        found = world.artifacts.get(identifier) if kind == "artifact" else world.runs.get(identifier)
        note["repo"] = found and (found.run if kind == "artifact" else found).repo.name
        fault = faults.find(world, note)
        if fault:
            await faults.before(fault, request)
        if not found or time.monotonic() > until or request.path != f"/{kind}/{identifier}":
            status, data, headers = 403, DENIED.encode(), {"Content-Type": "application/xml"}
        elif kind == "artifact" and found.run.script.get("link") == "loop":
            status, data, headers = 302, b"", {"Location": str(request.url)}
        else:
            data = found.data if kind == "artifact" else "\n".join(found.log).encode()
            status, headers = 200, {"Content-Type": "application/zip" if kind == "artifact" else "text/plain"}
        note["status"] = status
        return await faults.send(fault, request, note, status, data, headers)
