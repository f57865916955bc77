/* SPDX-License-Identifier: MIT */
/* One-time links: a row with the hash of the token, and the bytes in a file beside the database, with that hash as its name. */
#pragma once

#include "store/db.h"

#include <kettle/host.h>

#define DOWNLOAD_URLS_MAX 10000                  /* links that are open at a time */
#define DOWNLOAD_URL_FILE_MAX (INT64_C(1) << 30) /* ... and from a file */
#define DOWNLOAD_URL_SENDING_MS \
	INT64_C(3600000) /* after its link's end a file is kept for the frontend that sends it */

/* The folder with the files. New string. [any] */
char *download_url_folder(const char *database);
/*
 * Writes the file of a link: data of that size, or a copy of the regular file at `from`. Its time of modification is the
 * link's end. On failure there is none. EINVAL, ENOENT, EACCES, ETOOBIG, EIO. [any, blocks]
 */
int download_url_write(const char *folder, const char hash[65], const void *data, size_t size, const char *from,
	int64_t expires_at, struct kettle_error *err);
/*
 * The same for a file that never changes: a second name of it, or a copy where that is not possible. The time of
 * modification is the file's own, too.
 */
int download_url_lend(
	const char *folder, const char name[65], const char *from, int64_t expires_at, struct kettle_error *err);
/* Removes the files whose links ended more than DOWNLOAD_URL_SENDING_MS ago. [any, blocks] */
void download_url_sweep(const char *folder, int64_t now_ms);

/* On the store's thread. */

/* Stores a link. ETOOBIG: DOWNLOAD_URLS_MAX are open. */
int download_url_add(struct db *db, const char *hash, int64_t expires_at, struct kettle_error *err);
/* Uses up the link of a token; *ret_hash is the name of its file. ENOENT: used, expired or never made. */
int download_url_take(struct db *db, const char *token, char ret_hash[65], struct kettle_error *err);

/* ---- checks, which the fake host without a database shares. [any] ---- */

#define DOWNLOAD_URL_DATA_MAX (8u << 20)           /* bytes of a blob from memory */
#define DOWNLOAD_URL_TTL_MAX_S KETTLE_LINK_TTL_MAX /* the longest life of a link */
#define DOWNLOAD_URL_BASE_MAX 1000                 /* bytes of the URL in front of the token */

/* Whether host->publish takes it. EINVAL, ETOOBIG. */
int download_url_check(const struct kettle_blob *blob, uint32_t ttl_s, struct kettle_error *err);
/* Whether host->link_base takes it: http:// or https://, in printable ASCII. EINVAL. */
int download_url_check_base(const char *base, struct kettle_error *err);
