/* SPDX-License-Identifier: MIT */
/* Finds commands, checks their arguments, and writes the table as data. */
#include <config.h>

#include "session/command.h"

#include "base/base.h"
#include "base/json_text.h"
#include "base/schema.h"
#include "base/text.h"
#include "model/actor.h"
#include "model/user_ref.h"

/* ---- shapes as JSON Schema ---- */

static const char *const types[] = {
	[SHAPE_BOOL] = "boolean",
	[SHAPE_INT] = "integer",
	[SHAPE_NUMBER] = "number",
	[SHAPE_STRING] = "string",
	[SHAPE_TIME] = "string",
	[SHAPE_OBJECT] = "object",
	[SHAPE_ARRAY] = "array",
	[SHAPE_MAP] = "object",
};

static void
add_choices(json_t *schema, const struct shape *shape)
{
	json_t *choices = json_array();
	for (const char *const *choice = shape->choices; *choice; choice++)
		json_array_append_new(choices, json_string(*choice));
	if (shape->null)
		json_array_append_new(choices, json_null());
	json_object_set_new(schema, "enum", choices);
}

static json_t *shape_schema(const struct shape *shape);

static void
add_members(json_t *schema, const struct shape *members)
{
	json_t *properties = json_object(), *required = json_array();
	for (const struct shape *member = members; member->name; member++) {
		json_object_set_new(properties, member->name, shape_schema(member));
		if (!member->optional)
			json_array_append_new(required, json_string(member->name));
	}
	json_object_set_new(schema, "properties", properties);
	json_object_set_new(schema, "required", required);
	json_object_set_new(schema, "additionalProperties", json_false());
}

/*
 * The shape as JSON Schema 2020-12, for schema_check: objects have no other members, TIME is a string of the format
 * date-time, a unit is the extension "x-unit", help is the description. New reference.
 */
static json_t *
shape_schema(const struct shape *shape)
{
	json_t *schema =
		json_pack("{s:s*, s:s*, s:s*}", "title", shape->title, "description", shape->help, "x-unit", shape->unit);
	const char *type = types[shape->type];
	if (type)
		json_object_set_new(schema, "type", shape->null ? json_pack("[s, s]", type, "null") : json_string(type));
	if (shape->type == SHAPE_TIME)
		json_object_set_new(schema, "format", json_string("date-time"));
	if (shape->choices)
		add_choices(schema, shape);
	if (shape->members)
		add_members(schema, shape->members);
	if (shape->element)
		json_object_set_new(
			schema, shape->type == SHAPE_MAP ? "additionalProperties" : "items", shape_schema(shape->element));
	return schema;
}

const struct command *
command_find(const struct command *table, const char *name)
{
	for (const struct command *command = table; command->name; command++)
		if (strcmp(command->name, name) == 0 || (command->alias && strcmp(command->alias, name) == 0))
			return command;
	return NULL;
}

int
command_actor(const struct command *command, struct db *db, const json_t *actor, struct actor *ret_actor,
	struct kettle_error *err)
{
	struct access required = {
		.right = command->right,
		.writes = command->kind == COMMAND_WRITE && !command->internal,
		.check_ban_last = command->check_ban_last,
	};
	return actor_resolve(db, actor, &required, ret_actor, err);
}

/* ---- checking ---- */

