/* SPDX-License-Identifier: MIT */
/*
 * Streams of events.
 *
 * Theory of operation. A feed is one subscription of the core, and the streams that get its events. Feeds and streams
 * belong to the loop: a request is identified and posted there, and a stream whose client has left is found when the
 * next piece cannot be sent, or by its number when the server says so.
 */
#include <config.h>

#include "web/api/feeds.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/failpoint.h"
#include "base/json_access.h"
#include "base/number.h"
#include "base/xalloc.h"
#include "http/form.h"
#include "web/visit/caller.h"
#include "web/visit/respond.h"

struct stream {
	struct stream *next; /* of its feed */
	struct feeds *feeds;
	struct http_stream *http;
	uint64_t number;
};

struct feed {
	struct feed *next;
	struct feeds *feeds;
	char *board; /* of the feed that nobody's new streams share; NULL: of one stream */
	char *user;  /* the name of who follows with a credential, or NULL */
	struct stream *streams;
	uint64_t subscription;
};

struct feeds {
	struct web *web;
	struct feed *first;
	size_t streams;
	uint64_t last_number;
};

/* A request on its way to the loop. */
struct request {
	struct feeds *feeds;
	struct http_request *http;
	json_t *actor, *filter;
	int64_t after;
};

/* ---- ending ---- */

static void
end_stream(struct stream *stream)
{
	http_stream_end(stream->http);
	stream->feeds->streams--;
	free(stream);
}

static void
end_streams(struct feed *feed)
{
	for (struct stream *stream; (stream = feed->streams);) {
		feed->streams = stream->next;
		end_stream(stream);
	}
}

static void
free_feed(struct feed *feed)
{
	end_streams(feed);
	free(feed->board);
	free(feed->user);
	free(feed);
}

/* Ends feeds without a stream. */
static void
sweep(struct feeds *feeds)
{
	const struct kettle_host *host = feeds->web->host;
	for (struct feed **link = &feeds->first; *link;) {
		struct feed *feed = *link;
		if (feed->streams) {
			link = &feed->next;
			continue;
		}
		*link = feed->next;
		(void)host->unsubscribe(host, feed->subscription, NULL, NULL);
		free_feed(feed);
	}
}

struct leaving {
	struct feeds *feeds;
	uint64_t number;
};

static void
end_left(void *arg)
{
	AUTO_FREE struct leaving *leaving = arg;
	for (struct feed *feed = leaving->feeds->first; feed; feed = feed->next)
		for (struct stream **link = &feed->streams; *link; link = &(*link)->next)
			if ((*link)->number == leaving->number) {
				struct stream *stream = *link;
				*link = stream->next;
				end_stream(stream);
				sweep(leaving->feeds);
				return;
			}
}

/* Nothing can be sent any more. On the server's thread; the stream is there until it has ended. */
static void
on_closed(void *arg)
{
	const struct stream *stream = arg;
	const struct kettle_host *host = stream->feeds->web->host;
	struct leaving *leaving = xmalloc(sizeof(*leaving));
	*leaving = (struct leaving){stream->feeds, stream->number};
	if (host->post(host, end_left, leaving) < 0)
		free(leaving);
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
	for (struct stream *stream = feed->streams; stream; stream = stream->next)
		(void)http_stream_send(stream->http, chunk);
	http_chunk_unref(chunk);
	failpoint("web.event");
	if (member_is(event, "kind", "refused")) {
		struct feeds *feeds = feed->feeds;
		end_streams(feed);
		sweep(feeds);
	}
}

/* ---- beginning ---- */

static void
free_request(struct request *request)
{
	json_decref(request->actor);
	json_decref(request->filter);
	free(request);
}

/* The feed that nobody's new streams of a board share; NULL: there is none yet, or the stream needs its own. */
static struct feed *
find_shared(const struct request *request, const char *board)
{
	struct feed *feed = board ? request->feeds->first : NULL;
	while (feed && (!feed->board || strcmp(feed->board, board) != 0))
		feed = feed->next;
	return feed;
}

static int
open_feed(const struct request *request, const char *board, struct feed **ret_feed, struct kettle_error *err)
{
	const struct kettle_host *host = request->feeds->web->host;
	struct feed *feed = xcalloc(1, sizeof(*feed));
	*feed = (struct feed){.feeds = request->feeds,
		.board = board ? xstrdup(board) : NULL,
		.user =
			request->actor == request->feeds->web->nobody ? NULL : xstrdup(json_text_or_empty(request->actor, "name"))};
	const struct kettle_subscription subscription = {.size = sizeof(subscription),
		.actor = request->actor,
		.filter = request->filter,
		.after = request->after,
		.outside = true,
		.fn = on_event,
		.arg = feed};
	int rc = host->follow(host, &subscription, &feed->subscription, err);
	if (rc < 0) {
		free_feed(feed);
		return rc;
	}
	feed->next = request->feeds->first;
	request->feeds->first = feed;
	*ret_feed = feed;
	return 0;
}

