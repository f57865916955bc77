/* SPDX-License-Identifier: MIT */
/* The global options of kettle. */
#include <config.h>

#include "program/global_options.h"

#include "base/base.h"

static const struct global {
	const char *name, *environment;
	size_t text, flag; /* offset in struct globals: of its text or, if not 0, of its flag */
} table[] = {
	{"config", NULL, offsetof(struct globals, config), 0},
	{"db", NULL, offsetof(struct globals, database), 0},
	{"server", "KETTLE_SERVER", offsetof(struct globals, server), 0},
	{"user", "KETTLE_USER", offsetof(struct globals, user), 0},
	{"log-format", "KETTLE_LOG_FORMAT", offsetof(struct globals, log_format), 0},
	{"log-level", "KETTLE_LOG_LEVEL", offsetof(struct globals, log_level), 0},
	{"json", "KETTLE_JSON", 0, offsetof(struct globals, json)},
	{"quiet", "KETTLE_QUIET", 0, offsetof(struct globals, quiet)},
	{"version", NULL, 0, offsetof(struct globals, version)},
};

static const char **
text_of(struct globals *globals, const struct global *global)
{
	return (const char **)((char *)globals + global->text);
}

static void
set_flag(struct globals *globals, const struct global *global)
{
	*(bool *)((char *)globals + global->flag) = true;
}

/* `config` has the offset 0 as well, so `flag` decides. */
static bool
takes_value(const struct global *global)
{
	return global->flag == 0;
}

static const struct global *
globals_find(const char *argument, const char **ret_value)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		size_t len = strlen(table[i].name);
		if (strncmp(argument, "--", 2) != 0 || strncmp(argument + 2, table[i].name, len) != 0)
			continue;
		if (argument[2 + len] == '\0' || (argument[2 + len] == '=' && takes_value(&table[i]))) {
			*ret_value = argument[2 + len] ? argument + 2 + len + 1 : NULL;
			return &table[i];
		}
	}
	return NULL;
}

static bool
says_no(const char *value)
{
	static const char *const words[] = {"0", "no", "false", "off"};
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcasecmp(value, words[i]) == 0)
			return true;
	return false;
}

static void
take_environment(struct globals *globals)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		const char *value = table[i].environment ? getenv(table[i].environment) : NULL;
		if (!value || !*value)
			continue;
		if (!takes_value(&table[i])) {
			if (!says_no(value))
				set_flag(globals, &table[i]);
		} else if (!*text_of(globals, &table[i])) {
			*text_of(globals, &table[i]) = value;
		}
	}
}

int
globals_parse(int argc, char **argv, struct globals *ret_globals, struct kettle_error *err)
{
	struct globals globals = {0};
	AUTO_FREE const char **rest = xcalloc((size_t)argc + 1, sizeof(*rest));
	globals.completes = argc > 1 && strcmp(argv[1], "__complete") == 0;
	int end = globals.completes ? argc - 1 : argc;
	for (int i = 1; i < end; i++) {
		const char *value = NULL;
		if (strcmp(argv[i], "--") == 0) {
			while (i < end)
				rest[globals.argc++] = argv[i++];
			break;
		}
		const struct global *global = globals_find(argv[i], &value);
		if (!global) {
			rest[globals.argc++] = argv[i];
		} else if (!takes_value(global)) {
			set_flag(&globals, global);
		} else {
			if (!value)
				value = i + 1 < end ? argv[++i] : NULL;
			if (globals.completes && !value)
				rest[globals.argc++] = argv[i];
			else if (!value || !*value)
				return kettle_fail(err, KETTLE_EINVAL, "The option --%s takes a value.", global->name);
			else
				*text_of(&globals, global) = value;
		}
	}
	if (globals.completes) {
		globals.version = false;
		rest[globals.argc++] = argv[end];
	}
	take_environment(&globals);
	const char *server = globals.server;
	if (server && strncasecmp(server, "http://", 7) != 0 && strncasecmp(server, "https://", 8) != 0)
		return kettle_fail(err, KETTLE_EINVAL,
			"--server and KETTLE_SERVER take an address such as https://kettle.example, not `%.200s`.", server);
	globals.argv = STEAL(rest);
	*ret_globals = globals;
	return 0;
}
