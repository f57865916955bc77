# SPDX-License-Identifier: MIT
"""Conversations as a page: what participants see, with Discord's Markdown, embeds, buttons and menus. The page needs nothing else."""
import base64
import datetime
import html
import mimetypes
import re

import permissions
import world as state

STYLE = """
body{background:#313338;color:#dbdee1;font:16px/1.4 "Noto Sans","Helvetica Neue",Helvetica,Arial,sans-serif;margin:0;padding:24px}
h1{font-size:22px;margin:0 0 16px}h2{font-size:17px;margin:32px 0 8px;padding:8px 12px;background:#2b2d31;border-radius:6px}
h2 small{color:#949ba4;font-weight:400}.m{display:flex;gap:14px;padding:6px 12px;border-radius:6px;max-width:860px}
.m.e{background:#3b3f56}.m.d{opacity:.45}
.a{flex:0 0 38px;height:38px;border-radius:50%;background:#5865f2;color:#fff;text-align:center;line-height:38px;font-weight:700}
.b{min-width:0;flex:1}.n{font-weight:600;color:#f2f3f5}.n small{color:#949ba4;font-weight:400;margin-left:6px}
.bot{background:#5865f2;color:#fff;border-radius:3px;font-size:11px;padding:1px 4px;margin-left:5px}
.c{overflow-wrap:anywhere;white-space:pre-wrap}.c h3,.c h4,.c h5{margin:6px 0}.x{color:#949ba4;font-size:13px}
pre{background:#2b2d31;border:1px solid #1e1f22;border-radius:4px;padding:8px;margin:4px 0;overflow-x:auto;font:14px/1.3 "DejaVu Sans Mono",Consolas,monospace;white-space:pre}
code{background:#2b2d31;border-radius:3px;padding:1px 4px;font:14px "DejaVu Sans Mono",Consolas,monospace}
blockquote{border-left:4px solid #4e5058;margin:0;padding-left:10px}
.men{background:#3c4270;color:#c9cdfb;border-radius:3px;padding:0 2px}.men.p{background:#a12d2f;color:#fff}
.sp{background:#1e1f22;border-radius:3px;padding:0 2px}.t{background:#3f4147;border-radius:3px;padding:0 2px}a{color:#00a8fc}
.em{background:#2b2d31;border-left:4px solid #1e1f22;border-radius:4px;padding:10px 14px;margin:6px 0;max-width:520px}
.em b.ti{display:block;color:#f2f3f5}.fs{display:flex;flex-wrap:wrap;gap:8px}.f{flex:1 0 100%}.f.i{flex:1 0 30%}
.f b{display:block;font-size:14px}.em img{max-width:100%;margin-top:8px}.r{margin:6px 0;display:flex;flex-wrap:wrap;gap:8px}
.bt{border-radius:4px;padding:5px 14px;background:#4e5058;color:#fff;font-size:14px}.bt.s1{background:#5865f2}
.bt.s3{background:#248046}.bt.s4{background:#da373c}.bt.off{opacity:.45}
.se{border:1px solid #1e1f22;background:#1e1f22;border-radius:4px;padding:7px 12px;min-width:280px;font-size:14px}
.se ul{margin:4px 0 0;padding-left:18px;color:#b5bac1}
.fi{background:#2b2d31;border:1px solid #1e1f22;border-radius:6px;padding:8px 12px;margin:6px 0;max-width:420px}
.fo{background:#2b2d31;border-radius:6px;padding:10px 14px;margin:6px 0 6px 52px;max-width:440px}.side{margin-left:52px}
hr{border:0;border-top:1px solid #4e5058;margin:4px 0}
.no{color:#f23f43;margin:4px 0 4px 52px}
"""
TOKENS = re.compile(r"(?P<tick>`+)(?P<code>.+?)(?P=tick)(?!`)|\\(?P<esc>[^A-Za-z0-9\s])"
                    r"|<@!?(?P<user>\d+)>|<@&(?P<role>\d+)>|<#(?P<chan>\d+)>|(?P<every>@everyone|@here)|<t:(?P<time>-?\d+)(?::(?P<style>[tTdDfFR]))?>"
                    r"|<a?:(?P<emoji>\w+):\d+>|\[(?P<text>[^\]\n]+)\]\(<?(?P<href>https?://[^\s)>]+)>?\)|<?(?P<url>https?://[^\s<>]+)>?"
                    r"|(?P<mark>\*\*\*|\*\*|__|~~|\|\||\*|_)", re.S)
MARKS = {"**": ("<b>", "</b>"), "***": ("<b><i>", "</i></b>"), "__": ("<u>", "</u>"), "~~": ("<s>", "</s>"), "*": ("<i>", "</i>"),
         "_": ("<i>", "</i>"), "||": ('<span class="sp" title="spoiler">', "</span>")}
