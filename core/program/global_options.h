/* SPDX-License-Identifier: MIT */
/* The global options of kettle, from the command line and the environment. */
#pragma once

#include <kettle/error.h>
#include <stdbool.h>

/* Strings are borrowed from argv and the environment. Missing ones are NULL or false. */
struct globals {
	const char *config, *database, *server, *user, *log_format, *log_level;
	bool json, quiet, version;
	bool completes; /* the command is __complete: the words are a line that is being typed */
	int argc;       /* words that are left: the command and its arguments, without the program's name */
	const char **argv;
};

/*
 * Takes the global options out of argv, anywhere before `--` (`--name VALUE`, `--name=VALUE`), and fills in missing
 * ones from KETTLE_SERVER, KETTLE_USER, KETTLE_JSON, KETTLE_QUIET, KETTLE_LOG_FORMAT and KETTLE_LOG_LEVEL (the configuration reads
 * KETTLE_CONFIG and KETTLE_DB). The values 0, no, false and off leave a flag unset. In a line that is being typed
 * (`__complete WORD…`) the last word stays, and so does an option whose value it is. EINVAL: a value is missing. The
 * caller frees argv.
 */
int globals_parse(int argc, char **argv, struct globals *ret_globals, struct kettle_error *err);
