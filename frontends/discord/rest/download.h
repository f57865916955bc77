/* SPDX-License-Identifier: MIT */
/* The hosts from which attachments may be fetched. */
#pragma once

#include <kettle/error.h>
#include <stdbool.h>

/*
 * Checks that a URL is https and has no user, the usual port and one of the hosts (NULL-terminated). plain: also
 * allows http to this machine. EINVAL. [any]
 */
int download_check(const char *url, const char *const *hosts, bool plain, struct kettle_error *err);
