/* SPDX-License-Identifier: MIT */
/* Entries of the audit log, from calls of commands. */
#include <config.h>

#include "session/audit_call.h"

#include "base/base.h"
#include "base/utf8.h"
#include "model/user.h"

#define NAME_MAX_CHARS 100 /* of a name in the log */

/* Whether a call of it with these arguments changes something. */
static bool
changes(const struct command *command, const json_t *args)
{
	if (!command->changing)
		return !member_true(args, "dry_run");
	for (const char *const *name = command->changing; *name; name++) {
		const json_t *value = json_object_get(args, *name);
		if (value && !json_is_null(value) && !json_is_false(value))
			return true;
	}
	return false;
}

bool
audit_wants(const struct command *command, const struct actor *actor, const json_t *args)
{
	return command->audited && actor->role >= RIGHT_CREATOR && changes(command, args);
}

/* ---- from the arguments ---- */

/* A user who does not exist yet, or never will, is left out: the answer names those whom the command has made. */
static int
add_user_of(struct db *db, struct audit_entry *entry, const json_t *reference, struct kettle_error *err)
{
	struct user user = {0};
	struct kettle_error why = {0};
	int rc = user_find_argument(db, reference, &user, &why);
	if (rc == 0)
		audit_add_user(entry, user.id);
	if (rc == 0 || rc == KETTLE_ENOENT || rc == KETTLE_EINVAL)
		return 0;
	return kettle_fail(err, rc, "%s", why.message);
}

/* The values of an argument as they may be shown: texts are cut, lists too. New reference; NULL: nothing of it is shown. */
static json_t *
shown_value(const json_t *value)
{
	if (json_is_string(value)) {
		AUTO_FREE char *text = sanitize_line(json_string_value(value), NAME_MAX_CHARS);
		return json_string(text);
	}
	if (json_is_integer(value) || json_is_true(value))
		return json_incref((json_t *)value);
	if (!json_is_array(value))
		return NULL;
	json_t *list = json_array();
	json_array_each(value, one)
		if (json_array_size(list) < AUDIT_NAMES_MAX)
			(void)json_array_append_new(list, shown_value(one));
	return list;
}

static int
add_argument(
	struct db *db, struct audit_entry *entry, const struct argument *argument, json_t *value, struct kettle_error *err)
{
	switch (argument->type) {
	case ARGUMENT_BOARD:
		return audit_add_board(db, entry, json_string_value(value), err);
	case ARGUMENT_USER:
		return add_user_of(db, entry, value, err);
	case ARGUMENT_ID:
		return json_is_integer(value) ? audit_add_submission(db, entry, json_integer_value(value), err) : 0;
	case ARGUMENT_STRING:
	case ARGUMENT_INT:
	case ARGUMENT_BOOL:
	case ARGUMENT_CHOICE:
	case ARGUMENT_DEVICE:
	case ARGUMENT_WHEN:
	case ARGUMENT_FILE:
	case ARGUMENT_PROBLEMS:
	case ARGUMENT_TASK:
	case ARGUMENT_PATH:
		break;
	}
	return 0;
}

/* Whether the caller chose it. */
static bool
is_chosen(const struct argument *argument, const json_t *value)
{
	const char *text = json_string_value(value);
	return value && !(text && argument->default_value && strcmp(text, argument->default_value) == 0);
}

/* Whether the log has the values themselves. Of texts only those that are names: others may be secrets, or what a user wrote. */
static bool
is_shown(const struct argument *argument)
{
	switch (argument->type) {
	case ARGUMENT_INT:
	case ARGUMENT_BOOL:
	case ARGUMENT_CHOICE:
	case ARGUMENT_DEVICE:
	case ARGUMENT_WHEN:
		return true;
	case ARGUMENT_STRING:
		return argument->named;
	case ARGUMENT_BOARD:
	case ARGUMENT_USER:
	case ARGUMENT_ID:
	case ARGUMENT_FILE:
	case ARGUMENT_PROBLEMS:
	case ARGUMENT_TASK:
	case ARGUMENT_PATH:
		break;
	}
	return false;
}

int
audit_call_begin(struct db *db, const struct command *command, const json_t *args, struct audit_entry *entry,
	struct kettle_error *err)
{
	int rc = 0;
	entry->args = json_object();
	for (const struct argument *argument = command->arguments; rc == 0 && argument && argument->name; argument++) {
		json_t *value = json_object_get(args, argument->name);
		json_t *shown = is_chosen(argument, value) && is_shown(argument) ? shown_value(value) : NULL;
		if (shown)
			(void)json_object_set_new(entry->args, argument->name, shown);
		json_array_each(value, one)
			if (rc == 0)
				rc = add_argument(db, entry, argument, one, err);
		if (value && !json_is_array(value))
			rc = add_argument(db, entry, argument, value, err);
	}
	return rc;
}

/* ---- from the answer ---- */

static int
add_boards(struct db *db, struct audit_entry *entry, const json_t *value, struct kettle_error *err)
{
	int rc = 0;
	json_array_each(value, name)
		if (rc == 0 && json_is_string(name))
			rc = audit_add_board(db, entry, json_string_value(name), err);
	return rc;
}

/* Of a command on a submission that its arguments did not number, such as the latest one. */
static int
add_answered_submission(struct db *db, const struct command *command, const json_t *result, struct audit_entry *entry,
	struct kettle_error *err)
{
	const struct argument *argument = command->arguments;
	while (argument && argument->name && argument->type != ARGUMENT_ID)
		argument++;
	bool answers = argument && argument->name && json_is_integer(json_object_get(result, argument->name));
	return entry->submission || !answers ? 0 : audit_add_submission(db, entry, member_int(result, argument->name), err);
}

static void
add_answered_user(struct audit_entry *entry, const json_t *named)
{
	audit_add_user(entry, strtoll(json_text_or_empty(named, "user_id"), NULL, 10));
}

int
audit_call_end(struct db *db, const struct command *command, const struct actor *actor, const json_t *result,
	struct audit_entry *entry, struct kettle_error *err)
{
	/* Members with names of boards, where they are lists; `name` is one in the answers of leaderboard commands. */
	static const char *const boards[] = {"leaderboards", "created", "updated"};
	static const char *const users[] = {"from", "into"};
	const char *name = strncmp(command->name, "leaderboard.", strlen("leaderboard.")) == 0 ? "name" : "leaderboard";
	const json_t *changed = json_object_get(result, "leaderboard");
	json_t *board =
		json_object_get(json_is_object(changed) ? changed : result, json_is_object(changed) ? "name" : name);
	int rc = json_is_string(board) ? audit_add_board(db, entry, json_string_value(board), err) : 0;
	for (size_t i = 0; i < ARRAY_SIZE(boards) && rc == 0; i++)
		rc = add_boards(db, entry, json_object_get(result, boards[i]), err);
	if (rc == 0)
		rc = add_answered_submission(db, command, result, entry, err);
	add_answered_user(entry, result);
	for (size_t i = 0; i < ARRAY_SIZE(users); i++)
		add_answered_user(entry, json_object_get(result, users[i]));
	return rc < 0 ? rc : audit_put(db, actor->user, actor->name, command->name, entry, err);
}
