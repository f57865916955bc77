/* SPDX-License-Identifier: MIT */
/* Checks that the database is intact and consistent. */
#pragma once

#include "store/db.h"

#define VERIFY_LISTED 20 /* violations of one check that are listed */

/*
 * Checks the whole database, in one snapshot, without changing it: [{"name", "what": a few words, "violations":
 * [sentence], "more": whether there are further ones}]. spool: where the files of jobs are. Takes as long as reading
 * the whole file. New reference. An error only where a check could not run. [any thread, with a connection of its own,
 * blocks]
 */
int verify_database(struct db *db, const char *spool, json_t **ret_checks, struct kettle_error *err);
