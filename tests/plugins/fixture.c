/* SPDX-License-Identifier: MIT */
/*
 * Plugins that are wrong in one way each: this source is compiled once for every fixture, with the macros that say
 * which way. FIX_NAME is the name; all others have a default that is right.
 */
#include <config.h>

#include <fcntl.h>
#include <kettle/plugin.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifndef FIX_MAGIC
#define FIX_MAGIC KETTLE_PLUGIN_MAGIC
#endif
#ifndef FIX_MAJOR
#define FIX_MAJOR KETTLE_ABI_MAJOR
#endif
#ifndef FIX_MINOR
#define FIX_MINOR KETTLE_PLUGIN_ABI_MINOR
#endif
#ifndef FIX_SIZE
#define FIX_SIZE sizeof(struct kettle_plugin)
#endif
#ifndef FIX_OPS_SIZE
#define FIX_OPS_SIZE sizeof(struct kettle_language)
#endif
#ifndef FIX_KIND
#define FIX_KIND KETTLE_LANGUAGE
#endif
#ifndef FIX_SYMBOL
#define FIX_SYMBOL kettle_plugin
#endif
#ifndef FIX_HELP
#define FIX_HELP "A number."
#endif
#ifndef FIX_UNIT_HELP
#define FIX_UNIT_HELP "A repository."
#endif
#ifndef FIX_SCHEMA
#define FIX_SCHEMA "{\"type\": \"object\"}"
#endif
#ifndef FIX_CREATE
#define FIX_CREATE fix_create
#endif
#ifndef FIX_CONFIGURE
#define FIX_CONFIGURE fix_configure
#endif
#ifndef FIX_DESTROY
#define FIX_DESTROY fix_destroy
#endif
#ifndef FIX_PLAN
#define FIX_PLAN fix_plan
#endif
#ifndef FIX_EXTENSION
#define FIX_EXTENSION ".fix"
#endif
#ifndef FIX_STEP
#define FIX_STEP "build"
#endif

struct fix {
	const struct kettle_host *host;
	int listener;
	kettle_fn done;
	void *arg;
	struct kettle_timer *timer;
};

__attribute__((unused)) static int
fix_create(const struct kettle_host *host, void **ret_self, struct kettle_error *err)
{
#ifdef FIX_CRASH
	abort();
#endif
#ifdef FIX_CREATE_FAILS
	return kettle_fail(err, KETTLE_EUNAVAIL, "The moon is not full.");
#endif
	struct fix *fix = calloc(1, sizeof(*fix));
	if (!fix)
		return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory.");
	fix->host = host;
	*ret_self = fix;
	return 0;
}

__attribute__((unused)) static int
fix_configure(void *self, const json_t *options, struct kettle_error *err)
{
	(void)self;
	if (json_integer_value(json_object_get(options, "count")) == 13)
		return kettle_fail(err, KETTLE_EINVAL, "The number 13 brings bad luck.");
#ifdef FIX_REQUIRED
	const char *folder = json_string_value(json_object_get(options, "folder"));
	if (!json_is_string(json_object_get(options, "url")) || (folder && folder[0] != '/'))
		return kettle_fail(err, KETTLE_EINVAL, "`url` is missing, or `folder` is relative.");
#endif
#ifdef FIX_CONFIGURE_FAILS
	return -77; /* no code of Kettle, and no sentence */
#endif
	return 0;
}

#ifdef FIX_TIMER
static void
fix_tick(void *arg)
{
	(void)arg;
}
#endif

static int
fix_start(void *self, struct kettle_error *err)
{
	struct fix *fix = self;
	(void)fix;
#ifdef FIX_START_FAILS
	return kettle_fail(err, KETTLE_EIO, "The door is locked.");
#endif
#ifdef FIX_BLOCKS
	(void)nanosleep(&(struct timespec){.tv_nsec = 150000000}, NULL);
#endif
#ifdef FIX_LISTENS
	fix->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* A name that the kernel chooses. */
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (bind(fix->listener, (struct sockaddr *)&address, sizeof(address.sun_family)) != 0 ||
		listen(fix->listener, 16) != 0)
		return kettle_fail(err, KETTLE_EIO, "The socket cannot be made.");
#endif
#ifdef FIX_LEAKS
	(void)open("/dev/null", O_RDONLY | O_CLOEXEC);
#endif
#ifdef FIX_TIMER
	return fix->host->timer_start(fix->host, 3600000, 0, fix_tick, fix, &fix->timer, err);
#endif
	(void)err;
	return 0;
}

#ifdef FIX_SLOW
static void
fix_late(void *arg)
{
	struct fix *fix = arg;
	fix->done(fix->arg);
}
#endif

