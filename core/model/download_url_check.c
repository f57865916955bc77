/* SPDX-License-Identifier: MIT */
/* Checks of what a host publishes, shared with the fake host, which has no database. */
#include <config.h>

#include <stdbool.h>
#include <string.h>

#include "model/download_urls.h"

int
download_url_check(const struct kettle_blob *blob, uint32_t ttl_s, struct kettle_error *err)
{
	if (blob->size < sizeof(*blob) || !blob->data == !blob->file)
		return kettle_fail(err, KETTLE_EINVAL, "A blob to publish states its `size` and has either `data` or `file`.");
	if (blob->file && blob->file[0] != '/')
		return kettle_fail(
			err, KETTLE_EINVAL, "The file to publish must be an absolute path, not `%.100s`.", blob->file);
	if (blob->data && blob->data_size > DOWNLOAD_URL_DATA_MAX)
		return kettle_fail(err, KETTLE_ETOOBIG, "At most %u MiB can be published from memory; publish a file instead.",
			DOWNLOAD_URL_DATA_MAX >> 20);
	if (ttl_s == 0 || ttl_s > DOWNLOAD_URL_TTL_MAX_S)
		return kettle_fail(err, KETTLE_EINVAL, "A link lives for 1 to %d seconds, not for %lu.", DOWNLOAD_URL_TTL_MAX_S,
			(unsigned long)ttl_s);
	return 0;
}

int
download_url_check_base(const char *base, struct kettle_error *err)
{
	bool web = strncmp(base, "http://", 7) == 0 || strncmp(base, "https://", 8) == 0;
	for (const char *at = base; *at && web; at++)
		web = *at > ' ' && *at < 0x7f;
	if (!web || strlen(base) > DOWNLOAD_URL_BASE_MAX)
		return kettle_fail(err, KETTLE_EINVAL,
			"The URL of links must begin with https:// or http:// and have at most %d printable ASCII characters.",
			DOWNLOAD_URL_BASE_MAX);
	return 0;
}
