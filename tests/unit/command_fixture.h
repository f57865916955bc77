/* SPDX-License-Identifier: MIT */
/* Commands run as the core runs them, on a database of their own, with devices CPU and H100 and the language cpp. */
#pragma once

#include "commands/handlers.h"
#include "model/actor.h"
#include "unit/store_fixture.h"

struct commands_fixture {
	struct fixture f;
	struct command_env env;
	struct kettle_error err; /* of the last command */
	json_t *result;          /* of the last command, NULL when it failed */
	unsigned parts;          /* how many transactions the last command took */
};

void commands_open(struct commands_fixture *c);
void commands_close(struct commands_fixture *c);

/* Defines the fixture `c` of a test file with `setup` and `teardown` for cmocka; the arguments are further statements of setup. */
#define COMMANDS_FIXTURE(...) \
	COMMANDS_FIXTURE_SET_UP_BY_FILE \
	static int setup(void **state) \
	{ \
		(void)state; \
		commands_open(&c); \
		__VA_ARGS__; \
		return 0; \
	}
/* Likewise without `setup`, which the file has itself. */
#define COMMANDS_FIXTURE_SET_UP_BY_FILE \
	static struct commands_fixture c; \
	static int teardown(void **state) \
	{ \
		(void)state; \
		commands_close(&c); \
		return 0; \
	}

/*
 * Runs a command as NAME or NAME:ROLE (identity cli:NAME). args is a format of json_pack in which ' stands for "; it is
 * stolen. Returns the code.
 */
int commands_run(struct commands_fixture *c, const char *who, const char *command, json_t *args_take);
/* The same, failing the test when it fails; the result, borrowed until the next command. */
const json_t *commands_must(struct commands_fixture *c, const char *who, const char *command, json_t *args_take);
/* Fails the test unless the command fails with this code and says what the golden file has. */
void commands_refused(struct commands_fixture *c, const char *who, const char *command, json_t *args_take, int code);

/* A small task of the language cpp. New reference. */
json_t *commands_task(const char *more_yml);
/* {"name": …, "base64": …} of a file. New reference. */
json_t *commands_file(const char *name, const char *code);
/* Makes a board as "owner" with these devices (NULL: as the command chooses). */
void commands_board(struct commands_fixture *c, const char *name, json_t *devices_take);
/* Submits code to a board; the id. */
int64_t commands_submit(struct commands_fixture *c, const char *who, const char *board, const char *mode);
/* jobs_finish with a verdict that is written as JSON, as task.run answers it. */
int commands_jobs_finish(struct db *db, int64_t job, int64_t attempt, const json_t *verdict, struct kettle_error *err);
/* Starts and ends a job with such a verdict (stolen); fails the test when that fails. */
void commands_finish(struct commands_fixture *c, int64_t job, json_t *verdict_take);
/* The number behind a path of keys, "a.0.b"; fails the test when there is none. */
int64_t commands_number(const json_t *value, const char *path);
const char *commands_text(const json_t *value, const char *path);
const json_t *commands_at(const json_t *value, const char *path);
