/* SPDX-License-Identifier: MIT */
/*
 * A cache of answers about leaderboards. Answers to requests without a credential are served from it until an event about
 * the leaderboard, for at most a time of their own (PAGES_KEEP_MS), since some of them change with time. For users every request is a call; the
 * cache only saves rendering the same result again.
 */
#pragma once

#include "web/visit/web.h"

#define PAGES_MAX 1024              /* answers */
#define PAGES_BYTES_MAX (64u << 20) /* of all of them */
#define PAGES_KEEP_MS 2000
#define PAGES_TEXTS 16              /* answers for users whose text is known; a power of two */
#define PAGES_TEXT_MAX (256u << 10) /* bytes of one of them */

/* An answer that is kept. */
struct page_body {
	const char *type;
	const void *data;
	size_t size;
	unsigned keep_ms; /* at most */
};

struct pages *pages_new(struct web *web);
void pages_free(struct pages *pages); /* NULL is allowed */
/* Answers the request by the kept answer with this key; false: there is none. [any] */
bool pages_answer(struct pages *pages, const char *key, struct http_request *request);
/* The number of changes of a board (NULL: of all, for an answer about several); for pages_keep. [any] */
uint64_t pages_changes(struct pages *pages, const char *board);
/*
 * Answers the request with a body, and keeps it under the key unless the board has changed since `changes` was read,
 * which was before the answer was made. [any]
 */
void pages_keep(struct pages *pages, const char *key, const char *board, uint64_t changes, const struct page_body *body,
	struct http_request *request);
/*
 * Answers a user's request with a command's answer. Whether a user may have it, the core has decided; its text is kept
 * under the key, since the core gives the same lists to all users while nothing changes. Loop thread.
 */
void pages_answer_user(struct pages *pages, const char *key, json_t *result, struct http_request *request);
/* An event of the core, after which answers may be wrong. Loop thread. */
void pages_event(struct pages *pages, const json_t *event);
