/* SPDX-License-Identifier: MIT */
/* Warm processes: interpreters that have imported the modules of steps, and that steps begin from as copies. */
/*
 * Theory of operation. A warm process is the interpreter itself with an extension that serves copies to the sandbox
 * library (core/sandbox/zygote.h). The step that first needs one starts it and waits: importing takes as long as in the
 * step, the step holds its device, so no measurement is disturbed, and every run of a board begins in the same way. The
 * key of a process is everything by which a script could tell two of them apart: interpreter, modules, environment,
 * cores. A process that no longer matches the disk, was copied often, has grown, or has died is ended, and the next
 * step that needs it starts another. The disk is checked on a thread of libuv's pool while the step waits. A failed
 * start is remembered and reported once; its steps begin cold. Copies are children of this process and outlive the warm
 * one, so the warm one may be ended at any time.
 *
 * The process imports on the cores of its device, because libraries count cores when they are loaded, and moves off
 * them afterwards. Its output is a pipe, as a step's is. Output during its imports would be missing in the output of
 * its copies, so a process that prints then does not serve.
 *
 * If kettle-exec is root, the process imports as a user that owns nothing, in mounts of its own that it cannot write
 * to, and without a network (plugins/languages/py/confine.c). If that is impossible, and for an ordinary user, it
 * imports with kettle-exec's rights. HOME of a sandbox is a path below /tmp, where anybody on the machine could put
 * code or settings that imports read. So the process imports with an empty folder of its own as HOME, and without a
 * user's packages. Afterwards it has the sandbox's HOME, as a fresh interpreter would.
 *
 * Before it serves, it writes its memory to a file (image.h). Sandboxes of its copies show that file, and in the place
 * of the interpreter a program that begins from it, so every program that a run starts under the interpreter's name
 * begins warm. The interpreter itself, for everything that this program cannot do, is shown at another place, within
 * its whole installation, since it may look for its libraries beside itself.
 */
#include <config.h>

#include "exec/warm/warm_internal.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "base/base.h"
#include "base/file.h"
#include "base/installed.h"
#include "base/list.h"
#include "base/text.h"
#include "exec/tools/tools.h"
#include "exec/util/work.h"
#include "exec/warm/image.h"

/* ---- the pool ---- */

/* The path of a file of this installation; NULL: it does not exist. */
static char *
find_part(const char *in_build, const char *configured)
{
	AUTO_FREE char *path = installed_path(in_build, configured);
	return path && access(path, R_OK) == 0 ? STEAL(path) : NULL;
}

static uint64_t
total_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : UINT64_MAX;
}

struct warm *
warm_pool_open(const struct warm_setup *setup)
{
	const json_t *max = json_object_get(setup->section, "processes");
	const json_t *forks = json_object_get(setup->section, "max_forks");
	const json_t *memory = json_object_get(setup->section, "memory");
	const json_t *start = json_object_get(setup->section, "start_seconds");
	const json_t *seconds = json_object_get(setup->section, "recipe_seconds");
	if (!KETTLE_HAVE_WARM || (max && json_integer_value(max) == 0))
		return NULL;
	image_remove_stale();
	struct warm *warm = xcalloc(1, sizeof(*warm));
	warm->setup = *setup;
	warm->module = find_part(INSTALLED_WARM);
	warm->stand_in = find_part(INSTALLED_STAND_IN);
	warm->max = max ? (unsigned)json_integer_value(max) : WARM_PROCESSES;
	warm->max_bytes = memory ? (uint64_t)json_integer_value(memory) : total_memory() / WARM_MEMORY_PART;
	warm->max_forks = forks ? (unsigned)json_integer_value(forks) : WARM_FORKS;
	warm->start_ms = start ? (unsigned)json_integer_value(start) * 1000 : WARM_START_MS;
	warm->recipe_ms = seconds ? (unsigned)json_integer_value(seconds) * 1000 : 0;
	(void)uv_timer_init(setup->loop, &warm->later);
	warm->later.data = warm;
	prepared_open(warm);
	return warm;
}

uint64_t
warm_budget(const struct warm *warm)
{
	return warm ? warm->max_bytes : 0;
}

void
warm_free(struct warm *warm)
{
	if (!warm)
		return;
	while (warm->list) {
		warm_layer_forget(STEAL(warm->list->layer));
		warm_free_process(warm->list);
	}
	free_all(warm->module, warm->stand_in);
	prepared_free(warm);
	strings_free(&warm->entitled);
	warm_free_backoffs(warm);
	free(warm);
}

