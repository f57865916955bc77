/* SPDX-License-Identifier: MIT */
/*
 * Stored events for the frontends that take them, over restarts. Loop thread of the database's owner.
 *
 * Theory of operation. Each frontend has a cursor in the database. After a commit that wrote events, and once at the
 * start, the events behind the cursor are read a page at a time, handed over in order, and the cursor is moved; then the
 * next page. A frontend without a cursor begins at the newest event. If the process dies between the hand-over and the
 * cursor's commit, the next one hands that page over again: a frontend that must not act twice keeps the number with
 * its own state.
 */
#include <config.h>

#include "session/core_internal.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "model/events.h"

#include <stdlib.h>

#define FEED_PAGE 200

struct reader {
	struct event_feed *feed;
	const struct core_plugin *plugin;
	char consumer[48]; /* "plugin:discord" */
	int64_t cursor;
	json_t *events; /* the page that was read */
	bool known, busy, more;
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
	int rc = 0;
	if (!reader->known) {
		rc = events_cursor_begin(db, reader->consumer, err);
		if (rc == 0)
			rc = events_cursor_get(db, reader->consumer, &reader->cursor, err);
	}
	if (rc == 0)
		rc = events_after(db, &admin, NULL, reader->cursor, FEED_PAGE, &reader->events, err);
	return rc;
}

static int
move_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct reader *reader = arg;
	return events_cursor_set(db, reader->consumer, reader->cursor, err);
}

static void
on_moved(void *arg, const struct kettle_error *err)
{
	struct reader *reader = arg;
	reader->busy = false;
	if (err && err->code != KETTLE_ECANCELED)
		log_write(KETTLE_LOG_ERROR, "feed", "the cursor of %s could not be moved: %s", reader->consumer, err->message);
	else if (!err && reader->more)
		read_feed_page(reader);
}

static void
page_read(void *arg, const struct kettle_error *err)
{
	struct reader *reader = arg;
	AUTO_JSON json_t *events = STEAL(reader->events);
	size_t i;
	json_t *event;
	if (err || reader->feed->stopped) {
		reader->busy = false;
		if (err && err->code != KETTLE_ECANCELED) {
			log_write(KETTLE_LOG_ERROR, "feed", "events for %s could not be read: %s", reader->consumer, err->message);
			subscriptions_read_later(reader->feed->core);
		}
		return;
	}
	reader->known = true;
	if (json_array_size(events) == FEED_PAGE)
		reader->more = true;
	json_array_foreach(events, i, event) {
		reader->plugin->plugin->frontend->event(reader->plugin->self, event);
		reader->cursor = member_int(event, "seq");
	}
	if (json_array_size(events) > 0) {
		store_write(reader->feed->core->store, move_op, on_moved, reader);
		return;
	}
	reader->busy = false;
	if (reader->more)
		read_feed_page(reader);
}

/* Reads a page. Where one is being read already, the next is read after it. */
static void
read_feed_page(struct reader *reader)
{
	if (reader->feed->stopped)
		return;
	if (reader->busy) {
		reader->more = true;
		return;
	}
	reader->busy = true;
	reader->more = false;
	/* The first read may write the cursor. */
	(reader->known ? store_read : store_write)(reader->feed->core->store, read_op, page_read, reader);
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
	if (feed)
		feed->stopped = true;
}

void
event_feed_free(struct event_feed *feed)
{
	free(feed);
}
