/* SPDX-License-Identifier: MIT */
/*
 * Streams of events.
 *
 * Theory of operation. A feed is one subscription of the core, and the streams that get its events. Feeds and streams
 * belong to the loop. The server's thread marks a stream whose client has left, and has the loop end it.
 */
#include <config.h>

#include "web/api/feeds.h"

#include "base/base.h"
#include "base/failpoint.h"
#include "base/number.h"
#include "http/form.h"
#include "web/visit/caller.h"
#include "web/visit/respond.h"
#include "web/visit/visit.h"

struct stream {
	struct stream *next; /* of its feed */
	struct feeds *feeds;
	struct http_stream *http;
	bool is_closed; /* atomic */
};

struct feed {
	struct feed *next;
	struct feeds *feeds;
	char *board; /* of the feed that new streams without a credential share; NULL: of one stream */
	char *user;  /* the name of who follows with a credential, or NULL */
	struct stream *streams;
	uint64_t subscription;
};

struct feeds {
	struct web *web;
	struct feed *first;
	size_t streams;
};

/* ---- ending ---- */

/* Ends the streams of a feed whose clients have left, or all. */
static void
end_streams(struct feed *feed, bool all)
{
	for (struct stream **link = &feed->streams; *link;) {
		struct stream *stream = *link;
		if (!all && !__atomic_load_n(&stream->is_closed, __ATOMIC_ACQUIRE)) {
			link = &stream->next;
			continue;
		}
		*link = stream->next;
		http_stream_end(stream->http);
		feed->feeds->streams--;
		free(stream);
	}
}

static void
free_feed(struct feed *feed)
{
	free_all(feed->board, feed->user, feed);
}

/* Ends the streams whose clients have left, and feeds without a stream. */
static void
sweep(void *arg)
{
	struct feeds *feeds = arg;
	const struct kettle_host *host = feeds->web->host;
	for (struct feed **link = &feeds->first; *link;) {
		struct feed *feed = *link;
		end_streams(feed, false);
		if (feed->streams) {
			link = &feed->next;
			continue;
		}
		*link = feed->next;
		(void)host->unsubscribe(host, feed->subscription, NULL, NULL);
		free_feed(feed);
	}
}

/* Nothing can be sent any more. On the server's thread; the stream is there until it has ended. */
static void
on_closed(void *arg)
{
	struct stream *stream = arg;
	const struct kettle_host *host = stream->feeds->web->host;
	__atomic_store_n(&stream->is_closed, true, __ATOMIC_RELEASE);
	(void)host->post(host, sweep, stream->feeds);
}

/* ---- events ---- */

static struct http_chunk *
chunk_of(const json_t *event)
{
	AUTO_FREE char *text = json_dumps(event, JSON_COMPACT), *block = NULL;
	const char *kind = json_text_or_empty(event, "kind");
	if (json_object_get(event, "seq"))
		block = xasprintf("id: %lld\nevent: %s\ndata: %s\n\n", (long long)member_int(event, "seq"), kind, text);
	else
		block = xasprintf("event: %s\ndata: %s\n\n", kind, text);
	return http_chunk_new(block, strlen(block));
}

static void
on_event(void *arg, const json_t *event)
{
	struct feed *feed = arg;
	struct http_chunk *chunk = chunk_of(event);
	const json_t *data = json_object_get(event, "data");
	if (feed->board && member_is(event, "kind", "leaderboard.updated") && json_text_or_null(data, "was")) {
		/* The subscription goes on with the new name; the old one may become that of another board. */
		free(feed->board);
		feed->board = xstrdup(json_text_or_empty(data, "name"));
	}
	for (struct stream *stream = feed->streams; stream; stream = stream->next)
		(void)http_stream_send(stream->http, chunk);
	http_chunk_unref(chunk);
	failpoint("web.event");
	if (member_is(event, "kind", "refused")) {
		end_streams(feed, true);
		sweep(feed->feeds);
	}
}

/* ---- beginning ---- */

/* The feed that new streams of a board without a credential share; NULL: there is none yet, or the stream needs its own. */
static struct feed *
find_shared(const struct feeds *feeds, const char *board)
{
	struct feed *feed = board ? feeds->first : NULL;
	while (feed && (!feed->board || strcmp(feed->board, board) != 0))
		feed = feed->next;
	return feed;
}

/* Follows what the data of a visit select: {"filter", "after"}. */
static int
open_feed(const struct visit *visit, const char *board, struct feed **ret_feed, struct kettle_error *err)
{
	struct web *web = visit->web;
	struct feed *feed = xnew(struct feed, .feeds = web->feeds, .board = board ? xstrdup(board) : NULL,
		.user = visit->actor == web->anonymous ? NULL : xstrdup(json_text_or_empty(visit->actor, "name")));
	const struct kettle_subscription subscription = {.size = sizeof(subscription),
		.actor = visit->actor,
		.filter = json_object_get(visit->data, "filter"),
		.after = member_int(visit->data, "after"),
		.outside = true,
		.fn = on_event,
		.arg = feed};
	int rc = web->host->follow(web->host, &subscription, &feed->subscription, err);
	if (rc < 0) {
		free_feed(feed);
		return rc;
	}
	feed->next = web->feeds->first;
	web->feeds->first = feed;
	*ret_feed = feed;
	return 0;
}

