/* SPDX-License-Identifier: MIT */
/*
 * What is kept ready: the interpreters that steps asked for of late, also before a restart.
 *
 * Theory of operation. Each request of a step is remembered, the last one first, in memory and in a file of the state folder.
 * Once no job has run for a while, a round goes through them: one that is there is checked as for a step, one that is not
 * is started, one at a time, where that ends no other one. A step with a device never runs beside such a start: either it
 * waits for the same interpreter, which then is ready sooner than it would have been, or the start is given up
 * (warm_yield), likewise when another kettle-exec of this machine takes a device. What a round has started in vain, or what
 * had to go again, is left alone until a step asks for it.
 */
#include <config.h>

#include "exec/warm/warm_internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json_access.h"
#include "base/times.h"
#include "base/xalloc.h"
#include "exec/machine/machine.h"

#define WISHES_MAX 16
#define WISH_DAYS 7       /* without a step that asks for it; then it is forgotten */
#define WISH_STARTS 2     /* by rounds, since a step asked for it */
#define ROUND_MS 60000    /* from one round to the next */
#define WATCH_MS 100      /* while one starts: whether another kettle-exec has taken a device */
#define FILE_MAX 1048576u /* bytes */
#define WISH_MAX 65000u   /* bytes in the file; a larger one is forgotten at the end of this process */

struct warm_wish {
	struct warm_wish *next;
	struct warm_order order; /* with all recipes that were asked for */
	char *key;
	int64_t asked_utc_ms;
	uint64_t bytes; /* that it had when it was ready; 0: not known */
	unsigned starts;
	unsigned round; /* that it was looked at in */
};

static void run_round(struct warm *warm);

static void
free_wish(struct warm_keep *keep, struct warm_wish *wish)
{
	if (keep->current == wish)
		keep->current = NULL;
	warm_order_free(&wish->order);
	free(wish->key);
	free(wish);
}

static void
forget_from(struct warm_keep *keep, struct warm_wish **from)
{
	while (*from) {
		struct warm_wish *wish = *from;
		*from = wish->next;
		free_wish(keep, wish);
	}
}

/* The parts of a key, of which *ret_tool is one; both borrow the wish's. */
static struct warm_key
wish_key(const struct warm_wish *wish, struct tool *ret_tool)
{
	const struct warm_order *order = &wish->order;
	*ret_tool = (struct tool){.name = order->name, .path = order->path, .real = order->real};
	return (struct warm_key){.tool = ret_tool,
		.modules = &order->modules,
		.recipes = &order->recipes,
		.environment = order->environment,
		.cores = &order->cores};
}

/* ---- the file ---- */

static json_t *
wish_json(const struct warm_wish *wish)
{
	const struct warm_order *order = &wish->order;
	json_t *cores = json_array();
	for (size_t i = 0; i < order->cores.count; i++)
		json_array_append_new(cores, json_integer(order->cores.list[i]));
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:O, s:o, s:I, s:I}", "name", order->name, "path", order->path, "real",
		order->real, "modules", strings_json(&order->modules), "recipes", strings_json(&order->recipes), "environment",
		order->environment, "cores", cores, "asked", (json_int_t)wish->asked_utc_ms, "bytes", (json_int_t)wish->bytes);
}

/* Losing it costs a slow first run: so nothing waits for the disk, and an error is none. */
static void
save(struct warm *warm)
{
	struct warm_keep *keep = &warm->keep;
	if (!keep->changed || !warm->setup.memory)
		return;
	AUTO_JSON json_t *list = json_array();
	for (const struct warm_wish *wish = keep->list; wish; wish = wish->next) {
		AUTO_JSON json_t *one = wish_json(wish);
		if (json_dumpb(one, NULL, 0, JSON_COMPACT) <= WISH_MAX)
			json_array_append(list, one);
	}
	AUTO_FREE char *text = json_dumps(list, JSON_COMPACT);
	if (text && strlen(text) <= FILE_MAX)
		(void)file_write(warm->setup.memory, text, strlen(text), 0600, NULL);
	keep->changed = false;
}

