/* SPDX-License-Identifier: MIT */
/*
 * Stored events for the frontends that take them, over restarts. Loop thread of the database's owner.
 *
 * Theory of operation. Each frontend has a cursor in the database. After a commit that wrote events, and once at the
 * start, the events behind the cursor are read a page at a time, handed over in order, and the cursor is moved; then the
 * next page. A frontend that is seen for the first time begins at the newest event. A process that dies between the
 * hand-over and the cursor's commit hands that page over again: a frontend that must not act twice keeps the number
 * with its own state.
 */
#ifndef KETTLE_EVENT_FEED_H
#define KETTLE_EVENT_FEED_H

#include <kettle/error.h>

struct core;
struct event_feed;

/* Begins for every frontend of core->plugins that takes events; NULL when there is none. */
int event_feed_start(struct core *core, struct event_feed **ret_feed, struct kettle_error *err);
/* There are new events. NULL is allowed. */
void event_feed_wake(struct event_feed *feed);
/* Hands over nothing more; call it before the store closes, which answers what is under way, and event_feed_free after. */
void event_feed_stop(struct event_feed *feed);
void event_feed_free(struct event_feed *feed);

#endif
