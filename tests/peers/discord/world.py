# SPDX-License-Identifier: MIT
"""What the fake Discord knows: users, guilds, channels, messages, files, the clock. Everything is in memory."""
import base64
import copy
import dataclasses
import datetime
import hashlib
import re
import secrets
import time

import permissions

EPOCH_MS = 1420070400000
TEXT, DM, VOICE, CATEGORY, ANNOUNCEMENT, PUBLIC_THREAD, PRIVATE_THREAD, FORUM = 0, 1, 2, 4, 5, 11, 12, 15
TYPES = {"text": TEXT, "voice": VOICE, "category": CATEGORY, "announcement": ANNOUNCEMENT, "forum": FORUM}
THREADS = (10, PUBLIC_THREAD, PRIVATE_THREAD)
RECIPIENT_ADDED, THREAD_CREATED = 1, 18  # messages of Discord's own
EPHEMERAL, LOADING, SUPPRESS_EMBEDS = 1 << 6, 1 << 7, 1 << 2
SETTINGS = {
    "heartbeat_interval_ms": 41250, "heartbeat_grace_ms": 20000, "session_ttl_s": 180, "replay_events": 10000,
    "identify_limit": 1000, "max_concurrency": 1, "identify_window_s": 5, "gateway_sends": 120, "gateway_bytes": 4096,
    "privileged_intents": False, "first_answer_s": 3, "token_s": 900, "nonce_s": 180, "active_threads": 1000, "attachment_s": 86400,
    "file_bytes": 10 << 20, "request_bytes": 25 << 20, "global_limit": 50, "invalid_limit": 10000, "integer_ids": False,
    "rate_limits": True, "latency_ms": 0, "endpoint": None, "system_messages": True, "upload_limit": 10}


class Refusal(Exception):
    """An error answer of Discord's."""

    def __init__(self, status, code, message, errors=None):
        super().__init__(f"{status} {code} {message}")
        self.status, self.body = status, {"message": message, "code": code}
        if errors:
            self.body["errors"] = errors


def unknown(what, code):
    return Refusal(404, code, f"Unknown {what}")


@dataclasses.dataclass
class User:
    id: str
    name: str
    bot: bool = False
    dms: bool = True  # takes direct messages

    def json(self):
        return {"id": self.id, "username": self.name, "global_name": None if self.bot else self.name, "discriminator": "0",
                "avatar": None, "bot": self.bot, "public_flags": 0}


@dataclasses.dataclass
class Member:
    user: User
    roles: list
    joined: str
    nick: str = None

    def json(self):
        return {"user": self.user.json(), "roles": list(self.roles), "nick": self.nick, "joined_at": self.joined, "avatar": None,
                "premium_since": None, "deaf": False, "mute": False, "flags": 0, "pending": False,
                "communication_disabled_until": None}


@dataclasses.dataclass
class Guild:
    id: str
    name: str
    owner_id: str
    roles: dict = dataclasses.field(default_factory=dict)
    members: dict = dataclasses.field(default_factory=dict)
    has_bot: bool = True

    def role_json(self, role):
        return {**role, "permissions": str(role["permissions"])}


@dataclasses.dataclass
class Channel:
    id: str
    type: int
    name: str
    guild_id: str = None
    parent_id: str = None
    topic: str = None
    position: int = 0
    overwrites: list = dataclasses.field(default_factory=list)
    recipients: list = dataclasses.field(default_factory=list)  # of a direct channel
    tags: list = dataclasses.field(default_factory=list)  # of a forum: those that there are; of its posts: those applied
    owner_id: str = None  # from here on: of threads
    archived: bool = False
    locked: bool = False
    invitable: bool = False
    auto_archive: int = 1440
    created: str = None
    archive_time: str = None
    members: dict = dataclasses.field(default_factory=dict)
    flags: int = 0
    messages: dict = dataclasses.field(default_factory=dict)  # identifier → Message, oldest first
    deleted: bool = False

    @property
    def is_thread(self):
        return self.type in THREADS


