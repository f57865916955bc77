/* SPDX-License-Identifier: MIT */
/* A page of a ranking, made from the page before it where that is still the same. */
#include <config.h>

#include "model/ranking_page.h"

#include "base/cleanup.h"
#include "base/interval.h"
#include "base/json_access.h"
#include "base/text.h"
#include "base/xalloc.h"

#include <string.h>

struct ranking_row {
	int64_t submission, user, created_at, rank;
	double score, low, high;
	bool has_low, has_high, close;
	json_t *entry;
	const char *file_name, *user_name; /* inside entry */
};

/* A page that is being read. */
struct page_reader {
	struct db *db;
	const struct ranking_page_request *request;
	const struct ranking_page *before;
	struct ranking_page page;
	json_t *entries, *name, *device;
	struct interval above; /* of the row before */
	size_t reused;
	struct kettle_error *err;
};

void
ranking_page_free(struct ranking_page *page)
{
	for (size_t i = 0; i < page->count; i++)
		json_decref(page->rows[i].entry);
	free(STEAL(page->rows));
	json_decref(STEAL(page->object));
	page->count = 0;
}

static void
free_reading(struct page_reader *reader)
{
	ranking_page_free(&reader->page);
	json_decref(reader->entries);
	json_decref(reader->name);
	json_decref(reader->device);
}
#define AUTO_READING __attribute__((cleanup(free_reading)))

static struct interval
interval_of(const struct ranking_row *row)
{
	return (struct interval){.known = row->has_low && row->has_high,
		.value = row->score,
		.below = row->score - row->low,
		.above = row->high - row->score};
}

static double
number_or_none(sqlite3_stmt *row, int column, bool *ret_has)
{
	*ret_has = sqlite3_column_type(row, column) != SQLITE_NULL;
	return sqlite3_column_double(row, column);
}

/* submission, file_name, created_at, score, user, user_name, device, low, high */
static struct ranking_row
read_numbers(sqlite3_stmt *row)
{
	struct ranking_row numbers = {
		.submission = sqlite3_column_int64(row, 0),
		.created_at = sqlite3_column_int64(row, 2),
		.score = sqlite3_column_double(row, 3),
		.user = sqlite3_column_int64(row, 4),
	};
	numbers.low = number_or_none(row, 7, &numbers.has_low);
	numbers.high = number_or_none(row, 8, &numbers.has_high);
	return numbers;
}

static bool
same_text(sqlite3_stmt *row, int column, const char *text)
{
	const char *now = (const char *)sqlite3_column_text(row, column);
	return now && text && strcmp(now, text) == 0;
}

/* Whether the entry that was made of one is the entry of the other. */
static bool
is_same(const struct ranking_row *was, const struct ranking_row *now, sqlite3_stmt *row)
{
	return was->submission == now->submission && was->user == now->user && was->created_at == now->created_at &&
		   was->rank == now->rank && was->score == now->score && was->has_low == now->has_low &&
		   was->has_high == now->has_high && was->low == now->low && was->high == now->high &&
		   was->close == now->close && same_text(row, 1, was->file_name) && same_text(row, 5, was->user_name);
}

static json_t *
number_json(bool known, double number)
{
	return known ? json_real(number) : json_null();
}

/* In the order in which people read it. */
static json_t *
make_entry(const struct page_reader *reader, const struct ranking_row *of, sqlite3_stmt *row)
{
	char time[TIME_TEXT_SIZE];
	time_text(of->created_at, time);
	json_t *device =
		same_text(row, 6, json_string_value(reader->device)) ? json_incref(reader->device) : db_text(row, 6);
	const struct {
		const char *key;
		json_t *value;
	} members[] = {
		{"submission_id", json_integer(of->submission)},
		{"rank", json_integer(of->rank)},
		{"submission_name", db_text(row, 1)},
		{"submission_time", json_string_nocheck(time)},
		{"submission_score", json_real(of->score)},
		{"leaderboard_name", json_incref(reader->name)},
		{"user_id", json_sprintf("%lld", (long long)of->user)},
		{"user_name", db_text(row, 5)},
		{"gpu_type", device},
		{"low", number_json(of->has_low, of->low)},
		{"high", number_json(of->has_high, of->high)},
		{"close", json_boolean(of->close)},
	};
	json_t *entry = json_object();
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		json_object_set_new_nocheck(entry, members[i].key, members[i].value);
	return entry;
}

