/* SPDX-License-Identifier: MIT */
/* Entries of the audit log (model/audit.h), from calls of commands. Store's thread. */
#pragma once

#include "model/audit.h"
#include "session/command.h"

/* Whether the log gets a call with these arguments: the command is one of it, and its actor a creator or an admin. [any] */
bool audit_wants(const struct command *command, const struct actor *actor, const json_t *args);
/* Before the command: what the arguments name, which may be gone afterwards. */
int audit_call_begin(struct db *db, const struct command *command, const json_t *args, struct audit_entry *entry,
	struct kettle_error *err);
/* After it: adds what the answer names, and stores the entry. result: NULL, if the command failed. */
int audit_call_end(struct db *db, const struct command *command, const struct actor *actor, const json_t *result,
	struct audit_entry *entry, struct kettle_error *err);
