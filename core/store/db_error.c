/* SPDX-License-Identifier: MIT */
/* The errors of a database as sentences. */
#include <config.h>

#include "store/db_error.h"

#include "base/xalloc.h"

#include <errno.h>
#include <stdbool.h>

const char *
db_error_path(sqlite3 *handle)
{
	const char *path = handle ? sqlite3_db_filename(handle, "main") : NULL;
	return path ? path : "";
}

/* A quota and a limit of file size are full disks too; SQLite calls them input/output errors. */
static bool
is_full(sqlite3 *handle, int rc)
{
	int number = handle ? sqlite3_system_errno(handle) : 0;
	return (rc & 0xff) == SQLITE_FULL ||
		   ((rc & 0xff) == SQLITE_IOERR && (number == EDQUOT || number == EFBIG || number == ENOSPC));
}

int
db_error_fail(sqlite3 *handle, int rc, const char *doing, struct kettle_error *err)
{
	const char *path = db_error_path(handle);
	if (is_full(handle, rc))
		return kettle_blame(err, KETTLE_CAUSE_FULL, "",
			kettle_fail(err, KETTLE_EIO,
				"The disk that holds the database %s is full: nothing was stored; free some space and try again.",
				path));
	switch (rc & 0xff) {
	case SQLITE_CORRUPT:
		return kettle_fail(err, KETTLE_EIO,
			"The database %s is damaged (found while %s): stop Kettle and restore a backup.", path, doing);
	case SQLITE_NOTADB:
		return kettle_fail(err, KETTLE_EINVAL, "%s is not a database: name another file.", path);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return kettle_fail(err, KETTLE_EUNAVAIL,
			"The database %s is locked by another program: end that program and try again.", path);
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return kettle_fail(
			err, KETTLE_EIO, "The database %s cannot be written: make it and its folder writable.", path);
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		return kettle_fail(err, KETTLE_EIO, "Reading or writing the database %s failed while %s: %s.", path, doing,
			handle ? sqlite3_errmsg(handle) : sqlite3_errstr(rc));
	case SQLITE_NOMEM:
		xalloc_fail();
	case SQLITE_INTERRUPT:
		return kettle_fail(err, KETTLE_ECANCELED, "The work on the database was cancelled.");
	case SQLITE_CONSTRAINT:
		if (rc == SQLITE_CONSTRAINT_UNIQUE || rc == SQLITE_CONSTRAINT_PRIMARYKEY)
			return kettle_fail(err, KETTLE_ECONFLICT, "The database already holds this: %s.", sqlite3_errmsg(handle));
		break;
	}
	return kettle_fail(err, KETTLE_EINTERNAL, "The database %s failed while %s: %s.", path, doing,
		handle ? sqlite3_errmsg(handle) : sqlite3_errstr(rc));
}
