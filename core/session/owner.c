/* SPDX-License-Identifier: MIT */
/*
 * The process that owns the database: the one place where store, engine, event feed and maintenance meet.
 *
 * Theory of operation. With DB.lock held the store opens, then the engine, the socket and, at a server, the feed. Every
 * stored event passes through on_events. The end goes the other way round, step by step: the purge of deleted
 * leaderboards, the engine, the socket (which answers the calls that it took), the store, and last the work of
 * maintenance in the pool.
 */
#include <config.h>

#include "session/core_internal.h"

#include "base/base.h"
#include "base/log.h"
#include "base/times.h"
#include "model/board.h"
#include "model/events.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- when leaderboards open and end (at a server) ---- */

/*
 * Theory of operation. A write reports which leaderboards have opened or ended (board_life_step) and when the next one
 * does; a timer starts the next write then. A leaderboard that is created or changed starts one at once, and so does
 * the end of a submission if a leaderboard waits for its last ones. The timer waits at most ten minutes, since clocks
 * may be set.
 */

#define LONGEST_MS 600000
#define RETRY_MS 10000

struct board_clock {
	struct core *core;
	struct kettle_timer *timer;
	struct board_life life; /* result of the last write */
	bool writing, again, stopped;
};

static void tick(struct board_clock *clock);

static void
timer_fired(void *arg)
{
	struct board_clock *clock = arg;
	clock->timer = NULL;
	tick(clock);
}

static void
wait_ms(struct board_clock *clock, int64_t ms)
{
	loop_timer_stop(clock->core->setup.io, STEAL(clock->timer));
	(void)loop_timer_start(
		clock->core->setup.io, (uint64_t)(ms < 1 ? 1 : ms), 0, timer_fired, clock, &clock->timer, NULL);
}

static int
step_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct board_clock *clock = arg;
	return board_life_step(db, &clock->life, err);
}

static void
on_step(void *arg, const struct kettle_error *err)
{
	struct board_clock *clock = arg;
	int64_t now = clock_utc_ms(loop_clock(clock->core->setup.io)), wait = LONGEST_MS;
	clock->writing = false;
	if (clock->stopped)
		return;
	if (err) {
		/* The store reports itself that it cannot write. */
		wait_ms(clock, RETRY_MS);
	} else if (clock->again || clock->life.more) {
		clock->again = false;
		tick(clock);
	} else {
		if (clock->life.next_ms && clock->life.next_ms - now < wait)
			wait = clock->life.next_ms - now;
		wait_ms(clock, wait);
	}
}

static void
tick(struct board_clock *clock)
{
	if (clock->stopped)
		return;
	if (clock->writing) {
		clock->again = true;
		return;
	}
	clock->writing = true;
	store_write(clock->core->store, step_op, on_step, clock);
}

/* Takes a stored event. NULL is allowed, also below. */
static void
board_clock_event(struct board_clock *clock, const struct event *event)
{
	if (!clock)
		return;
	bool submission = strcmp(event->kind, "submission.done") == 0 || strcmp(event->kind, "submission.deleted") == 0;
	bool board = strcmp(event->kind, "leaderboard.created") == 0 || strcmp(event->kind, "leaderboard.updated") == 0;
	/* During a write `life` belongs to the store's thread. */
	if (board || (submission && (clock->writing || clock->life.waiting)))
		tick(clock);
}

static void
board_clock_stop(struct board_clock *clock)
{
	if (!clock)
		return;
	clock->stopped = true;
	loop_timer_stop(clock->core->setup.io, STEAL(clock->timer));
}

/* ---- events ---- */

#ifdef KETTLE_FAILPOINTS
/* In the build for tests, an event that is not as its kind is documented ends the process. */
static void
check_kind(const json_t *event)
{
	struct kettle_error err = {0};
	if (event_kind_check(event, &err) == 0)
		return;
	log_write(KETTLE_LOG_ERROR, "core", "an event that does not have the shape of its kind: %s", err.message);
	abort();
}
#else
#define check_kind(event) ((void)0)
#endif

/* Passes stored events on, and wakes the removal of deleted jobs' files and deleted leaderboards. */
static void
on_events(void *arg, const json_t *events)
{
	struct core *core = arg;
	bool submission = false, board = false;
	json_array_each(events, event) {
		const struct event read = event_read(event);
		check_kind(event);
		if (core->engine)
			engine_event(core->engine, &read);
		board_clock_event(core->board_clock, &read);
		core_publish(core, event);
		/* A server logs what happens by the time alone; commands and verdicts have lines of their own. */
		bool opened = strcmp(read.kind, "leaderboard.opened") == 0;
		if ((opened || strcmp(read.kind, "leaderboard.ended") == 0) && log_event_due())
			log_event("core", read.kind, json_pack("{s:s}", "leaderboard", read.board));
		submission = submission || strcmp(read.kind, "submission.deleted") == 0;
		board = board || strcmp(read.kind, "leaderboard.deleted") == 0;
	}
	if (board)
		board_purge_wake(&core->maintenance);
	if (submission || board)
		spool_sweep_wake(&core->maintenance);
	event_feed_wake(core->feed);
}

