/* SPDX-License-Identifier: MIT */
/* Calls of the core whose answers are shown by the command table alone. */
#include <config.h>

#include "discord/interaction/answer.h"

#include "base/base.h"
#include "base/number.h"
#include "common/template.h"
#include "discord/render/message.h"
#include "discord/render/plain.h"
#include "discord/text/escape.h"
#include "discord/text/timestamp.h"

#define SENTENCE_MAX 1900 /* UTF-16 units */
#define OFFSET_MAX 1000000

char *
answer_name(const char *name)
{
	return escape_markdown(name, ANSWER_NAME_MAX);
}

char *
answer_text(const char *text)
{
	return escape_sentence(text, SENTENCE_MAX);
}

char *
answer_bold(const char *name)
{
	AUTO_FREE char *escaped = answer_name(name);
	return xasprintf("**%s**", escaped);
}

static char *
escape(const char *text, const char *format)
{
	char time[TIMESTAMP_SIZE];
	if (strcmp(format, "sentence") == 0)
		return answer_text(text);
	if (strcmp(format, "code") == 0)
		return xstrdup(text);
	if (!*format)
		return answer_name(text);
	timestamp_of(text, strcmp(format, "date") == 0 ? TIMESTAMP_DATE : TIMESTAMP_RELATIVE, time);
	return xstrdup(time);
}

char *
answer_template(const char *template, const json_t *object)
{
	return template_markdown(template, object, escape);
}

void
answer_say(struct interaction *interaction, const char *template, const json_t *object)
{
	AUTO_FREE char *text = answer_template(template, object);
	interaction_say(interaction, "%s", text);
}

bool
answer_page(const char *arguments, size_t *ret_offset, const char **ret_what)
{
	const char *colon = strchr(arguments, ':');
	AUTO_FREE char *number = colon ? xstrndup(arguments, (size_t)(colon - arguments)) : NULL;
	long long offset = 0;
	if (!number || !number_parse_integer(number, &offset) || offset < 0 || offset > OFFSET_MAX)
		return false;
	*ret_offset = (size_t)offset;
	*ret_what = colon + 1;
	return true;
}

/* ---- answers shown by their view ---- */

struct shown {
	char *command, *file_name;
	json_t *args;
};

static void
free_shown(void *arg)
{
	struct shown *shown = arg;
	free_all(shown->command, shown->file_name);
	json_decref(shown->args);
	free(shown);
}

static void
show(struct interaction *interaction, const json_t *result, void *arg)
{
	struct shown *shown = arg;
	const struct kettle_host *host = interaction->bot->host;
	const json_t *view = json_object_get(list_find(host->commands(host), "name", shown->command), "view");
	AUTO_FREE char *text = plain_view(view, result, shown->args);
	if (strchr(text, '\n')) {
		AUTO_FREE char *quoted = escape_quotes(text);
		interaction_answer(interaction, message_block("", quoted, shown->file_name));
		return;
	}
	AUTO_FREE char *sentence = answer_text(*text ? text : "Done.");
	interaction_say(interaction, "%s", sentence);
}

void
answer_call(struct interaction *interaction, const char *command, json_t *args_take, const char *file_name)
{
	struct shown *shown = xnew(struct shown, xstrdup(command), xstrdup(file_name), json_incref(args_take));
	interaction_call(interaction, command, args_take, show, free_shown, shown);
}

/* ---- calls that may fail ---- */

struct attempt {
	struct interaction *interaction;
	char *command;
	interaction_fn fn;
	void *arg;
};

static void
on_tried(void *arg, const struct kettle_error *err, json_t *result)
{
	struct attempt *attempt = arg;
	if (err->code < 0)
		bot_log(attempt->interaction->bot, KETTLE_LOG_DEBUG, "%s has no answer: %s", attempt->command, err->message);
	attempt->fn(attempt->interaction, err->code < 0 ? NULL : result, attempt->arg);
	interaction_unref(attempt->interaction);
	free_all(attempt->command, attempt);
}

void
answer_try(struct interaction *interaction, const char *command, json_t *args_take, interaction_fn fn, void *arg)
{
	struct attempt *attempt = xnew(struct attempt, interaction_ref(interaction), xstrdup(command), fn, arg);
	int rc = bot_call(interaction->bot, interaction->actor, command, args_take, on_tried, attempt);
	json_decref(args_take);
	if (rc < 0)
		on_tried(attempt, &(struct kettle_error){.code = rc, .message = "Kettle is closing."}, NULL);
}
