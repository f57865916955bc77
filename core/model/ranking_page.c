/* SPDX-License-Identifier: MIT */
/* A page of a ranking, made from the page before it where that is still the same. */
#include <config.h>

#include "model/ranking_page.h"

#include "base/base.h"
#include "base/interval.h"
#include "base/ranking_columns.h"
#include "base/text.h"

/* From RANK on nothing is read of a row. */
enum type {
	TYPE_INT,
	TYPE_ID,
	TYPE_TEXT,
	TYPE_TIME,
	TYPE_SECONDS,
	TYPE_RANK,
	TYPE_BOARD,
	TYPE_DEVICE,
	TYPE_CLOSE,
	TYPE_SHARE
};

#define COLUMN_OF(name, type, ...) {#name, TYPE_##type},
static const struct {
	const char *name;
	enum type type;
} columns[] = {RANKING_COLUMNS(COLUMN_OF, COLUMN_OF)};

/* The index of each column, in a row and in the result of the query. */
#define AT(name, ...) AT_##name,
enum { RANKING_COLUMNS(AT, AT) COLUMNS_COUNT };

/* The value that a member of an entry is made from. */
struct value {
	union {
		int64_t number; /* also of RANK and CLOSE, which nothing is read for */
		double seconds;
		const char *text; /* inside the entry, once that is made */
	};
	bool known; /* of SECONDS and SHARE */
};

struct ranking_row {
	struct value values[COLUMNS_COUNT];
	json_t *entry;
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
	json_decref_all(reader->entries, reader->name, reader->device);
}
#define AUTO_READING __attribute__((cleanup(free_reading)))

static struct interval
interval_of(const struct value *score, const struct value *low, const struct value *high)
{
	return (struct interval){.known = low->known && high->known,
		.value = score->seconds,
		.below = score->seconds - low->seconds,
		.above = high->seconds - score->seconds};
}

static void
read_value(sqlite3_stmt *row, int column, enum type type, struct value *value)
{
	switch (type) {
	case TYPE_INT:
	case TYPE_ID:
	case TYPE_TIME:
		value->number = sqlite3_column_int64(row, column);
		break;
	case TYPE_SECONDS:
		value->known = sqlite3_column_type(row, column) != SQLITE_NULL;
		value->seconds = sqlite3_column_double(row, column);
		break;
	case TYPE_TEXT:
		value->text = (const char *)sqlite3_column_text(row, column);
		break;
	case TYPE_RANK:
	case TYPE_BOARD:
	case TYPE_DEVICE:
	case TYPE_CLOSE:
	case TYPE_SHARE:
		break;
	}
}

static bool
is_same(const struct ranking_row *was, const struct ranking_row *now)
{
	for (size_t i = 0; i < COLUMNS_COUNT; i++) {
		const struct value *a = &was->values[i], *b = &now->values[i];
		bool text = columns[i].type == TYPE_TEXT && a->text && b->text;
		if (text ? strcmp(a->text, b->text) != 0 : a->number != b->number || a->known != b->known)
			return false;
	}
	return true;
}

static json_t *
member_json(const struct page_reader *reader, size_t column, const struct value *value, sqlite3_stmt *row)
{
	const char *text;
	switch (columns[column].type) {
	case TYPE_INT:
	case TYPE_RANK:
		return json_integer(value->number);
	case TYPE_ID:
		return json_sprintf("%lld", (long long)value->number);
	case TYPE_TIME:
		return json_string_nocheck(TIME_TEXT(value->number));
	case TYPE_SECONDS:
		return value->known ? json_real(value->seconds) : json_null();
	case TYPE_TEXT:
		return db_text(row, (int)column);
	case TYPE_BOARD:
		return json_incref(reader->name);
	case TYPE_DEVICE:
		text = (const char *)sqlite3_column_text(row, (int)column);
		return text && strcmp(text, json_string_value(reader->device)) == 0 ? json_incref(reader->device)
																			: db_text(row, (int)column);
	case TYPE_CLOSE:
		return json_boolean(value->number);
	case TYPE_SHARE:
		return value->known ? json_real(value->seconds) : NULL;
	}
	return NULL;
}

