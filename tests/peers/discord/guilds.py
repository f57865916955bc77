# SPDX-License-Identifier: MIT
"""REST: guilds with their roles, members and channels; commands; the bot itself; the address of the gateway."""
import permissions
import rules
import world as state
from messages import thread_list
from rest import route


def guild_of(call, identifier):
    found = call.world.guilds.get(identifier)
    if not found:
        raise state.unknown("Guild", 10004)
    if not found.has_bot:
        raise state.Refusal(403, 50001, "Missing Access")
    return found


def need_in_guild(call, guild, *wanted):
    if not permissions.has(permissions.in_guild(guild, call.world.bot.id), *wanted):
        raise state.Refusal(403, 50013, "Missing Permissions")


@route("GET", "/guilds/{guild}")
def get_guild(call, guild):
    return call.world.guild_json(guild_of(call, guild))


@route("GET", "/guilds/{guild}/roles")
def list_roles(call, guild):
    found = guild_of(call, guild)
    return 200, [found.role_json(one) for one in found.roles.values()]


@route("POST", "/guilds/{guild}/roles")
def create_role(call, guild):
    world, found, body, errors = call.world, guild_of(call, guild), call.body or {}, rules.Errors()
    errors.length("name", body.get("name", "new role"), 1, 100)
    errors.check(world, call.number())
    need_in_guild(call, found, "MANAGE_ROLES")
    bits = int(body.get("permissions") or 0)
    if bits & ~permissions.in_guild(found, world.bot.id):
        raise state.Refusal(403, 50013, "Missing Permissions")
    role = world.add_role(found, body.get("name", "new role"), bits, color=body.get("color") or 0,
                          mentionable=bool(body.get("mentionable")))
    world.send_event("GUILD_ROLE_CREATE", {"guild_id": found.id, "role": found.role_json(role)})
    return found.role_json(role)


@route("GET", "/guilds/{guild}/channels")
def list_channels(call, guild):
    found = guild_of(call, guild)
    return 200, [call.world.channel_json(one) for one in call.world.guild_channels(found)]


@route("POST", "/guilds/{guild}/channels")
def create_channel(call, guild):
    world, found, body, errors = call.world, guild_of(call, guild), call.body or {}, rules.Errors()
    rules.check_channel_name(errors, body.get("name"))
    kind = body.get("type", state.TEXT)
    if kind not in state.TYPES.values():
        errors.add("type", "BASE_TYPE_CHOICES", "Value must be one of (0, 2, 4, 5, 15).")
    if isinstance(body.get("topic"), str):
        errors.length("topic", body["topic"], 0, 4096 if kind == state.FORUM else 1024)
    errors.check(world, call.number())
    need_in_guild(call, found, "MANAGE_CHANNELS")
    rules_ = [{"id": str(one["id"]), "type": one.get("type", 0), "allow": int(one.get("allow") or 0), "deny": int(one.get("deny") or 0)}
              for one in body.get("permission_overwrites") or []]
    channel = world.add_channel(found, body["name"], kind, topic=body.get("topic"), parent_id=body.get("parent_id"), overwrites=rules_)
    world.send_event("CHANNEL_CREATE", world.channel_json(channel), channel)
    return 201, world.channel_json(channel)


@route("GET", "/guilds/{guild}/members/{user}")
def get_member(call, guild, user):
    found = guild_of(call, guild)
    if user not in found.members:
        raise state.unknown("Member", 10007)
    return found.members[user].json()


@route("PUT", "/guilds/{guild}/members/{user}/roles/{role}")
def add_member_role(call, guild, user, role):
    return change_roles(call, guild, user, role, True)


@route("DELETE", "/guilds/{guild}/members/{user}/roles/{role}")
def remove_member_role(call, guild, user, role):
    return change_roles(call, guild, user, role, False)


def change_roles(call, guild, user, role, wanted):
    found = guild_of(call, guild)
    need_in_guild(call, found, "MANAGE_ROLES")
    if user not in found.members:
        raise state.unknown("Member", 10007)
    if role not in found.roles:
        raise state.unknown("Role", 10011)
    own = found.members[user].roles
    if wanted and role not in own:
        own.append(role)
    elif not wanted and role in own:
        own.remove(role)
    return None


@route("GET", "/guilds/{guild}/threads/active")
def list_active_threads(call, guild):
    world, found = call.world, guild_of(call, guild)
    shown = [one for one in world.active_threads(found) if permissions.sees(world, one, world.bot.id)]
    return thread_list(world, shown)


@route("POST", "/users/@me/channels")
def create_dm(call):
    world = call.world
    user = world.users.get(str((call.body or {}).get("recipient_id")))
    if not user or user.bot:
        raise state.Refusal(400, 50033, "Invalid Recipient(s)")
    return world.channel_json(world.direct_channel(user))


# Commands

def scope_of(call, application, guild):
    if application != call.world.application_id:
        raise state.Refusal(403, 20012, "You are not authorized to perform this action on this application")
    if guild:
        guild_of(call, guild)
    return call.world.commands.setdefault(guild, {})


