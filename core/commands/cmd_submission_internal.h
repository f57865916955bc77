/* SPDX-License-Identifier: MIT */
/* Who may read a submission, for the commands that show some. Store's threads. */
#ifndef KETTLE_COMMANDS_CMD_SUBMISSION_INTERNAL_H
#define KETTLE_COMMANDS_CMD_SUBMISSION_INTERNAL_H

#include "commands/handlers.h"

/*
 * The row of a submission. ENOENT; EACCES: it is not the actor's own, and the actor is no admin. judge: the creator of
 * the board has access as well. New reference.
 */
int submission_find(
	const struct command_call *call, int64_t id, bool judge, json_t **ret_row, struct kettle_error *err);
/*
 * The row of one that belongs to another user, with its `code`, while the board opens that: nothing of its runs may be
 * shown. EACCES, with a sentence that says when, if ever. New reference.
 */
int submission_find_open(const struct command_call *call, int64_t id, json_t **ret_row, struct kettle_error *err);

#endif