TIMES = {"t": "%H:%M", "T": "%H:%M:%S", "d": "%d/%m/%Y", "D": "%d %B %Y", "F": "%A, %d %B %Y %H:%M"}
COMMAND, COMPONENT = 2, 3


class Markdown:
    def __init__(self, world, channel, pings):
        self.world, self.channel, self.pings = world, channel, pings or {}

    def text(self, source):
        """A message's text as HTML: code blocks first, then line by line."""
        out, last = [], 0
        for found in re.finditer(r"```(?:([A-Za-z0-9_+.#-]+)\n)?\n?(.*?)\n?```", source, re.S):
            out.append(self.lines(source[last:found.start()]))
            out.append(f"<pre title=\"{html.escape(found.group(1) or '')}\">{html.escape(found.group(2))}</pre>")
            last = found.end() + (source[found.end():found.end() + 1] == "\n")
        return "".join(out) + self.lines(source[last:])

    def lines(self, source):
        out = []
        for line in source.split("\n"):
            head = re.match(r"(#{1,3}|-#|>|[-*]) +(.*)", line)
            if not head:
                out.append(self.inline(line) + "\n")
            elif head.group(1).startswith("#"):
                level = len(head.group(1)) + 2
                out.append(f"<h{level}>{self.inline(head.group(2))}</h{level}>")
            elif head.group(1) == "-#":
                out.append(f'<div class="x">{self.inline(head.group(2))}</div>')
            elif head.group(1) == ">":
                out.append(f"<blockquote>{self.inline(head.group(2))}</blockquote>")
            else:
                out.append(f"• {self.inline(head.group(2))}\n")
        text = "".join(out)
        return text[:-1] if text.endswith("\n") else text

    def inline(self, line):
        out, last, opened = [], 0, []
        for found in TOKENS.finditer(line):
            out.append(html.escape(line[last:found.start()]))
            last = found.end()
            mark = found.group("mark")
            if not mark:
                out.append(self.token(found))
            elif mark in opened:
                opened.remove(mark)
                out.append(MARKS[mark][1])
            elif mark in line[last:] and not (mark == "_" and re.match(r"\w", line[found.start() - 1:found.start()] or " ")):
                opened.append(mark)
                out.append(MARKS[mark][0])
            else:
                out.append(html.escape(mark))
        out.append(html.escape(line[last:]))
        return "".join(out) + "".join(MARKS[mark][1] for mark in reversed(opened))

    def token(self, found):
        group, world = found.groupdict(), self.world
        if group["code"] is not None:
            return f"<code>{html.escape(group['code'].strip() or group['code'])}</code>"
        if group["esc"]:
            return html.escape(group["esc"])
        if group["user"]:
            user = world.users.get(group["user"])
            return self.mention(f"@{user.name if user else 'unknown-user'}", group["user"] in self.pings.get("users", []))
        if group["role"]:
            guild = world.guilds.get(self.channel.guild_id)
            role = guild.roles.get(group["role"]) if guild else None
            return self.mention(f"@{role['name'] if role else 'unknown-role'}", group["role"] in self.pings.get("roles", []))
        if group["chan"]:
            channel = world.channels.get(group["chan"])
            return self.mention(f"#{channel.name if channel else 'unknown'}", False)
        if group["every"]:
            return self.mention(group["every"], True) if self.pings.get("everyone") else html.escape(group["every"])
        if group["time"]:
            return f'<span class="t">{moment(world, int(group["time"]), group["style"])}</span>'
        if group["emoji"]:
            return f":{html.escape(group['emoji'])}:"
        if group["text"]:
            return f'<a href="{html.escape(group["href"])}">{html.escape(group["text"])}</a>'
        if group["url"]:
            return f'<a href="{html.escape(group["url"])}">{html.escape(group["url"])}</a>'
        return html.escape(found.group(0))

    @staticmethod
    def mention(text, notified):
        return f'<span class="men{" p" if notified else ""}"{" title=notified" if notified else ""}>{html.escape(text)}</span>'


def moment(world, at, style):
    """A time as Discord shows it, in UTC."""
    try:
        when = datetime.datetime.fromtimestamp(at, datetime.timezone.utc)
    except (ValueError, OverflowError):
        return "Invalid Date"
    if style == "R":
        left = at - world.clock.now()
        for size, name in ((31536000, "year"), (2592000, "month"), (86400, "day"), (3600, "hour"), (60, "minute"), (1, "second")):
            count = round(abs(left) / size)
            if abs(left) >= size or size == 1:
                words = f"{count} {name}{'s' * (count != 1)}"
                return f"in {words}" if left > 0 else f"{words} ago"
    return when.strftime(TIMES.get(style, "%d %B %Y %H:%M"))


