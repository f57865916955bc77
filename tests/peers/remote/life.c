/* SPDX-License-Identifier: MIT */
/* One life of the engine: the table of functions that a plugin gets. */
#include <config.h>

#include "peers/remote/life.h"

#include <kettle/testing.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "peers/remote/engine.h"

#define STOP_MS 60000

struct world_timer {
	struct life *life;
	struct world_timer *next;
	struct kettle_timer *timer;
	kettle_fn fn;
	void *arg;
	uint64_t repeat_ms;
	bool missed; /* it was due while its life was dead */
};

/* What is answered later: a post, the end of a work, or an answer of the store. */
struct begun {
	struct life *life;
	struct begun *next;
	struct kettle_timer *timer;
	kettle_fn work, after;
	kettle_answer answer;
	void *arg;
	char *ref, *handle; /* to commit */
};

static struct life *
of(const struct kettle_host *host)
{
	return (struct life *)host;
}

/* Whether a call has an effect; a kill happens here. */
bool
life_has_effect(struct life *life)
{
	if (life->calls_left > 0 && !world_is_calm(life->world) && --life->calls_left == 0)
		life_kill(life);
	return !life->dead;
}

static void
life_log(const struct kettle_host *host, enum kettle_log_level level, const char *format, ...)
{
	struct life *life = of(host);
	char text[2000];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (life->dead)
		return;
	world_say(life->world, "log %d: %s", (int)level, text);
	life->world->host->log(life->world->host, level, "%s", text);
}

static uint64_t
life_monotonic_ms(const struct kettle_host *host)
{
	return world_now(of(host)->world);
}

static int64_t
life_utc_ms(const struct kettle_host *host)
{
	return world_utc(of(host)->world);
}

/* ---- timers ---- */

static void
free_timer(struct world_timer *timer)
{
	struct world_timer **link = &timer->life->timers;
	while (*link != timer)
		link = &(*link)->next;
	*link = timer->next;
	timer->life->world->host->timer_stop(timer->life->world->host, timer->timer);
	free(timer);
}

static void
on_timer(void *arg)
{
	struct world_timer *timer = arg;
	const struct kettle_host *host = timer->life->world->host;
	kettle_fn fn = timer->fn;
	void *fn_arg = timer->arg;
	if (timer->life->dead && !timer->life->thawed) {
		timer->missed = true;
		if (timer->repeat_ms)
			host->timer_stop(host, timer->timer);
		timer->timer = NULL;
		return;
	}
	if (!timer->repeat_ms) {
		timer->timer = NULL;
		free_timer(timer);
	}
	fn(fn_arg);
}

static int
life_timer_start(const struct kettle_host *host, uint64_t delay_ms, uint64_t repeat_ms, kettle_fn fn, void *arg,
	struct kettle_timer **ret_timer, struct kettle_error *err)
{
	struct life *life = of(host);
	const struct kettle_host *below = life->world->host;
	struct world_timer *timer = xcalloc(1, sizeof(*timer));
	(void)life_has_effect(life);
	*timer = (struct world_timer){.life = life, .next = life->timers, .fn = fn, .arg = arg, .repeat_ms = repeat_ms};
	life->timers = timer;
	(void)below->timer_start(below, delay_ms, repeat_ms, on_timer, timer, &timer->timer, err);
	if (ret_timer)
		*ret_timer = (struct kettle_timer *)timer;
	return 0;
}

static void
life_timer_stop(const struct kettle_host *host, struct kettle_timer *timer)
{
	(void)host;
	if (timer)
		free_timer((struct world_timer *)timer);
}

/* ---- what is answered later ---- */

static void
free_begun(struct begun *begun)
{
	struct begun **link = &begun->life->begun;
	while (*link != begun)
		link = &(*link)->next;
	*link = begun->next;
	free(begun->ref);
	free(begun->handle);
	free(begun);
}

/* The store writes in order: what it was given earlier for the job is overwritten. The list begins with the newest. */
static void
commit_handle(struct begun *begun)
{
	engine_takes_handle(begun->life->world, begun->ref, begun->handle);
	for (struct begun *older = begun->next; older; older = older->next)
		if (older->handle && strcmp(older->ref, begun->ref) == 0)
			free(STEAL(older->handle));
}

