/* SPDX-License-Identifier: MIT */
/* Reads what an earlier process left in the plugin's state. */
#include <config.h>

#include "discord/interaction/stored.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"

struct reading {
	struct bot *bot;
	const char *prefix;
	stored_fn each;
	kettle_fn done;
	void *arg;
};

static void
end(struct reading *reading)
{
	if (reading->done)
		reading->done(reading->arg);
	free(reading);
}

static void read_page(struct reading *reading, const char *after);

static void
on_page(void *arg, const struct kettle_error *err, json_t *page)
{
	struct reading *reading = arg;
	const struct bot *bot = reading->bot;
	const json_t *items = json_object_get(page, "items"), *item;
	size_t i;
	if (err->code && err->code != KETTLE_ECANCELED)
		bot->host->log(bot->host, KETTLE_LOG_ERROR,
			"What is stored below %s cannot be read, so it waits for the next start: %s", reading->prefix,
			err->message);
	if (err->code || bot->stopping) {
		end(reading);
		return;
	}
	AUTO_FREE char *last = xstrdup(json_text_or_empty(json_array_get(items, json_array_size(items) - 1), "key"));
	json_array_foreach(items, i, item)
		reading->each(reading->arg, json_text_or_empty(item, "key"), json_object_get(item, "value"));
	if (member_true(page, "more") && *last)
		read_page(reading, last);
	else
		end(reading);
}

static void
read_page(struct reading *reading, const char *after)
{
	const struct kettle_host *host = reading->bot->host;
	if (host->state_list(host, reading->prefix, after, 0, on_page, reading) < 0)
		end(reading);
}

void
stored_each(struct bot *bot, const char *prefix, stored_fn each, kettle_fn done, void *arg)
{
	struct reading *reading = xmalloc(sizeof(*reading));
	*reading = (struct reading){bot, prefix, each, done, arg};
	read_page(reading, NULL);
}
