/* SPDX-License-Identifier: MIT */
/* Reads what an earlier process left in the plugin's state. */
#include <config.h>

#include "discord/interaction/stored.h"

#include "base/base.h"
#include "discord/interaction/bot.h"
#include "discord/rest/rest.h"

struct reading {
	struct bot *bot;
	const char *prefix;
	stored_fn each;
	kettle_fn done;
	void *arg;
	char *after;    /* the last key that was read; NULL: none was */
	unsigned tries; /* that have failed */
};

static void
end(struct reading *reading)
{
	if (reading->done)
		reading->done(reading->arg);
	free_all(reading->after, reading);
}

static void read_page(void *arg);

bool
stored_may_pass(const struct kettle_error *err)
{
	return err->code == KETTLE_EUNAVAIL || err->code == KETTLE_EIO;
}

/* Tries again: a record that is not read is unknown until the next start, and its events would be taken for others'. */
static void
read_later(struct reading *reading, const struct kettle_error *err)
{
	const struct bot *bot = reading->bot;
	bot_log(bot, reading->tries == 0 ? KETTLE_LOG_WARNING : KETTLE_LOG_DEBUG,
		"The state below %s cannot be read now; the bot tries again: %s", reading->prefix, err->message);
	later_call(reading->bot, rest_backoff(++reading->tries), read_page, reading);
}

static void
on_page(void *arg, const struct kettle_error *err, json_t *page)
{
	struct reading *reading = arg;
	const struct bot *bot = reading->bot;
	const json_t *items = json_object_get(page, "items");
	if (stored_may_pass(err) && !bot->stopping) {
		read_later(reading, err);
		return;
	}
	if (err->code && err->code != KETTLE_ECANCELED)
		bot_log(bot, KETTLE_LOG_ERROR, "The state below %s cannot be read; the next start tries again: %s",
			reading->prefix, err->message);
	if (err->code || bot->stopping) {
		end(reading);
		return;
	}
	AUTO_FREE char *last = xstrdup(json_text_or_empty(json_array_get(items, json_array_size(items) - 1), "key"));
	json_array_each(items, item)
		reading->each(reading->arg, json_text_or_empty(item, "key"), json_object_get(item, "value"));
	free(reading->after);
	reading->after = STEAL(last);
	reading->tries = 0;
	if (member_true(page, "more") && *reading->after)
		read_page(reading);
	else
		end(reading);
}

static void
read_page(void *arg)
{
	struct reading *reading = arg;
	const struct kettle_host *host = reading->bot->host;
	if (reading->bot->stopping || host->state_list(host, reading->prefix, reading->after, 0, on_page, reading) < 0)
		end(reading);
}

void
stored_each(struct bot *bot, const char *prefix, stored_fn each, kettle_fn done, void *arg)
{
	struct reading *reading =
		xnew(struct reading, .bot = bot, .prefix = prefix, .each = each, .done = done, .arg = arg);
	read_page(reading);
}