void
warm_pool_close(struct warm *warm)
{
	warm->closing = true;
	prepared_close(warm);
	uv_close((uv_handle_t *)&warm->later, NULL);
	for (struct warm_process *process = warm->list, *next; process; process = next) {
		next = process->next;
		if (process->state != ENDING)
			warm_end(process, ENDING);
	}
}

void
warm_pool_drop(struct warm *warm)
{
	prepared_forget(warm, NULL);
	for (struct warm_process *process = warm->list, *next; process; process = next) {
		next = process->next;
		if (process->state != ENDING && !process->waits)
			warm_end(process, ENDING);
	}
}

/* ---- a process for a step ---- */

char *
warm_key_text(const struct warm_key *parts)
{
	AUTO_JSON json_t *cores = json_array();
	for (size_t i = 0; i < parts->cores->count; i++)
		json_array_append_new(cores, json_integer(parts->cores->list[i]));
	AUTO_JSON json_t *key = json_pack("{s:s, s:O, s:o, s:O, s:o}", "tool", parts->tool->path, "environment",
		parts->environment, "modules", strings_json(parts->modules), "cores", cores, "recipes",
		parts->recipes ? strings_json(parts->recipes) : json_array());
	return json_dumps(key, JSON_COMPACT | JSON_SORT_KEYS);
}

static bool
fits(const struct warm_process *process)
{
	return sandbox_warm_works(process->sandbox) && process->copies < process->pool->max_forks &&
		   !image_is_lost(&process->image);
}

/* Whether a check of the disk is due or under way, whose end the step must wait for. */
static bool
must_look(struct warm_process *process, uint64_t now)
{
	if (!process->looking && now - process->looked_ns >= WARM_LOOK_MS * UINT64_C(1000000))
		warm_check(process);
	return process->looking;
}

/* Of the processes that no step waits for, the one with the fewest requests; NULL: there is none but `besides`. */
static struct warm_process *
least_requested(struct warm *warm, enum state state, const struct warm_process *besides)
{
	struct warm_process *least = NULL;
	for (struct warm_process *process = warm->list; process; process = process->next) {
		if (process->state != state || process->waits || process == besides)
			continue;
		if (!least || process->requested < least->requested ||
			(process->requested == least->requested && process->used_ns < least->used_ns))
			least = process;
	}
	return least;
}

/* Ends the process with the fewest requests. Older requests count less from now on. */
static void
end_least(struct warm *warm, struct warm_process *least)
{
	for (struct warm_process *process = warm->list; process; process = process->next)
		process->requested /= 2;
	warm_end(least, ENDING);
}

bool
warm_is_for_no_step(const struct warm_process *process)
{
	return process->waits == &process->pool->keep.wait && !process->waits->next;
}

bool
warm_yield(struct warm *warm)
{
	struct warm_process *process = warm ? warm->keep.wait.of : NULL;
	bool starts = process && process->state == STARTING;
	if (!process || !warm_is_for_no_step(process))
		return false;
	warm_cancel_request(&warm->keep.wait);
	if (starts)
		warm_end(process, ENDING);
	return starts;
}

bool
warm_is_too_large(const struct warm_process *process)
{
	struct warm *warm = process->pool;
	uint64_t bytes = process->bytes;
	if (!warm_is_for_no_step(process))
		return false;
	for (const struct warm_process *other = warm->list; other; other = other->next)
		bytes += other->state == READY_TO_COPY ? other->bytes : 0;
	warm->keep.too_large = bytes > warm->max_bytes ? process->bytes : 0;
	return bytes > warm->max_bytes;
}

/* Makes room for one more process. False: there is none. */
static bool
make_room(struct warm *warm)
{
	unsigned count = 0, failed = 0;
	for (struct warm_process *process = warm->list; process; process = process->next) {
		count += process->state == STARTING || process->state == READY_TO_COPY;
		failed += process->state == FAILED;
	}
	if (count >= warm->max && warm_yield(warm))
		count--;
	struct warm_process *least = least_requested(warm, READY_TO_COPY, NULL);
	if (count >= warm->max && !least)
		return false;
	if (count >= warm->max)
		end_least(warm, least);
	if (failed >= WARM_FAILED_MAX)
		warm_end(least_requested(warm, FAILED, NULL), ENDING);
	return true;
}

