/* SPDX-License-Identifier: MIT */
/* Threads of submissions. */
#include <config.h>

#include "discord/flows/thread.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "discord/interaction/later.h"
#include "discord/interaction/send.h"
#include "discord/text/escape.h"

#define THREAD_NAME_MAX 100     /* UTF-16 units */
#define THREAD_AGAIN_MS 5000    /* until Discord is asked again for what it could not do */
#define THREAD_ARCHIVE_MIN 1440 /* minutes without a message, after which Discord archives it */

enum { PUBLIC_THREAD = 11, PRIVATE_THREAD = 12 };

struct making {
	struct bot *bot;
	char channel[SNOWFLAKE_SIZE];
	char *name;
	bool is_private;
	thread_fn done;
	void *arg;
};

const char *
thread_channel(const struct interaction *interaction)
{
	const char *configured = interaction->bot->settings.submissions;
	if (*configured)
		return configured;
	return *interaction->parent ? interaction->parent : interaction->channel;
}

static void
end_making(struct making *making, const struct kettle_error *err, const char *thread)
{
	making->done(making->arg, err, thread);
	free(making->name);
	free(making);
}

static int
type_of(const struct making *making)
{
	return making->is_private ? PRIVATE_THREAD : PUBLIC_THREAD;
}

static void look(void *arg);

static void
on_made(void *arg, const struct rest_answer *answer)
{
	struct making *making = arg;
	const char *id = json_text_or_null(answer->body, "id");
	const struct kettle_error none = {.code = KETTLE_EIO, .message = "Discord's answer has no thread."};
	/* It may be there all the same. */
	if (send_may_pass(answer) && !making->bot->stopping)
		later_call(making->bot, THREAD_AGAIN_MS, look, making);
	else
		end_making(making, answer->err->code || id ? answer->err : &none, answer->err->code ? NULL : id);
}

static void
make(struct making *making)
{
	AUTO_FREE char *path = xasprintf("/channels/%s/threads", making->channel);
	json_t *body = json_pack(
		"{s:s, s:i, s:i}", "name", making->name, "type", type_of(making), "auto_archive_duration", THREAD_ARCHIVE_MIN);
	if (making->is_private)
		json_object_set_new(body, "invitable", json_false());
	send_request(making->bot, "POST", path, body, on_made, making);
}

static void
on_active(void *arg, const struct rest_answer *answer)
{
	struct making *making = arg;
	size_t i;
	const json_t *thread;
	if (answer->err->code) {
		if (send_may_pass(answer) && !making->bot->stopping)
			later_call(making->bot, THREAD_AGAIN_MS, look, making);
		else
			end_making(making, answer->err, NULL);
		return;
	}
	json_array_foreach(json_object_get(answer->body, "threads"), i, thread) {
		if (member_int(thread, "type") != type_of(making) || !member_is(thread, "name", making->name) ||
			!member_is(thread, "owner_id", making->bot->user) || !member_is(thread, "parent_id", making->channel))
			continue;
		const struct kettle_error found = {0};
		end_making(making, &found, json_text_or_empty(thread, "id"));
		return;
	}
	make(making);
}

static void
look(void *arg)
{
	struct making *making = arg;
	AUTO_FREE char *path = xasprintf("/guilds/%s/threads/active", making->bot->settings.guild);
	send_request(making->bot, "GET", path, NULL, on_active, making);
}

void
thread_find_or_make(struct bot *bot, const char *channel, const char *name, bool is_private, int64_t since_ms,
	thread_fn done, void *arg)
{
	struct making *making = xcalloc(1, sizeof(*making));
	*making = (struct making){
		.bot = bot, .name = escape_plain(name, THREAD_NAME_MAX), .is_private = is_private, .done = done, .arg = arg};
	(void)snowflake_copy(making->channel, channel);
	if (since_ms >= bot->started_ms)
		make(making);
	else
		look(making);
}

void
thread_add_user(struct bot *bot, const char *thread, const char *user, rest_fn done, void *arg)
{
	AUTO_FREE char *path = xasprintf("/channels/%s/thread-members/%s", thread, user);
	send_request(bot, "PUT", path, NULL, done, arg);
}

void
thread_archive(struct bot *bot, const char *thread, rest_fn done, void *arg)
{
	AUTO_FREE char *path = xasprintf("/channels/%s", thread);
	send_request(bot, "PATCH", path, json_pack("{s:b}", "archived", 1), done, arg);
}
