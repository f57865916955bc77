/* SPDX-License-Identifier: MIT */
/*
 * The columns of a ranking: the one list of what an entry has, from which it is read (model/ranking_page.c, ranking.c), described
 * (commands/shapes.h) and shown: as a table of the command line, as CSV, in Discord.
 *
 * DATA(name, type, best, run, shape, in), or SHOWN(name, type, best, run, shape, in, place, view) of one that the table of the
 * command line has, at this place (from 1). name: of the member. type: what it is made from: INT, ID (a number, as text), TEXT,
 * TIME (ms), SECONDS, or what the page knows: RANK, BOARD, DEVICE, CLOSE, SHARE. best, run: what is read in SQL, on a row of best, and on
 * submissions s, jobs j, leaderboards b and users u, there with its comma and its name (store/db.h). shape: of the member. in: where
 * else it is shown, see struct ranking_column.
 */
#pragma once

#include "base/view_column.h"

/* clang-format off */
#define RANKING_COLUMNS(DATA, SHOWN) \
	SHOWN(submission_id, INT, "submission", "s.id AS submission_id", (SHAPE_INT), \
		(.csv = 4, .discord = {5, 1}, .own = {2}), 6, SPARE_COLUMN_RIGHT(3, "id", "{submission_id}")) \
	SHOWN(rank, RANK, "NULL", ", " RANK_SQL " AS rank", \
		(SHAPE_INT, .null = true, .help = "null, with `mine`, of a run that is not your best"), \
		(.csv = 1, .discord = {1}, .own = {1}, .own_cell = "{rank?{rank}|–}"), 1, COLUMN_RIGHT("rank", "{close?≈ }{rank}")) \
	SHOWN(submission_name, TEXT, "file_name", ", s.file_name AS submission_name", (SHAPE_STRING, .help = "of the file"), \
		(.csv = 5, .own = {6, 1}), 7, SPARE_COLUMN_CUT(1, "file", "{submission_name}")) \
	SHOWN(submission_time, TIME, "created_at", ", s.created_at AS submission_time_iso", (SHAPE_TIME), \
		(.csv = 6, .own = {5, 3}), 5, SPARE_COLUMN(2, "when", "{submission_time:time}")) \
	SHOWN(submission_score, SECONDS, "score", ", j.score AS submission_score", (SHAPE_NUMBER, .unit = "s"), \
		(.csv = 7, .discord = {3}, .own = {3}), 3, COLUMN_RIGHT("score", "{submission_score:score}")) \
	DATA(leaderboard_name, BOARD, "NULL", ", b.name AS leaderboard_name", (SHAPE_STRING), (.csv = 11)) \
	DATA(user_id, ID, "user", ", u.id AS user_id_text", (SHAPE_STRING), (.csv = 2)) \
	SHOWN(user_name, TEXT, "user_name", ", u.name AS user_name", (SHAPE_STRING), \
		(.csv = 3, .discord = {2}), 2, COLUMN_CUT("user", "{user_name?{user_name}|{user_id}}")) \
	DATA(gpu_type, DEVICE, "device", ", j.device AS gpu_type", (SHAPE_STRING, .help = "the device"), (.csv = 10)) \
	DATA(low, SECONDS, "low", ", j.low", \
		(SHAPE_NUMBER, .unit = "s", .null = true, .help = "where the 95 % interval of the score begins"), (.csv = 8)) \
	DATA(high, SECONDS, "high", ", j.high", (SHAPE_NUMBER, .unit = "s", .null = true), (.csv = 9)) \
	SHOWN(tries, INT, "tries", "", \
		(SHAPE_INT, .optional = true, .help = "how many ranked submissions of the user there have ended since the ranking began, " \
			"with any result; missing with `mine` and `practice`"), (.csv = 12), 8, SPARE_COLUMN_RIGHT(5, "tries", "{tries}")) \
	DATA(close, CLOSE, "NULL", "", (SHAPE_BOOL, .optional = true, .help = "whether the gap to the entry above is within " \
		"the error of both; missing with `mine` and `practice`"), (.csv = 0)) \
	SHOWN(share, SHARE, "NULL", "", \
		(SHAPE_NUMBER, .optional = true, .help = "the `limit` of the ranking divided by the score; missing without a limit"), \
		(.csv = 13, .discord = {4, 2}, .own = {4, 2}), 4, SPARE_COLUMN_RIGHT(4, "of limit", "{share?{share:share}}"))
/* clang-format on */

#define RANKING_UNPACK(...) __VA_ARGS__

/* A column as frontends show it. */
struct ranking_column {
	const char *name;
	struct view_column view; /* of the table of the command line; no title: it is not there */
	unsigned csv;            /* places, from 1; 0: it is not there */
	struct ranking_place {
		unsigned place, spare; /* as in struct view_column */
	} discord, own;            /* in Discord: of a ranking, of the user's own runs */
	const char *own_cell;      /* of the latter, if another than the view's */
};
#define RANKING_DATA(name, type, best, run, shape, in) {#name, {0}, RANKING_UNPACK in},
#define RANKING_SHOWN(name, type, best, run, shape, in, place, ...) {#name, __VA_ARGS__, RANKING_UNPACK in},
static const struct ranking_column ranking_columns[] = {RANKING_COLUMNS(RANKING_DATA, RANKING_SHOWN)};
