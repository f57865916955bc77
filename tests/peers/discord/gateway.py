# SPDX-License-Identifier: MIT
"""The gateway: websockets, sessions that can be resumed, and the faults of connections."""
import asyncio
import collections
import json
import secrets
import zlib

from aiohttp import WSCloseCode, WSMsgType, web

DISPATCH, HEARTBEAT, IDENTIFY, PRESENCE, RESUME, RECONNECT, INVALID, HELLO, ACK = 0, 1, 2, 3, 6, 7, 9, 10, 11
IGNORED = (3, 4, 8, 14, 31)
GUILDS, MEMBERS, GUILD_MESSAGES, PRESENCES, CONTENT, DIRECT_MESSAGES = 1, 1 << 1, 1 << 9, 1 << 8, 1 << 15, 1 << 12
PRIVILEGED, KNOWN_INTENTS = MEMBERS | PRESENCES | CONTENT, (1 << 26) - 1
EVENTS = {"INTERACTION_CREATE": 0, "READY": 0, "RESUMED": 0, "GUILD_MEMBER_UPDATE": MEMBERS, "GUILD_MEMBER_ADD": MEMBERS,
          "MESSAGE_CREATE": GUILD_MESSAGES, "MESSAGE_UPDATE": GUILD_MESSAGES, "MESSAGE_DELETE": GUILD_MESSAGES}
CLOSES = {4000: "Unknown error.", 4001: "Unknown opcode.", 4002: "Error while decoding payload.", 4003: "Not authenticated.",
          4004: "Authentication failed.", 4005: "Already authenticated.", 4007: "Invalid seq.", 4008: "Rate limited.",
          4009: "Session timed out.", 4010: "Invalid shard.", 4011: "Sharding required.", 4012: "Invalid API version.",
          4013: "Invalid intent(s).", 4014: "Disallowed intent(s)."}


class NoTransport:
    """Of a connection that is gone."""

    def abort(self):
        pass

    close = abort


NO_TRANSPORT = NoTransport()


class Session:
    """What survives a connection."""

    def __init__(self, intents):
        self.id, self.intents, self.seq = secrets.token_hex(16), intents, 0
        self.events, self.connection, self.lost = collections.deque(), None, None

    def json(self):
        return {"id": self.id, "intents": self.intents, "seq": self.seq, "connected": self.connection is not None}


