/* SPDX-License-Identifier: MIT */
/*
 * One-time links for plugins (host.h: publish, link_base).
 *
 * Theory of operation. A frontend that serves links says its URL; the core knows one at a time. What a plugin publishes is
 * written to a file in the pool, then its row is written; the plugin gets the URL after the commit. A frontend that is asked
 * for the link calls link.take, which removes the row, and owns the file from then on. The token is nowhere but in the URL.
 */
#include <config.h>

#include "session/plugin_host.h"

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/times.h"
#include "base/xalloc.h"
#include "loop/watch.h"
#include "model/download_urls.h"

#include <stdlib.h>
#include <string.h>

/* One blob on its way. */
struct publication {
	struct core_host *host;
	char *url;
	void *data;
	size_t size;
	char *file; /* instead of data */
	uint32_t ttl_s;
	int64_t expires_at;
	char hash[65];
	struct kettle_error err; /* of the pool */
	kettle_answer done;
	void *arg;
};

static void
free_publication(struct publication *p)
{
	free(p->url);
	free(p->data);
	free(p->file);
	free(p);
}

/* Answers and frees. A file without a row is removed by the sweep. */
static void
publish_done(void *arg, const struct kettle_error *err)
{
	struct publication *p = arg;
	const struct kettle_error none = {0};
	char expires[TIME_TEXT_SIZE];
	const struct watch watch = watch_begin();
	if (p->done) {
		time_text(p->expires_at, expires);
		AUTO_JSON json_t *result = err ? NULL : json_pack("{s:s, s:s}", "url", p->url, "expires", expires);
		p->done(p->arg, err ? err : &none, result);
		watch_end(&watch, p->host->name, "the answer of publish");
	} else if (err)
		log_write(KETTLE_LOG_WARNING, p->host->name, "cannot publish a link: %s", err->message);
	free_publication(p);
}

static void
publish_fail(struct publication *p, int code, const char *message)
{
	struct kettle_error err = {0};
	(void)kettle_fail(&err, code, "%s", message);
	publish_done(p, &err);
}

static int
add_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct publication *p = arg;
	return download_url_add(db, p->hash, p->expires_at, err);
}

static void
write_blob(void *arg)
{
	struct publication *p = arg;
	int64_t now = clock_utc_ms(loop_clock(p->host->io));
	p->expires_at = now + (int64_t)p->ttl_s * 1000;
	download_url_sweep(p->host->core->links.folder, now);
	(void)download_url_write(p->host->core->links.folder, p->hash, p->data, p->size, p->file, p->expires_at, &p->err);
}

static void
blob_written(void *arg)
{
	struct publication *p = arg;
	struct core *core = p->host->core;
	if (p->err.code < 0)
		publish_done(p, &p->err);
	else if (core->closing || !core->store)
		publish_fail(p, KETTLE_ECANCELED, "The engine is stopping.");
	else
		store_write(core->store, add_op, publish_done, p);
}

static void
publish_attached(void *arg, const struct kettle_error *err)
{
	struct publication *p = arg;
	struct core *core = p->host->core;
	if (err)
		publish_done(p, err);
	else if (core->role != CORE_OWNER)
		publish_fail(p, KETTLE_EUNAVAIL, "Only the process that runs the engine of a database publishes links.");
	else if (core->closing)
		publish_fail(p, KETTLE_ECANCELED, "The engine is stopping.");
	else if (!core->links.base)
		publish_fail(p, KETTLE_EUNAVAIL,
			"No frontend serves links: `kettle serve` needs one that is reachable from where the link is fetched.");
	else {
		AUTO_FREE char *token = random_token("", p->hash);
		p->url = xasprintf("%s%s", core->links.base, token);
		if (core_work(core, write_blob, blob_written, p, &p->err) < 0)
			publish_done(p, &p->err);
	}
}

static void
publish_begin(void *arg)
{
	struct publication *p = arg;
	core_attach(p->host->core, publish_attached, p);
}

int
host_publish(const struct kettle_host *table, const struct kettle_blob *blob, uint32_t ttl_s, kettle_answer done,
	void *arg, struct kettle_error *err)
{
	int rc = download_url_check(blob, ttl_s, err);
	if (rc < 0)
		return rc;
	struct publication *p = xcalloc(1, sizeof(*p));
	*p = (struct publication){.host = host_of(table), .ttl_s = ttl_s, .done = done, .arg = arg};
	p->file = blob->file ? xstrdup(blob->file) : NULL;
	if (blob->data) {
		p->size = blob->data_size;
		p->data = xmalloc(p->size + 1);
		memcpy(p->data, blob->data, p->size);
	}
	rc = loop_post(p->host->io, publish_begin, p);
	if (rc < 0) {
		free_publication(p);
		return kettle_fail(err, rc, "The engine has closed.");
	}
	return 0;
}

int
host_link_base(const struct kettle_host *table, const char *base, struct kettle_error *err)
{
	struct core *core = host_of(table)->core;
	int rc = base ? download_url_check_base(base, err) : 0;
	if (rc < 0)
		return rc;
	/* One that takes back its URL does not take back another frontend's. */
	if (!base && core->links.host != host_of(table))
		return 0;
	free(core->links.base);
	core->links.base = base ? xstrdup(base) : NULL;
	core->links.host = base ? host_of(table) : NULL;
	return 0;
}