def embed(markdown, world, message, one):
    names = {world.files[file]["filename"]: world.files[file] for file in message.attachments}
    parts = []
    if one.get("author"):
        parts.append(f"<div class=x>{html.escape(one['author'].get('name', ''))}</div>")
    if one.get("title"):
        parts.append(f'<b class="ti">{markdown.text(one["title"])}</b>')
    if one.get("description"):
        parts.append(f'<div class="c">{markdown.text(one["description"])}</div>')
    fields = "".join(f'<div class="f{" i" if field.get("inline") else ""}"><b>{markdown.text(field["name"])}</b><div class="c">'
                     f'{markdown.text(field["value"])}</div></div>' for field in one.get("fields") or [])
    if fields:
        parts.append(f'<div class="fs">{fields}</div>')
    image = (one.get("image") or {}).get("url", "")
    if image.startswith("attachment://") and image[13:] in names:
        parts.append(f"<img alt='' src='{data_url(names[image[13:]])}'>")
    if one.get("footer"):
        parts.append(f"<div class=x>{html.escape(one['footer'].get('text', ''))}</div>")
    color = f"#{one['color']:06x}" if one.get("color") is not None else "#1e1f22"
    return f'<div class="em" style="border-left-color:{color}">{"".join(parts)}</div>'


def kind_of(file):
    """Discord goes by the name of a file, too."""
    return mimetypes.guess_type(file["filename"])[0] or file["content_type"].partition(";")[0]


def data_url(file):
    return f"data:{kind_of(file)};base64,{base64.b64encode(file['data']).decode()}"


def component(one):
    if one["type"] == 2:
        emoji = (one.get("emoji") or {}).get("name", "")
        off = " off" if one.get("disabled") else ""
        return f'<span class="bt s{one.get("style", 2)}{off}">{html.escape(" ".join(filter(None, (emoji, one.get("label")))))}</span>'
    options = "".join(f"<li>{'☑ ' if option.get('default') else ''}"
                      f"{html.escape(' — '.join(filter(None, (option['label'], option.get('description')))))}</li>"
                      for option in one.get("options", []))
    off = " off" if one.get("disabled") else ""
    return f'<div class="se{off}">{html.escape(one.get("placeholder") or "Make a selection")} ▾<ul>{options}</ul></div>'


def attachment(world, identifier):
    file = world.files[identifier]
    if kind_of(file).startswith("image/") and len(file["data"]) < 1 << 20:
        return f"<div><img style='max-width:520px' alt='' src='{data_url(file)}'></div>"
    start = b"" if b"\0" in file["data"][:500] else file["data"][:2000]
    shown = f"<details><summary>preview</summary><pre>{html.escape(start.decode('utf-8', 'replace'))}</pre></details>" if start else ""
    return f'<div class="fi">📄 <b>{html.escape(file["filename"])}</b> <small>{file["size"]} bytes</small>{shown}</div>'


def note(text, at):
    return f'<div class="x side">{text} {clock(at)}</div>'


def system_html(world, message):
    name = message.author.name
    text = f"{name} added {', '.join(world.users[one].name for one in message.mentioned)} to the thread."
    if message.kind == state.THREAD_CREATED:
        text = f"{name} started a thread: {message.content}"
    return note(f"→ {html.escape(text)}", message.created)


def earlier_html(markdown, message):
    """What an edited message said before, to be opened."""
    texts = [one["content"] for one in message.history[:-1] if one["content"]]
    shown = "".join(f'<div class="c">{markdown.text(text)}</div><hr>' for text in texts)
    return f'<details class="x"><summary>before it was edited</summary>{shown}</details>' if shown else ""


def message_html(world, channel, message):
    if message.kind in (state.RECIPIENT_ADDED, state.THREAD_CREATED):
        return system_html(world, message)
    markdown = Markdown(world, channel, message.pings)
    body = [earlier_html(markdown, message), f'<div class="c">{markdown.text(message.content)}</div>' if message.content else ""]
    if message.flags & state.LOADING:
        body.append(f'<div class="x">⋯ {html.escape(message.author.name)} is thinking…</div>')
    shown = str(message.embeds)
    body += [attachment(world, one) for one in message.attachments if f"attachment://{world.files[one]['filename']}" not in shown]
    if not message.flags & state.SUPPRESS_EMBEDS:
        body += [embed(markdown, world, message, one) for one in message.embeds]
    body += [f'<div class="r">{"".join(map(component, row["components"]))}</div>' for row in message.components]
    if message.thread_id:
        body.append(f'<div class="x">↳ thread {html.escape(world.channels[message.thread_id].name)}</div>')
    if message.ephemeral_for:
        body.append(f'<div class="x">👁 Only {html.escape(world.users[message.ephemeral_for].name)} can see this</div>')
    edited = f" (edited ×{len(message.history) - 1})" if message.edited else ""
    bot = '<span class="bot">APP</span>' if message.author.bot else ""
    kind = ("e " if message.ephemeral_for else "") + ("d" if message.deleted else "")
    gone = " (deleted)" if message.deleted else ""
    return (f'<div class="m {kind}"><div class="a">{html.escape(message.author.name[:1].upper())}</div><div class="b"><div class="n">'
            f'{html.escape(message.author.name)}{bot}<small>{clock(message.created)}{edited}{gone}</small></div>{"".join(body)}</div></div>')


