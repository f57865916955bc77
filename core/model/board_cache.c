/* SPDX-License-Identifier: MIT */
/*
 * The answers of leaderboards, shared by all who may see them: made once, and again when something in them has changed.
 * Theory of operation in board_cache.h.
 */
#include <config.h>

#include "model/board_cache.h"

#include "base/base.h"
#include "judge/limit.h"
#include "model/ranking_page.h"

/* One that is kept. result NULL: none. */
struct cached_board {
	/* The request. */
	int64_t board, limit, offset;
	char name[BOARD_NAME_MAX + 1], device[REQUEST_NAME_MAX + 1]; /* device "": all */
	bool open;
	/* The versions that it was made from. */
	int64_t version, own;
	bool ended;
	json_t *result;
	struct ranking_page *pages;
	struct limit_peak *peaks; /* of each page's device, which its limit was made from */
	size_t pages_count;
	uint64_t used;
};

struct board_cache {
	struct cached_board items[BOARD_ANSWERS_MAX];
	uint64_t turn;
};

static void
answer_clear(struct cached_board *answer)
{
	for (size_t i = 0; i < answer->pages_count; i++)
		ranking_page_free(&answer->pages[i]);
	free_all(answer->pages, answer->peaks);
	json_decref(answer->result);
	*answer = (struct cached_board){0};
}
#define AUTO_ANSWER __attribute__((cleanup(answer_clear)))

static void
answers_free(void *arg)
{
	struct board_cache *answers = arg;
	for (size_t i = 0; i < BOARD_ANSWERS_MAX; i++)
		answer_clear(&answers->items[i]);
	free(answers);
}

/* The cached answers of this connection; NULL: it keeps none. */
static struct board_cache *
answers_of(struct db *db)
{
	if (db->events)
		return NULL;
	if (!db->kept) {
		db->kept = xcalloc(1, sizeof(struct board_cache));
		db->kept_free = answers_free;
	}
	return db->kept;
}

/* The answer to the same question, however old. */
static struct cached_board *
board_cache_find(struct board_cache *answers, const struct cached_board *request)
{
	for (size_t i = 0; answers && i < BOARD_ANSWERS_MAX; i++) {
		struct cached_board *kept = &answers->items[i];
		if (kept->result && kept->board == request->board && kept->limit == request->limit &&
			kept->offset == request->offset && kept->open == request->open && strcmp(kept->name, request->name) == 0 &&
			strcmp(kept->device, request->device) == 0) {
			kept->used = ++answers->turn;
			return kept;
		}
	}
	return NULL;
}

/* Replaces the older answer to this request, or else the least recently used one. */
static void
board_cache_keep(struct board_cache *answers, struct cached_board *before, struct cached_board *answer_take)
{
	size_t entries = 0;
	for (size_t i = 0; i < answer_take->pages_count; i++)
		entries += answer_take->pages[i].count;
	if (!answers || entries > BOARD_ANSWER_ENTRIES_MAX)
		return;
	struct cached_board *place = before ? before : &answers->items[0];
	for (size_t i = 1; !before && i < BOARD_ANSWERS_MAX; i++)
		if (answers->items[i].used < place->used)
			place = &answers->items[i];
	answer_clear(place);
	*place = *answer_take;
	place->used = ++answers->turn;
	*answer_take = (struct cached_board){0};
}

static const struct ranking_page *
page_before(const struct cached_board *before, const char *device)
{
	for (size_t i = 0; before && i < before->pages_count; i++) {
		const char *name = json_text_or_null(before->pages[i].object, "device");
		if (name && strcmp(name, device) == 0)
			return &before->pages[i];
	}
	return NULL;
}

