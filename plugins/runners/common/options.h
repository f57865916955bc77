/* SPDX-License-Identifier: MIT */
/* Options that the tables of several runners have. */
#pragma once

#include <kettle/option.h>

#define INT_OPTION(name, by_default, least, most, text) \
	{ \
		.key = (name), .type = KETTLE_OPTION_INT, .default_value = (by_default), .min = (least), .max = (most), \
		.help = (text) \
	}

/* Of runners that seal. The section has the key as `key`. */
#define KEY_OPTIONS \
	{.key = "key_env", \
		.type = KETTLE_OPTION_STRING, \
		.help = "The environment variable with the key that seals plans and results: 32 random bytes in base64."}, \
	{ \
		.key = "key_file", .type = KETTLE_OPTION_PATH, .help = "The file with the key, in place of `key_env`." \
	}

/* Of runners that copy the archive of kettle-exec to machines. */
#define EXEC_ARCHIVE_OPTION \
	{ \
		.key = "exec_archive", .type = KETTLE_OPTION_PATH, \
		.help = "The archive that `make portable-exec` packs; default: share/kettle/kettle-exec.tar.xz of the " \
				"installation." \
	}

/* Of units of runners that can build a job in another place than they run it. */
#define BUILD_OPTION \
	{ \
		.key = "build", .type = KETTLE_OPTION_ANY, \
		.help = \
			"The options of a place without a GPU, in which a job begins: it builds there, and only its runs take " \
			"a place of the unit's own options." \
	}