bool
warm_make_room_for(struct warm_process *process)
{
	struct warm *warm = process->pool;
	for (;;) {
		uint64_t bytes = process->bytes + prepared_bytes(warm);
		for (const struct warm_process *other = warm->list; other; other = other->next)
			bytes += other->state == READY_TO_COPY ? other->bytes : 0;
		struct warm_process *least = least_requested(warm, READY_TO_COPY, process);
		if (bytes <= warm->max_bytes)
			return true;
		if (prepared_give_up(warm))
			continue;
		if (!least)
			return process->bytes <= warm->max_bytes;
		end_least(warm, least);
	}
}

static struct warm_process *
warm_find(struct warm *warm, const char *key)
{
	for (struct warm_process *process = warm->list; process; process = process->next)
		if (process->state != ENDING && strcmp(process->key, key) == 0)
			return process;
	return NULL;
}

/* Adds an entry to the list, or returns NULL. Takes the key. */
static struct warm_process *
warm_add(struct warm *warm, char *key_take)
{
	if (!make_room(warm)) {
		free(key_take);
		return NULL;
	}
	struct warm_process *process = xcalloc(1, sizeof(*process));
	process->pool = warm;
	process->key = key_take;
	process->state = FAILED;
	process->socket_fd = process->output_fd = process->report_fd = process->cache_fd = -1;
	process->next = warm->list;
	warm->list = process;
	return process;
}

/* Reports once which parts this installation lacks. */
static void
complain(struct warm *warm)
{
	bool lacks_stand_in = KETTLE_HAVE_STAND_IN && !warm->stand_in;
	if (warm->module && !lacks_stand_in)
		return;
	warm_tell_once(warm, "",
		warm->module
			? "Processes that Python runs start have no warm start, because this installation of Kettle has no "
			  "kettle/warm/python."
			: "Python runs have no warm start, because this installation of Kettle has no kettle/warm/python.so.");
}

/*
 * The process for these parts, which is at work or to start; NULL: there can be none. *ret_failed: one has failed
 * lately.
 */
static struct warm_process *
choose(struct warm *warm, const struct warm_key *parts, uint64_t now, bool *ret_failed)
{
	AUTO_FREE char *key = warm_key_text(parts);
	struct warm_process *process = warm_find(warm, key);
	bool idle = process && process->state == READY_TO_COPY && !process->waits;
	if (idle && (!fits(process) || !warm_is_copied(process))) {
		warm_end(process, ENDING);
		process = NULL;
	}
	*ret_failed = process && process->state == FAILED &&
				  (process->handles > 0 || now - process->failed_ns < WARM_RETRY_MS * UINT64_C(1000000));
	if (*ret_failed)
		return NULL;
	if (!process && (process = warm_add(warm, STEAL(key))))
		warm_order_make(&process->order, parts);
	return process;
}

bool
warm_pool_request(struct warm *warm, const struct warm_key *parts, struct warm_waiter *wait, unsigned counts)
{
	AUTO_STRINGS struct strings accepted = {0};
	struct warm_key wanted = *parts;
	bool failed = false;
	uint64_t now = time_monotonic_ns();
	complain(warm);
	wait->process = wait->of = NULL;
	wait->again = false;
	if (warm->closing || !warm->module)
		return false;
	warm_accepted_recipes(warm, parts, now, &accepted);
	wanted.recipes = &accepted;
	struct warm_process *process = choose(warm, &wanted, now, &failed);
	wanted.recipes = NULL;
	if (failed && accepted.count > 0)
		process = choose(warm, &wanted, now, &failed);
	if (!process)
		return false;
	process->used_ns = now;
	process->requested += counts;
	if (process->state == FAILED)
		warm_start(process);
	warm_resume(process);
	if (process->state == READY_TO_COPY && !must_look(process, now)) {
		wait->process = process;
		return false;
	}
	wait->of = process;
	wait->next = process->waits;
	process->waits = wait;
	return true;
}

const struct warm_process *
warm_find_ready(struct warm *warm, const struct warm_key *parts)
{
	AUTO_STRINGS struct strings accepted = {0};
	struct warm_key wanted = *parts;
	warm_accepted_recipes(warm, parts, time_monotonic_ns(), &accepted);
	wanted.recipes = &accepted;
	AUTO_FREE char *key = warm_key_text(&wanted);
	const struct warm_process *process = warm_find(warm, key);
	return process && process->state != FAILED ? process : NULL;
}

