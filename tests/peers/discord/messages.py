# SPDX-License-Identifier: MIT
"""REST: messages, channels, threads, guilds, commands, the bot itself."""
import permissions
import rules
import world as state
from rest import route


# What messages of channels and of interactions share.

def take_files(call, channel_id, body, kept=()):
    """Stores the uploads; the identifiers of a message's files. kept: those that it has, of which the body may drop some."""
    listed = {str(one["id"]): one for one in body.get("attachments") or []}
    out = [one for one in kept if body.get("attachments") is None or one in listed]
    for part, file in call.files.items():
        about = listed.get(part, {})
        stored = call.world.add_file(channel_id, about.get("filename") or file["name"], file["data"], about.get("description"),
                                     kind=file["type"])
        out.append(stored["id"])
    if len(out) > call.world.settings["upload_limit"]:
        raise state.Refusal(400, 50035, "Invalid Form Body", {"attachments": {"_errors": [
            {"code": "BASE_TYPE_MAX_LENGTH", "message": "Must be 10 or fewer in length."}]}})
    return out


def numbered(components):
    """Components as Discord returns them: each with a number."""
    count = 0

    def walk(items):
        nonlocal count
        out = []
        for item in items:
            count += 1
            one = {**item, "id": item.get("id") or count}
            if "components" in one:
                one["components"] = walk(one["components"])
            if one.get("type") in rules.SELECTS:
                one.setdefault("min_values", 1)
                one.setdefault("max_values", 1)
            out.append(one)
        return out
    return walk(components)


def check_body(call, flags=None):
    """The body of a message, checked."""
    errors, body = rules.Errors(), {} if call.body is None else call.body
    more = {} if flags is None else {"flags": flags}
    rules.check_message(errors, call.world, body, call.files, **more)
    errors.check(call.world, call.number())
    return body


def refuse_empty(call, content, embeds, files, components):
    if not content and not embeds and not files and not components:
        call.violate("form", "an empty message")
        raise state.Refusal(400, 50006, "Cannot send an empty message")


def create(call, channel, body, **more):
    """A new message from a checked body; Discord removes white space around a text."""
    world = call.world
    content, embeds, components = (body.get("content") or "").strip(), body.get("embeds") or [], body.get("components") or []
    refuse_empty(call, content, embeds, call.files, components)
    files = take_files(call, channel.id, body)
    pings = world.pings_of(channel, content, body.get("allowed_mentions"))
    message = world.add_message(channel, world.bot, content=content, embeds=embeds, components=numbered(components),
                                attachments=files, pings=pings, **more)
    if not message.ephemeral_for:
        world.send_event("MESSAGE_CREATE", world.event_json(message, channel), channel)
    return message


def change(call, channel, message, body):
    """Edits a message by a checked body: what it does not name stays."""
    world = call.world
    content = message.content if "content" not in body else (body["content"] or "").strip()
    embeds = message.embeds if "embeds" not in body else body["embeds"] or []
    components = message.components if "components" not in body else numbered(body["components"] or [])
    kept = message.attachments
    listed = [str(one["id"]) for one in body.get("attachments") or []]
    left = kept if body.get("attachments") is None else [one for one in kept if one in listed]
    refuse_empty(call, content, embeds, left or call.files, components)
    loading = message.flags & state.LOADING
    message.attachments = take_files(call, channel.id, body, kept)
    message.content, message.embeds, message.components = content, embeds, components
    if loading:
        message.flags &= ~state.LOADING
        message.pings = world.pings_of(channel, content, body.get("allowed_mentions"))
    else:
        message.edited = world.clock.now()
    if "flags" in body and not loading:
        changeable = state.SUPPRESS_EMBEDS
        message.flags = message.flags & ~changeable | (body["flags"] or 0) & changeable
    world.remember(message)
    if not message.ephemeral_for:
        world.send_event("MESSAGE_UPDATE", world.event_json(message, channel), channel)
    return message


def remove(world, channel, message):
    message.deleted = world.clock.now()
    if not message.ephemeral_for:
        world.send_event("MESSAGE_DELETE", {"id": message.id, "channel_id": channel.id, **world.place(channel)}, channel)


# Channels and their messages

def channel_of(call, identifier):
    found = call.world.channels.get(identifier)
    if not found or found.deleted:
        raise state.unknown("Channel", 10003)
    return found


def may(call, channel, *wanted):
    rules.need(call.world, channel, call.world.bot.id, *wanted)


def not_archived(channel):
    if channel.archived:
        raise state.Refusal(400, 50083, "Thread is archived")


def sending(call, channel, body):
    """What the bot needs to post there."""
    wanted = ["SEND_MESSAGES_IN_THREADS" if channel.is_thread else "SEND_MESSAGES"]
    wanted += ["EMBED_LINKS"] if body.get("embeds") else []
    wanted += ["ATTACH_FILES"] if call.files else []
    may(call, channel, *wanted)


