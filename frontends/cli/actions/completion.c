/* SPDX-License-Identifier: MIT */
/* `kettle completion SHELL`, and the command that its scripts call at each key: `kettle __complete WORD…`. */
#include <config.h>

#include "base/base.h"
#include "cli/actions/actions.h"
#include "cli/args/complete.h"

#define COMPLETE_LIMIT_MS 1000 /* a person waits: names that come later are left out */

/* frontends/cli/kettle.bash, kettle.zsh, kettle.fish */
extern const char completion_bash[], completion_zsh[], completion_fish[];

int
completion_script(const struct term *term, int argc, const char *const *argv, struct kettle_error *err)
{
	static const struct {
		const char *shell, *text;
	} scripts[] = {{"bash", completion_bash}, {"zsh", completion_zsh}, {"fish", completion_fish}};
	for (size_t i = 0; argc == 1 && i < ARRAY_SIZE(scripts); i++) {
		if (strcmp(argv[0], scripts[i].shell) != 0)
			continue;
		fputs(scripts[i].text, term->out);
		return 0;
	}
	return kettle_fail(err, KETTLE_EINVAL, "`kettle completion` is followed by one of: bash, zsh, fish.");
}

/* A request for names to the core. */
struct completion {
	const struct kettle_host *host;
	struct complete_live live; /* its strings are the caller's until done is called */
	struct kettle_timer *timer;
	bool over; /* the time limit has passed: done was called */
	void (*done)(void *arg, int status);
	void *done_arg;
};

static void
end(struct completion *completion)
{
	if (!completion->over)
		run_post_done(completion->host, completion->done, completion->done_arg, RUN_OK);
	completion->over = true;
}

static void
on_names(void *arg, const struct kettle_error *err, json_t *result)
{
	struct completion *completion = arg;
	(void)err;
	completion->host->timer_stop(completion->host, completion->timer);
	if (!completion->over)
		json_array_each(result, one)
			complete_put_value(
				stdout, &completion->live, json_text_or_empty(one, "value"), json_text_or_empty(one, "about"));
	end(completion);
	free(completion);
}

static void
on_limit(void *arg)
{
	struct completion *completion = arg;
	completion->timer = NULL;
	end(completion);
}

static void
call_core(const struct kettle_host *host, const struct complete_live *live, const json_t *actor,
	void (*done)(void *arg, int status), void *done_arg)
{
	struct kettle_error err = {0};
	AUTO_JSON json_t *args = json_pack("{s:s, s:s*, s:s*, s:b}", "what", live->what, "prefix", live->prefix,
		"leaderboard", strcmp(live->what, "device") == 0 ? live->leaderboard : NULL, "others", live->others);
	struct completion *completion =
		xnew(struct completion, .host = host, .live = *live, .done = done, .done_arg = done_arg);
	/* NULL: a word is not UTF-8. */
	if (args && host->timer_start(host, COMPLETE_LIMIT_MS, 0, on_limit, completion, &completion->timer, &err) == 0) {
		if (host->call(host, actor, "complete", args, on_names, completion) == 0)
			return;
		host->timer_stop(host, completion->timer);
	}
	end(completion);
	free(completion);
}

void
completion_start(const struct kettle_host *host, const json_t *actor, const struct args_ui *uis, int argc,
	const char *const *argv, void (*done)(void *arg, int status), void *done_arg)
{
	struct complete_live live;
	complete_words(stdout, host->commands(host), uis, argc, argv, &live);
	if (live.what)
		call_core(host, &live, actor, done, done_arg);
	else
		run_post_done(host, done, done_arg, RUN_OK);
}