__attribute__((format(printf, 4, 5))) static int
wrong(const struct argument *argument, const json_t *value, struct kettle_error *err, const char *format, ...)
{
	char right[300];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(right, sizeof(right), format, args);
	va_end(args);
	AUTO_FREE char *shown =
		json_is_object(value) || json_is_array(value) ? NULL : json_text(value, JSON_ENCODE_ANY | JSON_COMPACT);
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
		return kettle_fail(err, KETTLE_ETOOBIG, "`%s` exceeds the limit of %zu bytes.", argument->name, max);
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
check_string(const struct argument *argument, const json_t *value, struct kettle_error *err)
{
	int64_t bytes = (int64_t)json_string_length(value);
	int rc = check_text(argument, value, COMMAND_TEXT_MAX, true, err);
	if (rc == 0 && argument->max && (bytes < argument->min || bytes > argument->max))
		return kettle_fail(err, KETTLE_EINVAL, "`%s` must have %lld to %lld bytes.", argument->name,
			(long long)argument->min, (long long)argument->max);
	return rc;
}

static int
check_name(const struct argument *argument, const json_t *value, struct kettle_error *err)
{
	int rc = check_text(argument, value, REQUEST_NAME_MAX, false, err);
	if (rc == 0 && json_string_length(value) == 0)
		return wrong(argument, value, err, "a name");
	uint32_t invisible = rc == 0 ? utf8_find_invisible(json_string_value(value), json_string_length(value)) : 0;
	if (invisible)
		return kettle_fail(err, KETTLE_EINVAL,
			"`%s` contains the invisible character U+%04X, which is not allowed in a name; retype it.", argument->name,
			invisible);
	return rc;
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

/* Replaces the value by the choice in the case of the list. */
static int
check_choice(const struct argument *argument, json_t **value, struct kettle_error *err)
{
	const char *text = json_string_value(*value);
	AUTO_BUF struct buf all = {0};
	for (const char *const *choice = argument->choices; *choice; choice++) {
		if (text && strcasecmp(*choice, text) == 0) {
			json_decref(*value);
			*value = json_string(argument->last_means && !choice[1] ? argument->last_means : *choice);
			return 0;
		}
		buf_printf(&all, "%s%s", choice == argument->choices ? "" : ", ", *choice);
	}
	return wrong(argument, *value, err, "one of %s", all.data);
}

static int
check_id(const struct argument *argument, json_t **value, struct kettle_error *err)
{
	const char *text = json_string_value(*value);
	if (json_integer_value(*value) > 0)
		return 0;
	if (!argument->default_value || !text || strcasecmp(text, COMMAND_LATEST) != 0)
		return wrong(argument, *value, err, "the number of a submission%s",
			argument->default_value ? ", or " COMMAND_LATEST : "");
	json_decref(*value);
	*value = json_string(COMMAND_LATEST); /* stays a word, since the owner checks a client's call again */
	return 0;
}

static int
check_file(const struct argument *argument, const json_t *value, struct kettle_error *err)
{
	const json_t *name = json_object_get(value, "name"), *base64 = json_object_get(value, "base64");
	if (!json_is_string(name) || !json_is_string(base64) || json_object_size(value) != 2)
		return wrong(argument, value, err, "a file: {\"name\", \"base64\"}");
	if (json_string_length(name) > REQUEST_NAME_MAX * 4)
		return kettle_fail(err, KETTLE_EINVAL, "The name of the file is too long.");
	return 0;
}

static int
check_when(const struct argument *argument, const json_t *value, struct kettle_error *err)
{
	int64_t ms;
	int rc = check_text(argument, value, REQUEST_NAME_MAX, false, err);
	if (rc < 0 || strcasecmp(json_string_value(value), "none") == 0)
		return rc;
	return time_parse_deadline(json_string_value(value), 0, &ms, err);
}

/* Checks one value. May replace *value, and then releases the old one. */
static int
check_value(const struct argument *argument, json_t **value, struct kettle_error *err)
{
	switch (argument->type) {
	case ARGUMENT_STRING:
		return check_string(argument, *value, err);
	case ARGUMENT_PATH:
		return check_text(argument, *value, COMMAND_TEXT_MAX, false, err);
	case ARGUMENT_BOARD:
	case ARGUMENT_DEVICE:
		return check_name(argument, *value, err);
	case ARGUMENT_USER:
		return user_ref_read(*value, &(struct user_ref){0}, err);
	case ARGUMENT_INT:
		return check_int(argument, *value, err);
	case ARGUMENT_ID:
		return check_id(argument, value, err);
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
	case ARGUMENT_PROBLEMS:
		return json_is_object(*value) ? 0 : wrong(argument, *value, err, "a competition: {\"sets\"}");
	}
	return 0;
}

static json_t *
default_of(const struct argument *argument)
{
	if (argument->type == ARGUMENT_INT)
		return json_integer(strtoll(argument->default_value, NULL, 10));
	if (argument->type == ARGUMENT_BOOL)
		return json_boolean(strcmp(argument->default_value, "true") == 0);
	return json_string(argument->default_value);
}

/* Checks one value and adds it to a list. Takes the reference to the value. */
static int
add_checked(const struct argument *argument, json_t *list, json_t *value_take, struct kettle_error *err)
{
	json_t *value = value_take;
	int rc = check_value(argument, &value, err);
	if (rc < 0) {
		json_decref(value);
		return rc;
	}
	return json_array_append_new(list, value);
}

static int
check_list(const struct argument *argument, const json_t *given, json_t *checked, struct kettle_error *err)
{
	json_t *list = json_array();
	int rc = 0;
	json_object_set_new(checked, argument->name, list);
	if (!json_is_array(given))
		return add_checked(argument, list, json_incref((json_t *)given), err);
	if (json_array_size(given) > COMMAND_LIST_MAX)
		return kettle_fail(
			err, KETTLE_EINVAL, "`%s` exceeds the limit of %d values.", argument->name, COMMAND_LIST_MAX);
	for (size_t i = 0; i < json_array_size(given) && rc == 0; i++)
		rc = add_checked(argument, list, json_incref(json_array_get(given, i)), err);
	return rc;
}

static int
check_argument(const struct argument *argument, const json_t *args, json_t *checked, struct kettle_error *err)
{
	json_t *given = json_object_get(args, argument->name);
	if (!given && argument->alias)
		given = json_object_get(args, argument->alias);
	bool empty = argument->repeated && json_is_array(given) && json_array_size(given) == 0;
	if (!given || json_is_null(given) || empty) {
		if (argument->required)
			return kettle_fail(err, KETTLE_EINVAL, "The argument `%s` is missing: %s.", argument->name, argument->help);
		if (argument->default_value)
			json_object_set_new(checked, argument->name, default_of(argument));
		return 0;
	}
	if (argument->repeated)
		return check_list(argument, given, checked, err);
	json_t *value = json_incref(given);
	int rc = check_value(argument, &value, err);
	if (rc < 0) {
		json_decref(value);
		return rc;
	}
	return json_object_set_new(checked, argument->name, value);
}

static bool
is_also(const struct command *command, const char *name)
{
	for (const struct argument *argument = command->arguments; argument && argument->name; argument++)
		if (argument->alias && strcmp(argument->alias, name) == 0)
			return true;
	return false;
}

static int
check_known(const struct command *command, const json_t *args, struct kettle_error *err)
{
	AUTO_JSON json_t *names = json_object();
	for (const struct argument *argument = command->arguments; argument && argument->name; argument++)
		json_object_set_new(names, argument->name, json_true());
	json_object_each(args, name, value) {
		if (json_object_get(names, name) || is_also(command, name))
			continue;
		const char *near = nearest_key(name, names);
		return kettle_fail(err, KETTLE_EINVAL, "There is no argument `%.64s`%s%s%s", name, NEAREST_END(near));
	}
	return 0;
}

int
command_check(const struct command *command, const json_t *args, json_t **ret_args, struct kettle_error *err)
{
	AUTO_JSON json_t *checked = json_object();
	if (args && !json_is_object(args))
		return kettle_fail(err, KETTLE_EINVAL, "The arguments of a command must be an object.");
	int rc = check_known(command, args, err);
	for (const struct argument *argument = command->arguments; rc == 0 && argument && argument->name; argument++) {
		rc = check_argument(argument, args, checked, err);
		if (rc < 0)
			(void)kettle_blame(err, KETTLE_CAUSE_NONE, argument->name, rc);
	}
	if (rc == 0)
		*ret_args = STEAL(checked);
	return rc;
}

/* ---- as data ---- */

static const char *const type_names[] = {
#define X(name, text) [ARGUMENT_##name] = text,
	ARGUMENT_TYPES(X)
#undef X
};
static const char *const right_names[] = {
	[RIGHT_ANYBODY] = "anybody",
	[RIGHT_CREATOR] = "creator",
	[RIGHT_ADMIN] = "admin",
};
static const char *const kind_names[] = {
	[COMMAND_READ] = "read",
	[COMMAND_WRITE] = "write",
	[COMMAND_ENGINE] = "engine",
	[COMMAND_LOCAL] = "local",
};

/* The tables are made at each start of a command line, and json_pack would be a quarter of it. NULL becomes null. */
static void
put_text(json_t *object, const char *name, const char *text)
{
	(void)json_object_set_new_nocheck(object, name, text ? json_string_nocheck(text) : json_null());
}

static void
put_bool(json_t *object, const char *name, bool value)
{
	(void)json_object_set_new_nocheck(object, name, json_boolean(value));
}

static json_t *
argument_data(const struct argument *argument)
{
	json_t *data = json_object(), *choices = argument->choices ? json_array() : json_null();
	for (const char *const *choice = argument->choices; choice && *choice; choice++)
		json_array_append_new(choices, json_string_nocheck(*choice));
	put_text(data, "name", argument->name);
	if (argument->alias)
		put_text(data, "also", argument->alias);
	put_text(data, "type", type_names[argument->type]);
	put_bool(data, "required", argument->required);
	put_bool(data, "positional", argument->positional);
	put_bool(data, "repeated", argument->repeated);
	(void)json_object_set_new_nocheck(data, "choices", choices);
	put_text(data, "default", argument->default_value);
	put_text(data, "meta", argument->meta);
	put_text(data, "help", argument->help);
	if (argument->min || argument->max) {
		(void)json_object_set_new_nocheck(data, "min", json_integer(argument->min));
		(void)json_object_set_new_nocheck(data, "max", json_integer(argument->max));
	}
	return data;
}

static json_t *
column_data(const struct view_column *column)
{
	json_t *data = json_object();
	put_text(data, "title", column->title);
	put_text(data, "cell", column->cell);
	put_bool(data, "right", column->right);
	put_bool(data, "cut", column->cut);
	(void)json_object_set_new_nocheck(data, "spare", json_integer(column->spare));
	return data;
}

/* Null if the frontend draws the answer itself. New reference. */
static json_t *
view_data(const struct view *view)
{
	if (!view->sentence && !view->columns && !view->line)
		return json_null();
	json_t *data = json_object(), *columns = view->columns ? json_array() : json_null();
	for (const struct view_column *column = view->columns; column && column->title; column++)
		json_array_append_new(columns, column_data(column));
	put_text(data, "sentence", view->sentence);
	put_text(data, "list", view->list);
	(void)json_object_set_new_nocheck(data, "columns", columns);
	put_text(data, "line", view->line);
	put_text(data, "empty", view->empty);
	put_text(data, "mark", view->mark);
	return data;
}

int
command_check_answer(const struct command *command, const json_t *result, struct kettle_error *err)
{
	AUTO_JSON json_t *schema = shape_schema(command->answer);
	return schema_check(schema, result, command->name, NULL, err);
}

static json_t *
row_data(const struct command *command)
{
	json_t *data = json_object(), *args = json_array();
	for (const struct argument *argument = command->arguments; argument && argument->name; argument++)
		json_array_append_new(args, argument_data(argument));
	put_text(data, "name", command->name);
	if (command->alias)
		put_text(data, "also", command->alias);
	put_text(data, "help", command->help);
	put_text(data, "details", command->details);
	put_text(data, "example", command->example);
	put_bool(data, "hidden", command->hidden || command->internal);
	put_bool(data, "internal", command->internal);
	(void)json_object_set_new_nocheck(data, "view", view_data(&command->view));
	put_text(data, "right", right_names[command->right]);
	put_text(data, "kind", kind_names[command->kind]);
	(void)json_object_set_new_nocheck(data, "args", args);
	return data;
}

json_t *
command_data(const struct command *table)
{
	json_t *data = json_array();
	for (const struct command *command = table; command->name; command++)
		json_array_append_new(data, row_data(command));
	return data;
}

json_t *
command_answers(const struct command *table)
{
	json_t *answers = json_object();
	for (const struct command *command = table; command->name; command++)
		json_object_set_new(answers, command->name, shape_schema(command->answer));
	return answers;
}
