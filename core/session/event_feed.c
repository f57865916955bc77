/* SPDX-License-Identifier: MIT */
/*
 * Stored events for the frontends that take them, over restarts. Loop thread of the database's owner.
 *
 * Theory of operation. Each frontend has a cursor in the database. After a commit that wrote events, and once at the
 * start, the events behind the cursor are read a page at a time and handed over in order, as long as fewer than
 * KETTLE_EVENTS_OPEN of them are open: handed over, and not yet reported as done (event_done). The cursor follows the
 * oldest open event. If the process dies, the next one hands over all events behind the cursor again. A frontend
 * without a cursor begins at the newest event.
 */
#include <config.h>

#include "session/core_internal.h"

#include "base/base.h"
#include "base/log.h"
#include "model/events.h"
#include "session/plugin_host.h"

#define FEED_PAGE 200

struct open_event {
	int64_t seq;
	bool done;
};

struct reader {
	struct event_feed *feed;
	const struct core_plugin *plugin;
	char consumer[48]; /* "plugin:discord" */
	int64_t read;      /* number of the last event read */
	int64_t cursor;    /* all events up to this number are done */
	int64_t stored;    /* the cursor in the database */
	int64_t storing;   /* the cursor that the store is writing */
	json_t *events;    /* the page; `next` of its events are handed over */
	size_t next;
	struct open_event open[KETTLE_EVENTS_OPEN]; /* in order of seq */
	size_t open_count;
	unsigned moving; /* writes of the cursor under way */
	bool known, reading, more, handing;
};

struct event_feed {
	struct core *core;
	bool stopped;
	size_t count;
	struct reader readers[];
};

static void read_feed_page(struct reader *reader);

static int
read_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct reader *reader = arg;
	struct actor admin = {.role = RIGHT_ADMIN, .name = ""};
	int64_t next; /* unused: an admin sees all events, so the last one of the page says it */
	int rc = 0;
	if (!reader->known) {
		rc = events_cursor_begin(db, reader->consumer, err);
		if (rc == 0)
			rc = events_cursor_get(db, reader->consumer, &reader->read, err);
	}
	if (rc == 0)
		rc = events_after(db, &admin, NULL, reader->read, FEED_PAGE, &reader->events, &next, err);
	return rc;
}

struct cursor_move {
	struct reader *reader;
	int64_t to;
};

static int
move_op(struct db *db, void *arg, struct kettle_error *err)
{
	const struct cursor_move *move = arg;
	return events_cursor_set(db, move->reader->consumer, move->to, err);
}

static void move_cursor(struct reader *reader);

static void
on_moved(void *arg, const struct kettle_error *err)
{
	struct cursor_move *move = arg;
	struct reader *reader = move->reader;
	reader->moving--;
	if (!err && move->to > reader->stored)
		reader->stored = move->to;
	free(move);
	if (!err) {
		move_cursor(reader);
	} else if (err->code != KETTLE_ECANCELED) {
		/* The next event that is done stores it. */
		log_write(KETTLE_LOG_ERROR, "feed", "could not store how far %s has read the events: %s", reader->consumer,
			err->message);
	}
}

/* Stores the cursor, by one write after the other, so that many events need few writes. The last write does not wait. */
static void
move_cursor(struct reader *reader)
{
	const struct event_feed *feed = reader->feed;
	int64_t known = reader->moving ? reader->storing : reader->stored;
	if (reader->cursor <= known || (reader->moving && !feed->stopped) || !feed->core->store)
		return;
	struct cursor_move *move = xnew(struct cursor_move, reader, reader->cursor);
	reader->moving++;
	reader->storing = reader->cursor;
	store_write(feed->core->store, move_op, on_moved, move);
}

/* Hands over events of the page, and reads the next page after the last one. */
static void
hand_over(struct reader *reader)
{
	struct event_feed *feed = reader->feed;
	if (reader->handing)
		return; /* event_done was called within the callback: the loop below continues */
	reader->handing = true;
	while (
		!feed->stopped && reader->next < json_array_size(reader->events) && reader->open_count < KETTLE_EVENTS_OPEN) {
		const json_t *event = json_array_get(reader->events, reader->next++);
		reader->open[reader->open_count++] = (struct open_event){.seq = member_int(event, "seq")};
		reader->plugin->plugin->frontend->event(reader->plugin->self, event);
	}
	reader->handing = false;
	if (!reader->reading && reader->next == json_array_size(reader->events) && reader->more)
		read_feed_page(reader);
}

