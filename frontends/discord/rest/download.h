/* SPDX-License-Identifier: MIT */
/* Where attachments may be fetched from. */
#ifndef KETTLE_DISCORD_REST_DOWNLOAD_H
#define KETTLE_DISCORD_REST_DOWNLOAD_H

#include <kettle/error.h>
#include <stdbool.h>

/*
 * Whether a URL is https, has no user, the usual port and one of the hosts (NULL-terminated). plain: http to this machine
 * is allowed too. EINVAL. [any]
 */
int download_check(const char *url, const char *const *hosts, bool plain, struct kettle_error *err);

#endif
