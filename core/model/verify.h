/* SPDX-License-Identifier: MIT */
/* Whether the database is whole, and what it says of itself is so. */
#ifndef KETTLE_MODEL_VERIFY_H
#define KETTLE_MODEL_VERIFY_H

#include "store/db.h"

#define VERIFY_LISTED 20 /* violations of one check that are listed */

/*
 * Looks at everything, in one snapshot, without changing it: [{"name", "what": a few words, "violations": [sentence], "more":
 * whether there are further ones}]. spool: where the files of jobs are. It takes as long as reading the whole file does. New
 * reference. An error only where a check could not run. [any thread, with a connection of its own, blocks]
 */
int verify_database(struct db *db, const char *spool, json_t **ret_checks, struct kettle_error *err);

#endif