/* Those with an equal score that stand before the page share the rank of its first. */
static int
first_rank(const struct page_reader *reader, const struct ranking_row *first, int64_t *ret_rank)
{
	const struct ranking_page_request *request = reader->request;
	int64_t ties = 0;
	int rc =
		request->offset == 0
			? 0
			: db_int(reader->db, &ties, reader->err,
				  "SELECT count(*) FROM best WHERE leaderboard = ? AND device = ? AND score = ? AND submission < ?",
				  "isdi", request->leaderboard, request->device, first->score, first->submission);
	*ret_rank = request->offset + 1 - ties;
	return rc;
}

static int
set_rank(const struct page_reader *reader, struct ranking_row *row)
{
	size_t place = reader->page.count;
	const struct ranking_row *last = place > 0 ? &reader->page.rows[place - 1] : NULL;
	if (!last)
		return first_rank(reader, row, &row->rank);
	row->rank = last->score == row->score ? last->rank : reader->request->offset + 1 + (int64_t)place;
	return 0;
}

static int
add_row(void *arg, sqlite3_stmt *statement)
{
	struct page_reader *reader = arg;
	struct ranking_page *page = &reader->page;
	struct ranking_row row = read_numbers(statement);
	const struct ranking_row *was =
		reader->before && page->count < reader->before->count ? &reader->before->rows[page->count] : NULL;
	struct interval interval = interval_of(&row);
	int rc = set_rank(reader, &row);
	if (rc < 0)
		return rc;
	row.close = interval_is_close(&reader->above, &interval);
	reader->above = interval;
	if (was && is_same(was, &row, statement)) {
		row.entry = json_incref(was->entry);
		reader->reused++;
	} else {
		row.entry = make_entry(reader, &row, statement);
	}
	json_array_append(reader->entries, row.entry);
	row.file_name = member_string(row.entry, "submission_name");
	row.user_name = member_string(row.entry, "user_name");
	page->rows[page->count++] = row;
	return 0;
}

static int
read_above(void *arg, sqlite3_stmt *row)
{
	struct ranking_row above = {.score = sqlite3_column_double(row, 0)};
	above.low = number_or_none(row, 1, &above.has_low);
	above.high = number_or_none(row, 2, &above.has_high);
	*(struct interval *)arg = interval_of(&above);
	return 1;
}

/* The entry just above the page. */
static int
find_above(struct page_reader *reader)
{
	const struct ranking_page_request *request = reader->request;
	if (request->offset == 0)
		return 0;
	int rc = db_query(reader->db, reader->err, read_above, &reader->above,
		"SELECT score, low, high FROM best WHERE leaderboard = ? AND device = ? ORDER BY score, submission LIMIT 1 "
		"OFFSET ?",
		"isi", request->leaderboard, request->device, request->offset - 1);
	return rc < 0 ? rc : 0;
}

/* All of it is in the index best_page: neither what is shown nor what is passed over is looked up anywhere else. */
static int
read_rows(struct page_reader *reader)
{
	const struct ranking_page_request *request = reader->request;
	return db_query(reader->db, reader->err, add_row, reader,
		"SELECT submission, file_name, created_at, score, user, user_name, device, low, high FROM best WHERE "
		"leaderboard = ? AND device = ? ORDER BY score, submission LIMIT ? OFFSET ?",
		"isii", request->leaderboard, request->device, request->limit, request->offset);
}

/* The page before where it is the same altogether. */
static json_t *
make_object(const struct page_reader *reader, int64_t count)
{
	const struct ranking_page *before = reader->before;
	if (before && before->count == reader->page.count && reader->reused == before->count &&
		member_int(before->object, "count") == count)
		return json_incref(before->object);
	return json_pack(
		"{s:O, s:I, s:O}", "device", reader->device, "count", (json_int_t)count, "entries", reader->entries);
}

int
ranking_page_read(struct db *db, const struct ranking_page_request *request, const struct ranking_page *before,
	struct ranking_page *ret_page, struct kettle_error *err)
{
	AUTO_READING struct page_reader reader = {.db = db,
		.request = request,
		.before = before,
		.entries = json_array(),
		.name = json_string(request->name),
		.device = json_string(request->device),
		.err = err};
	int64_t count = 0;
	reader.page.rows = xcalloc((size_t)request->limit, sizeof(*reader.page.rows));
	int rc = find_above(&reader);
	if (rc == 0)
		rc = read_rows(&reader);
	if (rc == 0)
		rc = db_int(db, &count, err, "SELECT ranked FROM leaderboard_devices WHERE leaderboard = ? AND device = ?",
			"is", request->leaderboard, request->device);
	if (rc < 0)
		return rc;
	reader.page.object = make_object(&reader, count);
	*ret_page = reader.page;
	reader.page = (struct ranking_page){0};
	return 0;
}
