/* SPDX-License-Identifier: MIT */
/* Option tables of plugins and of sections of the configuration. */
#ifndef KETTLE_OPTION_H
#define KETTLE_OPTION_H

#include <kettle/abi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum kettle_option_type {
	KETTLE_OPTION_STRING = 1,
	KETTLE_OPTION_PATH,   /* a string that names a file or folder; `~/` and relative paths are resolved against the
							 configuration file */
	KETTLE_OPTION_INT,    /* min and max hold */
	KETTLE_OPTION_NUMBER, /* min and max hold */
	KETTLE_OPTION_BOOL,
	KETTLE_OPTION_STRINGS, /* a list of strings, or one string for a list of one */
	KETTLE_OPTION_MAP,     /* string keys, string values */
	KETTLE_OPTION_ANY,     /* any JSON value: the plugin checks it in configure */
};

/*
 * One option. The core checks the configuration against the table before anything starts,
 * prints the table as help, and hands the plugin an object in which every option that has a
 * default is present. All strings are static.
 *
 * The configuration never contains secrets. The plugin whose table has NAME_env (STRING: an environment variable) and
 * NAME_file (PATH) gets the secret itself as NAME; it must not log, store or publish it.
 */
struct kettle_option {
	const char *key; /* [a-z][a-z0-9_]* */
	enum kettle_option_type type;
	bool required;              /* of NAME_env, where the table has NAME_file: that or NAME_file */
	const char *default_value;  /* as in the file; NULL: absent unless given */
	double min, max;            /* range of INT and NUMBER; both 0: no range; max below min: no upper end */
	const char *const *choices; /* NULL-terminated list of the strings allowed, or NULL */
	const char *help;           /* one sentence, with the unit if it has one */
};

/* The members of struct kettle_plugin that name a table of options, which is an array. */
#define KETTLE_PLUGIN_OPTIONS(table) \
	.options = (table), .options_count = sizeof(table) / sizeof((table)[0]), .option_size = sizeof((table)[0])

#ifdef __cplusplus
}
#endif
#endif
