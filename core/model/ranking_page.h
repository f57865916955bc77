/* SPDX-License-Identifier: MIT */
/* A page of a ranking, made from the page before it where that is still the same. Store's threads. */
#pragma once

#include "store/db.h"

struct ranking_row;

/* Zero-initialise. */
struct ranking_page {
	json_t *object;           /* what is shown; shared with its readers: never changed */
	struct ranking_row *rows; /* what its entries were made from */
	size_t count;
};

/* The page that is wanted. */
struct ranking_page_request {
	int64_t leaderboard;
	const char *name, *device; /* the leaderboard's; as the leaderboard has it */
	int64_t limit, offset;
	double limit_s; /* of the score there, by judge/limit.h; 0: none is known */
};

/*
 * {"device", "count", "entries": [{"submission_id", "rank", "submission_name", "submission_time", "submission_score",
 * "leaderboard_name", "user_id" (text), "user_name", "gpu_type", "low", "high", "close", "share": missing without limit_s}], "limit": limit_s, likewise} in the order of score, then
 * of submission. close: the gap to the entry above is within the combined error of both (the root of the sum of the
 * squares of what its interval reaches upwards and that of this one downwards); false where an interval is not known.
 * before: an earlier page of just this, whose entries are taken where nothing in them has changed; may be NULL. The
 * page is always read from the database; `before` only saves making its JSON. *ret_page is the caller's.
 */
int ranking_page_read(struct db *db, const struct ranking_page_request *request, const struct ranking_page *before,
	struct ranking_page *ret_page, struct kettle_error *err);
void ranking_page_free(struct ranking_page *page);
