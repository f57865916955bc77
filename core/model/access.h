/* SPDX-License-Identifier: MIT */
/* The actor of a command, the actor's rights, and what handlers on the database's threads may read besides the database. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define REQUEST_NAME_MAX 200 /* bytes of a name that a command is given: board, device, user */

enum access_right {
	RIGHT_ANYBODY = 1, /* everybody who is not banned; the handler checks the object (owner, closed board) */
	RIGHT_CREATOR,     /* may create boards; of a board: its creator or an admin */
	RIGHT_ADMIN,
};

/* The call and the caller that wait for a command's answer; zeros: none that could go away. See core_is_awaited. */
struct waiter {
	uint64_t caller; /* the connection, or the client of a frontend, that gets its progress; 0: this process */
	uint64_t call;   /* the call, which may be cancelled */
};

/* The actor, resolved. */
struct actor {
	int64_t user; /* 0: not known yet (local commands, and reads by an actor who never wrote) */
	const char *name;
	enum access_right role; /* what it may: RIGHT_ANYBODY, RIGHT_CREATOR, RIGHT_ADMIN */
	const char *banned;     /* why it is banned; NULL: it is not */
	struct waiter waiter;   /* of an engine or local command */
};

/* The requirements that a command has of its actor. */
struct access {
	enum access_right right;
	bool writes;         /* makes the user on first sight, and is refused to banned users */
	bool check_ban_last; /* the handler itself refuses banned users, at its place in the order of the checks */
};

/* Data that handlers may read besides the database: a snapshot that never changes while a command runs. */
struct command_env {
	const struct languages *languages;
	const json_t *devices; /* name → {"units": […]}, as configured */
	int64_t submission_bytes;
	const char *spool; /* where jobs leave files; see artifact.h */
	const char *links; /* where the files of one-time links are; see download_urls.h */
};
