/* SPDX-License-Identifier: MIT */
/* A server's full disk: tells admins when it begins and when it is over. */
/*
 * Theory of operation. The store reports each write that failed because the disk is full. The first report becomes the
 * event storage.full at once, for live subscribers; it has no number, since nothing can be stored. Then, every
 * STORAGE_TRY_MS, the store tries to write two events to the database: storage.full with the time at which it began,
 * and storage.ok. When this succeeds, both reach everyone as stored events do, frontends too. So small a write may
 * succeed while others still fail, so it is tried only if some space is free.
 */
#include <config.h>

#include "session/core_internal.h"

#include "base/base.h"
#include "base/times.h"

#include <sys/statvfs.h>

#define STORAGE_FREE_MIN (4u << 20) /* bytes */

/* The store's while it writes. */
struct storage_note {
	struct core *core;
	char *database;
	json_t *data;
};

static int
storage_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct storage_note *note = arg;
	AUTO_JSON json_t *since = json_pack("{s:O}", "since", json_object_get(note->data, "since"));
	struct statvfs fs;
	if (statvfs(note->database, &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize < STORAGE_FREE_MIN)
		return kettle_fail(err, KETTLE_EIO, "The disk has less than %u MiB of free space.", STORAGE_FREE_MIN >> 20);
	int rc = db_event(db, "storage.full", 'a', 0, 0, 0, note->data, err);
	return rc < 0 ? rc : db_event(db, "storage.ok", 'a', 0, 0, 0, since, err);
}

static void
storage_tried(void *arg, const struct kettle_error *err)
{
	struct storage_note *note = arg;
	struct core *core = note->core;
	core->storage.trying = false;
	if (!err)
		storage_watch_stop(core);
	json_decref(note->data);
	free_all(note->database, note);
}

static void
on_try(void *arg)
{
	struct core *core = arg;
	if (core->storage.trying || core->closing)
		return;
	core->storage.trying = true;
	struct storage_note *note =
		xnew(struct storage_note, core, xstrdup(core->setup.database), json_deep_copy(core->storage.data));
	store_write(core->store, storage_op, storage_tried, note);
}

void
storage_watch_full(void *arg, const struct kettle_error *why)
{
	struct core *core = arg;
	char now[TIME_TEXT_SIZE];
	if (core->storage.data || core->closing || !core->setup.is_server)
		return;
	time_text(clock_utc_ms(loop_clock(core->setup.io)), now);
	core->storage.data = json_pack("{s:s, s:s}", "since", now, "error", why->message);
	(void)loop_timer_start(core->setup.io, STORAGE_TRY_MS, STORAGE_TRY_MS, on_try, core, &core->storage.timer, NULL);
	AUTO_JSON json_t *event =
		json_pack("{s:s, s:s, s:s, s:O}", "at", now, "kind", "storage.full", "scope", "a", "data", core->storage.data);
	core_publish(core, event);
}

void
storage_watch_stop(struct core *core)
{
	loop_timer_stop(core->setup.io, STEAL(core->storage.timer));
	json_decref(STEAL(core->storage.data));
}