static void
add_stream(struct feed *feed, struct http_request *http)
{
	struct feeds *feeds = feed->feeds;
	struct stream *stream = xnew(struct stream, .next = feed->streams, .feeds = feeds);
	stream->http = http_stream_open(http, EVENTS_TYPE, respond_uncached, on_closed, stream);
	feed->streams = stream;
	feeds->streams++;
}

static void
begin(struct visit *visit, json_t *result)
{
	struct feeds *feeds = visit->web->feeds;
	struct kettle_error err = {0};
	bool is_shared = visit->actor == visit->web->anonymous && member_int(visit->data, "after") < 0;
	const char *board = is_shared ? json_text_or_null(json_object_get(visit->data, "filter"), "leaderboard") : NULL;
	struct feed *feed = find_shared(feeds, board);
	(void)result;
	if (feeds->streams >= FEEDS_MAX)
		(void)kettle_fail(&err, KETTLE_EUNAVAIL, "Too many clients follow events now.");
	else if (!feed)
		(void)open_feed(visit, board, &feed, &err);
	if (err.code) {
		visit_fail(visit, &err);
		return;
	}
	add_stream(feed, visit->request);
	visit_end(visit);
}

/* Reads the cursor: the header of a client that connects again counts before the parameter. */
static int
read_after(const char *text, int64_t *ret_after, struct kettle_error *err)
{
	long long after = -1;
	if (text && (!number_parse_integer(text, &after) || after < 0))
		return kettle_fail(err, KETTLE_EINVAL, "`after` and Last-Event-ID must be the number of an event, 0 or more.");
	*ret_after = after;
	return 0;
}

/* *ret_data: what a request selects, as open_feed has it. */
static int
read_query(const struct http_request *request, json_t **ret_data, struct kettle_error *err)
{
	static const char *const parameters[] = {"submission", "leaderboard", "after", NULL};
	struct query query;
	long long submission = 0;
	int64_t after = -1;
	int rc = query_parse(http_query(request), &query, err);
	if (rc < 0)
		return rc;
	const char *id = query_value(&query, "submission"), *board = query_value(&query, "leaderboard");
	const char *last = http_header_value(request, "Last-Event-ID");
	rc = query_check(&query, parameters, err);
	if (rc == 0)
		rc = read_after(last ? last : query_value(&query, "after"), &after, err);
	if (rc == 0 && id && (board || !number_parse_integer(id, &submission) || submission < 1))
		rc = kettle_fail(
			err, KETTLE_EINVAL, "`submission` must be the number of a submission, and `leaderboard` must be left out.");
	if (rc == 0) {
		json_t *filter =
			id ? json_pack("{s:I}", "submission", (json_int_t)submission) : json_pack("{s:s*}", "leaderboard", board);
		*ret_data = json_pack("{s:o, s:I}", "filter", filter, "after", (json_int_t)after);
	}
	query_free(&query);
	return rc;
}

void
feeds_request(struct web *web, struct http_request *request)
{
	struct kettle_error err = {0};
	json_t *data = NULL;
	if (http_method(request) != HTTP_GET)
		respond_not_allowed(request, "GET");
	else if (read_query(request, &data, &err) < 0)
		respond_error(request, web->host, &err);
	else
		visit_begin(web, request, callers_token(web, request), 0, begin, visit_respond_error, data, NULL);
}

/* Whether the credential of a user's stream may be none any more. */
static bool
may_have_ended(const struct feed *feed, const json_t *event)
{
	if (member_is(event, "kind", "token.revoked") || member_is(event, "kind", "login.revoked"))
		return member_is(event, "user_name", feed->user);
	return member_is(event, "kind", "user.deleted") || member_is(event, "kind", "user.merged") ||
		   member_is(event, "kind", "reset");
}

void
feeds_event(struct feeds *feeds, const json_t *event)
{
	bool any = false;
	for (struct feed *feed = feeds->first; feed; feed = feed->next)
		if (feed->user && may_have_ended(feed, event)) {
			end_streams(feed, true);
			any = true;
		}
	if (any)
		sweep(feeds);
}

void
feeds_cut(struct feeds *feeds)
{
	for (struct feed *feed = feeds->first; feed; feed = feed->next)
		end_streams(feed, true);
	sweep(feeds);
}

struct feeds *
feeds_new(struct web *web)
{
	struct feeds *feeds = xnew(struct feeds, .web = web);
	return feeds;
}

void
feeds_free(struct feeds *feeds)
{
	free(feeds);
}