/* In the order in which people read it. */
static json_t *
make_entry(const struct page_reader *reader, struct ranking_row *of, sqlite3_stmt *row)
{
	json_t *entry = json_object();
	for (size_t i = 0; i < COLUMNS_COUNT; i++) {
		json_t *member = member_json(reader, i, &of->values[i], row);
		if (member)
			json_object_set_new_nocheck(entry, columns[i].name, member);
		if (columns[i].type == TYPE_TEXT)
			of->values[i].text = json_string_value(member);
	}
	return entry;
}

/* Entries of an equal score before the page share the rank of its first entry. */
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
				  "isdi", request->leaderboard, request->device, first->values[AT_submission_score].seconds,
				  first->values[AT_submission_id].number);
	*ret_rank = request->offset + 1 - ties;
	return rc;
}

static int
set_rank(const struct page_reader *reader, struct ranking_row *row)
{
	size_t place = reader->page.count;
	const struct value *last = place > 0 ? reader->page.rows[place - 1].values : NULL;
	int64_t *rank = &row->values[AT_rank].number;
	if (!last)
		return first_rank(reader, row, rank);
	bool tie = last[AT_submission_score].seconds == row->values[AT_submission_score].seconds;
	*rank = tie ? last[AT_rank].number : reader->request->offset + 1 + (int64_t)place;
	return 0;
}

static int
add_row(void *arg, sqlite3_stmt *statement)
{
	struct page_reader *reader = arg;
	struct ranking_page *page = &reader->page;
	struct ranking_row *row = &page->rows[page->count];
	struct value *values = row->values;
	const struct ranking_row *was =
		reader->before && page->count < reader->before->count ? &reader->before->rows[page->count] : NULL;
	for (int i = 0; i < COLUMNS_COUNT; i++)
		if (columns[i].type < TYPE_RANK)
			read_value(statement, i, columns[i].type, &values[i]);
	struct interval interval = interval_of(&values[AT_submission_score], &values[AT_low], &values[AT_high]);
	int rc = set_rank(reader, row);
	if (rc < 0)
		return rc;
	values[AT_close].number = interval_is_close(&reader->above, &interval);
	values[AT_share] = (struct value){.known = reader->request->limit_s > 0};
	if (values[AT_share].known)
		values[AT_share].seconds = reader->request->limit_s / interval.value;
	reader->above = interval;
	if (was && is_same(was, row)) {
		*row = *was;
		json_incref(row->entry);
		reader->reused++;
	} else {
		row->entry = make_entry(reader, row, statement);
	}
	json_array_append(reader->entries, row->entry);
	page->count++;
	return 0;
}

/* score, low, high */
static int
read_above(void *arg, sqlite3_stmt *row)
{
	struct value values[3];
	for (int i = 0; i < 3; i++)
		read_value(row, i, TYPE_SECONDS, &values[i]);
	*(struct interval *)arg = interval_of(&values[0], &values[1], &values[2]);
	return 1;
}

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

#define BEST(name, type, best, ...) best ", "
/* The index best_page holds all of it: neither the rows shown nor the rows skipped are looked up anywhere else. */
static int
read_rows(struct page_reader *reader)
{
	const struct ranking_page_request *request = reader->request;
	return db_query(reader->db, reader->err, add_row, reader,
		"SELECT " RANKING_COLUMNS(BEST,
			BEST) "NULL FROM best WHERE leaderboard = ? AND device = ? ORDER BY score, submission LIMIT ? OFFSET ?",
		"isii", request->leaderboard, request->device, request->limit, request->offset);
}

/* The earlier page, if nothing in it has changed. */
static json_t *
make_object(const struct page_reader *reader, int64_t count)
{
	const struct ranking_page *before = reader->before;
	if (before && before->count == reader->page.count && reader->reused == before->count &&
		member_int(before->object, "count") == count &&
		json_number_value(json_object_get(before->object, "limit")) == reader->request->limit_s)
		return json_incref(before->object);
	json_t *object =
		json_pack("{s:O, s:I, s:O}", "device", reader->device, "count", (json_int_t)count, "entries", reader->entries);
	if (reader->request->limit_s > 0)
		json_object_set_new(object, "limit", json_real(reader->request->limit_s));
	return object;
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
