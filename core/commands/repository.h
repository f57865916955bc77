/* SPDX-License-Identifier: MIT */
/* Finds the archive of a repository. */
#pragma once

#include <kettle/error.h>

/*
 * The archive of a repository: for OWNER/NAME or https://github.com/OWNER/NAME the zip that GitHub makes of a branch
 * (NULL: the default one); or the https:// URL of a zip itself, without a branch. New strings: the URL, and the
 * archive's name in messages. EINVAL. [any]
 */
int repository_archive(
	const char *repository, const char *branch, char **ret_url, char **ret_label, struct kettle_error *err);