void
warm_cancel_request(struct warm_waiter *wait)
{
	if (!wait->of)
		return;
	LIST_REMOVE(wait->of->waits, wait);
	wait->of = NULL;
}

void
warm_hold(struct warm_waiter *wait)
{
	if (!wait->process)
		return;
	wait->of = STEAL(wait->process);
	wait->holds = true;
	wait->next = wait->of->waits;
	wait->of->waits = wait;
}

void
warm_let_go(struct warm_waiter *wait)
{
	if (!wait->holds)
		return;
	wait->process = wait->of;
	warm_cancel_request(wait);
	wait->holds = false;
}

size_t
warm_binds(const struct warm_process *process, const struct strings *folders, struct sandbox_bind binds[WARM_BINDS])
{
	struct stat st;
	/* Only if the sandbox shows the installation. */
	if (!process || !process->image.path || fstat(process->image.fd, &st) != 0 || st.st_size == 0 ||
		!image_is_visible(process->home, folders))
		return 0;
	/* The image may go with its process before the sandbox is made; then programs that the run starts begin cold. */
	binds[0] = (struct sandbox_bind){.source = process->image.path, .target = IMAGE_SHOWN, .optional = true};
	binds[1] = (struct sandbox_bind){.source = process->home, .target = IMAGE_HOME};
	binds[2] = (struct sandbox_bind){.source = process->pool->stand_in, .target = process->order.real};
	return 3;
}

struct sandbox_warm *
warm_sandbox(struct warm_process *process)
{
	return process ? process->sandbox : NULL;
}

static void
prepare_later(uv_timer_t *timer)
{
	warm_prepare(timer->data);
}

void
warm_after_start(struct warm_process *process)
{
	if (!process)
		return;
	process->copies++;
	process->runs++;
	/*
	 * Makes the next copy where that disturbs nothing: off the device soon, else at the end of the step. Not at once,
	 * since it keeps the loop from reading the output of a short run.
	 */
	if (!process->pool->closing)
		(void)uv_timer_start(&process->pool->later, prepare_later, WARM_LATER_MS, 0);
}

void
warm_prepare(struct warm *warm)
{
	struct warm_process *latest[2] = {NULL, NULL}; /* a referee and its solver may use one each */
	for (struct warm_process *process = warm ? warm->list : NULL; process; process = process->next) {
		if (process->state != READY_TO_COPY)
			continue;
		if (!latest[0] || process->used_ns > latest[0]->used_ns) {
			latest[1] = latest[0];
			latest[0] = process;
		} else if (!latest[1] || process->used_ns > latest[1]->used_ns) {
			latest[1] = process;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(latest); i++)
		if (latest[i] && sandbox_warm_works(latest[i]->sandbox))
			sandbox_warm_prepare(latest[i]->sandbox, warm->setup.machine);
	if (warm)
		prepared_fill(warm);
}

/* The recipes of the process: those for which nothing is installed (absent), or the others. New reference. */
static json_t *
recipes_of(const struct warm_process *process, bool absent)
{
	json_t *list = json_array();
	for (size_t i = 0; i < process->order.recipes.count; i++)
		if ((process->absent >> i & 1) == absent)
			json_array_append_new(list, json_string(process->order.recipes.list[i]));
	return list;
}

json_t *
warm_describe(const struct warm *warm)
{
	static const char *const states[] = {
		[STARTING] = "starting", [READY_TO_COPY] = "ready", [FAILED] = "failed", [ENDING] = ""};
	json_t *list = json_array();
	for (const struct warm_process *process = warm ? warm->list : NULL; process; process = process->next)
		if (process->state != ENDING)
			json_array_append_new(
				list, json_pack("{s:s, s:o, s:o, s:o, s:s, s:I, s:I, s:I, s:i}", "tool", process->order.name, "modules",
						  strings_json(&process->order.modules), "recipes", recipes_of(process, false), "absent",
						  recipes_of(process, true), "state", states[process->state], "memory",
						  (json_int_t)(process->state == READY_TO_COPY ? process->bytes : 0), "disk",
						  (json_int_t)warm_layer_bytes(process->layer), "runs", (json_int_t)process->runs, "prepared",
						  (int)prepared_count(warm, process)));
	if (warm && prepared_count(warm, NULL) > 0)
		json_array_append_new(list, prepared_programs(warm));
	return list;
}