/* code: of an answer. */
static void
deliver(struct begun *begun, int code)
{
	struct kettle_error err = {.code = code, .message = ""};
	struct begun copy = *begun;
	AUTO_JSON json_t *nothing = json_null();
	if (code < 0)
		(void)kettle_fail(&err, code, "The engine closes.");
	if (begun->handle && code == 0)
		commit_handle(begun);
	free_begun(begun);
	if (copy.work)
		copy.work(copy.arg);
	if (copy.after)
		copy.after(copy.arg);
	if (copy.answer)
		copy.answer(copy.arg, &err, code < 0 ? NULL : nothing);
}

static void
on_begun(void *arg)
{
	struct begun *begun = arg;
	begun->timer = NULL;
	if (!begun->life->dead)
		deliver(begun, 0);
}

static struct begun *
begin(struct life *life, uint64_t delay_ms, void *arg)
{
	const struct kettle_host *below = life->world->host;
	struct begun *begun = xcalloc(1, sizeof(*begun));
	*begun = (struct begun){.life = life, .next = life->begun, .arg = arg};
	life->begun = begun;
	(void)below->timer_start(below, delay_ms, 0, on_begun, begun, &begun->timer, NULL);
	return begun;
}

static int
life_post(const struct kettle_host *host, kettle_fn fn, void *arg)
{
	struct life *life = of(host);
	(void)life_has_effect(life);
	begin(life, 0, arg)->after = fn;
	return 0;
}

static int
life_work(const struct kettle_host *host, kettle_fn work, kettle_fn after, void *arg, struct kettle_error *err)
{
	struct life *life = of(host);
	struct world *world = life->world;
	(void)err;
	(void)life_has_effect(life);
	struct begun *begun = begin(life, world_strikes(world, 50) ? world_draw(world, 3000) : world_draw(world, 20), arg);
	begun->work = work;
	begun->after = after;
	return 0;
}

static int
life_job_handle(const struct kettle_host *host, const char *ref, const char *handle, kettle_answer done, void *arg)
{
	struct life *life = of(host);
	struct world *world = life->world;
	bool counts = life_has_effect(life);
	uint64_t delay = world_strikes(world, 50) ? world_draw(world, 3000) : world_draw(world, 10);
	struct begun *begun = begin(life, delay, arg);
	begun->answer = done;
	if (counts) {
		begun->ref = xstrdup(ref);
		begun->handle = xstrdup(handle);
	}
	return 0;
}

/* ---- jobs ---- */

static void
life_job_event(const struct kettle_host *host, const char *ref, const json_t *event)
{
	struct life *life = of(host);
	if (life_has_effect(life))
		engine_takes_event(life->world, ref, event);
}

static void
life_job_done(const struct kettle_host *host, const char *ref, json_t *completion_take)
{
	struct life *life = of(host);
	if (life_has_effect(life))
		engine_takes_completion(life->world, ref, completion_take);
	else
		json_decref(completion_take);
}

static void
life_reached(const struct kettle_host *host, const json_t *options, const char *error)
{
	(void)options;
	if (error)
		life_log(host, KETTLE_LOG_INFO, "not reached: %s", error);
}

static void
life_credential(const struct kettle_host *host, const char *error)
{
	struct life *life = of(host);
	if (error)
		life_log(host, KETTLE_LOG_INFO, "credential: %s", error);
	(void)life;
}

static int
life_publish(const struct kettle_host *host, const struct kettle_blob *blob, uint32_t ttl_s, kettle_answer done,
	void *arg, struct kettle_error *err)
{
	(void)host, (void)blob, (void)ttl_s, (void)done, (void)arg;
	return kettle_fail(err, KETTLE_EUNAVAIL, "No frontend serves links.");
}

/* ---- children ---- */

static void
on_child_started(void *arg)
{
	struct child *child = arg;
	if (!child->ended)
		child->world->side->start(child);
}

