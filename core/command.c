/* SPDX-License-Identifier: MIT */
/* The command table, and the check of what is passed to a command. */
#include <config.h>

#include "command.h"

#include "cleanup.h"
#include "cmd_board.h"
#include "cmd_engine.h"
#include "cmd_local.h"
#include "cmd_submission.h"
#include "cmd_submit.h"
#include "text.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

static const char *const modes[] = {"ranked", "test", "benchmark", "profile", "leaderboard", NULL};
static const char *const visibilities[] = {"public", "closed", NULL};

static const struct argument board_create[] = {
	{"name", ARGUMENT_STRING, .required = true, .positional = true, .meta = "NAME",
		.help = "1 to 64 letters, digits, `.`, `_` and `-`, the first a letter or digit; case does not count"},
	{"task", ARGUMENT_TASK, .required = true, .meta = "PATH", .help = "the task: a folder with task.yml"},
	{"deadline", ARGUMENT_WHEN, .meta = "WHEN",
		.help = "a date (its end, UTC), a date and time, or +30d, +12h, +90m; default: none"},
	{"device", ARGUMENT_DEVICE, .repeated = true, .meta = "DEVICE",
		.help = "a device to rank on; default: what the task names, or the only one there is"},
	{"description", ARGUMENT_STRING, .meta = "TEXT", .help = "default: the task's"},
	{"visibility", ARGUMENT_CHOICE, .choices = visibilities, .default_value = "public",
		.help = "closed: only for those who have joined it"},
};

static const struct argument board_list_arguments[] = {
	{"all", ARGUMENT_BOOL, .default_value = "false", .help = "the ended ones too"},
};

static const struct argument board_show[] = {
	{"name", ARGUMENT_BOARD, .required = true, .positional = true, .meta = "NAME", .help = "the leaderboard"},
	{"device", ARGUMENT_DEVICE, .meta = "DEVICE", .help = "the ranking of this device alone; default: all"},
	{"mine", ARGUMENT_BOOL, .default_value = "false", .help = "your own runs instead of everybody's best"},
	{"limit", ARGUMENT_INT, .default_value = "100", .min = 1, .max = 1000, .meta = "N",
		.help = "at most so many places"},
	{"offset", ARGUMENT_INT, .default_value = "0", .min = 0, .max = INT32_MAX, .meta = "N",
		.help = "leaves out so many at the beginning"},
};

static const struct argument board_delete[] = {
	{"name", ARGUMENT_BOARD, .required = true, .positional = true, .meta = "NAME", .help = "the leaderboard"},
	{"force", ARGUMENT_BOOL, .default_value = "false", .help = "also when it has submissions, which go with it"},
};

static const struct argument submit[] = {
	{"mode", ARGUMENT_CHOICE, .choices = modes, .default_value = "ranked",
		.help = "what to run; leaderboard is another word for ranked"},
	{"file", ARGUMENT_FILE, .required = true, .positional = true, .meta = "FILE", .help = "the source file"},
	{"leaderboard", ARGUMENT_BOARD, .meta = "NAME", .help = "default: what the file's header says"},
	{"device", ARGUMENT_DEVICE, .repeated = true, .meta = "DEVICE",
		.help = "where to run; default: what the file's header says, or the only device of the leaderboard"},
	{"no_wait", ARGUMENT_BOOL, .default_value = "false", .help = "leaves it to an engine that stays (kettle serve)"},
};

static const struct argument submission_list[] = {
	{"leaderboard", ARGUMENT_BOARD, .positional = true, .meta = "NAME", .help = "only those on this leaderboard"},
	{"limit", ARGUMENT_INT, .default_value = "50", .min = 1, .max = 100, .meta = "N", .help = "at most so many"},
	{"offset", ARGUMENT_INT, .default_value = "0", .min = 0, .max = INT32_MAX, .meta = "N",
		.help = "leaves out so many at the beginning"},
};

static const struct argument submission_id[] = {
	{"id", ARGUMENT_ID, .required = true, .positional = true, .meta = "ID", .help = "the number of the submission"},
};

static const struct argument task_read_arguments[] = {
	{"path", ARGUMENT_PATH, .required = true, .positional = true, .meta = "PATH", .help = "a task's folder"},
};

static const struct argument task_check_arguments[] = {
	{"path", ARGUMENT_PATH, .required = true, .positional = true, .repeated = true, .meta = "PATH",
		.help = "a task's folder"},
};