static void
page_read(void *arg, const struct kettle_error *err)
{
	struct reader *reader = arg;
	reader->reading = false;
	if (err) {
		reader->more = true;
		if (err->code != KETTLE_ECANCELED) {
			log_write(KETTLE_LOG_ERROR, "feed", "cannot read events for %s: %s", reader->consumer, err->message);
			subscriptions_read_later(reader->feed->core);
		}
		return;
	}
	size_t count = json_array_size(reader->events);
	if (!reader->known)
		reader->cursor = reader->stored = reader->read;
	reader->known = true;
	if (count > 0)
		reader->read = member_int(json_array_get(reader->events, count - 1), "seq");
	reader->more = reader->more || count == FEED_PAGE;
	hand_over(reader);
}

/* Reads a page, or notes that one must be read after the present one. */
static void
read_feed_page(struct reader *reader)
{
	if (reader->feed->stopped)
		return;
	if (reader->reading || reader->handing || reader->next < json_array_size(reader->events)) {
		reader->more = true;
		return;
	}
	reader->reading = true;
	reader->more = false;
	reader->next = 0;
	json_decref(STEAL(reader->events));
	/* The first read may create the cursor. */
	(reader->known ? store_read : store_write)(reader->feed->core->store, read_op, page_read, reader);
}

static void
event_done(struct reader *reader, int64_t seq)
{
	size_t at = 0, ended = 0;
	while (at < reader->open_count && reader->open[at].seq != seq)
		at++;
	if (at == reader->open_count) {
		log_write(KETTLE_LOG_WARNING, reader->plugin->plugin->name, "event %lld is not open: event_done is ignored",
			(long long)seq);
		return;
	}
	reader->open[at].done = true;
	while (ended < reader->open_count && reader->open[ended].done)
		reader->cursor = reader->open[ended++].seq;
	if (ended == 0)
		return;
	reader->open_count -= ended;
	memmove(reader->open, reader->open + ended, reader->open_count * sizeof(reader->open[0]));
	move_cursor(reader);
	hand_over(reader);
}

struct done_event {
	const struct core_host *host;
	int64_t seq;
};

static void
event_done_posted(void *arg)
{
	struct done_event *done = arg;
	struct event_feed *feed = done->host->core->feed;
	for (size_t i = 0; feed && i < feed->count; i++)
		if (feed->readers[i].plugin->host == done->host)
			event_done(&feed->readers[i], done->seq);
	free(done);
}

int
event_feed_done(const struct core_host *host, int64_t seq)
{
	struct done_event *done = xnew(struct done_event, host, seq);
	int rc = 0;
	uv_thread_t self = uv_thread_self();
	if (uv_thread_equal(&self, &host->core->thread))
		event_done_posted(done);
	else if ((rc = loop_post(host->io, event_done_posted, done)) < 0)
		free(done);
	return rc;
}

static bool
takes_events(const struct core_plugin *plugin)
{
	return plugin->plugin->frontend && plugin->plugin->frontend->event;
}

struct event_feed *
event_feed_start(struct core *core)
{
	size_t count = 0;
	for (size_t i = 0; i < core->plugins_count; i++)
		count += takes_events(&core->plugins[i]);
	if (count == 0)
		return NULL;
	struct event_feed *feed = xcalloc(1, sizeof(*feed) + count * sizeof(feed->readers[0]));
	feed->core = core;
	for (size_t i = 0; i < core->plugins_count; i++) {
		if (!takes_events(&core->plugins[i]))
			continue;
		struct reader *reader = &feed->readers[feed->count++];
		reader->feed = feed;
		reader->plugin = &core->plugins[i];
		(void)snprintf(reader->consumer, sizeof(reader->consumer), "plugin:%s", core->plugins[i].plugin->name);
	}
	event_feed_wake(feed);
	return feed;
}

void
event_feed_wake(struct event_feed *feed)
{
	for (size_t i = 0; feed && i < feed->count; i++)
		read_feed_page(&feed->readers[i]);
}

void
event_feed_stop(struct event_feed *feed)
{
	if (!feed)
		return;
	feed->stopped = true;
	for (size_t i = 0; i < feed->count; i++)
		move_cursor(&feed->readers[i]);
}

void
event_feed_free(struct event_feed *feed)
{
	for (size_t i = 0; feed && i < feed->count; i++)
		json_decref(feed->readers[i].events);
	free(feed);
}
