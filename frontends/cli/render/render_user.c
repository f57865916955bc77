/* SPDX-License-Identifier: MIT */
/* Users for people, and the questions before two of them are joined. */
#include <config.h>

#include "cli/render/render.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "cli/text/format.h"
#include "cli/text/table.h"
#include "cli/text/json_read.h"

#define USER_TEXT_SIZE 400

/* "cli bob, discord bobby" */
static void
identities_text(const json_t *user, char text[USER_TEXT_SIZE])
{
	size_t i, used = 0;
	const json_t *identity;
	text[0] = '\0';
	json_array_foreach(json_object_get(user, "identities"), i, identity)
		if (used < USER_TEXT_SIZE)
			used += (size_t)snprintf(text + used, USER_TEXT_SIZE - used, "%s%s %s", i > 0 ? ", " : "",
				value_text(identity, "provider"), value_text(identity, "name"));
}

static bool
is_banned(const json_t *user)
{
	return json_is_string(json_object_get(user, "banned"));
}

int
render_user_list(struct run *run, const json_t *result)
{
	static const struct table_column columns[] = {{.title = "number", .right = true}, {.title = "name", .cut = true},
		{.title = "role"}, {.title = ""}, {.title = "submissions", .right = true}, {.title = "since"},
		{.title = "known as", .cut = true}};
	AUTO_JSON json_t *rows = json_array();
	size_t i;
	const json_t *user;
	json_array_foreach(result, i, user) {
		char count[FORMAT_SIZE], time[FORMAT_SIZE], known[USER_TEXT_SIZE];
		snprintf(count, sizeof(count), "%lld", (long long)value_int(user, "submissions", 0));
		format_time(value_text(user, "created"), time);
		identities_text(user, known);
		table_row(rows, 7, value_text(user, "user_id"), value_text(user, "user_name"), value_text(user, "role"),
			is_banned(user) ? "banned" : NULL, count, time, known);
		if (strcasecmp(value_text(user, "user_name"), run->user) == 0)
			table_mark(rows);
	}
	if (json_array_size(rows) == 0)
		fputs("There is no such user.\n", run->term.out);
	else
		table_print(&run->term, columns, ARRAY_SIZE(columns), rows, 0);
	return RUN_OK;
}

/* "  title  text", the text cleaned. */
static void
line(const struct term *term, const char *title, const char *text)
{
	fprintf(term->out, "  %-12s", title);
	term_sanitize(term->out, text, 0);
	fputc('\n', term->out);
}

static void
print_ranks(const struct term *term, const json_t *ranks)
{
	static const struct table_column columns[] = {{.title = "leaderboard", .cut = true}, {.title = "device"},
		{.title = "rank", .right = true}, {.title = "score", .right = true}};
	AUTO_JSON json_t *rows = json_array();
	size_t i;
	const json_t *row;
	json_array_foreach(ranks, i, row) {
		char rank[FORMAT_SIZE], score[FORMAT_SIZE];
		snprintf(rank, sizeof(rank), "%lld of %lld", (long long)value_int(row, "rank", 0),
			(long long)value_int(row, "of", 0));
		format_ns(value_number(row, "score") * 1e9, score);
		table_row(rows, 4, value_text(row, "leaderboard"), value_text(row, "device"), rank, score);
	}
	if (json_array_size(rows) > 0)
		table_print(term, columns, ARRAY_SIZE(columns), rows, 2);
}

int
render_user_show(struct run *run, const json_t *user)
{
	const struct term *term = &run->term;
	char text[USER_TEXT_SIZE], time[FORMAT_SIZE];
	size_t i;
	const json_t *name;
	term_put(term, STYLE_BOLD, value_text(user, "user_name"));
	fputs("  ", term->out);
	term_sanitize(term->out, value_text(user, "role"), 0);
	fputc('\n', term->out);
	line(term, "number", value_text(user, "user_id"));
	format_time(value_text(user, "created"), time);
	line(term, "since", time);
	identities_text(user, text);
	line(term, "known as", text);
	json_array_foreach(json_object_get(user, "joined"), i, name)
		line(term, "once", json_string_value(name));
	snprintf(text, sizeof(text), "%lld", (long long)value_int(user, "submissions", 0));
	line(term, "submissions", text);
	if (is_banned(user)) {
		format_time(value_text(user, "banned"), time);
		snprintf(text, sizeof(text), "%s: %s", time, value_text(user, "ban_reason"));
		line(term, "banned", text);
	}
	print_ranks(term, json_object_get(user, "ranks"));
	return RUN_OK;
}