static int
read_pages(struct db *db, const struct command_env *env, struct cached_board *answer, const json_t *object,
	const json_t *devices, const struct cached_board *before, json_t *rankings, struct kettle_error *err)
{
	size_t count = json_array_size(devices);
	answer->pages = xcalloc(count + 1, sizeof(*answer->pages));
	answer->peaks = xcalloc(count + 1, sizeof(*answer->peaks));
	for (size_t i = 0; i < count; i++) {
		struct ranking_page_request wanted = {.leaderboard = answer->board,
			.name = answer->name,
			.device = json_string_value(json_array_get(devices, i)),
			.limit = answer->limit,
			.offset = answer->offset};
		struct limit_peak *peak = &answer->peaks[i];
		*peak = limit_peak_of(board_configured_device(env, wanted.device));
		wanted.limit_s = limit_of_score(json_object_get(object, "task"), peak);
		struct ranking_page *page = &answer->pages[i];
		int rc = ranking_page_read(db, &wanted, page_before(before, wanted.device), page, err);
		if (rc < 0)
			return rc;
		answer->pages_count++;
		json_array_append(rankings, page->object);
	}
	return 0;
}

/* Reads the board's own members, or takes those of `before` if only its rankings have changed. */
static int
read_own(struct db *db, const struct board *board, const char *word, const struct cached_board *answer,
	const struct cached_board *before, json_t **ret_object, json_t **ret_devices, struct kettle_error *err)
{
	if (!before || before->own != answer->own || before->ended != answer->ended) {
		int rc = board_choose_devices(db, board, word, ret_devices, err);
		return rc < 0 ? rc : board_object(db, board->id, ret_object, err);
	}
	json_t *devices = *ret_devices = json_array();
	for (size_t i = 0; i < before->pages_count; i++)
		json_array_append(devices, json_object_get(before->pages[i].object, "device"));
	*ret_object = json_incref(json_object_get(before->result, "leaderboard"));
	return 0;
}

static int
read_answer(struct db *db, const struct board *board, const struct board_view_request *request,
	struct cached_board *answer, const struct cached_board *before, struct kettle_error *err)
{
	AUTO_JSON json_t *devices = NULL, *object = NULL, *rankings = json_array();
	int rc = read_own(db, board, request->device, answer, before, &object, &devices, err);
	if (rc == 0)
		rc = read_pages(db, request->env, answer, object, devices, before, rankings, err);
	if (rc < 0)
		return rc;
	answer->result = json_pack("{s:O, s:O, s:b, s:I}", "leaderboard", object, "rankings", rankings, "code_open",
		(int)answer->open, "version", (json_int_t)answer->version);
	return 0;
}

/* Whether the devices have the peaks of the configuration at hand, which no version counts. */
static bool
has_peaks(const struct cached_board *kept, const struct command_env *env)
{
	for (size_t i = 0; i < kept->pages_count; i++) {
		const char *device = json_text_or_empty(kept->pages[i].object, "device");
		struct limit_peak now = limit_peak_of(board_configured_device(env, device));
		if (now.bytes != kept->peaks[i].bytes || now.operations != kept->peaks[i].operations)
			return false;
	}
	return true;
}

int
board_cache_get(struct db *db, const struct board *board, const struct board_view_request *request, json_t **ret_answer,
	struct kettle_error *err)
{
	AUTO_ANSWER struct cached_board answer = {.board = board->id,
		.limit = request->limit,
		.offset = request->offset,
		.open = request->open,
		.version = board->version,
		.own = board->own,
		.ended = board_ended(board, db->now_ms)};
	(void)snprintf(answer.name, sizeof(answer.name), "%s", board->name);
	(void)snprintf(answer.device, sizeof(answer.device), "%s", request->device ? request->device : "");
	struct board_cache *answers = answers_of(db);
	struct cached_board *kept = board_cache_find(answers, &answer);
	if (kept && kept->version == answer.version && kept->ended == answer.ended && has_peaks(kept, request->env)) {
		*ret_answer = json_incref(kept->result);
		return 0;
	}
	int rc = read_answer(db, board, request, &answer, kept, err);
	if (rc < 0)
		return rc;
	*ret_answer = json_incref(answer.result);
	board_cache_keep(answers, kept, &answer);
	return 0;
}