static const struct argument task_run_arguments[] = {
	{"path", ARGUMENT_PATH, .required = true, .positional = true, .meta = "PATH", .help = "the task's folder"},
	{"file", ARGUMENT_PATH, .required = true, .positional = true, .meta = "FILE", .help = "the submission"},
	{"mode", ARGUMENT_CHOICE, .choices = modes, .default_value = "ranked",
		.help = "what to run; leaderboard is another word for ranked"},
	{"device", ARGUMENT_DEVICE, .meta = "DEVICE", .help = "where to run; default: the first device there is"},
	{"keep", ARGUMENT_BOOL, .default_value = "false", .help = "keeps the folders of the steps and says where"},
};

static const struct argument plugin_info_arguments[] = {
	{"name", ARGUMENT_STRING, .required = true, .positional = true, .meta = "NAME", .help = "a plugin that is loaded"},
};

static const struct argument plugin_test_arguments[] = {
	{"file", ARGUMENT_PATH, .required = true, .positional = true, .meta = "FILE", .help = "a plugin, NAME.so"},
};

static const struct argument queue_place_arguments[] = {
	{"job", ARGUMENT_ID, .required = true, .positional = true, .repeated = true, .meta = "JOB",
		.help = "the number of a job"},
};

#define ARGUMENTS(array) .arguments = (array), .arguments_count = ARRAY_SIZE(array)

const struct command commands[] = {
	{"leaderboard.create", "makes a leaderboard of a task", .right = RIGHT_CREATOR, .kind = COMMAND_WRITE,
		ARGUMENTS(board_create), .run = cmd_board_create,
		.details =
			"The task is stored with the leaderboard: later changes of its folder change nothing. Every device is a "
			"ranking of its own."},
	{"leaderboard.list", "lists the leaderboards", .right = RIGHT_ANYBODY, .kind = COMMAND_READ,
		ARGUMENTS(board_list_arguments), .run = cmd_board_list},
	{"leaderboard.show", "shows a leaderboard and its rankings", .right = RIGHT_ANYBODY, .kind = COMMAND_READ,
		ARGUMENTS(board_show), .run = cmd_board_show,
		.details = "The best run of each user counts. Equal scores share a rank, and the next rank is skipped."},
	{"leaderboard.delete", "deletes a leaderboard with everything on it", .right = RIGHT_CREATOR, .kind = COMMAND_WRITE,
		ARGUMENTS(board_delete), .run = cmd_board_delete,
		.details =
			"What runs is cancelled; submissions, runs, artifacts, invites and limits of the leaderboard are removed."},
	{"submit", "submits a file to a leaderboard", .right = RIGHT_ANYBODY, .kind = COMMAND_WRITE, .late_ban = true,
		ARGUMENTS(submit), .run = cmd_submit,
		.details =
			"A ranked submission runs the tests, the benchmarks and the ranked benchmarks, then the same again with a "
			"secret seed; it counts when everything passed."},
	{"submission.list", "lists your submissions, newest first", .right = RIGHT_ANYBODY, .kind = COMMAND_READ,
		ARGUMENTS(submission_list), .run = cmd_submission_list},
	{"submission.show", "shows one of your submissions with its report", .right = RIGHT_ANYBODY, .kind = COMMAND_READ,
		ARGUMENTS(submission_id), .run = cmd_submission_show},
	{"submission.cancel", "cancels what is queued or running of a submission", .right = RIGHT_ANYBODY,
		.kind = COMMAND_WRITE, ARGUMENTS(submission_id), .run = cmd_submission_cancel},
	{"submission.delete", "deletes a submission for good", .right = RIGHT_ANYBODY, .kind = COMMAND_WRITE,
		ARGUMENTS(submission_id), .run = cmd_submission_delete,
		.details =
			"It leaves the ranking; your next best run takes its place. What it used of a rate limit stays used."},
	{"queue.place", "says how many jobs are before yours", .right = RIGHT_ANYBODY, .kind = COMMAND_ENGINE,
		ARGUMENTS(queue_place_arguments), .engine = cmd_queue_place},
	{"device.list", "lists the devices, what they run on and what is queued", .right = RIGHT_ANYBODY,
		.kind = COMMAND_ENGINE, .engine = cmd_device_list},
	{"task.read", "reads a task's folder into one document", .right = RIGHT_ANYBODY, .kind = COMMAND_LOCAL,
		ARGUMENTS(task_read_arguments), .engine = cmd_task_read},
	{"task.check", "checks task folders", .right = RIGHT_ANYBODY, .kind = COMMAND_LOCAL,
		ARGUMENTS(task_check_arguments), .engine = cmd_task_check,
		.details = "No database is needed. Errors name the file, the line and the nearest key."},
	{"task.run", "runs a file against a task, here and now", .right = RIGHT_ANYBODY, .kind = COMMAND_LOCAL,
		ARGUMENTS(task_run_arguments), .engine = cmd_task_run,
		.details = "The loop of a task's author: no database, no leaderboard, nothing is stored."},
	{"plugin.list", "lists the plugins that are loaded", .right = RIGHT_ANYBODY, .kind = COMMAND_LOCAL,
		.engine = cmd_plugin_list},
	{"plugin.info", "shows what a plugin may be told", .right = RIGHT_ANYBODY, .kind = COMMAND_LOCAL,
		ARGUMENTS(plugin_info_arguments), .engine = cmd_plugin_info},
	{"plugin.test", "tries whether a plugin keeps the rules", .right = RIGHT_ANYBODY, .kind = COMMAND_LOCAL,
		ARGUMENTS(plugin_test_arguments), .engine = cmd_plugin_test},
	{"config.check", "checks the configuration and shows what is in force", .right = RIGHT_ANYBODY,
		.kind = COMMAND_LOCAL, .engine = cmd_config_check},
	{0},
};

