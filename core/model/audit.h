/* SPDX-License-Identifier: MIT */
/*
 * The log of who did what: a row for each command with which a creator or an admin changed something. It has names, numbers and
 * settings, never what a user wrote or a secret. Users are stored by their numbers, so that a deleted user's name is gone. Store's
 * thread.
 */
#pragma once

#include "store/db.h"

#define AUDIT_ROWS_MAX 100000 /* kept, whatever their age; the oldest go */
#define AUDIT_ACTOR_ROWS_MAX \
	10000                    /* of one user, likewise, so that a user's many calls do not remove the rows of others */
#define AUDIT_TRIM_EVERY 100 /* rows, after which both limits are kept */
#define AUDIT_NAMES_MAX 50   /* boards, users or values of one list in a row */

/* The columns of a row besides actor, time and command; all arrays and the object are the owner's. Zero-initialise. */
struct audit_entry {
	json_t *boards;     /* names */
	json_t *users;      /* numbers */
	json_t *args;       /* an object */
	int64_t submission; /* 0: none */
	const char *error;  /* name of the error with which the command ended, borrowed; NULL: of none */
};
void audit_entry_free(struct audit_entry *entry);
#define AUTO_AUDIT __attribute__((cleanup(audit_entry_free)))

/* Adds a board by its name as it is stored, or as given where there is none, once. */
int audit_add_board(struct db *db, struct audit_entry *entry, const char *name, struct kettle_error *err);
/* Adds a user, once; 0 is none. */
void audit_add_user(struct audit_entry *entry, int64_t user);
/* Adds a submission with its board and owner, if it exists. */
int audit_add_submission(struct db *db, struct audit_entry *entry, int64_t submission, struct kettle_error *err);

/* user 0: one without a row, by `name`. */
int audit_put(struct db *db, int64_t user, const char *name, const char *command, const struct audit_entry *entry,
	struct kettle_error *err);

/* The choice of rows; zeros and NULL: all. */
struct audit_filter {
	int64_t actor;
	const char *board;
	int64_t before; /* only lower numbers */
	int64_t limit;
};
/* {"entries": as admin.log shows them, newest first, "next": what `before` gets the next page, or null}. New reference. */
int audit_page(struct db *db, const struct audit_filter *filter, json_t **ret_page, struct kettle_error *err);
