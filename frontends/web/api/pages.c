/* SPDX-License-Identifier: MIT */
/* Kept answers about boards. */
#include <config.h>

#include "web/api/pages.h"

#include <ctype.h>
#include <pthread.h>

#include "base/base.h"
#include "web/visit/respond.h"

#define BUCKETS 1024 /* of keys; a power of two */
#define BOARDS 256   /* counters of changes; boards with the same hash share one */

struct page {
	struct page *next; /* in its bucket */
	char *key, *board; /* board NULL: of several */
	struct http_content *content;
	char tag[TAG_SIZE];
	size_t size;
	uint64_t until_ms;
};

/* The last answer to users among the keys that share this, and the same as text. */
struct text {
	json_t *result;
	struct http_content *content;
};

struct pages {
	struct web *web;
	/* The loop's. */
	struct text texts[PAGES_TEXTS];
	pthread_mutex_t lock;
	/* Under the lock. */
	struct page *buckets[BUCKETS];
	size_t count, bytes;
	uint64_t total, all, boards[BOARDS]; /* changes: of anything, of all boards at once, of each */
};

/* FNV-1a; names of boards ignore case, and keys are told apart by strcmp. */
static uint64_t
hash_of(const char *text)
{
	uint64_t hash = UINT64_C(14695981039346656037);
	for (; *text; text++)
		hash = (hash ^ (uint64_t)tolower((unsigned char)*text)) * UINT64_C(1099511628211);
	return hash >> 32;
}

static void
remove_page(struct pages *pages, struct page **link)
{
	struct page *page = *link;
	*link = page->next;
	pages->count--;
	pages->bytes -= page->size;
	http_content_unref(page->content);
	free_all(page->key, page->board, page);
}

/* The link to the page with this key, or to NULL where it would go. */
static struct page **
find(struct pages *pages, const char *key)
{
	struct page **link = &pages->buckets[hash_of(key) % BUCKETS];
	while (*link && strcmp((*link)->key, key) != 0)
		link = &(*link)->next;
	return link;
}

/* Removes the pages of a board and those of several; board NULL: all. */
static void
remove_of(struct pages *pages, const char *board)
{
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct page **link = &pages->buckets[i]; *link;)
			if (!board || !(*link)->board || strcasecmp((*link)->board, board) == 0)
				remove_page(pages, link);
			else
				link = &(*link)->next;
}

bool
pages_answer(struct pages *pages, const char *key, struct http_request *request)
{
	struct http_content *content = NULL;
	char tag[TAG_SIZE];
	uint64_t now_ms = pages->web->host->monotonic_ms(pages->web->host);
	(void)pthread_mutex_lock(&pages->lock);
	struct page **link = find(pages, key);
	if (*link && (*link)->until_ms > now_ms) {
		content = http_content_ref((*link)->content);
		(void)memcpy(tag, (*link)->tag, sizeof(tag));
	} else if (*link) {
		remove_page(pages, link);
	}
	(void)pthread_mutex_unlock(&pages->lock);
	if (content)
		respond_known(request, content, tag);
	return content != NULL;
}

/* Under the lock. */
static uint64_t
changes_of(const struct pages *pages, const char *board)
{
	return board ? pages->all + pages->boards[hash_of(board) % BOARDS] : pages->total;
}

uint64_t
pages_changes(struct pages *pages, const char *board)
{
	(void)pthread_mutex_lock(&pages->lock);
	uint64_t changes = changes_of(pages, board);
	(void)pthread_mutex_unlock(&pages->lock);
	return changes;
}

void
pages_keep(struct pages *pages, const char *key, const char *board, uint64_t changes, const struct page_body *body,
	struct http_request *request)
{
	struct page *page = xnew(struct page, .key = xstrdup(key), .board = board ? xstrdup(board) : NULL,
		.size = body->size + strlen(key), .until_ms = pages->web->host->monotonic_ms(pages->web->host) + body->keep_ms);
	page->content = respond_kept(body->type, body->data, body->size, page->tag);
	struct http_content *content = http_content_ref(page->content);
	char tag[TAG_SIZE];
	(void)memcpy(tag, page->tag, sizeof(tag));
	(void)pthread_mutex_lock(&pages->lock);
	if (pages->count >= PAGES_MAX || pages->bytes + page->size > PAGES_BYTES_MAX)
		remove_of(pages, NULL);
	struct page **link = find(pages, key);
	if (*link)
		remove_page(pages, link);
	page->next = *link;
	*link = page;
	pages->count++;
	pages->bytes += page->size;
	if (changes != changes_of(pages, board) || page->size > PAGES_BYTES_MAX)
		remove_page(pages, link);
	(void)pthread_mutex_unlock(&pages->lock);
	respond_known(request, content, tag);
}

static void
free_text(struct text *text)
{
	json_decref(text->result);
	http_content_unref(text->content);
	*text = (struct text){NULL, NULL};
}

void
pages_answer_user(struct pages *pages, const char *key, json_t *result, struct http_request *request)
{
	struct text *text = &pages->texts[hash_of(key) % PAGES_TEXTS];
	size_t size = 0;
	/* Of members that are the very same this takes no time. */
	if (!json_equal(text->result, result)) {
		free_text(text);
		*text = (struct text){json_incref(result), respond_content(result, &size)};
	}
	http_answer(request, STATUS_OK, http_content_ref(text->content));
	if (size > PAGES_TEXT_MAX)
		free_text(text);
}

void
pages_event(struct pages *pages, const json_t *event)
{
	const char *kind = json_text_or_empty(event, "kind"), *board = json_text_or_null(event, "leaderboard_name");
	/* Answers about a board under its old name. */
	const char *was = json_text_or_null(json_object_get(event, "data"), "was");
	/* Jobs change nothing on public pages: where they change a ranking, rank.changed follows. */
	bool of_board = strncmp(kind, "leaderboard.", strlen("leaderboard.")) == 0 || strcmp(kind, "rank.changed") == 0;
	/* A user's public profile is on no page of a board, and users may change it as often as they like. */
	bool of_several = strcmp(kind, "user.updated") == 0;
	bool of_all = !of_several && (strncmp(kind, "user.", strlen("user.")) == 0 || strcmp(kind, "reset") == 0);
	if (!of_board && !of_all && !of_several)
		return;
	(void)pthread_mutex_lock(&pages->lock);
	pages->total++;
	if (of_all || (of_board && !board))
		pages->all++;
	else if (of_board)
		pages->boards[hash_of(board) % BOARDS]++;
	if (of_several)
		board = "";
	remove_of(pages, of_all ? NULL : board);
	if (of_board && was) {
		pages->boards[hash_of(was) % BOARDS]++;
		remove_of(pages, was);
	}
	(void)pthread_mutex_unlock(&pages->lock);
}

struct pages *
pages_new(struct web *web)
{
	struct pages *pages = xnew(struct pages, .web = web, .lock = PTHREAD_MUTEX_INITIALIZER);
	return pages;
}

void
pages_free(struct pages *pages)
{
	if (!pages)
		return;
	remove_of(pages, NULL);
	for (size_t i = 0; i < PAGES_TEXTS; i++)
		free_text(&pages->texts[i]);
	(void)pthread_mutex_destroy(&pages->lock);
	free(pages);
}