static int
life_spawn(const struct kettle_host *host, const struct kettle_spawn *spawn, struct kettle_process **ret_process,
	struct kettle_error *err)
{
	struct life *life = of(host);
	struct child *child = xcalloc(1, sizeof(*child));
	size_t count = 0;
	(void)err;
	while (spawn->argv[count])
		count++;
	child->argv = xcalloc(count + 1, sizeof(*child->argv));
	for (size_t i = 0; i < count; i++)
		child->argv[i] = xstrdup(spawn->argv[i]);
	child->world = life->world;
	child->life = life;
	child->spawn = *spawn;
	child->next = life->world->children;
	life->world->children = child;
	*ret_process = (struct kettle_process *)child;
	if (life_has_effect(life))
		world_after(life->world, 1 + world_draw(life->world, 20), on_child_started, child);
	return 0;
}

static int
life_process_write(const struct kettle_host *host, struct kettle_process *process, const void *data, size_t size,
	struct kettle_error *err)
{
	struct child *child = (struct child *)process;
	(void)err;
	if (!life_has_effect(of(host)) || child->ended)
		return 0;
	child->input = xreallocarray(child->input, child->input_size + size + 1, 1);
	memcpy(child->input + child->input_size, data, size);
	child->input_size += size;
	child->input[child->input_size] = '\0';
	if (child->world->side->input)
		child->world->side->input(child);
	return 0;
}

static void
life_process_close_stdin(const struct kettle_host *host, struct kettle_process *process)
{
	struct child *child = (struct child *)process;
	if (child->input_closed)
		return;
	child->input_closed = true;
	if (life_has_effect(of(host)) && !child->ended && child->world->side->input)
		child->world->side->input(child);
}

bool
child_is_heard(const struct child *child)
{
	return child->life && !child->life->dead && !child->ended;
}

void
child_says(struct child *child, bool complaint, const char *line)
{
	void (*fn)(void *arg, const char *text, size_t size) = complaint ? child->spawn.on_stderr : child->spawn.on_stdout;
	if (child_is_heard(child) && !complaint && child->spawn.on_bytes)
		child->spawn.on_bytes(child->spawn.arg, strlen(line) + 1);
	if (child_is_heard(child) && fn)
		fn(child->spawn.arg, line, strlen(line));
}

void
child_ends(struct child *child, int status, int signal)
{
	struct life *life = child->life;
	child->ended = true;
	if (!life || (life->dead && !life->thawed))
		return; /* the dead hear of it when they are buried */
	child->life = NULL;
	if (child->spawn.on_exit)
		child->spawn.on_exit(child->spawn.arg, status, signal);
}

static void
on_child_killed(void *arg)
{
	child_ends(arg, -1, SIGKILL);
}

static void
life_process_kill(const struct kettle_host *host, struct kettle_process *process, int signal)
{
	struct child *child = (struct child *)process;
	if (life_has_effect(of(host)) && child->world->side->kill)
		child->world->side->kill(child, signal);
	else
		world_after(child->world, 5, on_child_killed, child);
}

/* ---- life and death ---- */

static int
life_start(struct life *life)
{
	const struct kettle_plugin *plugin = life->world->side->plugin;
	struct kettle_error err = {0};
	AUTO_JSON json_t *section = life->world->side->section(life->world);
	int rc = plugin->create(&life->host, &life->self, &err);
	if (rc == 0)
		rc = plugin->configure(life->self, section, &err);
	if (rc == 0)
		rc = plugin->start(life->self, &err);
	if (rc < 0)
		world_fail(life->world, "the plugin does not start: %s", err.message);
	return rc;
}