class Connection:
    def __init__(self, gateway, socket, packer):
        self.gateway, self.world, self.socket, self.packer = gateway, gateway.world, socket, packer
        self.session = None
        self.sent = collections.deque()  # the times of what the client sent in the last minute
        self.queue, self.closing = asyncio.Queue(), False
        self.note = {"opened": self.world.clock.now(), "heartbeats": [], "received": [], "closed": None}
        self.last_beat = asyncio.get_running_loop().time()

    # Everything goes through one queue, so that events keep their order.
    def put(self, op, data=None, name=None, seq=None):
        self.put_text(json.dumps({"op": op, "d": data, "s": seq, "t": name}))

    def put_text(self, text):
        if not self.gateway.silent:
            self.queue.put_nowait(text)

    def close(self, code):
        self.queue.put_nowait(code)

    def abort(self):
        """The connection is gone, without a word."""
        self.note["closed"] = self.note["closed"] or "aborted"
        self.transport().abort()

    async def write(self):
        while True:
            item = await self.queue.get()
            try:
                if isinstance(item, int):
                    await self.say_goodbye(item)
                    return
                if isinstance(item, bytes):
                    await self.socket.send_bytes(item)
                elif self.packer:
                    await self.socket.send_bytes(self.packer.compress(item.encode()) + self.packer.flush(zlib.Z_SYNC_FLUSH))
                else:
                    await self.socket.send_str(item)
            except (ConnectionError, RuntimeError):
                return

    async def say_goodbye(self, code):
        """Sends the code, and waits for the client's answer: data that comes meanwhile must not reset the connection."""
        self.note["closed"], self.closing = self.note["closed"] or f"server {code}", True
        await self.socket._writer.close(code, CLOSES.get(code, "").encode())  # aiohttp's close() may end the connection at once
        await asyncio.sleep(2)
        self.transport().close()

    def transport(self):
        return self.socket._req.transport or NO_TRANSPORT  # aiohttp has no public way to it

    async def watch(self):
        """Ends a connection whose client sends no heartbeats."""
        settings = self.world.settings
        while True:
            limit = (settings["heartbeat_interval_ms"] + settings["heartbeat_grace_ms"]) / 1000
            await asyncio.sleep(limit / 4)
            if asyncio.get_running_loop().time() - self.last_beat > limit:
                self.world.violate("heartbeat", f"no heartbeat for more than {limit:g} s")
                self.close(4009)
                return

    async def read(self):
        async for frame in self.socket:
            if frame.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                break
            raw = frame.data if isinstance(frame.data, bytes) else frame.data.encode()
            if not self.allowed(raw):
                continue
            try:
                message = json.loads(raw)
                op, data = message["op"], message.get("d")
            except (ValueError, TypeError, KeyError):
                self.fail("gateway", "a frame that is no JSON object with op", 4002)
                continue
            self.note["received"].append({"op": op, "time": self.world.clock.now()})
            self.heed(op, data)

    def fail(self, rule, text, code):
        self.world.violate(rule, text)
        self.close(code)

    def allowed(self, raw):
        settings, now = self.world.settings, self.world.clock.now()
        if len(raw) > settings["gateway_bytes"]:
            self.fail("gateway", f"a frame of {len(raw)} bytes", 4002)
            return False
        self.sent.append(now)
        while self.sent[0] < now - 60:
            self.sent.popleft()
        if len(self.sent) > settings["gateway_sends"]:
            self.fail("gateway", f"{len(self.sent)} frames within a minute", 4008)
            return False
        return True

    def heed(self, op, data):
        if op == HEARTBEAT:
            self.heartbeat(data)
        elif op == IDENTIFY:
            self.identify(data)
        elif op == RESUME:
            self.resume(data)
        elif op in IGNORED:
            if not self.session:
                self.fail("gateway", f"op {op} before IDENTIFY", 4003)
        else:
            self.fail("gateway", f"unknown op {op}", 4001)

    def heartbeat(self, data):
        self.note["heartbeats"].append(self.world.clock.now())
        self.last_beat = asyncio.get_running_loop().time()
        if data is not None and not isinstance(data, int):
            self.fail("gateway", "a heartbeat whose d is neither a number nor null", 4002)
        elif data is not None and self.session and data > self.session.seq:
            self.fail("gateway", f"a heartbeat with seq {data}, and the last one was {self.session.seq}", 4007)
        elif self.gateway.mute_acks:
            self.gateway.mute_acks -= 1
        else:
            self.put(ACK)

    def identify(self, data):
        gateway, settings = self.gateway, self.world.settings
        if self.session:
            return self.fail("gateway", "IDENTIFY twice", 4005)
        properties = data.get("properties")
        if not isinstance(properties, dict) or not {"os", "browser", "device"} <= set(properties):
            self.world.violate("gateway", "IDENTIFY without properties os, browser, device")
        gateway.identifies.append(self.world.clock.now())
        if data.get("token") != self.world.token:
            return self.close(4004)
        if gateway.remaining <= 0:
            return self.fail("gateway", "IDENTIFY without any left: Discord resets the token", 4004)
        gateway.remaining -= 1
        recent = [one for one in gateway.identifies if one > self.world.clock.now() - settings["identify_window_s"]]
        if len(recent) > settings["max_concurrency"]:
            self.world.violate("gateway", f"{len(recent)} IDENTIFY within {settings['identify_window_s']} s")
            return self.put(INVALID, False)
        shard, intents = data.get("shard") or [0, 1], data.get("intents")
        if shard[1] < 1 or shard[0] >= shard[1]:
            return self.fail("gateway", "a wrong shard", 4010)
        if not isinstance(intents, int) or intents < 0 or intents & ~KNOWN_INTENTS:
            return self.fail("gateway", f"wrong intents {intents}", 4013)
        if intents & PRIVILEGED and not settings["privileged_intents"]:
            return self.close(4014)
        self.session = Session(intents)
        self.session.connection = self
        gateway.sessions[self.session.id] = self.session
        self.welcome(shard)

    def welcome(self, shard):
        world = self.world
        guilds = [guild for guild in world.guilds.values() if guild.has_bot]
        self.gateway.dispatch(self.session, "READY", {
            "v": 10, "user": {**world.bot.json(), "email": None, "verified": True, "mfa_enabled": False, "flags": 0},
            "guilds": [{"id": guild.id, "unavailable": True} for guild in guilds], "session_id": self.session.id,
            "resume_gateway_url": self.gateway.resume_url(), "shard": shard, "private_channels": [], "session_type": "normal",
            "application": {"id": world.application_id, "flags": 0}})
        if self.session.intents & GUILDS:
            for guild in guilds:
                self.gateway.dispatch(self.session, "GUILD_CREATE", world.guild_create_json(guild))

    def resume(self, data):
        if self.session:
            return self.fail("gateway", "RESUME with a session", 4005)
        if data.get("token") != self.world.token:
            return self.close(4004)
        session = self.gateway.sessions.get(data.get("session_id"))
        ttl = self.world.settings["session_ttl_s"]
        if not session or (session.lost and self.world.clock.now() - session.lost > ttl):
            self.gateway.sessions.pop(data.get("session_id"), None)
            return self.put(INVALID, False)
        seq = data.get("seq")
        if not isinstance(seq, int) or seq > session.seq:
            return self.fail("gateway", f"RESUME with seq {seq}, and the last one was {session.seq}", 4007)
        if session.events and session.events[0][0] > seq + 1:
            return self.put(INVALID, False)
        if session.connection:
            session.connection.session = None
            session.connection.close(4009)
        self.session, session.connection, session.lost = session, self, None
        self.gateway.resumes += 1
        for number, name, text in session.events:
            if number > seq:
                self.put_text(text)
        self.gateway.dispatch(session, "RESUMED", {"_trace": []})


