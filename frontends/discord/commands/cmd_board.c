/* SPDX-License-Identifier: MIT */
/* Commands on boards and their rankings. */
#include <config.h>

#include "discord/commands/handlers.h"

#include "base/base.h"
#include "base/number.h"
#include "base/ranking_columns.h"
#include "base/text.h"
#include "common/format.h"
#include "common/template.h"
#include "discord/interaction/answer.h"
#include "discord/interaction/interaction.h"
#include "discord/render/message.h"
#include "discord/render/plain.h"
#include "discord/text/timestamp.h"

#define PAGE 10 /* boards or places on a page */
#define DEVICES_SHOWN_MAX 5
#define OUTDATED "This button comes from an earlier version of the bot; use the command again."

/* ---- list ---- */

struct list {
	size_t offset;
	bool all;
};

/* Adds " · ends <t:1:R>". */
static void
put_times(struct buf *out, const json_t *board)
{
	char text[TIMESTAMP_SIZE];
	int64_t opens = 0;
	if (format_parse_time(json_text_or_empty(board, "opens"), &opens) && opens > time_now_ms()) {
		timestamp_text(opens, TIMESTAMP_RELATIVE, text);
		buf_printf(out, " · opens %s", text);
	}
	AUTO_FREE char *end = answer_template(" · {deadline?{ended?ended|ends} {deadline:relative}|no deadline}", board);
	buf_adds(out, end);
}

static void
put_devices(struct buf *out, const json_t *devices)
{
	size_t i;
	const json_t *device;
	json_array_foreach(devices, i, device) {
		AUTO_FREE char *name = answer_name(json_string_value(device));
		if (i < DEVICES_SHOWN_MAX)
			buf_printf(out, "%s%s", i ? ", " : " · ", name);
	}
	if (i > DEVICES_SHOWN_MAX)
		buf_printf(out, " and %zu more", i - DEVICES_SHOWN_MAX);
}

static void
put_board(struct buf *out, const json_t *board)
{
	AUTO_FREE char *name = answer_bold(json_text_or_empty(board, "name"));
	buf_adds(out, name);
	put_times(out, board);
	put_devices(out, json_object_get(board, "gpu_types"));
	buf_adds(out, member_is(board, "visibility", "closed") ? " · closed\n" : "\n");
}

static void
on_list(struct interaction *interaction, const json_t *boards, void *arg)
{
	const struct list *list = arg;
	size_t count = json_array_size(boards);
	AUTO_BUF struct buf out = {0};
	/* Boards may have gone since the last page was shown. */
	size_t offset = list->offset < count ? list->offset : 0;
	for (size_t i = offset; i < count && i < offset + PAGE; i++)
		put_board(&out, json_array_get(boards, i));
	if (count == 0)
		buf_adds(&out, list->all ? "There are no leaderboards."
								 : "There are no active leaderboards; with `all`, this command shows ended ones, too.");
	json_t *message = message_new(out.data);
	message_pages(message, "list", list->all ? "all" : "", offset, PAGE, count);
	interaction_answer(interaction, message);
}

static void
show_list(struct interaction *interaction, size_t offset, bool all)
{
	struct list *list = xnew(struct list, offset, all);
	if (all)
		interaction_call(
			interaction, "leaderboard.list", json_pack("{s:b, s:b}", "all", 1, "short", 1), on_list, free, list);
	else
		boards_get(interaction, on_list, free, list);
}

void
discord_board_list(struct interaction *interaction)
{
	show_list(interaction, 0, interaction_flag(interaction, "all"));
}

void
discord_board_list_page(struct interaction *interaction, const char *arguments)
{
	size_t offset;
	const char *what;
	if (!answer_page(arguments, &offset, &what)) {
		interaction_say(interaction, OUTDATED);
		return;
	}
	interaction_defer_update(interaction);
	show_list(interaction, offset, strcmp(what, "all") == 0);
}

