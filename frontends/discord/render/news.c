/* SPDX-License-Identifier: MIT */
/* The bot's announcements as Markdown. */
#include <config.h>

#include "discord/render/news.h"

#include "base/base.h"
#include "base/text.h"
#include "common/format.h"
#include "common/template.h"
#include "discord/text/escape.h"
#include "discord/text/timestamp.h"

/* UTF-16 units or, if the name says so, characters; together they fit into a message. */
#define NAME_MAX_UNITS 130
#define REASON_MAX_UNITS 1000
#define DEVICES_MAX_UNITS 300
#define LINE_MAX_UNITS 1200
#define DESCRIPTION_MAX_CHARACTERS 600
#define DESCRIPTION_MAX_LINES 20
#define ERROR_MAX_CHARACTERS 500

static char *
escape(const char *text, const char *format)
{
	char time[TIMESTAMP_SIZE];
	if (strcmp(format, "sentence") == 0)
		return escape_sentence(text, REASON_MAX_UNITS);
	if (!*format)
		return escape_markdown(text, NAME_MAX_UNITS);
	timestamp_of(text, strcmp(format, "date") == 0 ? TIMESTAMP_DATE : TIMESTAMP_RELATIVE, time);
	return xstrdup(time);
}

/* Adds a template that is filled in from an object: names escaped, sentences by the format `sentence`, times by `date`. */
static void
add(struct buf *out, const char *template, const json_t *object)
{
	AUTO_FREE char *text = template_markdown(template, object, escape);
	buf_adds(out, text);
}

/* ---- podiums ---- */

static const char *
medal_of(const json_t *row)
{
	static const char *const medals[] = {"🥇", "🥈", "🥉"};
	json_int_t rank = member_int(row, "rank");
	return rank >= 1 && rank <= (json_int_t)ARRAY_SIZE(medals) ? medals[rank - 1] : "🏅";
}

static const json_t *
row_of_user(const json_t *podium, const json_t *user)
{
	json_array_each(podium, row)
		if (json_equal(json_object_get(row, "user"), user))
			return row;
	return NULL;
}

/* Describes the change of a row: new on the podium, from another place, with another score. */
static void
add_change(struct buf *out, const json_t *row, const json_t *was)
{
	char score[FORMAT_SIZE];
	format_ns(member_number(was, "score") * 1e9, score);
	bool moved = member_int(row, "rank") != member_int(was, "rank");
	bool changed = member_number(row, "score") != member_number(was, "score");
	if (!was)
		buf_adds(out, ", new on the podium");
	else if (moved && changed)
		buf_printf(out, ", was %s at %s", medal_of(was), score);
	else if (moved)
		buf_printf(out, ", was %s", medal_of(was));
	else if (changed)
		buf_printf(out, ", was at %s", score);
}

static void
add_row(struct buf *out, const json_t *row)
{
	buf_printf(out, "\n%s ", medal_of(row));
	add(out, "{*user_name} {score:seconds}", row);
}

char *
news_podium(const json_t *event)
{
	struct buf out = {0};
	const json_t *data = json_object_get(event, "data"), *before = json_object_get(data, "before");
	add(&out, "🏆 {*leaderboard_name}: the podium on {*data.device} has changed.", event);
	json_array_each(json_object_get(data, "podium"), row) {
		add_row(&out, row);
		add_change(&out, row, row_of_user(before, json_object_get(row, "user")));
	}
	add(&out, "{went?\nNo longer on it: {went@{*user_name} {score:seconds}}}", data);
	return buf_take(&out);
}

char *
news_ended(const json_t *event)
{
	struct buf out = {0};
	add(&out, "🏁 {*leaderboard_name} has ended. The final podium:", event);
	json_array_each(json_object_get(json_object_get(event, "data"), "devices"), device) {
		add(&out, "\n{*device}{podium?|\nno results}", device);
		json_array_each(json_object_get(device, "podium"), row)
			add_row(&out, row);
	}
	return buf_take(&out);
}

/* ---- leaderboards ---- */

