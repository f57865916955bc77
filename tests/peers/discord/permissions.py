# SPDX-License-Identifier: MIT
"""Discord's permissions: their bits, and what a member may do in a channel."""

BITS = {"CREATE_INSTANT_INVITE": 0, "KICK_MEMBERS": 1, "BAN_MEMBERS": 2, "ADMINISTRATOR": 3, "MANAGE_CHANNELS": 4, "MANAGE_GUILD": 5,
        "ADD_REACTIONS": 6, "VIEW_AUDIT_LOG": 7, "VIEW_CHANNEL": 10, "SEND_MESSAGES": 11, "MANAGE_MESSAGES": 13, "EMBED_LINKS": 14,
        "ATTACH_FILES": 15, "READ_MESSAGE_HISTORY": 16, "MENTION_EVERYONE": 17, "USE_EXTERNAL_EMOJIS": 18, "CHANGE_NICKNAME": 26,
        "MANAGE_NICKNAMES": 27, "MANAGE_ROLES": 28, "MANAGE_WEBHOOKS": 29, "USE_APPLICATION_COMMANDS": 31, "MANAGE_THREADS": 34,
        "CREATE_PUBLIC_THREADS": 35, "CREATE_PRIVATE_THREADS": 36, "SEND_MESSAGES_IN_THREADS": 38, "MODERATE_MEMBERS": 40}
ALL = (1 << 50) - 1
EVERYONE = ("VIEW_CHANNEL", "SEND_MESSAGES", "READ_MESSAGE_HISTORY", "USE_APPLICATION_COMMANDS", "EMBED_LINKS", "ATTACH_FILES",
            "ADD_REACTIONS", "SEND_MESSAGES_IN_THREADS", "CREATE_PUBLIC_THREADS", "CREATE_PRIVATE_THREADS")
BOT = ("VIEW_CHANNEL", "SEND_MESSAGES", "SEND_MESSAGES_IN_THREADS", "CREATE_PUBLIC_THREADS", "CREATE_PRIVATE_THREADS", "EMBED_LINKS",
       "ATTACH_FILES", "READ_MESSAGE_HISTORY", "MANAGE_THREADS")


def mask(given):
    """Bits of a list of names, or of a number as Discord writes it."""
    if isinstance(given, (int, str)):
        return int(given)
    return sum(1 << BITS[name] for name in set(given))


def names(bits):
    return [name for name, bit in BITS.items() if bits >> bit & 1]


def has(bits, *wanted):
    return all(bits >> BITS[name] & 1 for name in wanted)


def in_guild(guild, user_id):
    """A member's permissions without regard to a channel."""
    if guild.owner_id == user_id:
        return ALL
    member = guild.members.get(user_id)
    if not member:
        return 0
    bits = guild.roles[guild.id]["permissions"]
    for role in member.roles:
        if role in guild.roles:
            bits |= guild.roles[role]["permissions"]
    return ALL if has(bits, "ADMINISTRATOR") else bits


def in_channel(world, channel, user_id):
    """A member's permissions in a channel; in a thread they are those in its parent."""
    if not channel.guild_id:
        return ALL if user_id in channel.recipients else 0
    guild = world.guilds[channel.guild_id]
    bits = in_guild(guild, user_id)
    if bits == ALL or user_id not in guild.members:
        return bits
    place = world.channels.get(channel.parent_id) if channel.is_thread else channel
    if not place:
        return 0
    own = guild.members[user_id].roles
    rules = {rule["id"]: rule for rule in place.overwrites}
    layers = [[guild.id], [role for role in own if role in rules], [user_id]]
    for layer in layers:
        chosen = [rules[one] for one in layer if one in rules]
        for rule in chosen:
            bits &= ~int(rule.get("deny", 0))
        for rule in chosen:
            bits |= int(rule.get("allow", 0))
    return bits if has(bits, "VIEW_CHANNEL") else 0


def sees(world, channel, user_id):
    """Whether the channel is shown to the user: a private thread only to its members and to those that manage threads."""
    bits = in_channel(world, channel, user_id)
    if not has(bits, "VIEW_CHANNEL"):
        return False
    return channel.type != 12 or user_id in channel.members or has(bits, "MANAGE_THREADS")