/* "NAME is WHAT". */
static void
render_user_say(const struct term *term, const json_t *result, const char *what)
{
	term_put(term, STYLE_BOLD, value_text(result, "user_name"));
	fputs(" is ", term->out);
	term_sanitize(term->out, what, 0);
}

int
render_user_banned(struct run *run, const json_t *result)
{
	size_t count = json_array_size(json_object_get(result, "cancelled"));
	render_user_say(&run->term, result, "banned");
	if (count > 0)
		fprintf(run->term.out, "; %zu submission%s cancelled", count, count == 1 ? " is" : "s are");
	fputs(".\n", run->term.out);
	return RUN_OK;
}

int
render_user_unbanned(struct run *run, const json_t *result)
{
	render_user_say(&run->term, result, "no longer banned");
	fputs(".\n", run->term.out);
	return RUN_OK;
}

int
render_user_role(struct run *run, const json_t *result)
{
	render_user_say(&run->term, result, value_text(result, "role"));
	fputs(".\n", run->term.out);
	return RUN_OK;
}

/* "NAME (cli bob; 3 submissions)" */
static void
put_user(const struct term *term, const json_t *user)
{
	char known[USER_TEXT_SIZE];
	json_int_t count = value_int(user, "submissions", 0);
	identities_text(user, known);
	term_put(term, STYLE_BOLD, value_text(user, "user_name"));
	fputs(" (", term->out);
	term_sanitize(term->out, known, 0);
	if (strcmp(value_text(user, "role"), "user") != 0)
		fprintf(term->out, "; %s", value_text(user, "role"));
	fprintf(term->out, "; %lld submission%s)", (long long)count, count == 1 ? "" : "s");
}

int
render_user_link(struct run *run, const json_t *result)
{
	const struct term *term = &run->term;
	if (json_object_get(result, "code")) {
		const char *code = value_text(result, "code");
		if (run->quiet) {
			fprintf(term->out, "%s\n", code);
			return RUN_OK;
		}
		fputs("Your code is ", term->out);
		term_put(term, STYLE_BOLD, code);
		fprintf(term->out,
			".\nWhoever types it becomes one with you: do that as your other user within ten minutes\n"
			"(`kettle user link %s`), and show it to nobody else.\n",
			code);
		return RUN_OK;
	}
	put_user(term, json_object_get(result, "from"));
	fputs(" is joined into ", term->out);
	term_put(term, STYLE_BOLD, value_text(json_object_get(result, "into"), "user_name"));
	fputs(".\n", term->out);
	return RUN_OK;
}

static void
link_now(struct run *run)
{
	json_object_set_new(run->args.values, "confirm", json_true());
	run_call(run, "user.link", run->args.values, run_answered);
}

static void
on_confirmed(struct run *run, const struct kettle_error *err, const char *typed, size_t size)
{
	struct kettle_error no;
	(void)size;
	if (err && err->code) {
		run_fail(run, err);
	} else if (strcasecmp(typed, value_text(run->args.own, "from")) == 0) {
		link_now(run);
	} else {
		kettle_fail(&no, KETTLE_EINVAL, "That is not `%s`: nobody is joined.", value_text(run->args.own, "from"));
		run_fail(run, &no);
	}
}

/* Who made the code is known: whoever was talked into typing it sees whom it lets in. */
static void
looked_up(struct run *run, const struct kettle_error *err, json_t *result)
{
	const json_t *from = json_object_get(result, "from");
	if (err && err->code) {
		run_fail(run, err);
		return;
	}
	json_object_set(run->args.own, "from", json_object_get(from, "user_name"));
	fputs("This joins ", run->term.out);
	put_user(&run->term, from);
	fputs("\ninto you, ", run->term.out);
	put_user(&run->term, json_object_get(result, "into"));
	fputs(": one user from then on, for good.\nType ", run->term.out);
	term_put(&run->term, STYLE_BOLD, value_text(from, "user_name"));
	fputs(" to go on: ", run->term.out);
	fflush(run->term.out);
	run_read_line(run, on_confirmed);
}

void
render_user_link_start(struct run *run)
{
	if (!json_object_get(run->args.values, "code"))
		run_call(run, "user.link", run->args.values, run_answered);
	else if (!run->term.ask || run->json || value_true(run->args.values, "confirm"))
		link_now(run); /* whoever pipes or scripts has made up their mind */
	else
		run_call(run, "user.link", run->args.values, looked_up);
}