/* One that the file has; NULL: it is none. */
static struct warm_wish *
read_wish(const json_t *json)
{
	const char *name = json_text_or_null(json, "name"), *path = json_text_or_null(json, "path");
	const char *real = json_text_or_null(json, "real");
	const json_t *environment = json_object_get(json, "environment"), *core;
	if (!name || !path || !real || !json_is_object(environment))
		return NULL;
	struct warm_wish *wish = xcalloc(1, sizeof(*wish));
	struct warm_order *order = &wish->order;
	*order = (struct warm_order){.name = xstrdup(name),
		.path = xstrdup(path),
		.real = xstrdup(real),
		.environment = json_deep_copy(environment)};
	strings_read(&order->modules, json_object_get(json, "modules"));
	strings_read(&order->recipes, json_object_get(json, "recipes"));
	size_t i;
	json_array_foreach(json_object_get(json, "cores"), i, core) {
		int number = (int)json_integer_value(core);
		if (number >= 0 && number < CORES_MAX)
			cores_join(&order->cores, &(struct cores){.list = &number, .count = 1});
	}
	wish->asked_utc_ms = member_int(json, "asked");
	wish->bytes = (uint64_t)member_int(json, "bytes");
	struct tool tool;
	const struct warm_key key = wish_key(wish, &tool);
	wish->key = warm_key_text(&key);
	return wish;
}

static void
load(struct warm *warm)
{
	AUTO_FREE char *data = NULL;
	size_t size = 0, i, count = 0;
	struct warm_wish **end = &warm->keep.list;
	json_t *one;
	if (!warm->setup.memory || file_read(warm->setup.memory, FILE_MAX, &data, &size, NULL) != 0)
		return;
	AUTO_JSON json_t *list = json_loadb(data, size, 0, NULL);
	json_array_foreach(list, i, one) {
		if (count < WISHES_MAX && (*end = read_wish(one))) {
			end = &(*end)->next;
			count++;
		}
	}
}

/* ---- a round ---- */

/* Whether one more can be started without the end of another. */
static bool
has_room(const struct warm *warm, const struct warm_wish *wish)
{
	unsigned count = 0;
	uint64_t bytes = wish->bytes;
	for (const struct warm_process *process = warm->list; process; process = process->next) {
		bool counts = process->state == STARTING || process->state == READY_TO_COPY;
		count += counts;
		bytes += counts ? process->bytes : 0;
	}
	return count < warm->max && bytes <= warm->max_bytes;
}

/* Whether its name still leads to the same program. */
static bool
is_there(const struct warm_order *order)
{
	AUTO_FREE char *real = realpath(order->path, NULL);
	return real && strcmp(real, order->real) == 0 && access(real, X_OK) == 0;
}

static void
note(struct warm_keep *keep, struct warm_wish *wish, uint64_t bytes)
{
	if (bytes == 0 || bytes == wish->bytes)
		return;
	wish->bytes = bytes;
	keep->changed = true;
}

static void
on_ended(void *arg)
{
	struct warm *warm = arg;
	struct warm_keep *keep = &warm->keep;
	struct warm_wish *wish = STEAL(keep->current);
	uint64_t too_large = keep->too_large;
	keep->too_large = 0;
	if (wish)
		note(keep, wish, keep->wait.process ? keep->wait.process->bytes : too_large);
	if (wish && keep->wait.again)
		wish->round = keep->round - 1;
	if (keep->idle)
		run_round(warm);
}

/* Looks at one, and starts it where it is missing. True: on_ended is called later. */
static bool
make_ready(struct warm *warm, struct warm_wish *wish)
{
	struct warm_keep *keep = &warm->keep;
	struct tool tool;
	const struct warm_key key = wish_key(wish, &tool);
	wish->round = keep->round;
	if (wish->starts >= WISH_STARTS)
		return false;
	const struct warm_process *there = warm_find_ready(warm, &key);
	if (!there && (!has_room(warm, wish) || !is_there(&wish->order)))
		return false;
	keep->wait.ended = on_ended;
	keep->wait.arg = warm;
	if (!warm_pool_request(warm, &key, &keep->wait, 0)) {
		note(keep, wish, keep->wait.process ? keep->wait.process->bytes : 0);
		return false;
	}
	wish->starts += keep->wait.of->state == STARTING;
	keep->current = wish;
	return true;
}