const struct command *
command_find(const char *name)
{
	for (const struct command *command = commands; command->name; command++)
		if (strcmp(command->name, name) == 0)
			return command;
	return NULL;
}

/* ---- checking ---- */

static int
fail_memory(struct kettle_error *err)
{
	return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory for the command.");
}

__attribute__((format(printf, 4, 5))) static int
wrong(const struct argument *argument, const json_t *value, struct kettle_error *err, const char *format, ...)
{
	char right[300];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(right, sizeof(right), format, args);
	va_end(args);
	AUTO_FREE char *shown =
		json_is_object(value) || json_is_array(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
	return kettle_fail(err, KETTLE_EINVAL, "`%s` must be %s%s%.80s.", argument->name, right, shown ? ", not " : "",
		shown ? shown : "");
}

static int
check_text(const struct argument *argument, const json_t *value, size_t max, bool lines, struct kettle_error *err)
{
	const char *text = json_string_value(value);
	if (!text)
		return wrong(argument, value, err, "text");
	if (json_string_length(value) > max)
		return kettle_fail(
			err, KETTLE_ETOOBIG, "`%s` has more than the %zu bytes that are allowed.", argument->name, max);
	if (strlen(text) != json_string_length(value))
		return wrong(argument, NULL, err, "text without control characters");
	for (; *text; text++) {
		bool allowed = lines && (*text == '\n' || *text == '\t' || *text == '\r');
		if (((unsigned char)*text < ' ' || *text == 0x7f) && !allowed)
			return wrong(argument, NULL, err, "text without control characters");
	}
	return 0;
}

static int
check_name(const struct argument *argument, const json_t *value, struct kettle_error *err)
{
	int code = check_text(argument, value, COMMAND_NAME_MAX, false, err);
	return code == 0 && json_string_length(value) == 0 ? wrong(argument, value, err, "a name") : code;
}

static int
check_int(const struct argument *argument, const json_t *value, struct kettle_error *err)
{
	bool ranged = argument->min || argument->max;
	if (!json_is_integer(value))
		return wrong(argument, value, err, "a whole number");
	json_int_t number = json_integer_value(value);
	if (ranged && (number < argument->min || number > argument->max))
		return wrong(argument, value, err, "from %lld to %lld", (long long)argument->min, (long long)argument->max);
	return 0;
}

/* Replaces the value by the choice as it is listed. */
static int
check_choice(const struct argument *argument, json_t **value, struct kettle_error *err)
{
	const char *text = json_string_value(*value);
	AUTO_BUF struct buf all = {0};
	for (const char *const *choice = argument->choices; *choice; choice++) {
		if (text && strcasecmp(*choice, text) == 0) {
			json_decref(*value);
			*value = json_string(*choice);
			return *value ? 0 : fail_memory(err);
		}
		if (buf_printf(&all, "%s%s", choice == argument->choices ? "" : ", ", *choice))
			return fail_memory(err);
	}
	return wrong(argument, *value, err, "one of %s", all.data);
}

static int
check_file(const struct argument *argument, const json_t *value, struct kettle_error *err)
{
	const json_t *name = json_object_get(value, "name"), *base64 = json_object_get(value, "base64");
	if (!json_is_string(name) || !json_is_string(base64) || json_object_size(value) != 2)
		return wrong(argument, value, err, "a file: {\"name\", \"base64\"}");
	if (json_string_length(name) > COMMAND_NAME_MAX * 4)
		return kettle_fail(err, KETTLE_EINVAL, "The name of the file is too long.");
	return 0;
}

static int
check_when(const struct argument *argument, const json_t *value, struct kettle_error *err)
{
	int64_t ms;
	int code = check_text(argument, value, COMMAND_NAME_MAX, false, err);
	return code < 0 ? code : time_parse_deadline(json_string_value(value), time_now_ms(), &ms, err);
}

/* May replace *value, of which it is given the reference. */
static int
check_value(const struct argument *argument, json_t **value, struct kettle_error *err)
{
	switch (argument->type) {
	case ARGUMENT_STRING:
		return check_text(argument, *value, COMMAND_TEXT_MAX, true, err);
	case ARGUMENT_PATH:
		return check_text(argument, *value, COMMAND_TEXT_MAX, false, err);
	case ARGUMENT_BOARD:
	case ARGUMENT_DEVICE:
		return check_name(argument, *value, err);
	case ARGUMENT_INT:
		return check_int(argument, *value, err);
	case ARGUMENT_ID:
		if (json_integer_value(*value) > 0)
			return 0;
		return wrong(argument, *value, err, "the number of a submission");
	case ARGUMENT_BOOL:
		return json_is_boolean(*value) ? 0 : wrong(argument, *value, err, "true or false");
	case ARGUMENT_CHOICE:
		return check_choice(argument, value, err);
	case ARGUMENT_WHEN:
		return check_when(argument, *value, err);
	case ARGUMENT_FILE:
		return check_file(argument, *value, err);
	case ARGUMENT_TASK:
		return json_is_object(*value) ? 0 : wrong(argument, *value, err, "a task");
	}
	return 0;
}

static json_t *
default_of(const struct argument *argument)
{
	if (!argument->default_value)
		return NULL;
	switch (argument->type) {
	case ARGUMENT_INT:
	case ARGUMENT_ID:
		return json_integer(strtoll(argument->default_value, NULL, 10));
	case ARGUMENT_BOOL:
		return json_boolean(strcmp(argument->default_value, "true") == 0);
	case ARGUMENT_STRING:
	case ARGUMENT_CHOICE:
	case ARGUMENT_BOARD:
	case ARGUMENT_DEVICE:
	case ARGUMENT_WHEN:
	case ARGUMENT_FILE:
	case ARGUMENT_TASK:
	case ARGUMENT_PATH:
		break;
	}
	return json_string(argument->default_value);
}

/* A list with one value checked and added; steals the reference to value. */
static int
add_checked(const struct argument *argument, json_t *list, json_t *value_take, struct kettle_error *err)
{
	json_t *value = value_take;
	int code = check_value(argument, &value, err);
	if (code < 0) {
		json_decref(value);
		return code;
	}
	return json_array_append_new(list, value) < 0 ? fail_memory(err) : 0;
}

static int
check_list(const struct argument *argument, const json_t *given, json_t *checked, struct kettle_error *err)
{
	json_t *list = json_array();
	int code = json_object_set_new(checked, argument->name, list) < 0 ? fail_memory(err) : 0;
	if (code == 0 && !json_is_array(given))
		return add_checked(argument, list, json_incref((json_t *)given), err);
	if (code == 0 && json_array_size(given) > COMMAND_LIST_MAX)
		return kettle_fail(
			err, KETTLE_EINVAL, "`%s` has more than the %d values that are allowed.", argument->name, COMMAND_LIST_MAX);
	for (size_t i = 0; i < json_array_size(given) && code == 0; i++)
		code = add_checked(argument, list, json_incref(json_array_get(given, i)), err);
	return code;
}

static int
check_argument(const struct command *command, const struct argument *argument, const json_t *args, json_t *checked,
	struct kettle_error *err)
{
	json_t *given = json_object_get(args, argument->name);
	bool empty = argument->repeated && json_is_array(given) && json_array_size(given) == 0;
	if (!given || json_is_null(given) || empty) {
		if (argument->required)
			return kettle_fail(
				err, KETTLE_EINVAL, "`%s` needs `%s`: %s.", command->name, argument->name, argument->help);
		json_t *value = default_of(argument);
		return value && json_object_set_new(checked, argument->name, value) < 0 ? fail_memory(err) : 0;
	}
	if (argument->repeated)
		return check_list(argument, given, checked, err);
	json_t *value = json_incref(given);
	int code = check_value(argument, &value, err);
	if (code < 0) {
		json_decref(value);
		return code;
	}
	return json_object_set_new(checked, argument->name, value) < 0 ? fail_memory(err) : 0;
}

static int
check_known(const struct command *command, const json_t *args, struct kettle_error *err)
{
	AUTO_JSON json_t *names = json_object();
	const char *name;
	json_t *value;
	for (size_t i = 0; i < command->arguments_count; i++)
		(void)json_object_set_new(names, command->arguments[i].name, json_true());
	json_object_foreach((json_t *)args, name, value) {
		if (json_object_get(names, name))
			continue;
		const char *near = nearest_key(name, names);
		if (near)
			return kettle_fail(
				err, KETTLE_EINVAL, "`%s` has no argument `%.64s`; did you mean `%s`?", command->name, name, near);
		return kettle_fail(err, KETTLE_EINVAL, "`%s` has no argument `%.64s`.", command->name, name);
	}
	return 0;
}

int
command_check(const struct command *command, const json_t *args, json_t **ret_args, struct kettle_error *err)
{
	AUTO_JSON json_t *checked = json_object();
	if (args && !json_is_object(args))
		return kettle_fail(err, KETTLE_EINVAL, "The arguments of `%s` must be an object.", command->name);
	int code = check_known(command, args, err);
	for (size_t i = 0; i < command->arguments_count && code == 0; i++)
		code = check_argument(command, &command->arguments[i], args, checked, err);
	if (code == 0)
		*ret_args = STEAL(checked);
	return code;
}

/* ---- as data ---- */

static const char *
type_name(enum argument_type type)
{
	switch (type) {
	case ARGUMENT_STRING:
		return "string";
	case ARGUMENT_INT:
		return "int";
	case ARGUMENT_BOOL:
		return "bool";
	case ARGUMENT_CHOICE:
		return "choice";
	case ARGUMENT_BOARD:
		return "board";
	case ARGUMENT_DEVICE:
		return "device";
	case ARGUMENT_ID:
		return "id";
	case ARGUMENT_WHEN:
		return "when";
	case ARGUMENT_FILE:
		return "file";
	case ARGUMENT_TASK:
		return "task";
	case ARGUMENT_PATH:
		return "path";
	}
	return "string";
}

static const char *
right_name(enum command_right right)
{
	switch (right) {
	case RIGHT_ANYBODY:
		return "anybody";
	case RIGHT_CREATOR:
		return "creator";
	case RIGHT_ADMIN:
		return "admin";
	}
	return "admin";
}

static const char *
kind_name(enum command_kind kind)
{
	switch (kind) {
	case COMMAND_READ:
		return "read";
	case COMMAND_WRITE:
		return "write";
	case COMMAND_ENGINE:
		return "engine";
	case COMMAND_LOCAL:
		return "local";
	}
	return "local";
}

static json_t *
argument_data(const struct argument *argument)
{
	json_t *choices = argument->choices ? json_array() : json_null();
	for (const char *const *choice = argument->choices; choice && *choice; choice++)
		(void)json_array_append_new(choices, json_string(*choice));
	json_t *data = json_pack("{s:s, s:s, s:b, s:b, s:b, s:o, s:s?, s:s?, s:s}", "name", argument->name, "type",
		type_name(argument->type), "required", argument->required, "positional", argument->positional, "repeated",
		argument->repeated, "choices", choices, "default", argument->default_value, "meta", argument->meta, "help",
		argument->help);
	if (data && (argument->min || argument->max))
		(void)json_object_update_new(
			data, json_pack("{s:I, s:I}", "min", (json_int_t)argument->min, "max", (json_int_t)argument->max));
	return data;
}

json_t *
command_table(void)
{
	json_t *table = json_array();
	for (const struct command *command = commands; command->name; command++) {
		json_t *args = json_array();
		for (size_t i = 0; i < command->arguments_count; i++)
			(void)json_array_append_new(args, argument_data(&command->arguments[i]));
		(void)json_array_append_new(table,
			json_pack("{s:s, s:s, s:s?, s:s, s:s, s:o}", "name", command->name, "help", command->help, "details",
				command->details, "right", right_name(command->right), "kind", kind_name(command->kind), "args", args));
	}
	return table;
}