@route("POST", "/channels/{channel}/messages")
def create_message(call, channel):
    world, place = call.world, channel_of(call, channel)
    body = check_body(call, (state.SUPPRESS_EMBEDS, 1 << 12))
    if place.type in (state.CATEGORY, state.FORUM):
        raise state.Refusal(400, 50008, "Cannot send messages in a non-text channel")
    if place.type == state.DM and not all(world.users[one].dms for one in place.recipients):
        raise state.Refusal(403, 50007, "Cannot send messages to this user")
    sending(call, place, body)
    if place.archived:
        if place.locked:
            may(call, place, "MANAGE_THREADS")
        world.archive(place, False)
    nonce = body.get("nonce")
    if nonce is not None and len(str(nonce)) > 25:
        raise state.Refusal(400, 50035, "Invalid Form Body", {"nonce": {"_errors": [
            {"code": "NONCE_TYPE_TOO_LONG", "message": "Must be 25 or fewer in length."}]}})
    key = place.id, str(nonce)
    if nonce is not None and body.get("enforce_nonce"):
        known = world.nonces.get(key)
        if known and world.clock.now() - known[0] <= world.settings["nonce_s"]:
            call.note["nonce_known"] = True
            return world.message_json(known[1])
    reference = body.get("message_reference")
    if reference:
        world.find_message(place, reference.get("message_id", ""))
    message = create(call, place, body, nonce=nonce, flags=body.get("flags") or 0, reference=reference)
    if nonce is not None:
        world.nonces[key] = world.clock.now(), message
    return world.message_json(message)


@route("GET", "/channels/{channel}/messages")
def list_messages(call, channel):
    world, place = call.world, channel_of(call, channel)
    may(call, place)
    limit = int(call.query.get("limit", 50))
    if not 1 <= limit <= 100:
        raise state.Refusal(400, 50035, "Invalid Form Body", {"limit": {"_errors": [
            {"code": "NUMBER_TYPE_MAX", "message": "int value should be between 1 and 100."}]}})
    if not permissions.has(permissions.in_channel(world, place, world.bot.id), "READ_MESSAGE_HISTORY"):
        return 200, []
    shown = [one for one in place.messages.values() if not one.deleted and not one.ephemeral_for]
    if "after" in call.query:
        shown = [one for one in shown if int(one.id) > int(call.query["after"])][:limit]
    elif "before" in call.query:
        shown = [one for one in shown if int(one.id) < int(call.query["before"])]
    return 200, [fetched(world, one) for one in reversed(shown[-limit:])]


def fetched(world, message):
    """A message as it is read later: Discord does not keep its nonce."""
    out = world.message_json(message)
    out.pop("nonce", None)
    return out


@route("GET", "/channels/{channel}/messages/{message}")
def get_message(call, channel, message):
    place = channel_of(call, channel)
    may(call, place, "READ_MESSAGE_HISTORY")
    return fetched(call.world, call.world.find_message(place, message))


@route("PATCH", "/channels/{channel}/messages/{message}")
def edit_message(call, channel, message):
    world, place = call.world, channel_of(call, channel)
    may(call, place)
    found = world.find_message(place, message)
    not_archived(place)
    body = check_body(call, (state.SUPPRESS_EMBEDS, state.EPHEMERAL))
    if found.kind in (state.RECIPIENT_ADDED, state.THREAD_CREATED):
        raise state.Refusal(403, 50021, "Cannot execute action on a system message")
    if found.author is not world.bot:
        raise state.Refusal(403, 50005, "Cannot edit a message authored by another user")
    return world.message_json(change(call, place, found, body))


@route("DELETE", "/channels/{channel}/messages/{message}")
def delete_message(call, channel, message):
    world, place = call.world, channel_of(call, channel)
    may(call, place)
    found = world.find_message(place, message)
    not_archived(place)
    if found.author is not world.bot:
        may(call, place, "MANAGE_MESSAGES")
    remove(world, place, found)
    return None


@route("GET", "/channels/{channel}")
def get_channel(call, channel):
    place = channel_of(call, channel)
    may(call, place)
    return call.world.channel_json(place)