static void
add_stream(struct feed *feed, struct http_request *http)
{
	struct feeds *feeds = feed->feeds;
	struct stream *stream = xcalloc(1, sizeof(*stream));
	*stream = (struct stream){.next = feed->streams, .feeds = feeds, .number = ++feeds->last_number};
	stream->http = http_stream_open(http, EVENTS_TYPE, respond_uncached, on_closed, stream);
	feed->streams = stream;
	feeds->streams++;
}

static void
begin(void *arg)
{
	struct request *request = arg;
	struct feeds *feeds = request->feeds;
	struct kettle_error err = {0};
	bool is_shared = request->actor == feeds->web->nobody && request->after < 0;
	const char *board = is_shared ? json_text_or_null(request->filter, "leaderboard") : NULL;
	struct feed *feed = find_shared(request, board);
	int rc = 0;
	if (feeds->streams >= FEEDS_MAX)
		rc = kettle_fail(&err, KETTLE_EUNAVAIL, "Too many clients follow events now.");
	else if (!feed)
		rc = open_feed(request, board, &feed, &err);
	if (rc < 0)
		respond_error(request->http, feeds->web->host, &err);
	else
		add_stream(feed, request->http);
	free_request(request);
}

static void
on_caller(void *arg, const json_t *actor, const struct kettle_error *why)
{
	struct request *request = arg;
	struct kettle_error err = *why;
	const struct kettle_host *host = request->feeds->web->host;
	if (err.code == 0) {
		request->actor = json_incref((json_t *)actor);
		if (host->post(host, begin, request) == 0)
			return;
		(void)kettle_fail(&err, KETTLE_ECANCELED, "Kettle is shutting down.");
	}
	if (err.code == KETTLE_EACCES)
		respond_refusal(request->http, STATUS_UNAUTHORIZED, kettle_error_name(err.code), err.message);
	else
		respond_error(request->http, host, &err);
	free_request(request);
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

static int
read_filter(const struct http_request *http, struct request *request, struct kettle_error *err)
{
	static const char *const parameters[] = {"submission", "leaderboard", "after", NULL};
	struct query query;
	long long submission = 0;
	int rc = query_parse(http_query(http), &query, err);
	if (rc < 0)
		return rc;
	const char *id = query_value(&query, "submission"), *board = query_value(&query, "leaderboard");
	const char *after = http_header_value(http, "Last-Event-ID");
	rc = query_check(&query, parameters, err);
	if (rc == 0)
		rc = read_after(after ? after : query_value(&query, "after"), &request->after, err);
	if (rc == 0 && id && (board || !number_parse_integer(id, &submission) || submission < 1))
		rc = kettle_fail(
			err, KETTLE_EINVAL, "`submission` must be the number of a submission, and `leaderboard` must be left out.");
	if (rc == 0 && id)
		request->filter = json_pack("{s:I}", "submission", (json_int_t)submission);
	else if (rc == 0)
		request->filter = board ? json_pack("{s:s}", "leaderboard", board) : json_object();
	query_free(&query);
	return rc;
}

void
feeds_request(struct feeds *feeds, struct http_request *http)
{
	struct kettle_error err = {0};
	if (http_method(http) != HTTP_GET) {
		respond_not_allowed(http, "GET");
		return;
	}
	struct request *request = xcalloc(1, sizeof(*request));
	*request = (struct request){.feeds = feeds, .http = http};
	if (read_filter(http, request, &err) < 0) {
		respond_error(http, feeds->web->host, &err);
		free_request(request);
		return;
	}
	callers_identify(feeds->web, callers_bearer(http), on_caller, request);
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
	for (struct feed *feed = feeds->first; feed; feed = feed->next)
		if (feed->user && may_have_ended(feed, event))
			end_streams(feed);
	sweep(feeds);
}

void
feeds_cut(struct feeds *feeds)
{
	for (struct feed *feed = feeds->first; feed; feed = feed->next)
		end_streams(feed);
	sweep(feeds);
}

struct feeds *
feeds_new(struct web *web)
{
	struct feeds *feeds = xcalloc(1, sizeof(*feeds));
	feeds->web = web;
	return feeds;
}

void
feeds_free(struct feeds *feeds)
{
	free(feeds);
}