@dataclasses.dataclass
class Message:
    id: str
    channel_id: str
    author: User
    content: str = ""
    embeds: list = dataclasses.field(default_factory=list)
    components: list = dataclasses.field(default_factory=list)
    attachments: list = dataclasses.field(default_factory=list)  # identifiers
    flags: int = 0
    nonce: object = None
    kind: int = 0
    created: float = 0.0
    edited: float = None
    deleted: float = None
    ephemeral_for: str = None  # the one who sees it
    interaction: object = None
    thread_id: str = None
    reference: dict = None
    pings: dict = dataclasses.field(default_factory=dict)
    mentioned: list = dataclasses.field(default_factory=list)  # whom a message of Discord's own is about
    history: list = dataclasses.field(default_factory=list)


class Clock:
    """The time of day, which tests may put forward."""

    def __init__(self):
        self.ahead = 0.0

    def now(self):
        return time.time() + self.ahead

    def iso(self, at=None):
        return datetime.datetime.fromtimestamp(self.now() if at is None else at, datetime.timezone.utc).isoformat()


class World:
    def __init__(self, base):
        self.base, self.clock = base, Clock()
        self.settings = copy.deepcopy(SETTINGS)
        self.last_id = 0
        self.users, self.guilds, self.channels, self.files = {}, {}, {}, {}
        self.commands, self.interactions, self.index = {}, {}, {}
        self.command_roles = {}  # name → roles to which an administrator shows the command
        self.violations, self.log = [], []
        self.nonces = {}
        self.bot = self.add_user("kettle", bot=True)
        self.application_id = self.bot.id
        self.token = f"{base64.b64encode(self.bot.id.encode()).decode().rstrip('=')}.{secrets.token_urlsafe(4)}.{secrets.token_urlsafe(28)}"
        self.application = {"description": "", "interactions_endpoint_url": None}
        self.send_event = lambda *_: None  # the gateway puts itself here
        self.secret, self.public_key = secrets.token_hex(8), ""

    def new_id(self):
        self.last_id = max(self.last_id + 1, (int(self.clock.now() * 1000) - EPOCH_MS) << 22)
        return str(self.last_id)

    def violate(self, rule, text, request=None):
        self.violations.append({"rule": rule, "text": text, "request": request, "time": self.clock.now()})

    def add_user(self, name, bot=False):
        user = User(self.new_id(), name, bot)
        self.users[user.id] = user
        return user

    def find_user(self, given):
        found = self.users.get(str(given)) or next((user for user in self.users.values() if user.name == given), None)
        if not found:
            raise KeyError(f"there is no user {given}")
        return found

    def find_channel(self, given):
        """By identifier, by name, or "dm:NAME" for the direct channel of a user."""
        if str(given).startswith("dm:"):
            return self.direct_channel(self.find_user(given[3:]))
        found = self.channels.get(str(given)) or next(
            (one for one in reversed(self.channels.values()) if one.name == given and not one.deleted), None)
        if not found:
            raise KeyError(f"there is no channel {given}")
        return found

    def find_guild(self, given=None):
        if given is None:
            return next(iter(self.guilds.values()))
        found = self.guilds.get(str(given)) or next((one for one in self.guilds.values() if one.name == given), None)
        if not found:
            raise KeyError(f"there is no guild {given}")
        return found

    def find_role(self, guild, given):
        found = given if given in guild.roles else next((one["id"] for one in guild.roles.values() if one["name"] == given), None)
        if not found:
            raise KeyError(f"there is no role {given}")
        return found

    # Guilds

    def add_role(self, guild, name, bits=0, managed=False, color=0, identifier=None, mentionable=False):
        role = {"id": identifier or self.new_id(), "name": name, "color": color, "hoist": False, "icon": None, "unicode_emoji": None,
                "position": len(guild.roles), "permissions": bits, "managed": managed, "mentionable": mentionable, "flags": 0,
                "colors": {"primary_color": color, "secondary_color": None, "tertiary_color": None}}
        if managed:
            role["tags"] = {"bot_id": self.bot.id}
        guild.roles[role["id"]] = role
        return role

    def add_member(self, guild, user, roles=(), nick=None):
        guild.members[user.id] = Member(user, list(roles), self.clock.iso(), nick)
        return guild.members[user.id]

    def add_channel(self, guild, name, kind=TEXT, **more):
        channel = Channel(self.new_id(), kind, name, guild.id, position=len(self.channels), **more)
        self.channels[channel.id] = channel
        return channel

    def guild_channels(self, guild, threads=False):
        return [one for one in self.channels.values() if one.guild_id == guild.id and one.is_thread == threads and not one.deleted]

    def active_threads(self, guild):
        return [one for one in self.guild_channels(guild, True) if not one.archived]

    def guild_json(self, guild):
        return {"id": guild.id, "name": guild.name, "icon": None, "splash": None, "discovery_splash": None, "owner_id": guild.owner_id,
                "afk_channel_id": None, "afk_timeout": 300, "verification_level": 0, "default_message_notifications": 0,
                "explicit_content_filter": 0, "roles": [guild.role_json(role) for role in guild.roles.values()], "emojis": [],
                "features": [], "mfa_level": 0, "application_id": None, "system_channel_id": None, "system_channel_flags": 0,
                "rules_channel_id": None, "max_presences": None, "max_members": 500000, "vanity_url_code": None, "description": None,
                "banner": None, "premium_tier": 0, "premium_subscription_count": 0, "preferred_locale": "en-US",
                "public_updates_channel_id": None, "nsfw_level": 0, "stickers": [], "premium_progress_bar_enabled": False,
                "safety_alerts_channel_id": None, "widget_enabled": False, "widget_channel_id": None, "nsfw": False, "region": "deprecated",
                "max_video_channel_users": 25, "max_stage_video_channel_users": 50, "incidents_data": None}

    def guild_create_json(self, guild):
        """The guild as the gateway sends it: with its channels, and the threads that the bot sees."""
        threads = [one for one in self.active_threads(guild) if permissions.sees(self, one, self.bot.id)]
        return {**self.guild_json(guild), "joined_at": guild.members[self.bot.id].joined, "large": False, "unavailable": False,
                "member_count": len(guild.members), "voice_states": [], "presences": [], "stage_instances": [],
                "guild_scheduled_events": [], "soundboard_sounds": [], "members": [guild.members[self.bot.id].json()],
                "channels": [self.channel_json(one) for one in self.guild_channels(guild)],
                "threads": [self.channel_json(one) for one in threads]}

    # Channels

    def channel_json(self, channel, newly=False):
        last = next((one.id for one in reversed(channel.messages.values()) if not one.deleted and not one.ephemeral_for), None)
        common = {"id": channel.id, "type": channel.type, "last_message_id": last, "flags": channel.flags}
        if channel.type == DM:
            others = [self.users[one].json() for one in channel.recipients if one != self.bot.id]
            return {**common, "recipients": others}
        common.update(guild_id=channel.guild_id, name=channel.name, parent_id=channel.parent_id, rate_limit_per_user=0)
        if not channel.is_thread:
            rules = [{"id": one["id"], "type": one["type"], "allow": str(one.get("allow", 0)), "deny": str(one.get("deny", 0))}
                     for one in channel.overwrites]
            common.update(topic=channel.topic, position=channel.position, permission_overwrites=rules, nsfw=False)
            if channel.type == FORUM:
                common.update(available_tags=channel.tags, default_reaction_emoji=None, default_sort_order=None,
                              default_forum_layout=0, template="")
            if channel.type == VOICE:
                common.update(bitrate=64000, user_limit=0, rtc_region=None)
            return common
        count = sum(1 for one in channel.messages.values() if not one.deleted)
        common.update(owner_id=channel.owner_id, message_count=count, total_message_sent=len(channel.messages),
                      member_count=len(channel.members), applied_tags=list(channel.tags), thread_metadata={
                          "archived": channel.archived, "locked": channel.locked, "auto_archive_duration": channel.auto_archive,
                          "archive_timestamp": channel.archive_time, "create_timestamp": channel.created,
                          **({"invitable": channel.invitable} if channel.type == PRIVATE_THREAD else {})})
        if self.bot.id in channel.members:
            common["member"] = self.thread_member_json(channel, self.bot.id)
        if newly:
            common["newly_created"] = True
        return common

    def thread_member_json(self, channel, user_id):
        return {"id": channel.id, "user_id": user_id, "join_timestamp": channel.members[user_id], "flags": 0}

    def add_thread(self, parent, name, kind, owner_id, auto_archive=None, invitable=False, tags=(), identifier=None):
        if len(self.active_threads(self.guilds[parent.guild_id])) >= self.settings["active_threads"]:
            raise Refusal(400, 160006, "Maximum number of active threads reached")
        now = self.clock.iso()
        thread = Channel(identifier or self.new_id(), kind, name, parent.guild_id, parent.id, owner_id=owner_id,
                         auto_archive=auto_archive or 4320, invitable=invitable, created=now, archive_time=now, tags=list(tags))
        thread.members[owner_id] = now
        self.channels[thread.id] = thread
        self.send_event("THREAD_CREATE", self.channel_json(thread, True), thread)
        return thread

    def system_message(self, channel, kind, content="", mentioned=()):
        """What Discord itself writes in the name of the bot."""
        if self.settings["system_messages"]:
            message = self.add_message(channel, self.bot, kind=kind, content=content, mentioned=list(mentioned))
            self.send_event("MESSAGE_CREATE", self.event_json(message, channel), channel)

    def age(self):
        """Archives threads in which nothing has happened for long."""
        for guild in self.guilds.values():
            for thread in self.active_threads(guild):
                last = max([one.created for one in thread.messages.values()], default=0)
                since = max(last, datetime.datetime.fromisoformat(thread.archive_time).timestamp())
                if self.clock.now() - since > thread.auto_archive * 60:
                    self.archive(thread, True)
                    self.send_event("THREAD_UPDATE", self.channel_json(thread), thread)

    def archive(self, thread, archived):
        if archived == thread.archived:
            return
        if not archived and len(self.active_threads(self.guilds[thread.guild_id])) >= self.settings["active_threads"]:
            raise Refusal(400, 160006, "Maximum number of active threads reached")
        thread.archived, thread.archive_time = archived, self.clock.iso()

    def direct_channel(self, user):
        for channel in self.channels.values():
            if channel.type == DM and user.id in channel.recipients:
                return channel
        channel = Channel(self.new_id(), DM, None, recipients=[self.bot.id, user.id])
        self.channels[channel.id] = channel
        return channel

    # Files

    def add_file(self, channel_id, name, data, description=None, size=None, fault=None, kind=None):
        file = {"id": self.new_id(), "channel_id": channel_id, "filename": re.sub(r"[^\w.\-]", "_", name) or "_", "data": data,
                "description": description, "size": len(data) if size is None else size, "fault": fault, "created": self.clock.now(),
                "content_type": kind or "application/octet-stream"}
        self.files[file["id"]] = file
        return file

    def file_url(self, file):
        until = int(file["created"] + self.settings["attachment_s"])
        sign = hashlib.sha256(f"{file['id']} {until} {self.secret}".encode()).hexdigest()[:32]
        return (f"{self.base}/attachments/{file['channel_id']}/{file['id']}/{file['filename']}"
                f"?ex={until:x}&is={int(file['created']):x}&hm={sign}&")

    def file_json(self, identifier, ephemeral=False):
        file = self.files[identifier]
        url = self.file_url(file)
        out = {"id": file["id"], "filename": file["filename"], "size": file["size"], "url": url, "proxy_url": url,
               "content_type": file["content_type"]}
        if file["description"]:
            out["description"] = file["description"]
        if ephemeral:
            out["ephemeral"] = True
        return out

    # Messages

    def message_json(self, message):
        pings = message.pings
        names = {file["filename"]: file for file in (self.files[one] for one in message.attachments)}
        shown = {file["filename"] for file in names.values() if f"attachment://{file['filename']}" in str(message.embeds)}
        out = {"id": message.id, "channel_id": message.channel_id, "type": message.kind, "author": message.author.json(),
               "content": message.content, "timestamp": self.clock.iso(message.created),
               "edited_timestamp": message.edited and self.clock.iso(message.edited), "tts": False,
               "mention_everyone": bool(pings.get("everyone")),
               "mentions": [self.users[one].json() for one in [*pings.get("users", []), *message.mentioned]],
               "mention_roles": pings.get("roles", []), "embeds": [self.embed_json(one, names) for one in message.embeds],
               "attachments": [self.file_json(one, bool(message.ephemeral_for)) for one in message.attachments
                               if self.files[one]["filename"] not in shown],
               "pinned": False, "components": message.components, "flags": message.flags}
        if message.nonce is not None:
            out["nonce"] = message.nonce
        if message.reference:
            out["message_reference"] = message.reference
        if message.thread_id and message.thread_id in self.channels:
            out["thread"] = self.channel_json(self.channels[message.thread_id])
        if message.interaction:
            out.update(webhook_id=self.application_id, application_id=self.application_id,
                       interaction_metadata=message.interaction.metadata())
        return out

    def place(self, channel):
        return {"guild_id": channel.guild_id} if channel.guild_id else {}

    def event_json(self, message, channel):
        return {**self.message_json(message), **self.place(channel)}

    def embed_json(self, embed, names):
        out = {"type": "rich", **copy.deepcopy(embed)}
        for part in ("image", "thumbnail"):
            url = str((out.get(part) or {}).get("url", ""))
            if url.startswith("attachment://") and url[13:] in names:
                link = self.file_url(names[url[13:]])
                out[part] = {"url": link, "proxy_url": link, "width": 1, "height": 1}
        return out

    def remember(self, message):
        """Puts what a message shows now into its history."""
        message.history.append({"time": self.clock.now(), "content": message.content, "embeds": copy.deepcopy(message.embeds),
                                "components": copy.deepcopy(message.components), "attachments": list(message.attachments),
                                "flags": message.flags})

    def add_message(self, channel, author, identifier=None, **more):
        message = Message(identifier or self.new_id(), channel.id, author, created=self.clock.now(), **more)
        channel.messages[message.id] = message
        self.index[message.id] = channel, message
        self.remember(message)
        return message

    def find_message(self, channel, identifier, ephemeral=False):
        message = channel.messages.get(identifier)
        if not message or message.deleted or (message.ephemeral_for and not ephemeral):
            raise unknown("Message", 10008)
        return message

    def any_message(self, identifier):
        if identifier not in self.index:
            raise KeyError(f"there is no message {identifier}")
        return self.index[identifier]

    def pings_of(self, channel, content, allowed):
        """Who is notified by a text: Discord takes everything for a mention that allowed_mentions does not exclude."""
        allowed = {"parse": ["users", "roles", "everyone"]} if allowed is None else allowed
        parse = allowed.get("parse") or []
        users = [one for one in dict.fromkeys(re.findall(r"<@!?(\d+)>", content)) if one in self.users
                 and ("users" in parse or one in (allowed.get("users") or []))]
        guild = self.guilds.get(channel.guild_id)
        roles = [one for one in dict.fromkeys(re.findall(r"<@&(\d+)>", content)) if guild and one in guild.roles
                 and ("roles" in parse or one in (allowed.get("roles") or []))]
        may = guild and permissions.has(permissions.in_channel(self, channel, self.bot.id), "MENTION_EVERYONE")
        if not may:
            roles = [one for one in roles if guild.roles[one]["mentionable"]]
        everyone = bool(re.search(r"@(everyone|here)\b", content)) and "everyone" in parse and bool(may)
        return {"users": users, "roles": roles, "everyone": everyone}