@route("PATCH", "/channels/{channel}")
def edit_channel(call, channel):
    world, place, body, errors = call.world, channel_of(call, channel), call.body or {}, rules.Errors()
    may(call, place)
    if "name" in body:
        rules.check_channel_name(errors, body["name"])
    rules.check_auto_archive(errors, body.get("auto_archive_duration"))
    if isinstance(body.get("topic"), str) and rules.units(body["topic"]) > 1024:
        errors.length("topic", body["topic"], 0, 1024)
    errors.check(world, call.number())
    if place.is_thread:
        edit_thread(call, place, body)
    else:
        may(call, place, "MANAGE_CHANNELS")
        place.name, place.topic = body.get("name", place.name), body.get("topic", place.topic)
        if place.type == state.FORUM and "available_tags" in body:
            place.tags = [{"id": one.get("id") or world.new_id(), "name": one["name"], "moderated": False, "emoji_id": None,
                           "emoji_name": one.get("emoji_name")} for one in body["available_tags"]]
    world.send_event("THREAD_UPDATE" if place.is_thread else "CHANNEL_UPDATE", world.channel_json(place), place)
    return world.channel_json(place)


def edit_thread(call, place, body):
    world = call.world
    manages = permissions.has(permissions.in_channel(world, place, world.bot.id), "MANAGE_THREADS")
    own = place.owner_id == world.bot.id
    if not manages and (not own or body.get("locked") or place.locked):
        raise state.Refusal(403, 50013, "Missing Permissions")
    if place.archived and body.get("archived") is not False and set(body) - {"archived", "locked"}:
        raise state.Refusal(400, 50083, "Thread is archived")
    if "archived" in body:
        world.archive(place, bool(body["archived"]))
    place.locked = bool(body.get("locked", place.locked))
    place.name = body.get("name", place.name)
    place.auto_archive = body.get("auto_archive_duration") or place.auto_archive
    place.tags = body.get("applied_tags", place.tags)
    place.invitable = body.get("invitable", place.invitable)
    place.flags = body.get("flags", place.flags)


@route("DELETE", "/channels/{channel}")
def delete_channel(call, channel):
    world, place = call.world, channel_of(call, channel)
    if place.guild_id:
        may(call, place, "MANAGE_THREADS" if place.is_thread else "MANAGE_CHANNELS")
    out = world.channel_json(place)
    place.deleted, place.archived = True, True
    world.send_event("THREAD_DELETE" if place.is_thread else "CHANNEL_DELETE", out, place)
    return out


# Threads

@route("POST", "/channels/{channel}/threads")
def create_thread(call, channel):
    world, place, body, errors = call.world, channel_of(call, channel), call.body or {}, rules.Errors()
    may(call, place)
    rules.check_channel_name(errors, body.get("name"))
    rules.check_auto_archive(errors, body.get("auto_archive_duration"))
    if place.type == state.FORUM:
        if not isinstance(body.get("message"), dict):
            errors.add("message", "BASE_TYPE_REQUIRED", "This field is required")
        else:
            rules.check_message(errors, world, body["message"], call.files, (state.SUPPRESS_EMBEDS, 1 << 12))
        check_tags(errors, place, body)
    errors.check(world, call.number())
    if place.type == state.FORUM:
        return create_post(call, place, body)
    kind = body.get("type", state.PRIVATE_THREAD)
    if place.type not in (state.TEXT, state.ANNOUNCEMENT) or kind not in (state.PUBLIC_THREAD, state.PRIVATE_THREAD):
        raise state.Refusal(400, 50024, "Cannot execute action on this channel type")
    may(call, place, "CREATE_PRIVATE_THREADS" if kind == state.PRIVATE_THREAD else "CREATE_PUBLIC_THREADS")
    thread = world.add_thread(place, body["name"], kind, world.bot.id, body.get("auto_archive_duration"), bool(body.get("invitable", True)))
    if kind == state.PUBLIC_THREAD:
        world.system_message(place, state.THREAD_CREATED, thread.name)
    return 201, world.channel_json(thread)


def check_tags(errors, forum, body):
    known = {one["id"] for one in forum.tags}
    applied = errors.items("applied_tags", body.get("applied_tags"), 5)
    if set(applied) - known:
        errors.add("applied_tags", "UNKNOWN_TAG", "Unknown tag")
    if forum.flags & 1 << 4 and not applied:
        errors.add("applied_tags", "TAG_REQUIRED", "A tag is required to create a forum post in this channel")


def create_post(call, forum, body):
    world, message = call.world, body["message"]
    wanted = ["SEND_MESSAGES"] + (["EMBED_LINKS"] if message.get("embeds") else []) + (["ATTACH_FILES"] if call.files else [])
    may(call, forum, *wanted)
    refuse_empty(call, (message.get("content") or "").strip(), message.get("embeds"), call.files, message.get("components"))
    thread = world.add_thread(forum, body["name"], state.PUBLIC_THREAD, world.bot.id, body.get("auto_archive_duration"),
                              tags=body.get("applied_tags") or [])
    first = create(call, thread, message, identifier=thread.id)  # the first message of a post has the post's identifier
    return 201, {**world.channel_json(thread), "message": world.message_json(first)}


