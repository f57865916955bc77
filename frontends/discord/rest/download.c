/* SPDX-License-Identifier: MIT */
/* The hosts from which attachments may be fetched. */
#include <config.h>

#include "discord/rest/download.h"

#include "base/base.h"

#define URL_MAX_BYTES 4000

static const char *const loopback[] = {"127.0.0.1", "localhost", NULL};

static bool
is_one_of(const char *host, const char *const *hosts)
{
	for (; *hosts; hosts++)
		if (strcasecmp(host, *hosts) == 0)
			return true;
	return false;
}

int
download_check(const char *url, const char *const *hosts, bool plain, struct kettle_error *err)
{
	bool secure = strncmp(url, "https://", 8) == 0, valid = strlen(url) <= URL_MAX_BYTES;
	for (const char *at = url; *at; at++)
		valid = valid && *at > ' ' && *at < 0x7f && *at != '\\';
	if (valid && (secure || (plain && strncmp(url, "http://", 7) == 0))) {
		const char *authority = url + (secure ? 8 : 7);
		AUTO_FREE char *host = xstrndup(authority, strcspn(authority, "/?#"));
		char *port = strchr(host, ':');
		if (secure && port && strcmp(port, ":443") != 0)
			valid = false;
		if (port)
			*port = '\0';
		/* A user before the host makes the text differ from every host. */
		if (valid && is_one_of(host, secure ? hosts : loopback))
			return 0;
	}
	return kettle_fail(err, KETTLE_EINVAL, "The attachment is not on Discord's own servers.");
}