/* ---- show ---- */

enum views_kind {
	VIEWS_FIRST,  /* of the command: the only ranking, or the menu of several */
	VIEWS_MENU,   /* another page of the menu */
	VIEWS_CHOSEN, /* the chosen rankings, below the menu */
	VIEWS_PAGE,   /* another page of a ranking */
};

/*
 * Rankings of a board that are shown one after the other: reads the rankings, then the user's places in them, then the
 * picture of each.
 */
struct views {
	unsigned references;
	enum views_kind kind;
	size_t offset;
	size_t place;          /* for a page: the number of the ranking */
	const json_t *chosen;  /* chosen names; the interaction's */
	json_t *answer, *mine; /* of leaderboard.show */
	json_t *shown;         /* numbers of the rankings to show */
	size_t next;           /* in shown */
};

static void next_view(struct interaction *interaction, struct views *views);

static struct views *
views_ref(struct views *views)
{
	views->references++;
	return views;
}

static void
views_unref(void *arg)
{
	struct views *views = arg;
	if (--views->references > 0)
		return;
	json_decref_all(views->answer, views->mine, views->shown);
	free(views);
}

static const json_t *
board_of(const struct views *views)
{
	return json_object_get(views->answer, "leaderboard");
}

static const json_t *
ranking_at(const json_t *answer, size_t place)
{
	return json_array_get(json_object_get(answer, "rankings"), place);
}

static size_t
place_at_hand(const struct views *views)
{
	return (size_t)json_integer_value(json_array_get(views->shown, views->next));
}

/* Returns the user's best run, with a rank if it is in the ranking; NULL: none. Borrowed. */
static const json_t *
own_entry(const struct views *views)
{
	return json_array_get(json_object_get(ranking_at(views->mine, place_at_hand(views)), "entries"), 0);
}

/* Returns the entries with the user's own marked. New reference. */
static json_t *
marked_rows(const json_t *ranking, const json_t *own)
{
	json_t *rows = json_array();
	json_array_each(json_object_get(ranking, "entries"), entry) {
		json_t *row = json_copy(entry);
		if (own && json_equal(json_object_get(entry, "user_id"), json_object_get(own, "user_id")))
			(void)json_object_set_new(row, "own", json_true());
		(void)json_array_append_new(rows, row);
	}
	return rows;
}

/* Makes the text above the table. */
static char *
ranking_head(const struct views *views, const json_t *ranking, const json_t *own)
{
	AUTO_BUF struct buf out = {0};
	AUTO_FREE char *board = answer_bold(json_text_or_empty(board_of(views), "name"));
	AUTO_FREE char *device = answer_name(json_text_or_empty(ranking, "device"));
	long long count = member_int(ranking, "count");
	buf_printf(&out, "%s · %s · %lld ranked", board, device, count);
	put_times(&out, board_of(views));
	if (json_is_integer(json_object_get(own, "rank"))) {
		AUTO_FREE char *place = template_text("\nYou have rank {rank} with {submission_score:score}.", own, NULL);
		buf_adds(&out, place);
	}
	return buf_take(&out);
}

/*
 * Makes the table of a ranking, with the row whose member `own` is set marked, or (own) of the user's own runs. New
 * string.
 */
static char *
ranking_table(const json_t *rows, bool own)
{
	struct view_column columns[ARRAY_SIZE(ranking_columns) + 1] = {COLUMN("", "{own?→}")};
	size_t count = own ? 0 : 1;
	for (unsigned place = 1; place <= ARRAY_SIZE(ranking_columns); place++)
		for (size_t i = 0; i < ARRAY_SIZE(ranking_columns); i++) {
			const struct ranking_column *column = &ranking_columns[i];
			const struct ranking_place *at = own ? &column->own : &column->discord;
			if (at->place != place)
				continue;
			columns[count] = column->view;
			columns[count].spare = at->spare;
			if (own && column->own_cell)
				columns[count].cell = column->own_cell;
			count++;
		}
	return plain_table(columns, count, rows);
}