@route("POST", "/channels/{channel}/messages/{message}/threads")
def create_thread_from_message(call, channel, message):
    world, place, body, errors = call.world, channel_of(call, channel), call.body or {}, rules.Errors()
    may(call, place, "CREATE_PUBLIC_THREADS", "READ_MESSAGE_HISTORY")
    rules.check_channel_name(errors, body.get("name"))
    rules.check_auto_archive(errors, body.get("auto_archive_duration"))
    errors.check(world, call.number())
    found = world.find_message(place, message)
    if found.thread_id:
        raise state.Refusal(400, 160004, "A thread has already been created for this message")
    if place.type not in (state.TEXT, state.ANNOUNCEMENT):
        raise state.Refusal(400, 50024, "Cannot execute action on this channel type")
    thread = world.add_thread(place, body["name"], state.PUBLIC_THREAD, world.bot.id, body.get("auto_archive_duration"), identifier=message)
    found.thread_id = thread.id
    found.flags |= 1 << 5
    return 201, world.channel_json(thread)


def thread_of(call, channel):
    thread = channel_of(call, channel)
    if not thread.is_thread:
        raise state.Refusal(400, 50024, "Cannot execute action on this channel type")
    may(call, thread)
    return thread


@route("PUT", "/channels/{channel}/thread-members/{user}")
def add_thread_member(call, channel, user):
    world, thread = call.world, thread_of(call, channel)
    user = world.bot.id if user == "@me" else user
    not_archived(thread)
    may(call, thread, "SEND_MESSAGES_IN_THREADS")
    if user not in world.guilds[thread.guild_id].members:
        raise state.unknown("Member", 10007)
    # Whom the parent channel is closed to cannot be added.
    if not permissions.has(permissions.in_channel(world, thread, user), "VIEW_CHANNEL"):
        raise state.Refusal(403, 50001, "Missing Access")
    if user not in thread.members:
        thread.members[user] = world.clock.iso()
        world.system_message(thread, state.RECIPIENT_ADDED, mentioned=[user])
    return None


@route("DELETE", "/channels/{channel}/thread-members/{user}")
def remove_thread_member(call, channel, user):
    world, thread = call.world, thread_of(call, channel)
    user = world.bot.id if user == "@me" else user
    not_archived(thread)
    if user != world.bot.id and not (thread.type == state.PRIVATE_THREAD and thread.owner_id == world.bot.id):
        may(call, thread, "MANAGE_THREADS")
    if not thread.members.pop(user, None):
        raise state.unknown("Member", 10007)
    return None


@route("GET", "/channels/{channel}/thread-members/{user}")
def get_thread_member(call, channel, user):
    thread = thread_of(call, channel)
    user = call.world.bot.id if user == "@me" else user
    if user not in thread.members:
        raise state.unknown("Member", 10007)
    return call.world.thread_member_json(thread, user)


@route("GET", "/channels/{channel}/thread-members")
def list_thread_members(call, channel):
    world, thread = call.world, thread_of(call, channel)
    found = sorted((one for one in thread.members if int(one) > int(call.query.get("after", 0))), key=int)
    out = [world.thread_member_json(thread, one) for one in found[:int(call.query.get("limit", 100))]]
    if call.flag("with_member"):
        members = world.guilds[thread.guild_id].members
        out = [{**one, "member": members[one["user_id"]].json()} for one in out if one["user_id"] in members]
    return 200, out


@route("GET", "/channels/{channel}/threads/archived/public")
def list_public_archived(call, channel):
    return archived_threads(call, channel, state.PUBLIC_THREAD)


@route("GET", "/channels/{channel}/threads/archived/private")
def list_private_archived(call, channel):
    may(call, channel_of(call, channel), "MANAGE_THREADS")
    return archived_threads(call, channel, state.PRIVATE_THREAD)


@route("GET", "/channels/{channel}/users/@me/threads/archived/private")
def list_own_archived(call, channel):
    return archived_threads(call, channel, state.PRIVATE_THREAD, call.world.bot.id)


def archived_threads(call, channel, kind, member=None):
    world, place = call.world, channel_of(call, channel)
    may(call, place, "READ_MESSAGE_HISTORY")
    shown = [one for one in world.channels.values() if one.parent_id == place.id and one.type == kind and one.archived and not one.deleted
             and (member is None or member in one.members)]
    shown.sort(key=lambda one: one.archive_time, reverse=True)
    if "before" in call.query:
        before = call.query["before"]  # a time, or (of own private threads) an identifier
        shown = [one for one in shown if (one.archive_time < before if "-" in before else int(one.id) < int(before))]
    limit = int(call.query.get("limit", 50))
    return {**thread_list(world, shown[:limit]), "has_more": len(shown) > limit}


def thread_list(world, threads):
    members = [world.thread_member_json(one, world.bot.id) for one in threads if world.bot.id in one.members]
    return {"threads": [world.channel_json(one) for one in threads], "members": members}