/* Keeps the lines and escapes each by itself, since markup can begin at the beginning of a line. */
static void
add_description(struct buf *out, const char *text)
{
	AUTO_FREE char *all = sanitize_text(text, strlen(text)), *cut = sanitize_text(text, DESCRIPTION_MAX_CHARACTERS);
	bool whole = strlen(all) == strlen(cut);
	char *rest = cut;
	for (size_t lines = 0; rest && lines < DESCRIPTION_MAX_LINES; lines++) {
		const char *line = strsep(&rest, "\n");
		AUTO_FREE char *safe = escape_sentence(line, LINE_MAX_UNITS);
		buf_printf(out, "\n%s", safe);
	}
	if (!whole || rest)
		buf_adds(out, " …");
}

char *
news_board(const json_t *board, const char *submissions)
{
	struct buf out = {0};
	const char *description = json_text_or_empty(board, "description");
	AUTO_BUF struct buf devices = {0};
	json_array_each_at(json_object_get(board, "gpu_types"), i, device)
		buf_printf(&devices, "%s%s", i ? ", " : "", json_string_value(device));
	AUTO_FREE char *shown = escape_markdown(devices.len ? devices.data : "none", DEVICES_MAX_UNITS);
	add(&out, "{*name}", board);
	if (*description)
		add_description(&out, description);
	buf_printf(&out, "\n\nDevices: %s", shown);
	add(&out, "{deadline?\nDeadline: {deadline:date} ({deadline:relative})}", board);
	if (member_true(board, "ended"))
		buf_adds(&out, "\n**This leaderboard has ended.**");
	else
		buf_printf(&out, "\nTake part with `/leaderboard submit ranked`%s%s%s.", *submissions ? " in <#" : "",
			submissions, *submissions ? ">" : "");
	return buf_take(&out);
}

char *
news_board_gone(const char *name)
{
	AUTO_JSON json_t *board = json_pack("{s:s*}", "name", name);
	return template_markdown(
		"The leaderboard {name?{*name} has been deleted.|of this post is no longer public.}", board, escape);
}

/* ---- for operators and creators ---- */

char *
news_creator(const json_t *event)
{
	struct buf out = {0};
	const char *text = json_text_or_empty(json_object_get(event, "data"), "error");
	AUTO_FREE char *error = sanitize_text(text, ERROR_MAX_CHARACTERS);
	if (member_is(event, "kind", "leaderboard.renamed"))
		return template_markdown("The leaderboard {*data.was} is called {*data.name} now, because the old name is "
								 "reserved for the addresses of Kettle's pages.",
			event, escape);
	add(&out,
		"🔧 The task of {*leaderboard_name} has a fault: it failed on {*data.device} in submission {submission} "
		"({data.mode}), and fails for every user until its creator corrects it.\n",
		event);
	escape_code_block(&out, NULL, error);
	return buf_take(&out);
}

#define UNIT "The unit {*data.unit} of the device {*data.device} "
#define SINCE "since {data.since:date}"
#define ERROR "{data.error?: {data.error:sentence}}"
/* The event's time makes each message unique, so that it can be found after a crash. */
#define AT "\n{at:date}"

static const struct {
	const char *kind, *template;
} operators[] = {
	{"unit.quarantined", UNIT "is out of service; Kettle enables it again when it works: {data.reason:sentence}" AT},
	{"unit.returned", UNIT "works again: {data.reason:sentence}" AT},
	{"unit.unfit", UNIT "runs no ranked submissions: {data.reason:sentence}" AT},
	{"unit.fit", UNIT "runs ranked submissions again: {data.reason:sentence}" AT},
	{"storage.full",
		"🚨 The disk of the database has been full " SINCE "; Kettle stores nothing until there is room" ERROR},
	{"storage.ok", "The disk of the database has room again; Kettle could store nothing " SINCE ERROR AT},
	{"runner.credential_failed", "🔑 The runner {*data.runner} runs no jobs, because its credential is no longer "
								 "valid: {data.error:sentence}" AT},
};

char *
news_operators(const json_t *event)
{
	size_t i = 0;
	while (i + 1 < ARRAY_SIZE(operators) && !member_is(event, "kind", operators[i].kind))
		i++;
	return template_markdown(operators[i].template, event, escape);
}
