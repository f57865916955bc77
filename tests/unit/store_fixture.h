/* SPDX-License-Identifier: MIT */
/* A database in a temporary folder, for tests: operations run as in the engine, waited for. */
#pragma once

#include "base/clock.h"
#include "store/db.h"
#include "store/store.h"

/* cmocka wants these first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct fixture {
	uv_loop_t loop;
	struct clock clock; /* simulated; stands still at the time of its making */
	struct store *store;
	char dir[64], path[96];
	json_t *events; /* all that were posted, in order */
	bool closed;
};

/* Writes a fresh database, owned by "owner": the first one of a process is made step by step, the others are copies of it. */
void fixture_database(const char *path);
/* A fresh folder and a store in it, on such a database. */
void fixture_open(struct fixture *fixture);
/* Only the folder, no store. */
void fixture_folder(struct fixture *fixture);
/* store_open on fixture->path. */
int fixture_store(struct fixture *fixture, struct kettle_error *err);
/* Closes the store, waits, and leaves the folder. */
void fixture_stop(struct fixture *fixture);
/* Closes, checks that the loop closes with 0, removes the folder. */
void fixture_close(struct fixture *fixture);
/* Runs op as a write (or read, or query) and waits for its answer; returns its code, err (may be NULL) its error. */
int fixture_write(struct fixture *fixture, store_op op, void *arg, struct kettle_error *err);
int fixture_read(struct fixture *fixture, store_op op, void *arg, struct kettle_error *err);
int fixture_query(struct fixture *fixture, store_op op, void *arg, struct kettle_error *err);
/* The value of a query that gives one integer. Fails the test on an error. */
int64_t fixture_int(struct fixture *fixture, const char *sql);
/* Runs statements that must succeed. */
void fixture_sql(struct fixture *fixture, const char *sql);
/* How many events of the kind were posted, and the newest of them (borrowed, NULL: none). */
size_t fixture_events(const struct fixture *fixture, const char *kind);
const json_t *fixture_event(const struct fixture *fixture, const char *kind);

/* Whether a sentence contains a word; prints the sentence when not. */
void assert_says(const struct kettle_error *err, const char *word);