def clock(at):
    return datetime.datetime.fromtimestamp(at, datetime.timezone.utc).strftime("%H:%M:%S")


def action_html(world, one):
    """What a user did, before the bot's answer, and forms or failures, which are no messages."""
    who = html.escape(one.user.name)
    parts = []
    if one.kind == COMMAND:
        parts.append(note(f"↱ {who} used <b>/{html.escape(command_words(world, one.data))}</b>", one.created))
    elif one.kind == COMPONENT:
        chosen = ", ".join(map(str, one.data.get("values", [])))
        parts.append(note(f"↱ {who} {html.escape('chose ' + chosen if chosen else 'pressed ' + button_label(one))}", one.created))
    elif one.kind == 5:
        parts.append(note(f"↱ {who} submitted a form", one.created))
    if one.modal:
        fields = []
        for row in one.modal["components"]:
            field = row["components"][0] if row.get("type") == 1 else row.get("component", {})
            label, inside = field.get("label") or row.get("label") or "", field.get("placeholder") or field.get("value") or ""
            fields.append(f"<div><b>{html.escape(label)}</b> <span class=x>{html.escape(inside)}</span></div>")
        parts.append(f'<div class="fo"><b>{html.escape(one.modal["title"])}</b>{"".join(fields)}</div>')
    if one.kind != 4 and one.answer is None and world.clock.now() - one.created > world.settings["first_answer_s"]:
        parts.append('<div class="no">The application did not respond</div>')
    return "".join(parts)


def button_label(one):
    for row in one.message.components if one.message else []:
        for button in row["components"]:
            if button.get("custom_id") == one.data.get("custom_id"):
                return button.get("label") or (button.get("emoji") or {}).get("name") or "a component"
    return "a button"


def command_words(world, data):
    """The command as it was typed."""
    words, options = [data["name"]], data.get("options") or []
    while options and options[0]["type"] in (1, 2):
        words.append(options[0]["name"])
        options = options[0].get("options") or []
    for option in options:
        file = world.files.get(str(option["value"])) if option["type"] == 11 else None
        words.append(f"{option['name']}:{file['filename'] if file else option['value']}")
    return " ".join(words)


def channel_html(world, channel, user):
    """The messages of a channel and what led to them, in the order of time."""
    items = []
    for message in channel.messages.values():
        if user is None or (not message.deleted and message.ephemeral_for in (None, user.id)):
            items.append((message.created, 1, message_html(world, channel, message)))
    for one in world.interactions.values():
        if one.channel is channel and one.kind != 4 and user in (None, one.user):
            items.append((one.created, 0, action_html(world, one)))
    return "".join(text for _, _, text in sorted(items, key=lambda item: item[:2]))


def title_of(world, channel):
    kinds = {state.DM: "direct message", state.PUBLIC_THREAD: "public thread", state.PRIVATE_THREAD: "private thread", state.FORUM: "forum",
             state.ANNOUNCEMENT: "announcements"}
    name = channel.name or ", ".join(world.users[one].name for one in channel.recipients)
    more = [kinds[channel.type]] if channel.type in kinds else []
    more += [f"in #{world.channels[channel.parent_id].name}"] if channel.is_thread else []
    more += ["archived"] * channel.archived + ["deleted"] * channel.deleted
    more += [", ".join(world.users[one].name for one in channel.members)] if channel.type == state.PRIVATE_THREAD else []
    sign = "🔒" if channel.type == state.PRIVATE_THREAD else "#"
    return f"<h2>{sign} {html.escape(name)} <small>{html.escape(' · '.join(more))}</small></h2>"


def page(world, user, channels, title=None):
    """One page. user: only what that one sees; None: everything, also what was deleted. Without channels all that have messages."""
    shown = []
    for channel in channels or world.channels.values():
        if user and not permissions.sees(world, channel, user.id) or user and channel.deleted:
            continue
        text = channel_html(world, channel, user)
        if text or channels:
            shown.append(title_of(world, channel) + text)
    heading = title or (f"What {user.name} sees" if user else "The whole conversation")
    return (f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(heading)}</title><style>{STYLE}</style></head>'
            f'<body><h1>{html.escape(heading)}</h1>{"".join(shown)}</body></html>')
