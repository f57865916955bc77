# SPDX-License-Identifier: MIT
"""What tests do with the fake, below /control/: see fake.py."""
import asyncio

from aiohttp import web

import limits
import permissions
import render
import world as state
from users import Impossible, Users


class Control:
    def __init__(self, world, api, gateway, interactions, schema):
        self.world, self.api, self.gateway, self.interactions, self.schema = world, api, gateway, interactions, schema
        self.users = Users(world, interactions)
        self.posts = {"guild": self.add_guild, "channel": self.set_channel, "member": self.set_member, "role": self.set_role,
                      "command": self.users.command, "press": self.users.press, "select": self.users.select, "modal": self.users.modal,
                      "autocomplete": lambda given: self.users.command(given, given["focused"]), "interaction": self.users.raw,
                      "say": self.users.say, "batch": self.batch, "settings": self.set_settings, "clock": self.set_clock,
                      "buckets": self.set_buckets, "faults": self.add_fault, "gateway": self.gateway_fault,
                      "endpoint": self.set_endpoint, "resend": self.resend, "integration": self.set_integration,
                      "forget": self.forget}
        self.gets = {"messages": self.messages, "channels": self.channels, "commands": self.commands, "log": self.log,
                     "invalid": self.invalid, "violations": self.violations, "gateway": self.gateway_state, "faults": self.faults,
                     "interactions": self.all_interactions, "stats": self.stats, "settings": lambda _: self.world.settings,
                     "members": self.members, "roles": self.roles}

    def add_to(self, router):
        router.add_post("/control/{what}", self.post)
        router.add_delete("/control/faults", self.clear_faults)
        router.add_get("/control/interactions/{id}", self.interaction)
        router.add_get("/control/files/{id}", self.file)
        router.add_get("/control/transcript.html", self.transcript)
        router.add_get("/control/{what}", self.get)

    async def post(self, request):
        handler = self.posts.get(request.match_info["what"])
        if not handler:
            return web.json_response({"error": "there is no such control"}, status=404)
        return await self.guarded(handler, await request.json())

    async def get(self, request):
        handler = self.gets.get(request.match_info["what"])
        if not handler:
            return web.json_response({"error": "there is no such control"}, status=404)
        return await self.guarded(handler, request.query)

    async def guarded(self, handler, given):
        try:
            out = handler(given)
            if asyncio.iscoroutine(out):
                out = await out
        except Impossible as error:
            return web.json_response({"error": str(error), "impossible": True}, status=409)
        except (KeyError, ValueError, TypeError, StopIteration, AttributeError) as error:
            return web.json_response({"error": f"{type(error).__name__}: {error}"}, status=400)
        if hasattr(out, "token"):
            out = {"interaction": out.id}
        elif hasattr(out, "content"):
            out = {"message": out.id}
        return web.json_response({} if out is None else out)

    # The server that the bot is on

    def add_guild(self, given):
        world = self.world
        owner = world.add_user(given.get("owner", "owner"))
        guild = state.Guild(world.new_id(), given.get("name", "Kettle"), owner.id, has_bot=given.get("bot", True))
        world.guilds[guild.id] = guild
        world.add_role(guild, "@everyone", permissions.mask(given.get("everyone", permissions.EVERYONE)), identifier=guild.id)
        bot_role = world.add_role(guild, world.bot.name, permissions.mask(given.get("bot_permissions", permissions.BOT)), managed=True)
        world.add_member(guild, owner)
        if guild.has_bot:
            world.add_member(guild, world.bot, [bot_role["id"]])
        ids = {"guild": guild.id, "owner": owner.id, "bot": world.bot.id, "roles": {}, "members": {owner.name: owner.id}, "channels": {}}
        for role in given.get("roles", []):
            ids["roles"][role["name"]] = self.set_role({**role, "guild": guild.id})["role"]
        for member in given.get("members", []):
            ids["members"][member["name"]] = self.set_member({**member, "guild": guild.id})["user"]
        for channel in given.get("channels", []):
            ids["channels"][channel["name"]] = self.set_channel({**channel, "guild": guild.id})["channel"]
        if guild.has_bot:
            world.send_event("GUILD_CREATE", world.guild_create_json(guild))
        return ids

    def overwrites(self, guild, given):
        out = []
        for rule in given:
            if "user" in rule:
                target, kind = self.world.find_user(rule["user"]).id, 1
            else:
                target, kind = self.world.find_role(guild, rule["role"]), 0
            out.append({"id": target, "type": kind, "allow": permissions.mask(rule.get("allow", [])),
                        "deny": permissions.mask(rule.get("deny", []))})
        return out

    def set_channel(self, given):
        """A new channel; with channel: a change of one, with delete: its end."""
        world = self.world
        if "channel" in given:
            channel = world.find_channel(given["channel"])
            guild = world.guilds.get(channel.guild_id)
            channel.name, channel.topic = given.get("name", channel.name), given.get("topic", channel.topic)
            if "overwrites" in given:
                channel.overwrites = self.overwrites(guild, given["overwrites"])
            for name in ("archived", "locked", "deleted"):
                setattr(channel, name, given.get(name, getattr(channel, name)))
            event = "DELETE" if channel.deleted else "UPDATE"
            world.send_event(f"{'THREAD' if channel.is_thread else 'CHANNEL'}_{event}", world.channel_json(channel), channel)
            return {"channel": channel.id}
        guild = world.find_guild(given.get("guild"))
        parent = world.find_channel(given["parent"]).id if "parent" in given else None
        tags = [{"id": world.new_id(), "name": name, "moderated": False, "emoji_id": None, "emoji_name": None}
                for name in given.get("tags", [])]
        channel = world.add_channel(guild, given["name"], state.TYPES[given.get("type", "text")], topic=given.get("topic"),
                                    parent_id=parent, overwrites=self.overwrites(guild, given.get("overwrites", [])), tags=tags)
        if given.get("tag_required"):
            channel.flags |= 1 << 4
        world.send_event("CHANNEL_CREATE", world.channel_json(channel), channel)
        return {"channel": channel.id}

    def set_member(self, given):
        """A member: a new one, other roles, or (with remove) none any more."""
        world, guild = self.world, self.world.find_guild(given.get("guild"))
        try:
            user = world.find_user(given["name"])
        except KeyError:
            user = world.add_user(given["name"])
        user.dms = given.get("dms", user.dms)
        if given.get("remove"):
            guild.members.pop(user.id, None)
            if user is world.bot:  # it was thrown out
                world.send_event("GUILD_DELETE", {"id": guild.id})
                guild.has_bot = False
            return {"user": user.id}
        member = guild.members.get(user.id) or world.add_member(guild, user)
        if "roles" in given:
            member.roles = [world.find_role(guild, role) for role in given["roles"]]
        member.nick = given.get("nick", member.nick)
        world.send_event("GUILD_MEMBER_UPDATE", {**member.json(), "guild_id": guild.id})
        return {"user": user.id}

    def set_role(self, given):
        world, guild = self.world, self.world.find_guild(given.get("guild"))
        known = next((one for one in guild.roles.values() if one["name"] == given["name"]), None)
        if given.get("delete"):
            guild.roles.pop(known["id"])
            for member in guild.members.values():
                member.roles = [one for one in member.roles if one != known["id"]]
            world.send_event("GUILD_ROLE_DELETE", {"guild_id": guild.id, "role_id": known["id"]})
            return {"role": known["id"]}
        if known:
            known["permissions"] = permissions.mask(given.get("permissions", known["permissions"]))
            known["name"] = given.get("rename", known["name"])
            world.send_event("GUILD_ROLE_UPDATE", {"guild_id": guild.id, "role": guild.role_json(known)})
            return {"role": known["id"]}
        role = world.add_role(guild, given["name"], permissions.mask(given.get("permissions", [])),
                              mentionable=given.get("mentionable", False))
        world.send_event("GUILD_ROLE_CREATE", {"guild_id": guild.id, "role": guild.role_json(role)})
        return {"role": role["id"]}

    # Settings and faults

    def set_integration(self, given):
        """Server Settings, Integrations: shows a command to the members of these roles, too."""
        guild = self.world.find_guild(given.get("guild"))
        wanted = [key for key, role in guild.roles.items() if role["name"] in given["roles"]]
        self.world.command_roles.setdefault(given["command"], set()).update(wanted)

    def batch(self, given):
        """Several actions at once."""
        out = []
        for action in given["actions"]:
            found = self.posts[action.pop("do")](action)
            out.append(getattr(found, "id", found))
        return {"results": out}

    def set_settings(self, given):
        unknown = set(given) - set(self.world.settings)
        if unknown:
            raise KeyError(f"no settings: {', '.join(sorted(unknown))}")
        self.world.settings.update(given)
        if "identify_limit" in given:
            self.gateway.remaining = given["identify_limit"]
        return self.world.settings

    def set_clock(self, given):
        self.world.clock.ahead += given["advance_s"]
        self.world.age()
        return {"now": self.world.clock.now()}

    def set_buckets(self, given):
        self.api.limits.configure(given)

    def add_fault(self, given):
        self.api.faults.append(limits.Fault(given))
        return {"fault": self.api.faults[-1].identifier}

    def gateway_fault(self, given):
        self.gateway.act(given)

    async def set_endpoint(self, given):
        """Tries the bot's endpoint as Discord does, and from then on sends interactions there; null: to the gateway again."""
        problem = await self.interactions.try_endpoint(given["url"]) if given["url"] else None
        if not problem or given.get("unchecked"):
            self.world.settings["endpoint"] = given["url"]
        return {"problem": problem}

    async def resend(self, given):
        """An interaction once more, signed anew, as somebody between Discord and the bot could."""
        one = self.world.interactions[str(given["interaction"])]
        url, body = given.get("url") or self.world.settings["endpoint"], {**self.interactions.payload(one), **given.get("raw", {})}
        status, body = await self.interactions.signed(url, body, given.get("spoil", False), given.get("age_s", 0))
        return {"status": status, "body": body}

    def forget(self, _given):
        """An empty log without violations, for the next scenario."""
        self.world.log.clear()
        self.world.violations.clear()
        if self.schema:
            self.schema.violations()
            self.schema.found.clear()

    async def clear_faults(self, _request):
        self.api.faults.clear()
        return web.json_response({})

    # What tests look at

    def messages(self, query):
        """The messages of a channel, oldest first: all of them, or what a viewer sees."""
        world, channel = self.world, self.world.find_channel(query["channel"])
        viewer = world.find_user(query["viewer"]).id if "viewer" in query else None
        if viewer and not permissions.sees(world, channel, viewer):
            return {"visible": False, "messages": []}
        shown = [one for one in channel.messages.values() if viewer is None or (not one.deleted and one.ephemeral_for in (None, viewer))]
        return {"visible": True, "messages": [self.message(one) for one in shown]}

    def message(self, one):
        for_whom = one.ephemeral_for and self.world.users[one.ephemeral_for].name
        return {**self.world.message_json(one), "ephemeral_for": for_whom, "loading": bool(one.flags & state.LOADING),
                "deleted": one.deleted, "pings": one.pings, "history": one.history, "from_bot": one.author is self.world.bot}

    def channels(self, _query):
        world = self.world
        return {"channels": [{**world.channel_json(one), "deleted": one.deleted,
                              "members": [world.users[user].name for user in one.members],
                              "messages": sum(1 for message in one.messages.values() if not message.deleted)}
                             for one in world.channels.values()]}

    def commands(self, _query):
        return {"commands": [{**command, "guild_id": guild} for guild, own in self.world.commands.items() for command in own.values()]}

    def members(self, query):
        guild = self.world.find_guild(query.get("guild"))
        return {"members": [{**member.json(), "role_names": [guild.roles[role]["name"] for role in member.roles if role in guild.roles]}
                            for member in guild.members.values()]}

    def roles(self, query):
        guild = self.world.find_guild(query.get("guild"))
        return {"roles": [{**guild.role_json(role), "names": permissions.names(role["permissions"])} for role in guild.roles.values()]}

    def log(self, query):
        after = int(query.get("after", 0))
        return {"log": [one for one in self.world.log if one["n"] > after]}

    def invalid(self, _query):
        return {"invalid": [one for one in self.world.log if one["invalid"]], "counted": len(self.api.limits.invalid)}

    def violations(self, _query):
        return {"violations": self.world.violations + (self.schema.violations() if self.schema else []), "schema": bool(self.schema)}

    def gateway_state(self, _query):
        gateway = self.gateway
        return {"connections": gateway.notes, "open": len(gateway.connections),
                "sessions": [one.json() for one in gateway.sessions.values()],
                "identifies": list(gateway.identifies), "resumes": gateway.resumes, "remaining": gateway.remaining}

    def faults(self, _query):
        return {"faults": [one.json() for one in self.api.faults]}

    def all_interactions(self, _query):
        return {"interactions": [self.interactions.json(one) for one in self.world.interactions.values()]}

    def stats(self, query):
        """How fast first answers came, in ms, and how many did not come in time; kind: of one type only."""
        found = [one for one in self.world.interactions.values() if one.expects and str(one.kind) == query.get("kind", str(one.kind))]
        times = sorted(one.first_ms for one in found if one.first_ms is not None)
        at = (lambda part: times[min(len(times) - 1, int(len(times) * part))]) if times else lambda part: None
        return {"interactions": len(found), "answered": len(times), "failed": sum(1 for one in found if self.interactions.failed(one)),
                "p50": at(0.5), "p99": at(0.99), "most": times[-1] if times else None}

    async def interaction(self, request):
        one = self.world.interactions.get(request.match_info["id"])
        if not one:
            return web.json_response({"error": "there is no such interaction"}, status=404)
        return web.json_response(self.interactions.json(one))

    async def file(self, request):
        file = self.world.files.get(request.match_info["id"])
        return web.Response(body=file["data"]) if file else web.Response(status=404)

    async def transcript(self, request):
        """The conversation as its participants see it: of a channel, or everything that a user sees."""
        world = self.world
        try:
            user = world.find_user(request.query["user"]) if "user" in request.query else None
            channels = [world.find_channel(one) for one in request.query.getall("channel", [])]
        except KeyError as error:
            return web.json_response({"error": str(error)}, status=400)
        return web.Response(text=render.page(world, user, channels, request.query.get("title")), content_type="text/html")
