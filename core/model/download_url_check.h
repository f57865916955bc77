/* SPDX-License-Identifier: MIT */
/* Checks of what a host publishes, shared with the fake host, which has no database. All [any]. */
#ifndef KETTLE_MODEL_DOWNLOAD_URL_CHECK_H
#define KETTLE_MODEL_DOWNLOAD_URL_CHECK_H

#include <kettle/host.h>

#define DOWNLOAD_URL_DATA_MAX (8u << 20)           /* bytes of a blob from memory */
#define DOWNLOAD_URL_TTL_MAX_S KETTLE_LINK_TTL_MAX /* the longest life of a link */
#define DOWNLOAD_URL_BASE_MAX 1000                 /* bytes of the URL in front of the token */

/* Whether host->publish takes it. EINVAL, ETOOBIG. */
int download_url_check(const struct kettle_blob *blob, uint32_t ttl_s, struct kettle_error *err);
/* Whether host->link_base takes it: http:// or https://, in printable ASCII. EINVAL. */
int download_url_check_base(const char *base, struct kettle_error *err);

#endif
