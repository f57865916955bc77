/* SPDX-License-Identifier: MIT */
/* Connections that only read, for operations that run beside the store's threads. */
#include <config.h>

#include "store/readers.h"

#include "base/xalloc.h"
#include "store/db.h"
#include "store/db_file.h"

#include <stdlib.h>

void
readers_init(struct readers *readers, const char *path)
{
	*readers = (struct readers){.path = path};
	if (uv_mutex_init(&readers->lock) != 0)
		xalloc_fail();
}

static void
close_one(struct db *db_take)
{
	db_close(db_take);
	free(db_take);
}

static struct db *
take_idle(struct readers *readers)
{
	uv_mutex_lock(&readers->lock);
	struct db *db = readers->count > 0 ? readers->idle[--readers->count] : NULL;
	uv_mutex_unlock(&readers->lock);
	return db;
}

int
readers_take(struct readers *readers, struct db **ret_db, struct kettle_error *err)
{
	struct db *db;
	while ((db = take_idle(readers))) {
		if (db_file_check_place(db->handle, NULL) == 0) {
			*ret_db = db;
			return 0;
		}
		close_one(db);
	}
	sqlite3 *handle = NULL;
	int rc = db_file_open_reader(readers->path, &handle, err);
	if (rc == 0)
		*ret_db = xnew(struct db, .handle = handle);
	return rc;
}

void
readers_give(struct readers *readers, struct db *db_take)
{
	struct db *db = db_take;
	bool rests = sqlite3_get_autocommit(db->handle);
	if (rests)
		(void)sqlite3_db_release_memory(db->handle);
	uv_mutex_lock(&readers->lock);
	if (rests && !readers->closed && readers->count < READERS_IDLE_MAX) {
		readers->idle[readers->count++] = db;
		db = NULL;
	}
	uv_mutex_unlock(&readers->lock);
	if (db)
		close_one(db);
}

void
readers_close(struct readers *readers)
{
	struct db *db;
	uv_mutex_lock(&readers->lock);
	readers->closed = true;
	uv_mutex_unlock(&readers->lock);
	while ((db = take_idle(readers)))
		close_one(db);
}

void
readers_free(struct readers *readers)
{
	readers_close(readers);
	uv_mutex_destroy(&readers->lock);
}
