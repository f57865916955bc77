# SPDX-License-Identifier: MIT
"""Discord's rules for what a bot sends, also those that its official description omits. A body that breaks one is refused
with code 50035 and a tree of errors. Lengths count UTF-16 units, the strictest of the ways in which Discord may count."""
import re

import permissions
import world as state

COMMAND_NAME = re.compile(r"^[-_'\w\u0900-\u097f\u0e00-\u0e7f]{1,32}$")
EMBEDS_TOTAL, CONTENT = 6000, 2000
EMBED_LIMITS = {"title": 256, "description": 4096}
AUTO_ARCHIVE = (60, 1440, 4320, 10080)
SUB, GROUP, STRING, INTEGER, BOOLEAN, USER, CHANNEL, ROLE, MENTIONABLE, NUMBER, ATTACHMENT = range(1, 12)
ROW, BUTTON, SELECT, INPUT, LABEL = 1, 2, 3, 4, 18
SELECTS = (3, 5, 6, 7, 8)


class Errors:
    """Collects what is wrong, by path."""

    def __init__(self):
        self.tree, self.flat = {}, []

    def add(self, path, code, text):
        place = self.tree
        for part in str(path).split("."):
            place = place.setdefault(part, {})
        place.setdefault("_errors", []).append({"code": code, "message": text})
        self.flat.append(f"{path}: {text}")

    def length(self, path, value, least, most):
        if not isinstance(value, str):
            self.add(path, "STRING_TYPE_CONVERT", "Could not interpret a non-string as string.")
            return
        count = units(value)
        if not least <= count <= most:
            self.add(path, "BASE_TYPE_BAD_LENGTH", f"Must be between {least} and {most} in length.")

    def items(self, path, value, most):
        """The value as a list with at most so many items."""
        if value is None:
            return []
        if not isinstance(value, list):
            self.add(path, "BASE_TYPE_LIST", "Only iterables may be used in a ListType")
            return []
        if len(value) > most:
            self.add(path, "BASE_TYPE_MAX_LENGTH", f"Must be {most} or fewer in length.")
        return value

    def check(self, world, request):
        """Refuses the request if something is wrong."""
        if self.flat:
            for text in self.flat:
                world.violate("form", text, request)
            raise state.Refusal(400, 50035, "Invalid Form Body", self.tree)


def units(text):
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def is_id(value):
    return isinstance(value, str) and re.fullmatch(r"\d{1,20}", value)


# Commands

def check_command(errors, path, command):
    kind = command.get("type", 1)
    check_name(errors, f"{path}.name", command.get("name"), kind == 1)
    if kind == 1:
        errors.length(f"{path}.description", command.get("description", ""), 1, 100)
    elif command.get("description"):
        errors.add(f"{path}.description", "APPLICATION_COMMANDS_DESCRIPTION", "Context menu commands cannot have description")
    check_options(errors, f"{path}.options", command.get("options"), 0)
    size = command_size(command)
    if size > 8000:
        errors.add(path, "APPLICATION_COMMAND_TOO_LARGE", "Command exceeds maximum size (8000)")
    bits = command.get("default_member_permissions")
    # A number in requests, as Discord describes itself; clients that send its text are taken, too.
    if bits is not None and (isinstance(bits, bool) or not str(bits).isdigit()):
        errors.add(f"{path}.default_member_permissions", "NUMBER_TYPE_COERCE", "Must be a set of permissions.")


def check_name(errors, path, name, chat):
    if not isinstance(name, str) or not 1 <= units(name) <= 32:
        errors.add(path, "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 32 in length.")
    elif chat and (not COMMAND_NAME.match(name) or name != name.lower()):
        errors.add(path, "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")


def command_size(one):
    """Characters of a command's names, descriptions and values."""
    own = units(str(one.get("name", ""))) + units(str(one.get("description", "")))
    own += sum(units(str(choice.get("name", ""))) + units(str(choice.get("value", ""))) for choice in one.get("choices") or []
               if isinstance(choice, dict))
    return own + sum(command_size(option) for option in one.get("options") or [] if isinstance(option, dict))


