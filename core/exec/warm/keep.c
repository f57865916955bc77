/* SPDX-License-Identifier: MIT */
/*
 * Keeps ready the interpreters that steps have requested lately, also before a restart.
 *
 * Theory of operation. Each request of a step is remembered, the newest first, in memory and in a file of the state
 * folder. When no job has run for a while, a round goes through the requests: a process that exists is checked as for a
 * step; a missing one is started, one at a time, if that ends no other. A step with a device never runs beside such a
 * start: either the step waits for the same interpreter, which is then ready sooner than without the start, or the
 * start is given up (warm_yield). Before that, while a job builds, a start that follows a recipe is stopped (warm_pause)
 * and one that still imports is given up; one that is about to be ready is finished. The start is also given up when
 * another kettle-exec of this machine takes a device. A process that a round started in vain, or that had to end
 * again, is left alone until a step requests it.
 */
#include <config.h>

#include "exec/warm/warm_internal.h"

#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "base/times.h"
#include "exec/machine/machine.h"

#define ENTRIES_MAX 16
#define ENTRY_DAYS 7      /* without a request; then the entry is forgotten */
#define ENTRY_STARTS 2    /* by rounds, since the last request of a step */
#define ROUND_MS 60000    /* from one round to the next */
#define WATCH_MS 100      /* between two checks, during a start, whether another kettle-exec has taken a device */
#define FILE_MAX 1048576u /* bytes */
#define ENTRY_MAX 65000u  /* bytes in the file; a larger entry is forgotten when this process ends */

struct warm_entry {
	struct warm_entry *next;
	struct warm_order order; /* with all recipes that were requested */
	char *key;
	int64_t requested_utc_ms;
	uint64_t bytes; /* its size when it was ready; 0: not known */
	unsigned starts;
	unsigned round; /* the last round that looked at it */
};

static void run_round(struct warm *warm);

static void
free_entry(struct warm_keep *keep, struct warm_entry *entry)
{
	if (keep->current == entry)
		keep->current = NULL;
	warm_order_free(&entry->order);
	free_all(entry->key, entry);
}

static void
forget_from(struct warm_keep *keep, struct warm_entry **from)
{
	while (*from) {
		struct warm_entry *entry = *from;
		*from = entry->next;
		free_entry(keep, entry);
	}
}

/* The key of an entry; it contains *ret_tool. Both borrow from the entry. */
static struct warm_key
entry_key(const struct warm_entry *entry, struct tool *ret_tool)
{
	const struct warm_order *order = &entry->order;
	*ret_tool = (struct tool){.name = order->name, .path = order->path, .real = order->real};
	return (struct warm_key){.tool = ret_tool,
		.modules = &order->modules,
		.recipes = &order->recipes,
		.environment = order->environment,
		.cores = &order->cores};
}

/* ---- the file ---- */

static json_t *
entry_json(const struct warm_entry *entry)
{
	const struct warm_order *order = &entry->order;
	json_t *cores = json_array();
	for (size_t i = 0; i < order->cores.count; i++)
		json_array_append_new(cores, json_integer(order->cores.list[i]));
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:O, s:o, s:I, s:I}", "name", order->name, "path", order->path, "real",
		order->real, "modules", strings_json(&order->modules), "recipes", strings_json(&order->recipes), "environment",
		order->environment, "cores", cores, "requested", (json_int_t)entry->requested_utc_ms, "bytes",
		(json_int_t)entry->bytes);
}

/* Writes the file without waiting for the disk, and ignores errors: losing it only makes a first run slow. */
static void
save(struct warm *warm)
{
	struct warm_keep *keep = &warm->keep;
	if (!keep->changed || !warm->setup.memory)
		return;
	AUTO_JSON json_t *list = json_array();
	for (const struct warm_entry *entry = keep->list; entry; entry = entry->next) {
		AUTO_JSON json_t *one = entry_json(entry);
		if (json_dumpb(one, NULL, 0, JSON_COMPACT) <= ENTRY_MAX)
			json_array_append(list, one);
	}
	AUTO_FREE char *text = json_dumps(list, JSON_COMPACT);
	if (text && strlen(text) <= FILE_MAX)
		(void)file_write(warm->setup.memory, text, strlen(text), 0600, NULL);
	keep->changed = false;
}

/* Reads an entry of the file; NULL: it is invalid. */
static struct warm_entry *
read_entry(const json_t *json)
{
	const char *name = json_text_or_null(json, "name"), *path = json_text_or_null(json, "path");
	const char *real = json_text_or_null(json, "real");
	const json_t *environment = json_object_get(json, "environment");
	if (!name || !path || !real || !json_is_object(environment))
		return NULL;
	struct warm_entry *entry = xcalloc(1, sizeof(*entry));
	struct warm_order *order = &entry->order;
	*order = (struct warm_order){.name = xstrdup(name),
		.path = xstrdup(path),
		.real = xstrdup(real),
		.environment = json_deep_copy(environment)};
	strings_read(&order->modules, json_object_get(json, "modules"));
	strings_read(&order->recipes, json_object_get(json, "recipes"));
	json_array_each(json_object_get(json, "cores"), core) {
		int number = (int)json_integer_value(core);
		if (number >= 0 && number < CORES_MAX)
			cores_join(&order->cores, &(struct cores){.list = &number, .count = 1});
	}
	entry->requested_utc_ms = member_int(json, "requested");
	entry->bytes = (uint64_t)member_int(json, "bytes");
	struct tool tool;
	const struct warm_key key = entry_key(entry, &tool);
	entry->key = warm_key_text(&key);
	return entry;
}