class Gateway:
    def __init__(self, world):
        self.world, self.sessions, self.connections, self.notes = world, {}, set(), []
        self.identifies, self.remaining = collections.deque(maxlen=2000), world.settings["identify_limit"]
        self.mute_acks, self.silent, self.refuse, self.resumes, self.after = 0, False, 0, 0, None
        world.send_event = self.send_event

    def url(self, resume=False):
        return self.world.base.replace("http", "ws", 1) + ("/resume" if resume else "/gateway")

    def resume_url(self):
        return self.url(True)

    def limit_json(self):
        return {"total": self.world.settings["identify_limit"], "remaining": max(0, self.remaining), "reset_after": 86400000,
                "max_concurrency": self.world.settings["max_concurrency"]}

    def dispatch(self, session, name, data):
        session.seq += 1
        text = json.dumps({"op": DISPATCH, "d": data, "s": session.seq, "t": name})
        session.events.append((session.seq, name, text))
        while len(session.events) > self.world.settings["replay_events"]:
            session.events.popleft()
        if session.connection:
            session.connection.put_text(text)
            self.count_down()

    def count_down(self):
        """A fault that waits for some events."""
        if self.after:
            self.after[0] -= 1
            if self.after[0] <= 0:
                fault, self.after = self.after[1], None
                self.act(fault)

    def send_event(self, name, data, channel=None):
        """To every session that wants it and whose bot sees the channel."""
        needed = EVENTS.get(name, GUILDS)
        if name.startswith("MESSAGE_") and not (channel and channel.guild_id):
            needed = DIRECT_MESSAGES
        for session in self.sessions.values():
            if session.intents & needed or not needed:
                self.dispatch(session, name, data)

    async def serve(self, request):
        """One websocket."""
        if self.refuse:
            self.refuse -= 1
            return web.Response(status=503, text="no gateway for you now")
        compress = request.query.get("compress")
        socket = web.WebSocketResponse(max_msg_size=1 << 20, compress=False, timeout=2)
        await socket.prepare(request)
        one = Connection(self, socket, zlib.compressobj() if compress == "zlib-stream" else None)
        one.note["resume_url"] = request.path.startswith("/resume")
        self.connections.add(one)
        self.notes.append(one.note)
        writer, watch = asyncio.ensure_future(one.write()), asyncio.ensure_future(one.watch())
        if request.query.get("v") != "10":
            one.fail("gateway", f"version {request.query.get('v')} of the gateway", 4012)
        elif request.query.get("encoding") != "json":
            one.fail("gateway", f"encoding {request.query.get('encoding')}", 4002)
        else:
            one.put(HELLO, {"heartbeat_interval": self.world.settings["heartbeat_interval_ms"], "_trace": []})
        try:
            await one.read()
        finally:
            self.gone(one, socket)
            watch.cancel()
            writer.cancel()
            if one.closing:
                one.transport().close()
        return socket

    def gone(self, one, socket):
        self.connections.discard(one)
        one.note["closed"] = one.note["closed"] or f"client {socket.close_code}"
        session = one.session
        if session and session.connection is one:
            session.connection, session.lost = None, self.world.clock.now()
            if one.note["closed"] in (f"client {code}" for code in (1000, 1001)) or one.note["closed"] in ("server 4007", "server 4009"):
                self.sessions.pop(session.id, None)

    def act(self, fault):
        """A fault of /control/gateway."""
        what = fault["do"]
        if fault.get("after_events"):
            self.after = [fault["after_events"], {**fault, "after_events": 0}]
            return
        if what == "mute_acks":
            self.mute_acks = fault.get("times", 1)
        elif what == "silence":
            self.silent = fault.get("on", True)
        elif what == "refuse":
            self.refuse = fault.get("times", 1)
        elif what == "event":
            for session in self.sessions.values():
                self.dispatch(session, fault["name"], fault["data"])
        elif what == "forget_sessions":
            self.sessions.clear()
        elif what == "identify_remaining":
            self.remaining = fault["remaining"]
        else:
            for one in list(self.connections):
                self.act_on(one, what, fault)

    def act_on(self, one, what, fault):
        if what == "close":
            one.close(fault.get("code", 4000))
        elif what == "drop":
            one.abort()
        elif what == "reconnect":
            one.put(RECONNECT)
        elif what == "invalid_session":
            resumable = bool(fault.get("resumable", False))
            if one.session:
                if not resumable:
                    self.sessions.pop(one.session.id, None)
                one.session.connection, one.session.lost, one.session = None, self.world.clock.now(), None
            one.put(INVALID, resumable)
        elif what == "heartbeat_request":
            one.put(HEARTBEAT)
        elif what == "text":
            one.put_text(fault["text"])
        elif what == "bytes":
            one.queue.put_nowait(bytes.fromhex(fault["hex"]))
        elif what == "large":
            one.put(DISPATCH, {"filler": "x" * fault["bytes"]}, "UNKNOWN_EVENT", one.session.seq if one.session else 0)
        elif what == "duplicate":
            if one.session and one.session.events:
                one.put_text(one.session.events[-1][2])
        else:
            raise KeyError(f"the gateway has no fault {what}")

    async def shut(self):
        for one in list(self.connections):
            await one.socket.close(code=WSCloseCode.GOING_AWAY)
