/* SPDX-License-Identifier: MIT */
/* Where the archive of a repository is. */
#ifndef KETTLE_COMMANDS_REPOSITORY_H
#define KETTLE_COMMANDS_REPOSITORY_H

#include <kettle/error.h>

/*
 * Of OWNER/NAME or https://github.com/OWNER/NAME the zip that GitHub makes of a branch (NULL: the one that is shown first), or the
 * https:// URL of a zip itself, without a branch. New strings: the URL, and what messages call the archive. EINVAL. [any]
 */
int repository_archive(
	const char *repository, const char *branch, char **ret_url, char **ret_label, struct kettle_error *err);

#endif