static void
load(struct warm *warm)
{
	AUTO_FREE char *data = NULL;
	size_t size = 0, count = 0;
	struct warm_entry **end = &warm->keep.list;
	if (!warm->setup.memory || file_read(warm->setup.memory, FILE_MAX, &data, &size, NULL) != 0)
		return;
	AUTO_JSON json_t *list = json_loadb(data, size, 0, NULL);
	json_array_each(list, one) {
		if (count < ENTRIES_MAX && (*end = read_entry(one))) {
			end = &(*end)->next;
			count++;
		}
	}
}

/* ---- a round ---- */

/* Whether another process can be started without ending one. */
static bool
has_room(const struct warm *warm, const struct warm_entry *entry)
{
	unsigned count = 0;
	uint64_t bytes = entry->bytes;
	for (const struct warm_process *process = warm->list; process; process = process->next) {
		bool counts = process->state == STARTING || process->state == READY_TO_COPY;
		count += counts;
		bytes += counts ? process->bytes : 0;
	}
	return count < warm->max && bytes <= warm->max_bytes;
}

/* Whether the interpreter's name still leads to the same program. */
static bool
is_there(const struct warm_order *order)
{
	AUTO_FREE char *real = realpath(order->path, NULL);
	return real && strcmp(real, order->real) == 0 && access(real, X_OK) == 0;
}

static void
note(struct warm_keep *keep, struct warm_entry *entry, uint64_t bytes)
{
	if (bytes == 0 || bytes == entry->bytes)
		return;
	entry->bytes = bytes;
	keep->changed = true;
}

static void
on_ended(void *arg)
{
	struct warm *warm = arg;
	struct warm_keep *keep = &warm->keep;
	struct warm_entry *entry = STEAL(keep->current);
	uint64_t too_large = keep->too_large;
	keep->too_large = 0;
	if (entry)
		note(keep, entry, keep->wait.process ? keep->wait.process->bytes : too_large);
	if (entry && keep->wait.again)
		entry->round = keep->round - 1;
	if (keep->idle)
		run_round(warm);
}

/* Looks at one entry, and starts its process if it is missing. True: on_ended is called later. */
static bool
make_ready(struct warm *warm, struct warm_entry *entry)
{
	struct warm_keep *keep = &warm->keep;
	struct tool tool;
	const struct warm_key key = entry_key(entry, &tool);
	entry->round = keep->round;
	if (entry->starts >= ENTRY_STARTS)
		return false;
	const struct warm_process *there = warm_find_ready(warm, &key);
	if (!there && (!has_room(warm, entry) || !is_there(&entry->order)))
		return false;
	keep->wait.ended = on_ended;
	keep->wait.arg = warm;
	if (!warm_pool_request(warm, &key, &keep->wait, 0)) {
		note(keep, entry, keep->wait.process ? keep->wait.process->bytes : 0);
		return false;
	}
	entry->starts += keep->wait.of->state == STARTING;
	keep->current = entry;
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
	int64_t oldest = time_now_ms() - ENTRY_DAYS * INT64_C(86400000);
	bool used = devlock_others_hold(warm->setup.locks);
	if (keep->wait.of)
		return;
	for (struct warm_entry *entry = used ? NULL : keep->list; entry; entry = entry->next)
		if (entry->round != keep->round && entry->requested_utc_ms > oldest && make_ready(warm, entry)) {
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
	if (warm->keep.wait.of)
		warm_resume(warm->keep.wait.of);
	else
		(void)uv_timer_start(&warm->keep.timer, on_timer, warm->keep.idle_ms, 0);
}

void
warm_busy(struct warm *warm)
{
	if (!warm || warm->closing)
		return;
	struct warm_process *process = warm->keep.wait.of;
	warm->keep.idle = false;
	if (!process)
		(void)uv_timer_stop(&warm->keep.timer);
	else if (process->state == STARTING && warm_is_for_no_step(process) && !warm_pause(process)) {
		if (warm->keep.current)
			warm->keep.current->starts--; /* not in vain */
		(void)warm_yield(warm);
	}
}

/* ---- requests of steps ---- */

/* Records the request of a step. */
static void
remember(struct warm *warm, const struct warm_key *parts)
{
	struct warm_keep *keep = &warm->keep;
	struct warm_entry **link = &keep->list, *entry;
	size_t count = 0;
	if (!keep->idle_ms)
		return;
	AUTO_FREE char *key = warm_key_text(parts);
	while (*link && strcmp((*link)->key, key) != 0 && ++count < ENTRIES_MAX)
		link = &(*link)->next;
	entry = *link && strcmp((*link)->key, key) == 0 ? *link : NULL;
	if (entry) {
		*link = entry->next;
	} else {
		forget_from(keep, link); /* the oldest, if there are many */
		entry = xcalloc(1, sizeof(*entry));
		warm_order_make(&entry->order, parts);
		entry->key = STEAL(key);
	}
	entry->next = keep->list;
	keep->list = entry;
	entry->requested_utc_ms = time_now_ms();
	entry->starts = 0;
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
