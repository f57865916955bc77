# SPDX-License-Identifier: MIT
"""What users do in their client, which lets through only what Discord's client would: commands, buttons, menus, forms."""
import base64

import interactions
import permissions
import rules
import world as state


class Impossible(Exception):
    """Something that Discord's client would not let a user do."""


class Users:
    def __init__(self, world, interactions_):
        self.world, self.interactions = world, interactions_

    def place(self, given):
        """(user, guild, channel) of an action; one that is not unchecked takes a member who sees the channel."""
        user = self.world.find_user(given["user"])
        channel = self.world.find_channel(given["channel"]) if "channel" in given else next(
            one for one in self.world.channels.values() if one.type == state.TEXT and not one.deleted)
        guild = self.world.guilds.get(channel.guild_id)
        if not given.get("unchecked"):
            if guild and user.id not in guild.members:
                raise Impossible(f"{user.name} is no member of {guild.name}")
            if not permissions.sees(self.world, channel, user.id):
                raise Impossible(f"{user.name} does not see {channel.name}")
        return user, guild, channel

    def find_command(self, words, guild, user, channel, unchecked):
        """(command, the options on the way to the last word, the options that this one takes)"""
        scopes = list(self.world.commands) if unchecked else [None, guild.id if guild else None]
        registered = {key: one for scope in scopes for key, one in self.world.commands.get(scope, {}).items()}
        command = registered.get(f"1 {words[0]}")
        if not command:
            raise Impossible(f"there is no command /{words[0]}")
        needed = command.get("default_member_permissions")
        member = guild.members.get(user.id) if guild else None
        named = member and self.world.command_roles.get(command["name"], set()) & set(member.roles)
        if not unchecked and needed is not None and guild and not named:
            bits = permissions.in_channel(self.world, channel, user.id)
            if int(needed) & ~bits or int(needed) == 0 and not permissions.has(bits, "ADMINISTRATOR"):
                raise Impossible(f"/{words[0]} is not shown to {user.name}")
        if not unchecked and not permissions.has(permissions.in_channel(self.world, channel, user.id), "USE_APPLICATION_COMMANDS"):
            raise Impossible(f"{user.name} may not use commands in {channel.name}")
        options, path = command.get("options", []), []
        for word in words[1:]:
            found = next((one for one in options if one["name"] == word and one["type"] in (rules.SUB, rules.GROUP)), None)
            if not found:
                raise Impossible(f"there is no command /{' '.join(words)}")
            path.append(found)
            options = found.get("options", [])
        if any(one["type"] in (rules.SUB, rules.GROUP) for one in options):
            raise Impossible(f"/{' '.join(words)} needs a sub-command: {', '.join(one['name'] for one in options)}")
        return command, path, options

    def value(self, kind, given, guild, resolved):
        """An option's value; what it refers to comes into resolved."""
        world = self.world
        if kind == rules.ATTACHMENT:
            data = base64.b64decode(given["base64"]) if "base64" in given else given.get("content", "").encode()
            file = world.add_file("uploads", given["filename"], data, size=given.get("size"), fault=given.get("fault"),
                                  kind=given.get("content_type"))
            if given.get("keep_name"):
                file["filename"] = given["filename"]
            resolved.setdefault("attachments", {})[file["id"]] = {**world.file_json(file["id"], True), **given.get("lies", {})}
            return file["id"]
        if kind in (rules.USER, rules.MENTIONABLE):
            user = world.find_user(given)
            resolved.setdefault("users", {})[user.id] = user.json()
            if guild and user.id in guild.members:
                member = guild.members[user.id].json()
                member.pop("user")
                resolved.setdefault("members", {})[user.id] = {**member, "permissions": str(permissions.in_guild(guild, user.id))}
            return user.id
        if kind == rules.ROLE:
            role = world.find_role(guild, given)
            resolved.setdefault("roles", {})[role] = guild.role_json(guild.roles[role])
            return role
        if kind == rules.CHANNEL:
            channel = world.find_channel(given)
            resolved.setdefault("channels", {})[channel.id] = {**world.channel_json(channel), "permissions": "0"}
            return channel.id
        return given

    def command(self, given, focused=None):
        """A slash command, or what is typed of one."""
        user, guild, channel = self.place(given)
        unchecked, values = given.get("unchecked", False), dict(given.get("options", {}))
        command, path, declared = self.find_command(given["command"].split(), guild, user, channel, unchecked)
        resolved, options = {}, []
        for option in declared:
            if option["name"] not in values:
                if option.get("required") and focused is None and not unchecked:
                    raise Impossible(f"the option {option['name']} is required")
                continue
            value = values.pop(option["name"])
            if not unchecked and option["name"] != focused:
                self.check_value(option, value)
            one = {"name": option["name"], "type": option["type"], "value": self.value(option["type"], value, guild, resolved)}
            if option["name"] == focused:
                one["focused"] = True
                if not option.get("autocomplete"):
                    raise Impossible(f"the option {focused} does not complete")
            options.append(one)
        if values and not unchecked:
            raise Impossible(f"there is no option {', '.join(values)}")
        options += [{"name": name, "type": rules.STRING, "value": value} for name, value in values.items()]
        for part in reversed(path):
            options = [{"name": part["name"], "type": part["type"], "options": options}]
        data = {"id": command["id"], "name": command["name"], "type": 1, "options": options}
        if given["command"] and guild and f"1 {command['name']}" in self.world.commands.get(guild.id, {}):
            data["guild_id"] = guild.id
        if resolved:
            data["resolved"] = resolved
        kind = interactions.AUTOCOMPLETE if focused is not None else interactions.COMMAND
        return self.interactions.begin(kind, user, guild, channel, data, raw=given.get("raw"))

    def check_value(self, option, value):
        kind, name = option["type"], option["name"]
        fits = {rules.INTEGER: int, rules.BOOLEAN: bool, rules.NUMBER: (int, float), rules.ATTACHMENT: dict}.get(kind, str)
        if not isinstance(value, fits) or kind == rules.INTEGER and isinstance(value, bool):
            raise Impossible(f"the option {name} takes no {value!r}")
        if option.get("choices") and value not in [one["value"] for one in option["choices"]]:
            raise Impossible(f"the option {name} does not offer {value!r}")
        size = len(value) if isinstance(value, str) else value
        for low, high in (("min_length", "max_length"), ("min_value", "max_value")):
            if isinstance(size, (int, float)) and not option.get(low, size) <= size <= option.get(high, size):
                raise Impossible(f"the option {name} takes no {value!r}")
        if kind == rules.STRING and len(value) > 6000:
            raise Impossible(f"the option {name} takes at most 6000 characters")

    def component(self, given, wanted):
        """(user, message, component) that a user sees and may use."""
        channel, message = self.world.any_message(given["message"])
        user = self.world.find_user(given["user"])
        if not given.get("unchecked"):
            if message.deleted or message.ephemeral_for not in (None, user.id) or not permissions.sees(self.world, channel, user.id):
                raise Impossible(f"{user.name} does not see that message")
        found = [one for row in message.components for one in row["components"]
                 if ("custom_id" not in given or one.get("custom_id") == given["custom_id"])
                 and ("label" not in given or one.get("label") == given["label"]) and one["type"] in wanted and one.get("style") != 5]
        if given.get("unchecked") and "custom_id" in given and not found:
            found = [{"type": wanted[0], "custom_id": given["custom_id"]}]
        if len(found) != 1:
            has = [one.get("label") or one.get("custom_id") for row in message.components for one in row["components"]]
            raise Impossible(f"{len(found)} components fit; the message has {has}")
        if found[0].get("disabled") and not given.get("unchecked"):
            raise Impossible("that component is disabled")
        return user, channel, message, found[0]

    def press(self, given):
        user, channel, message, one = self.component(given, (rules.BUTTON,))
        data = {"component_type": rules.BUTTON, "custom_id": one["custom_id"], "id": one.get("id", 1)}
        return self.use(given, user, channel, message, data)

    def select(self, given):
        user, channel, message, one = self.component(given, rules.SELECTS)
        values = given.get("values", [])
        if "labels" in given:
            by_label = {option["label"]: option["value"] for option in one.get("options", [])}
            missing = [label for label in given["labels"] if label not in by_label]
            if missing:
                raise Impossible(f"the menu has no {missing}, but {list(by_label)}")
            values = [by_label[label] for label in given["labels"]]
        if not given.get("unchecked"):
            offered = [option["value"] for option in one.get("options", [])]
            if one["type"] == rules.SELECT and set(values) - set(offered):
                raise Impossible(f"the menu offers {offered}")
            if not one["min_values"] <= len(values) <= one["max_values"]:
                raise Impossible(f"the menu takes {one['min_values']} to {one['max_values']} choices")
        data = {"component_type": one["type"], "custom_id": one["custom_id"], "values": values, "id": one.get("id", 1)}
        if one["type"] == rules.SELECT + 2:
            data["resolved"] = {"users": {user.id: user.json() for user in map(self.world.find_user, values)}}
        return self.use(given, user, channel, message, data)

    def use(self, given, user, channel, message, data):
        guild = self.world.guilds.get(channel.guild_id)
        return self.interactions.begin(interactions.COMPONENT, user, guild, channel, data, message, given.get("raw"))

    def modal(self, given):
        """Submits the form that an interaction was answered with."""
        source = self.world.interactions[str(given["interaction"])]
        if not source.modal:
            raise Impossible("that interaction shows no form")
        values, rows = dict(given.get("values", {})), []
        for row, one in rules.modal_fields(source.modal["components"]):
            value = values.pop(one["custom_id"], one.get("value") or "")
            if not given.get("unchecked"):
                self.check_field(row, one, value)
            field = {"type": one["type"], "custom_id": one["custom_id"], "id": one.get("id", 1)}
            field["values" if one["type"] in rules.SELECTS else "value"] = value
            rows.append({"type": row["type"], "id": 1, **({"component": field} if row["type"] == rules.LABEL else {"components": [field]})})
        if values:
            raise Impossible(f"the form has no {', '.join(values)}")
        user = self.world.find_user(given.get("user", source.user.id))
        data = {"custom_id": source.modal["custom_id"], "components": rows}
        return self.interactions.begin(interactions.MODAL, user, source.guild, source.channel, data, source.message,
                                       given.get("raw"), source)

    @staticmethod
    def check_field(row, one, value):
        if one["type"] == rules.INPUT:
            required = one.get("required", True)
            least = max(one.get("min_length") or 0, int(required))
            if (value or required) and not least <= len(value) <= one.get("max_length", 4000):
                raise Impossible(f"the field {one['custom_id']} takes no {value!r}")

    def raw(self, given):
        """An interaction as the test writes it: kind, data, and whatever else is to be different in the payload."""
        user, guild, channel = self.place({**given, "unchecked": True})
        message = self.world.any_message(given["message"])[1] if "message" in given else None
        if guild and user.id not in guild.members:
            guild = None
        return self.interactions.begin(given["kind"], user, guild, channel, given.get("data", {}), message, given.get("raw", {}))

    def say(self, given):
        """A user writes a message."""
        user, _, channel = self.place(given)
        message = self.world.add_message(channel, user, content=given["content"])
        self.world.send_event("MESSAGE_CREATE", self.world.event_json(message, channel), channel)
        return message