static json_t *
ranking_message(const struct views *views, const char *picture)
{
	const json_t *ranking = ranking_at(views->answer, place_at_hand(views)), *own = own_entry(views);
	const char *name = json_text_or_empty(board_of(views), "name");
	AUTO_JSON json_t *rows = marked_rows(ranking, own);
	AUTO_FREE char *head = ranking_head(views, ranking, own);
	AUTO_FREE char *table = ranking_table(rows, false);
	json_t *message = json_array_size(rows) > 0 ? message_block(head, table, "ranking.txt")
												: message_printf("%s\nNo user is ranked %s.", head,
													  member_int(ranking, "count") > 0 ? "on this page" : "here yet");
	AUTO_FREE char *what = xasprintf("%s/%zu", name, place_at_hand(views));
	message_pages(message, "page", what, views->offset, PAGE, (size_t)member_int(ranking, "count"));
	AUTO_FREE char *file = xasprintf("%s.png", name);
	if (picture)
		message_file_base64(message, file, picture);
	return message;
}

static void
send_view(struct interaction *interaction, struct views *views, const char *picture)
{
	json_t *message = ranking_message(views, picture);
	if (views->kind == VIEWS_CHOSEN)
		interaction_follow_up(interaction, message);
	else
		interaction_answer(interaction, message);
	views->next++;
	next_view(interaction, views);
}

static void
on_plot(struct interaction *interaction, const json_t *result, void *arg)
{
	send_view(interaction, arg, json_text_or_null(result, "base64"));
	views_unref(arg);
}

/* The first page has the picture, which stays with the message when its page changes. */
static void
next_view(struct interaction *interaction, struct views *views)
{
	if (views->next >= json_array_size(views->shown))
		return;
	const json_t *ranking = ranking_at(views->answer, place_at_hand(views));
	if (views->kind == VIEWS_PAGE || member_int(ranking, "count") == 0)
		send_view(interaction, views, NULL);
	else
		answer_try(interaction, "leaderboard.plot",
			json_pack("{s:s, s:s, s:s}", "name", json_text_or_empty(board_of(views), "name"), "device",
				json_text_or_empty(ranking, "device"), "format", "png"),
			on_plot, views_ref(views));
}

static void
on_mine(struct interaction *interaction, const json_t *result, void *arg)
{
	struct views *views = arg;
	views->mine = json_incref((json_t *)result);
	next_view(interaction, views);
	views_unref(views);
}

/* Chooses the rankings to show. */
static void
choose_places(struct views *views)
{
	views->shown = json_array();
	json_array_each_at(json_object_get(views->answer, "rankings"), i, ranking) {
		bool wanted = views->kind == VIEWS_CHOSEN ? list_has_text(views->chosen, json_text_or_empty(ranking, "device"))
												  : i == views->place;
		if (wanted)
			(void)json_array_append_new(views->shown, json_integer((json_int_t)i));
	}
}

static void
ask_devices(struct interaction *interaction, const json_t *board, size_t offset)
{
	const json_t *devices = json_object_get(board, "gpu_types");
	const char *name = json_text_or_empty(board, "name");
	AUTO_FREE char *id = xasprintf("show:%s", name), *shown = answer_bold(name);
	AUTO_BUF struct buf times = {0};
	put_times(&times, board);
	json_t *message =
		message_printf("%s%s\nWhich rankings do you want to see? You may choose several devices.", shown, times.data);
	message_menu(message, id, "Devices", MESSAGE_CHOICES_MAX, message_names(devices, offset));
	message_pages(message, "show", name, offset, MESSAGE_CHOICES_MAX, json_array_size(devices));
	interaction_answer(interaction, message);
}