static void
on_timer(uv_timer_t *timer)
{
	struct warm *warm = timer->data;
	struct warm_keep *keep = &warm->keep;
	if (keep->wait.of && devlock_others_hold(warm->setup.locks)) {
		(void)warm_yield(warm);
	} else if (!keep->wait.of && keep->idle) {
		keep->round++;
		run_round(warm);
	} else if (!keep->wait.of) {
		(void)uv_timer_stop(timer);
	}
}

static void
run_round(struct warm *warm)
{
	struct warm_keep *keep = &warm->keep;
	int64_t oldest = time_now_ms() - WISH_DAYS * INT64_C(86400000);
	bool used = devlock_others_hold(warm->setup.locks);
	if (keep->wait.of)
		return;
	for (struct warm_wish *wish = used ? NULL : keep->list; wish; wish = wish->next)
		if (wish->round != keep->round && wish->asked_utc_ms > oldest && make_ready(warm, wish)) {
			(void)uv_timer_start(&keep->timer, on_timer, WATCH_MS, WATCH_MS);
			return;
		}
	save(warm);
	(void)uv_timer_start(&keep->timer, on_timer, used ? keep->idle_ms : ROUND_MS, 0);
}

void
warm_idle(struct warm *warm)
{
	if (!warm || warm->closing || !warm->keep.idle_ms)
		return;
	warm->keep.idle = true;
	if (!warm->keep.wait.of)
		(void)uv_timer_start(&warm->keep.timer, on_timer, warm->keep.idle_ms, 0);
}

void
warm_busy(struct warm *warm)
{
	if (!warm || warm->closing)
		return;
	warm->keep.idle = false;
	if (!warm->keep.wait.of)
		(void)uv_timer_stop(&warm->keep.timer);
}

/* ---- what steps ask for ---- */

/* A step has asked for these parts. */
static void
remember(struct warm *warm, const struct warm_key *parts)
{
	struct warm_keep *keep = &warm->keep;
	struct warm_wish **link = &keep->list, *wish;
	size_t count = 0;
	if (!keep->idle_ms)
		return;
	AUTO_FREE char *key = warm_key_text(parts);
	while (*link && strcmp((*link)->key, key) != 0 && ++count < WISHES_MAX)
		link = &(*link)->next;
	wish = *link && strcmp((*link)->key, key) == 0 ? *link : NULL;
	if (wish) {
		*link = wish->next;
	} else {
		forget_from(keep, link); /* the last one, where there are many */
		wish = xcalloc(1, sizeof(*wish));
		warm_order_make(&wish->order, parts);
		wish->key = STEAL(key);
	}
	wish->next = keep->list;
	keep->list = wish;
	wish->asked_utc_ms = time_now_ms();
	wish->starts = 0;
	keep->changed = true;
}

bool
warm_request(struct warm *warm, const struct warm_key *parts, struct warm_waiter *wait)
{
	wait->process = wait->of = NULL;
	wait->again = false;
	if (!warm || warm->closing)
		return false;
	remember(warm, parts);
	return warm_pool_request(warm, parts, wait, WARM_ASKED);
}

/* ---- life ---- */

struct warm *
warm_open(const struct warm_setup *setup)
{
	struct warm *warm = warm_pool_open(setup);
	const json_t *seconds = json_object_get(setup->section, "idle_seconds");
	if (!warm)
		return NULL;
	if (setup->memory)
		warm->keep.idle_ms = seconds ? (uint64_t)json_integer_value(seconds) * 1000 : WARM_IDLE_MS;
	(void)uv_timer_init(setup->loop, &warm->keep.timer);
	warm->keep.timer.data = warm;
	if (warm->keep.idle_ms)
		load(warm);
	return warm;
}

void
warm_drop(struct warm *warm)
{
	if (!warm)
		return;
	(void)warm_yield(warm);
	forget_from(&warm->keep, &warm->keep.list);
	warm->keep.changed = true;
	warm_pool_drop(warm);
}

void
warm_close(struct warm *warm)
{
	if (!warm || warm->closing)
		return;
	warm->keep.idle = false;
	warm_cancel_request(&warm->keep.wait);
	save(warm);
	forget_from(&warm->keep, &warm->keep.list);
	uv_close((uv_handle_t *)&warm->keep.timer, NULL);
	warm_pool_close(warm);
}