def command_json(call, command, guild, full=True):
    defaults = {"type": 1, "description": "", "default_member_permissions": None, "nsfw": False, "name_localizations": None,
                "description_localizations": None, "options": []}
    out = {**defaults, **command, "application_id": call.world.application_id}
    if out["default_member_permissions"] is not None:
        out["default_member_permissions"] = str(out["default_member_permissions"])
    if guild:
        out["guild_id"] = guild
    else:
        out.setdefault("dm_permission", True)
        out.setdefault("contexts", None)
        out.setdefault("integration_types", [0])
    if not out["options"]:
        out.pop("options")
    if not full:
        out.pop("name_localizations")
        out.pop("description_localizations")
    return out


def plain(command):
    """A command or an option as Discord keeps it: without what says nothing."""
    out = {key: value for key, value in command.items() if value not in (None, False, []) or value == 0 and value is not False}
    if "options" in out:
        out["options"] = [plain(option) for option in out["options"]]
    return out


def store_command(call, body, guild, before=None):
    """Keeps a command; the version changes with it."""
    own = {key: value for key, value in plain(body).items() if key not in ("id", "application_id", "guild_id", "version")}
    if before and {key: before[key] for key in before if key not in ("id", "version")} == own:
        return before
    if not before:
        call.world.settings["commands_created"] = call.world.settings.get("commands_created", 0) + 1
    return {**own, "id": before["id"] if before else call.world.new_id(), "version": call.world.new_id()}


def key_of(body):
    return f"{body.get('type') or 1} {body['name']}"


def get_commands(call, application, guild=None):
    own = scope_of(call, application, guild)
    return 200, [command_json(call, one, guild, call.flag("with_localizations")) for one in own.values()]


def put_commands(call, application, guild=None):
    own, errors = scope_of(call, application, guild), rules.Errors()
    rules.check_commands(errors, call.body)
    errors.check(call.world, call.number())
    new = {key_of(one): store_command(call, one, guild, own.get(key_of(one))) for one in call.body or []}
    own.clear()
    own.update(new)
    return 200, [command_json(call, one, guild) for one in own.values()]


def post_command(call, application, guild=None):
    own, errors = scope_of(call, application, guild), rules.Errors()
    rules.check_command(errors, "command", call.body or {})
    errors.check(call.world, call.number())
    key = key_of(call.body)
    known = key in own
    own[key] = store_command(call, call.body, guild, own.get(key))
    return (200 if known else 201), command_json(call, own[key], guild)


for method, handler in (("GET", get_commands), ("PUT", put_commands), ("POST", post_command)):
    route(method, "/applications/{application}/guilds/{guild}/commands")(handler)
    route(method, "/applications/{application}/commands")(handler)


# The bot itself

@route("GET", "/users/@me")
def get_me(call):
    return {**call.world.bot.json(), "email": None, "verified": True, "mfa_enabled": False, "flags": 0, "locale": "en-US"}


@route("PATCH", "/users/@me")
def edit_me(call):
    errors, body = rules.Errors(), call.body or {}
    if "username" in body:
        errors.length("username", body["username"], 2, 32)
    errors.check(call.world, call.number())
    call.world.bot.name = body.get("username", call.world.bot.name)
    return get_me(call)


@route("GET", "/applications/@me")
def get_application(call):
    world = call.world
    return {"id": world.application_id, "name": world.bot.name, "icon": None, "description": world.application["description"],
            "summary": "", "bot_public": False, "bot_require_code_grant": False, "verify_key": world.public_key, "flags": 0,
            "interactions_endpoint_url": world.application["interactions_endpoint_url"], "hook": True, "type": None, "team": None,
            "owner": {**next((user for user in world.users.values() if not user.bot), world.bot).json()}, "bot": world.bot.json(),
            "integration_types_config": {"0": {}}, "approximate_guild_count": len(world.guilds),
            "approximate_user_install_count": 0, "redirect_uris": [],
            "terms_of_service_url": None, "privacy_policy_url": None, "role_connections_verification_url": None,
            "cover_image": None, "rpc_origins": [], "tags": []}


route("GET", "/oauth2/applications/@me")(get_application)


@route("PATCH", "/applications/@me")
async def edit_application(call):
    world, body = call.world, call.body or {}
    if body.get("interactions_endpoint_url"):
        problem = await call.api.interactions.try_endpoint(body["interactions_endpoint_url"])
        if problem:
            raise state.Refusal(400, 50035, "Invalid Form Body", {"interactions_endpoint_url": {"_errors": [
                {"code": "APPLICATION_INTERACTIONS_ENDPOINT_URL_INVALID",
                 "message": f"The specified interactions endpoint URL could not be verified. {problem}"}]}})
    for name in ("description", "interactions_endpoint_url"):
        if name in body:
            world.application[name] = body[name]
    world.settings["endpoint"] = world.application["interactions_endpoint_url"]
    return get_application(call)


@route("GET", "/gateway/bot")
def get_gateway_bot(call):
    return {"url": call.api.gateway.url(), "shards": 1, "session_start_limit": call.api.gateway.limit_json()}


@route("GET", "/gateway", open=True)
def get_gateway(call):
    return {"url": call.api.gateway.url()}