static void
on_progress(void *arg, const json_t *event)
{
	core_publish(arg, event);
}

static int
open_parts(struct core *core, struct kettle_error *err)
{
	int rc = store_open(core->setup.loop, loop_clock(core->setup.io), core->setup.database, core->setup.owner,
		on_events, core, &core->store, err);
	if (rc < 0)
		return rc;
	store_watch_full(core->store, storage_watch_full, core);
	struct engine_setup setup = {
		.loop = core->setup.loop,
		.clock = loop_clock(core->setup.io),
		.io = core->setup.io,
		.store = core->store,
		.inflight = &core->inflight,
		.languages = core->languages,
		.runners = core->runners,
		.runners_count = core->runners_count,
		.secret_output = core->secret_output,
		.spool = core->spool,
		.artifact_bytes = core->setup.limits.artifact_bytes,
		.artifact_user_bytes = core->setup.limits.artifact_user_bytes,
		.devices = core->devices,
		.progress = on_progress,
		.arg = core,
	};
	rc = engine_new(&setup, &core->engine, err);
	if (rc == 0)
		rc = server_listen(core, &core->server, err);
	if (rc == 0 && core->setup.is_server)
		core->feed = event_feed_start(core);
	return rc;
}

int
owner_start(struct core *core, struct kettle_error *err)
{
	struct maintenance *maintenance = &core->maintenance;
	int rc = open_parts(core, err);
	if (rc < 0) {
		engine_free(STEAL(core->engine));
		server_close(STEAL(core->server), NULL, NULL);
		store_close(STEAL(core->store), NULL, NULL);
		close(STEAL_FD(core->lock_fd));
		return rc;
	}
	core->role = CORE_OWNER;
	engine_start(core->engine);
	/* Only this user may read the files of jobs. */
	if (mkdir(core->spool, 0700) != 0 && errno != EEXIST)
		log_write(KETTLE_LOG_WARNING, "core", "files of jobs cannot be kept in %s: %s", core->spool, strerror(errno));
	*maintenance = (struct maintenance){
		.io = core->setup.io,
		.database = core->setup.database,
		.spool = core->spool,
		.limits = &core->setup.limits.retention,
		.is_server = core->setup.is_server,
		.store = core->store,
	};
	spool_sweep_wake(maintenance);
	board_purge_wake(maintenance);
	if (core->setup.is_server) {
		garbage_collector_start(maintenance);
		struct board_clock *clock = xnew(struct board_clock, .core = core);
		tick(clock);
		core->board_clock = clock;
	}
	return 0;
}

/* ---- the end ---- */

static void
store_closed(void *arg)
{
	struct core *core = arg;
	subscriptions_stop(core);
	event_feed_free(STEAL(core->feed));
	free(STEAL(core->board_clock));
	close(STEAL_FD(core->lock_fd));
	core->ended = true;
	maintenance_wait(&core->maintenance, core_ended, core);
}

static void
server_closed(void *arg)
{
	struct core *core = arg;
	core->server = NULL;
	core->maintenance.store = NULL;
	store_close(STEAL(core->store), store_closed, core);
}

static void
engine_stopped(void *arg)
{
	struct core *core = arg;
	/* From here on no call is accepted. The store answers the accepted ones before it closes. */
	core->closing = true;
	core->maintenance.closing = true;
	engine_free(STEAL(core->engine));
	event_feed_stop(core->feed);
	board_clock_stop(core->board_clock);
	storage_watch_stop(core);
	garbage_collector_stop(&core->maintenance);
	server_close(core->server, server_closed, core);
}

static void
stop_engine(void *arg)
{
	struct core *core = arg;
	core->ending.engine = true;
	engine_stop(core->engine, core->ending.grace_ms, engine_stopped, core);
}

void
owner_close(struct core *core, bool again)
{
	if (again || core->ending.grace_ms == 0)
		board_purge_stop_waiting(&core->maintenance);
	if (!again)
		board_purge_wait(&core->maintenance, stop_engine, core);
	else if (core->ending.engine && core->engine)
		stop_engine(core);
}