static void
fix_stop(void *self, kettle_fn done, void *arg)
{
	struct fix *fix = self;
	fix->done = done;
	fix->arg = arg;
#ifdef FIX_HANG
	return;
#endif
#ifdef FIX_LISTENS
	/* FIX_LISTENS > 1: it waits until its clients have gone. */
	int client = FIX_LISTENS > 1 ? accept(fix->listener, NULL, NULL) : -1;
	close(fix->listener);
	if (client >= 0)
		return;
#endif
#ifdef FIX_SLOW
	if (fix->host->timer_start(fix->host, 100, 0, fix_late, fix, NULL, NULL) == 0)
		return;
#endif
	done(arg);
#ifdef FIX_TWICE
	done(arg);
#endif
}

__attribute__((unused)) static void
fix_destroy(void *self)
{
	free(self);
}

__attribute__((unused)) static int
fix_plan(void *self, const struct kettle_plan_request *request, json_t **ret_plan, struct kettle_error *err)
{
	(void)self;
	json_t *steps = json_pack("[{s:s, s:s, s:[s]}]", "id", "build", "kind", FIX_STEP, "argv", "true");
	json_t *runs = json_deep_copy(request->runs), *step;
	size_t i;
	json_array_foreach(runs, i, step)
		(void)json_object_set_new(step, "argv", json_pack("[s]", "true"));
	int failed = !steps || !runs || json_array_extend(steps, runs) != 0;
	json_decref(runs);
	if (failed) {
		json_decref(steps);
		return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory.");
	}
	*ret_plan = json_pack("{s:i, s:o}", "version", 1, "steps", steps);
	return 0;
}

__attribute__((unused)) static int
fix_capacity(void *self, const json_t *unit, unsigned *ret_slots, unsigned *ret_prefetch, struct kettle_error *err)
{
	(void)self;
	(void)unit;
	(void)err;
	*ret_slots = *ret_prefetch = 1;
	return 0;
}

__attribute__((unused)) static int
fix_submit(void *self, const struct kettle_job *job, const json_t *plan, struct kettle_error *err)
{
	(void)self;
	(void)job;
	(void)plan;
#ifdef FIX_POSITIVE
	(void)err;
	return 7;
#endif
	return kettle_fail(err, KETTLE_EUNAVAIL, "This runner runs nothing.");
}

__attribute__((unused)) static void
fix_cancel(void *self, const char *ref)
{
	(void)self;
	(void)ref;
}

static const struct kettle_option options[] = {
	{.key = "count", .type = KETTLE_OPTION_INT, .default_value = "3", .min = 1, .max = 99, .help = FIX_HELP},
#ifdef FIX_REQUIRED
	{.key = "url", .type = KETTLE_OPTION_STRING, .required = true, .help = "A server."},
	{.key = "folder", .type = KETTLE_OPTION_PATH, .help = "A folder."},
#endif
};
static const struct kettle_skeleton skeletons[] = {
	{.template_name = "Fix", .file_name = "submission.fix", .text = "nothing\n"}};
static const char *const aliases[] = {"fixture", NULL};
static const char *const extensions[] = {FIX_EXTENSION, NULL};

__attribute__((unused)) static const struct kettle_language language = {
	.size = FIX_OPS_SIZE,
	.aliases = aliases,
	.extensions = extensions,
	.comment = "#",
	.config_schema = FIX_SCHEMA,
	.skeletons = skeletons,
	.skeletons_count = 1,
	.skeleton_size = sizeof(skeletons[0]),
	.plan = FIX_PLAN,
};

__attribute__((unused)) static const struct kettle_option unit_options[] = {
	{.key = "repo", .type = KETTLE_OPTION_STRING, .help = FIX_UNIT_HELP},
};

__attribute__((unused)) static const struct kettle_runner runner = {
	.size = sizeof(struct kettle_runner),
	.capacity = fix_capacity,
	.submit = fix_submit,
	.cancel = fix_cancel,
	KETTLE_UNIT_OPTIONS(unit_options),
};

__attribute__((unused)) static const struct kettle_frontend frontend = {.size = sizeof(struct kettle_frontend)};

extern KETTLE_EXPORT const struct kettle_plugin FIX_SYMBOL;
const struct kettle_plugin FIX_SYMBOL = {
	.magic = FIX_MAGIC,
	.abi_major = FIX_MAJOR,
	.abi_minor = FIX_MINOR,
	.size = FIX_SIZE,
	.kind = FIX_KIND,
	.name = FIX_NAME,
	.version = "1",
	.summary = "a fixture",
	.options = options,
	.options_count = sizeof(options) / sizeof(options[0]),
	.option_size = sizeof(options[0]),
	.create = FIX_CREATE,
	.configure = FIX_CONFIGURE,
	.start = fix_start,
	.stop = fix_stop,
	.destroy = FIX_DESTROY,
#ifdef FIX_RUNNER
	.runner = &runner,
#elif defined(FIX_LISTENS)
	.frontend = &frontend,
#else
	.language = &language,
#endif
};

#ifdef FIX_EXTRA
extern KETTLE_EXPORT const int fix_extra;
const int fix_extra = 1;
#endif