static void
on_rankings(struct interaction *interaction, const json_t *result, void *arg)
{
	struct views *views = arg;
	views->answer = json_incref((json_t *)result);
	const json_t *board = board_of(views);
	size_t count = json_array_size(json_object_get(board, "gpu_types"));
	if (views->kind == VIEWS_MENU || (views->kind == VIEWS_FIRST && count > 1)) {
		ask_devices(interaction, board, views->offset < count ? views->offset : 0);
		return;
	}
	choose_places(views);
	if (json_array_size(views->shown) == 0)
		interaction_say(interaction, "The leaderboard no longer has this device; use the command again.");
	else
		answer_try(interaction, "leaderboard.show",
			json_pack("{s:s, s:b, s:i}", "name", json_text_or_empty(board, "name"), "mine", 1, "limit", 1), on_mine,
			views_ref(views));
}

static void
start_views(struct interaction *interaction, struct views views, const char *board)
{
	struct views *started = xmalloc(sizeof(*started));
	*started = views;
	started->references = 1;
	size_t offset = views.kind == VIEWS_PAGE ? views.offset : 0;
	interaction_call(interaction, "leaderboard.show",
		json_pack("{s:s, s:i, s:I}", "name", board, "limit", PAGE, "offset", (json_int_t)offset), on_rankings,
		views_unref, started);
}

void
discord_board_show(struct interaction *interaction)
{
	start_views(interaction, (struct views){.kind = VIEWS_FIRST}, interaction_text(interaction, "leaderboard_name"));
}

/* The menu has only the board's name, the buttons to its pages "OFFSET:NAME". */
void
discord_board_show_devices(struct interaction *interaction, const char *arguments)
{
	struct views views = {.kind = VIEWS_CHOSEN, .chosen = interaction->values};
	const char *board = arguments;
	if (answer_page(arguments, &views.offset, &board))
		views.kind = VIEWS_MENU;
	else if (json_array_size(interaction->values) == 0) {
		interaction_say(interaction, OUTDATED);
		return;
	}
	interaction_defer_update(interaction);
	start_views(interaction, views, board);
}

/* arguments: "OFFSET:NAME/PLACE". */
void
discord_board_show_page(struct interaction *interaction, const char *arguments)
{
	struct views views = {.kind = VIEWS_PAGE};
	const char *what = "";
	long long place = 0;
	bool paged = answer_page(arguments, &views.offset, &what);
	const char *slash = strchr(what, '/');
	if (!paged || !slash || !number_parse_integer(slash + 1, &place) || place < 0) {
		interaction_say(interaction, OUTDATED);
		return;
	}
	AUTO_FREE char *board = xstrndup(what, (size_t)(slash - what));
	views.place = (size_t)place;
	interaction_defer_update(interaction);
	start_views(interaction, views, board);
}

/* ---- show-personal ---- */

void
discord_board_personal(struct interaction *interaction, const json_t *result)
{
	AUTO_BUF struct buf out = {0};
	AUTO_FREE char *board = answer_bold(json_text_or_empty(json_object_get(result, "leaderboard"), "name"));
	json_array_each(json_object_get(result, "rankings"), ranking) {
		const json_t *entries = json_object_get(ranking, "entries");
		size_t more = (size_t)member_int(ranking, "count") - json_array_size(entries);
		AUTO_FREE char *table = ranking_table(entries, true);
		if (json_array_size(entries) == 0)
			continue;
		buf_printf(&out, "%s%s\n%s\n", out.len ? "\n" : "", json_text_or_empty(ranking, "device"), table);
		if (more > 0)
			buf_printf(&out, "and %zu more\n", more);
	}
	if (out.len == 0) {
		interaction_say(interaction, "You have no ranked submission to %s.", board);
		return;
	}
	AUTO_FREE char *head = xasprintf("Your ranked submissions to %s, the best first:", board);
	interaction_answer(interaction, message_block(head, out.data, "submissions.txt"));
}
