/* SPDX-License-Identifier: MIT */
/* The bot's announcements as Markdown. */
#include <config.h>

#include "discord/render/news.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "common/format.h"
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

static void
add_escaped(struct buf *out, const char *text, size_t max)
{
	AUTO_FREE char *safe = escape_markdown(text, max);
	buf_adds(out, safe);
}

static void
add_sentence(struct buf *out, const char *text, size_t max)
{
	AUTO_FREE char *safe = escape_sentence(text, max);
	buf_adds(out, safe);
}

static void
add_bold(struct buf *out, const char *text)
{
	buf_adds(out, "**");
	add_escaped(out, text, NAME_MAX_UNITS);
	buf_adds(out, "**");
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

static void
add_row(struct buf *out, const char *before, const json_t *row)
{
	char score[FORMAT_SIZE];
	format_ns(member_number(row, "score") * 1e9, score);
	buf_adds(out, before);
	add_bold(out, json_text_or_empty(row, "user_name"));
	buf_printf(out, " %s", score);
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

char *
news_podium(const json_t *event)
{
	struct buf out = {0};
	const json_t *data = json_object_get(event, "data"), *before = json_object_get(data, "before");
	buf_adds(&out, "🏆 ");
	add_bold(&out, json_text_or_empty(event, "leaderboard_name"));
	buf_adds(&out, ": the podium on ");
	add_bold(&out, json_text_or_empty(data, "device"));
	buf_adds(&out, " has changed.");
	json_array_each(json_object_get(data, "podium"), row) {
		buf_printf(&out, "\n%s ", medal_of(row));
		add_row(&out, "", row);
		add_change(&out, row, row_of_user(before, json_object_get(row, "user")));
	}
	json_array_each_at(json_object_get(data, "went"), i, row)
		add_row(&out, i == 0 ? "\nNo longer on it: " : ", ", row);
	return buf_take(&out);
}

char *
news_ended(const json_t *event)
{
	struct buf out = {0};
	buf_adds(&out, "🏁 ");
	add_bold(&out, json_text_or_empty(event, "leaderboard_name"));
	buf_adds(&out, " has ended. The final podium:");
	json_array_each(json_object_get(json_object_get(event, "data"), "devices"), device) {
		const json_t *podium = json_object_get(device, "podium");
		buf_adds(&out, "\n");
		add_bold(&out, json_text_or_empty(device, "device"));
		if (json_array_size(podium) == 0)
			buf_adds(&out, "\nno results");
		json_array_each(podium, row) {
			buf_printf(&out, "\n%s ", medal_of(row));
			add_row(&out, "", row);
		}
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
		buf_adds(out, "\n");
		add_sentence(out, line, LINE_MAX_UNITS);
	}
	if (!whole || rest)
		buf_adds(out, " …");
}

static void
add_deadline(struct buf *out, const json_t *board)
{
	char date[TIMESTAMP_SIZE], away[TIMESTAMP_SIZE];
	const char *deadline = json_text_or_null(board, "deadline");
	if (!deadline)
		return;
	timestamp_of(deadline, TIMESTAMP_DATE, date);
	timestamp_of(deadline, TIMESTAMP_RELATIVE, away);
	buf_printf(out, "\nDeadline: %s (%s)", date, away);
}

char *
news_board(const json_t *board, const char *submissions)
{
	struct buf out = {0};
	const char *description = json_text_or_empty(board, "description");
	AUTO_BUF struct buf devices = {0};
	json_array_each_at(json_object_get(board, "gpu_types"), i, device)
		buf_printf(&devices, "%s%s", i ? ", " : "", json_string_value(device));
	add_bold(&out, json_text_or_empty(board, "name"));
	if (*description)
		add_description(&out, description);
	buf_adds(&out, "\n\nDevices: ");
	add_escaped(&out, devices.len ? devices.data : "none", DEVICES_MAX_UNITS);
	add_deadline(&out, board);
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
	struct buf out = {0};
	buf_adds(&out, "The leaderboard ");
	if (name)
		add_bold(&out, name);
	buf_adds(&out, name ? " has been deleted." : "of this post is not public any more.");
	return buf_take(&out);
}

/* ---- for operators ---- */

static char *
news_renamed(const json_t *event)
{
	struct buf out = {0};
	const json_t *data = json_object_get(event, "data");
	buf_adds(&out, "The leaderboard ");
	add_bold(&out, json_text_or_empty(data, "was"));
	buf_adds(&out, " is called ");
	add_bold(&out, json_text_or_empty(data, "name"));
	buf_adds(&out, " now: the addresses of Kettle's pages need the word that was its name.");
	return buf_take(&out);
}

static char *
news_fault(const json_t *event)
{
	struct buf out = {0};
	const json_t *data = json_object_get(event, "data");
	AUTO_FREE char *error = sanitize_text(json_text_or_empty(data, "error"), ERROR_MAX_CHARACTERS);
	buf_adds(&out, "🔧 The task of ");
	add_bold(&out, json_text_or_empty(event, "leaderboard_name"));
	buf_adds(&out, " has a fault: it failed on ");
	add_bold(&out, json_text_or_empty(data, "device"));
	buf_printf(&out, " in submission %lld (", (long long)member_int(event, "submission"));
	add_escaped(&out, json_text_or_empty(data, "mode"), NAME_MAX_UNITS);
	buf_adds(&out, "), and fails for every user until its creator corrects it.\n");
	escape_code_block(&out, NULL, error);
	return buf_take(&out);
}

char *
news_creator(const json_t *event)
{
	return member_is(event, "kind", "leaderboard.renamed") ? news_renamed(event) : news_fault(event);
}

static void
add_unit(struct buf *out, const json_t *data, const char *what)
{
	buf_adds(out, "The unit ");
	add_bold(out, json_text_or_empty(data, "unit"));
	buf_adds(out, " of the device ");
	add_bold(out, json_text_or_empty(data, "device"));
	buf_printf(out, " %s: ", what);
	add_sentence(out, json_text_or_empty(data, "reason"), REASON_MAX_UNITS);
}

static void
add_storage(struct buf *out, const json_t *data, const char *what, const char *then)
{
	char since[TIMESTAMP_SIZE];
	timestamp_of(json_text_or_empty(data, "since"), TIMESTAMP_DATE, since);
	buf_printf(out, "%s %s%s", what, since, then);
	if (json_text_or_null(data, "error")) {
		buf_adds(out, ": ");
		add_sentence(out, json_text_or_empty(data, "error"), REASON_MAX_UNITS);
	}
}

/* The event's time makes each message unique, so that it can be found after a crash. */
char *
news_operators(const json_t *event)
{
	struct buf out = {0};
	char at[TIMESTAMP_SIZE];
	const json_t *data = json_object_get(event, "data");
	if (member_is(event, "kind", "unit.quarantined"))
		add_unit(&out, data, "is out of service; it returns by itself when it works again");
	else if (member_is(event, "kind", "unit.returned"))
		add_unit(&out, data, "works again");
	else if (member_is(event, "kind", "storage.full"))
		add_storage(&out, data, "🚨 The disk of the database has been full since",
			"; Kettle stores nothing until there is room");
	else if (member_is(event, "kind", "storage.ok"))
		add_storage(&out, data, "The disk of the database has room again; Kettle could store nothing since", "");
	else {
		buf_adds(&out, "🔑 The runner ");
		add_bold(&out, json_text_or_empty(data, "runner"));
		buf_adds(&out, " runs no jobs, because its credential is not valid any more: ");
		add_sentence(&out, json_text_or_empty(data, "error"), REASON_MAX_UNITS);
	}
	if (!member_is(event, "kind", "storage.full")) {
		timestamp_of(json_text_or_empty(event, "at"), TIMESTAMP_DATE, at);
		buf_printf(&out, "\n%s", at);
	}
	return buf_take(&out);
}