struct life *
life_new(struct world *world)
{
	struct life *life = xcalloc(1, sizeof(*life));
	*life = (struct life){.world = world, .next = world->lives};
	life->host = (struct kettle_host){.size = sizeof(life->host),
		.abi_major = KETTLE_ABI_MAJOR,
		.abi_minor = KETTLE_ABI_MINOR,
		.version = PACKAGE_VERSION,
		.name = world->side->name,
		.log = life_log,
		.post = life_post,
		.work = life_work,
		.timer_start = life_timer_start,
		.timer_stop = life_timer_stop,
		.spawn = life_spawn,
		.process_write = life_process_write,
		.process_close_stdin = life_process_close_stdin,
		.process_kill = life_process_kill,
		.job_event = life_job_event,
		.job_handle = life_job_handle,
		.job_done = life_job_done,
		.http = wire_send,
		.http_cancel = wire_cancel,
		.credential = life_credential,
		.reached = life_reached,
		.publish = life_publish,
		.monotonic_ms = life_monotonic_ms,
		.utc_ms = life_utc_ms};
	world->lives = life;
	(void)life_start(life);
	return life;
}

void
life_kill(struct life *life)
{
	struct world *world = life->world;
	world_say(world, "-- the engine is killed --");
	life->dead = true;
	life->calls_left = 0;
	/* What the store had begun to write may be committed, and what a thread had begun may be done. */
	for (struct begun *begun = life->begun; begun; begun = begun->next) {
		if (begun->handle && world_draw(world, 2))
			commit_handle(begun);
		if (begun->work && world_draw(world, 2))
			STEAL(begun->work)(begun->arg);
	}
	wires_cut(life);
	for (struct child *child = world->children; child; child = child->next)
		if (child->life == life && !child->ended) {
			child->input_closed = true;
			if (world->side->input)
				world->side->input(child);
		}
}

static void
on_stopped(void *arg)
{
	struct life *life = arg;
	life->stopped = true;
}

void
life_stop(struct life *life)
{
	if (life->stop_called)
		return;
	life->stop_called = true;
	life->world->side->plugin->stop(life->self, on_stopped, life);
}

static int
has_stopped(void *arg)
{
	return ((struct life *)arg)->stopped;
}

/* Answers all that is under way with KETTLE_ECANCELED, as an engine that closes. */
static void
cancel_begun(struct life *life)
{
	const struct kettle_host *below = life->world->host;
	while (life->begun) {
		below->timer_stop(below, STEAL(life->begun->timer));
		deliver(life->begun, KETTLE_ECANCELED);
	}
}

static void
thaw(struct life *life)
{
	const struct kettle_host *below = life->world->host;
	life->thawed = true;
	for (struct child *child = life->world->children, *next; child; child = next) {
		next = child->next;
		if (child->life == life)
			child_ends(child, -1, SIGKILL);
	}
	for (struct world_timer *timer = life->timers; timer; timer = timer->next)
		if (timer->missed)
			(void)below->timer_start(below, 0, timer->repeat_ms, on_timer, timer, &timer->timer, NULL);
}

void
life_bury(struct life *life)
{
	struct world *world = life->world;
	thaw(life);
	life_stop(life);
	/* What it waits for is answered, also what it begins now. */
	for (unsigned turns = 0; !life->stopped && turns < 100; turns++) {
		cancel_begun(life);
		wires_close(life);
		(void)kettle_fake_run(world->fake, has_stopped, life, 1000);
	}
	if (life->stopped)
		life_destroy(life);
	else
		world_fail(world, "a plugin that was killed does not stop");
}

/* What is left of it that a plugin must end itself. */
static void
check_left(struct life *life)
{
	struct world *world = life->world;
	unsigned wires = wires_left(life), children = 0;
	for (const struct child *child = world->children; child; child = child->next)
		children += child->life == life && !child->ended;
	if (life->timers || wires || children)
		world_fail(world, "the plugin left behind %s, %u requests and %u children",
			life->timers ? "timers" : "no timer", wires, children);
}

void
life_destroy(struct life *life)
{
	cancel_begun(life);
	check_left(life);
	life->world->side->plugin->destroy(life->self);
	life->destroyed = true;
}

void
life_close(struct life *life)
{
	struct world *world = life->world;
	wires_forget(life);
	for (struct child *child = world->children; child; child = child->next)
		child->life = child->life == life ? NULL : child->life;
	while (life->timers)
		free_timer(life->timers);
	while (life->begun) {
		world->host->timer_stop(world->host, life->begun->timer);
		free_begun(life->begun);
	}
	free(life);
}
