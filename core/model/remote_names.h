/* SPDX-License-Identifier: MIT */
/* The names of jobs on remote sides, and whether a database is a copy of the one that the names belong to. */
/*
 * Theory of operation. The names of a database's jobs begin with a random part of its own. A copy of the database would
 * use the same names, and so adopt or cancel what belongs to the original. A database therefore knows its place: the
 * file's number, and a random epoch that is also in the file DB.mark. An engine that starts compares both. If they
 * differ, the database is a copy: it draws new names, and its running jobs lose their handles, so that they are run
 * again. A file that was moved keeps its number, and its names. The epoch changes with the engine's starts, and while
 * it starts jobs, so that an older copy of the file, put back in its place, is seen as well. `admin backup` leaves
 * names and place out.
 *
 * Not detected: a copy of a whole disk with the same file numbers and DB.mark in it; and an older copy that keeps the
 * file's number, where the epoch has not changed in between. Wrongly detected as a copy: a file that was moved to
 * another disk.
 */
#pragma once

#include "store/db.h"

#include <stdbool.h>

/* The shortest life of an epoch, so that not every short-lived engine writes one; an engine that starts jobs renews it this often. */
#define REMOTE_EPOCH_MS INT64_C(600000)

struct remote_names {
	char prefix[16];         /* 8 hexadecimal digits */
	char database_epoch[40]; /* new, not confirmed yet; "": the epoch is as it was */
	bool copied;             /* the database is a copy, and has new names */
	int64_t released;        /* jobs that have lost their handles */
};

/* For an engine that starts; in one transaction with the load of its jobs. Store's thread. */
int remote_names_load(struct db *db, struct remote_names *ret_names, struct kettle_error *err);
/* A new epoch for an engine that runs. Store's thread. */
int remote_names_renew(struct db *db, struct remote_names *ret_names, struct kettle_error *err);
/* After the commit: the new epoch alone is valid from now on. Store's thread. */
int remote_names_confirm(struct db *db, const struct remote_names *names, struct kettle_error *err);