def check_options(errors, path, options, depth):
    options = errors.items(path, options, 25)
    seen, optional, kinds = set(), False, set()
    for number, option in enumerate(options):
        here = f"{path}.{number}"
        if not isinstance(option, dict):
            errors.add(here, "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
            continue
        kind = option.get("type")
        check_name(errors, f"{here}.name", option.get("name"), True)
        errors.length(f"{here}.description", option.get("description", ""), 1, 100)
        if option.get("name") in seen:
            errors.add(path, "APPLICATION_COMMAND_OPTIONS_NAME_ALREADY_EXISTS", "Option name already exists")
        seen.add(option.get("name"))
        kinds.add("sub" if kind in (SUB, GROUP) else "value")
        if kind == GROUP and depth or kind == SUB and depth > 1 or kind not in range(1, 12):
            errors.add(f"{here}.type", "APPLICATION_COMMAND_OPTIONS_TYPE_INVALID",
                       "Sub-command and sub-command group options are invalid here")
        if kind in (SUB, GROUP):
            if kind == GROUP and not option.get("options"):
                errors.add(f"{here}.options", "BASE_TYPE_REQUIRED", "This field is required")
            check_options(errors, f"{here}.options", option.get("options"), depth + 1 if kind == GROUP else depth + 2)
            continue
        if option.get("required") and optional:
            errors.add(f"{here}.required", "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID",
                       "Required options must be placed before non-required options")
        optional = optional or not option.get("required")
        check_choices(errors, here, option)
    if len(kinds) > 1:
        errors.add(path, "APPLICATION_COMMAND_OPTIONS_TYPE_INVALID", "Sub-commands and other options cannot be mixed")


def check_choices(errors, path, option):
    choices = errors.items(f"{path}.choices", option.get("choices"), 25)
    if choices and option.get("autocomplete"):
        errors.add(f"{path}.autocomplete", "APPLICATION_COMMAND_AUTOCOMPLETE_CHOICES", "Cannot have choices and autocomplete together")
    if (choices or option.get("autocomplete")) and option.get("type") not in (STRING, INTEGER, NUMBER):
        errors.add(f"{path}.type", "APPLICATION_COMMAND_OPTIONS_TYPE_INVALID", "This type takes no choices")
    check_choice_list(errors, f"{path}.choices", choices)


def check_choice_list(errors, path, choices):
    for number, choice in enumerate(choices):
        if not isinstance(choice, dict):
            errors.add(f"{path}.{number}", "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
            continue
        errors.length(f"{path}.{number}.name", choice.get("name", ""), 1, 100)
        value = choice.get("value")
        if isinstance(value, str):
            errors.length(f"{path}.{number}.value", value, 1, 100)
        elif isinstance(value, bool) or not isinstance(value, (int, float)):
            errors.add(f"{path}.{number}.value", "BASE_TYPE_REQUIRED", "This field is required")


def check_commands(errors, commands):
    """A list for a bulk overwrite."""
    commands = errors.items("commands", commands, 110)
    seen = set()
    for number, command in enumerate(commands):
        if not isinstance(command, dict):
            errors.add(number, "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
            continue
        check_command(errors, number, command)
        key = command.get("type", 1), command.get("name")
        if key in seen:
            errors.add(number, "APPLICATION_COMMANDS_DUPLICATE_NAME", "Application command names must be unique")
        seen.add(key)
    if sum(1 for command in commands if isinstance(command, dict) and command.get("type", 1) == 1) > 100:
        errors.add("commands", "BASE_TYPE_MAX_LENGTH", "Must be 100 or fewer in length.")


# Messages

def check_message(errors, world, body, files, flags=(state.EPHEMERAL, state.SUPPRESS_EMBEDS, 1 << 12)):
    """What all messages have in common; whether one is empty is seen by the one who stores it."""
    if not isinstance(body, dict):
        errors.add("body", "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
        return
    if body.get("content") is not None:
        errors.length("content", body["content"], 0, CONTENT)
    check_embeds(errors, errors.items("embeds", body.get("embeds"), 10))
    check_components(errors, errors.items("components", body.get("components"), 5))
    given = body.get("flags") or 0
    if not isinstance(given, int) or isinstance(given, bool) or given & ~sum(flags):
        errors.add("flags", "BASE_TYPE_BAD_FLAGS", f"These flags cannot be set here: {given}.")
    check_allowed_mentions(errors, body.get("allowed_mentions"))
    check_attachments(errors, world, body, files)


def check_embeds(errors, embeds):
    total = 0
    for number, embed in enumerate(embeds):
        path = f"embeds.{number}"
        if not isinstance(embed, dict):
            errors.add(path, "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
            continue
        texts = [(name, embed.get(name), most, 0) for name, most in EMBED_LIMITS.items()]
        texts.append(("footer.text", (embed.get("footer") or {}).get("text"), 2048, 0))
        texts.append(("author.name", (embed.get("author") or {}).get("name"), 256, 0))
        for place, field in enumerate(errors.items(f"{path}.fields", embed.get("fields"), 25)):
            texts.append((f"fields.{place}.name", field.get("name", ""), 256, 1))
            texts.append((f"fields.{place}.value", field.get("value", ""), 1024, 1))
        for name, text, most, least in texts:
            if text is not None:
                errors.length(f"{path}.{name}", text, least, most)
                total += units(text) if isinstance(text, str) else 0
        color = embed.get("color")
        if color is not None and (not isinstance(color, int) or not 0 <= color <= 0xffffff):
            errors.add(f"{path}.color", "NUMBER_TYPE_MAX", "int value should be less than or equal to 16777215.")
        parts = [embed.get(name) for name in ("title", "description", "fields", "image", "thumbnail", "footer", "author")]
        if not any(parts):
            errors.add(path, "BASE_TYPE_REQUIRED", "An embed must not be empty.")
        for name in ("url", "image.url", "thumbnail.url", "author.url", "author.icon_url", "footer.icon_url"):
            check_url(errors, f"{path}.{name}", embed, name)
    if total > EMBEDS_TOTAL:
        errors.add("embeds", "MAX_EMBED_SIZE_EXCEEDED", f"Embed size exceeds maximum size of {EMBEDS_TOTAL}")


def check_url(errors, path, embed, name):
    outer, _, inner = name.rpartition(".")
    value = ((embed.get(outer) or {}) if outer else embed).get(inner)
    if value is not None and not re.match(r"(https?://[^\s/]+|attachment://[\w.\-]+$)", str(value)):
        errors.add(path, "URL_TYPE_INVALID_URL", "Not a well formed URL.")


def check_components(errors, rows):
    seen = set()
    for number, row in enumerate(rows):
        path = f"components.{number}"
        if not isinstance(row, dict) or row.get("type") != ROW:
            errors.add(f"{path}.type", "UNION_TYPE_CHOICES", "Value of field \"type\" must be one of (1,).")
            continue
        inner = errors.items(f"{path}.components", row.get("components"), 5)
        if not inner:
            errors.add(f"{path}.components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.")
        if any(one.get("type") in SELECTS for one in inner) and len(inner) > 1:
            errors.add(f"{path}.components", "COMPONENT_LAYOUT_WIDTH_EXCEEDED", "The specified component exceeds the maximum width")
        for place, one in enumerate(inner):
            here = f"{path}.components.{place}"
            if one.get("type") == BUTTON:
                check_button(errors, here, one)
            elif one.get("type") in SELECTS:
                check_select(errors, here, one)
            else:
                errors.add(f"{here}.type", "UNION_TYPE_CHOICES", "Value of field \"type\" must be one of (2, 3, 5, 6, 7, 8).")
            key = one.get("custom_id")
            if key is not None and key in seen:
                errors.add(f"{here}.custom_id", "COMPONENT_CUSTOM_ID_DUPLICATED", "Component custom id cannot be duplicated")
            seen.add(key)


def check_button(errors, path, button):
    style = button.get("style")
    if style not in range(1, 7):
        errors.add(f"{path}.style", "BASE_TYPE_CHOICES", "Value must be one of {1, 2, 3, 4, 5, 6}.")
    if style == 5:
        if "custom_id" in button or not str(button.get("url", "")).startswith(("http://", "https://", "discord://")):
            errors.add(f"{path}.url", "BASE_TYPE_REQUIRED", "A link button has a url and no custom_id.")
        errors.length(f"{path}.url", button.get("url", ""), 1, 512)
    else:
        errors.length(f"{path}.custom_id", button.get("custom_id", ""), 1, 100)
        if button.get("url"):
            errors.add(f"{path}.url", "BUTTON_COMPONENT_INVALID_URL", "Only link buttons have a url.")
    if button.get("label") is not None:
        errors.length(f"{path}.label", button["label"], 0, 80)
    if not button.get("label") and not button.get("emoji"):
        errors.add(path, "BUTTON_COMPONENT_NO_LABEL", "A button must have a label or an emoji.")


def check_select(errors, path, select):
    errors.length(f"{path}.custom_id", select.get("custom_id", ""), 1, 100)
    if select.get("placeholder") is not None:
        errors.length(f"{path}.placeholder", select["placeholder"], 0, 150)
    options = errors.items(f"{path}.options", select.get("options"), 25)
    if select.get("type") == SELECT and not options:
        errors.add(f"{path}.options", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 25 in length.")
    values = [one.get("value") for one in options if isinstance(one, dict)]
    if len(set(map(str, values))) != len(values):
        errors.add(f"{path}.options", "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED", "The specified option value is already used")
    for number, option in enumerate(options):
        for name in ("label", "value"):
            errors.length(f"{path}.options.{number}.{name}", option.get(name, ""), 1, 100)
        if option.get("description") is not None:
            errors.length(f"{path}.options.{number}.description", option["description"], 1, 100)
    least, most = select.get("min_values", 1), select.get("max_values", 1)
    least, most = (1 if least is None else least), (1 if most is None else most)
    if not 0 <= least <= 25 or not 1 <= most <= 25 or least > most or (options and most > len(options)):
        errors.add(f"{path}.max_values", "BASE_TYPE_BAD_LENGTH", "min_values and max_values must fit the options.")
    if sum(1 for one in options if one.get("default")) > most:
        errors.add(f"{path}.options", "SELECT_COMPONENT_TOO_MANY_DEFAULTS", "More defaults than max_values")


def check_allowed_mentions(errors, allowed):
    if allowed is None:
        return
    if not isinstance(allowed, dict):
        errors.add("allowed_mentions", "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
        return
    parse = errors.items("allowed_mentions.parse", allowed.get("parse"), 3)
    for one in parse:
        if one not in ("users", "roles", "everyone"):
            errors.add("allowed_mentions.parse", "BASE_TYPE_CHOICES", "Value must be one of ('users', 'roles', 'everyone').")
    for name in ("users", "roles"):
        for one in errors.items(f"allowed_mentions.{name}", allowed.get(name), 100):
            if not is_id(str(one)):
                errors.add(f"allowed_mentions.{name}", "NUMBER_TYPE_COERCE", f"Value \"{one}\" is not snowflake.")
        if allowed.get(name) and name in parse:
            errors.add("allowed_mentions", "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE",
                       f"parse:[\"{name}\"] and {name}: [ids...] are mutually exclusive.")


def check_attachments(errors, world, body, files):
    limits = world.settings
    listed = errors.items("attachments", body.get("attachments"), limits["upload_limit"])
    if len(files) > limits["upload_limit"]:
        errors.add("attachments", "BASE_TYPE_MAX_LENGTH", f"Must be {limits['upload_limit']} or fewer in length.")
    for number, one in enumerate(listed):
        identifier = one.get("id") if isinstance(one, dict) else None
        if not isinstance(identifier, str) and not (limits["integer_ids"] and isinstance(identifier, int)):
            errors.add(f"attachments.{number}.id", "STRING_TYPE_CONVERT", "The identifier must be a string.")
        elif not str(identifier).isdigit() or (str(identifier) not in files and str(identifier) not in world.files):
            errors.add(f"attachments.{number}.id", "ATTACHMENT_NOT_FOUND", f"There is no file {identifier}.")
        elif one.get("description") is not None:
            errors.length(f"attachments.{number}.description", one["description"], 0, 1024)
    names = {file["name"] for file in files.values()} | {world.files[str(one.get("id"))]["filename"] for one in listed
                                                         if isinstance(one, dict) and str(one.get("id")) in world.files}
    for name in re.findall(r"'attachment://([^']*)'", str(body.get("embeds"))):
        if name not in names:
            errors.add("embeds", "ATTACHMENT_NOT_FOUND", f"No file is named {name}.")


# Modals, threads, channels

def check_modal(errors, data):
    errors.length("data.custom_id", data.get("custom_id", ""), 1, 100)
    errors.length("data.title", data.get("title", ""), 1, 45)
    rows = errors.items("data.components", data.get("components"), 5)
    if not rows:
        errors.add("data.components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.")
    seen = set()
    for number, (row, one) in enumerate(modal_fields(rows)):
        path = f"data.components.{number}"
        if row.get("type") == LABEL:
            errors.length(f"{path}.label", row.get("label", ""), 1, 45)
        if one.get("type") in SELECTS and row.get("type") == LABEL:
            check_select(errors, path, one)
        elif one.get("type") != INPUT:
            errors.add(f"{path}.type", "UNION_TYPE_CHOICES", "Value of field \"type\" must be one of (4,).")
            continue
        else:
            check_input(errors, path, row, one)
        if one.get("custom_id") in seen:
            errors.add(f"{path}.custom_id", "COMPONENT_CUSTOM_ID_DUPLICATED", "Component custom id cannot be duplicated")
        seen.add(one.get("custom_id"))


def check_input(errors, path, row, one):
    errors.length(f"{path}.custom_id", one.get("custom_id", ""), 1, 100)
    if row.get("type") == ROW:
        errors.length(f"{path}.label", one.get("label") or "", 1, 45)
    if one.get("style") not in (1, 2):
        errors.add(f"{path}.style", "BASE_TYPE_CHOICES", "Value must be one of {1, 2}.")
    if one.get("placeholder") is not None:
        errors.length(f"{path}.placeholder", one["placeholder"], 0, 100)
    if one.get("value") is not None:
        errors.length(f"{path}.value", one["value"], 0, 4000)
    least, most = one.get("min_length"), one.get("max_length")
    if not 0 <= (least or 0) <= 4000 or not 1 <= (4000 if most is None else most) <= 4000:
        errors.add(f"{path}.max_length", "NUMBER_TYPE_MAX", "int value should be less than or equal to 4000.")


def modal_fields(rows):
    """(row or label, input) of each field of a modal."""
    for row in rows:
        if not isinstance(row, dict):
            yield {}, {}
        elif row.get("type") == ROW and isinstance(row.get("components"), list) and len(row["components"]) == 1:
            yield row, row["components"][0]
        elif row.get("type") == LABEL and isinstance(row.get("component"), dict):
            yield row, row["component"]
        elif row.get("type") != 10:
            yield row, {}


def check_channel_name(errors, name):
    errors.length("name", name if isinstance(name, str) else "", 1, 100)


def check_auto_archive(errors, value):
    if value is not None and value not in AUTO_ARCHIVE:
        errors.add("auto_archive_duration", "BASE_TYPE_CHOICES", "Value must be one of (60, 1440, 4320, 10080).")


def need(world, channel, user_id, *wanted):
    """Refuses what the user may not do there, as Discord does."""
    bits = permissions.in_channel(world, channel, user_id)
    if not permissions.sees(world, channel, user_id):
        raise state.Refusal(403, 50001, "Missing Access")
    if not permissions.has(bits, *wanted):
        raise state.Refusal(403, 50013, "Missing Permissions")
