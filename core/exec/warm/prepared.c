/* SPDX-License-Identifier: MIT */
/* Processes that are prepared for one run on a GPU. */
/*
 * Theory of operation. A process that has opened a GPU cannot be copied, and opening one takes longer than many runs.
 * So a copy of a warm interpreter, or kettle-host, is put into the sandbox of a run to come, gives up its rights, opens
 * the GPU (core/sandbox/payload.c) and waits, for one run: it is used once, or ended.
 *
 * What is prepared follows the runs: for each set of GPUs the last requests are kept as they came, as many as may be
 * prepared, and a process is prepared for each of them. A request ends with the warm process that its run began from, so
 * nothing outlives an interpreter that no longer matches the disk, or a reload. With `prepare: idle` of exec.yml none
 * is made while a run uses the GPUs or another kettle-exec holds a device, and a run that comes meanwhile waits for one
 * that fits, which has a lead on it; one that does not fit is ended. The time that a process took before its run counts
 * against no limit of the run; the memory that it keeps does.
 *
 * Of a referee and a solver only the solver is prepared, in a group of its own, which the referee joins when the run
 * begins: so both have one limit of memory, as in an ordinary start.
 *
 * A process that fails, ends or takes too long is told once, and for a while no other is made for these GPUs. Two
 * readings bound what it holds: of its own memory, and of the GPU's. The checks of GPUs before and after jobs know these
 * processes by their numbers (gpu_unfit, gpu_is_occupied).
 */
#include <config.h>

#include "exec/warm/prepared.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "base/list.h"
#include "base/text.h"
#include "exec/machine/machine.h"
#include "exec/warm/warm_internal.h"

#define BACKOFF_TIMES 6 /* that the delay after a failure doubles */
#define MEMINFO_MAX 65536

/* The parts of a run's config that do not depend on its job, and that the next run needs as well. */
struct request {
	struct warm_process *from; /* NULL: it executes a program */
	char *key;
	struct sandbox_config config;
	struct strings environment; /* of the program */
	const char *argv[2];        /* its path, for which the config's is borrowed */
	uint64_t group_bytes;       /* limit of its group; 0: it has none */
	struct sandbox_bind *binds;
	struct strings texts; /* of the binds */
	struct cores cores;
};

/* A set of GPUs. */
struct prepared_place {
	struct warm *warm;
	struct prepared_place *next;
	struct strings gpus;
	struct request *requests[PREPARED_MAX]; /* the last one first; NULL: none */
	struct prepared_process *list;
	uint64_t until_ns; /* after a failure */
	unsigned failures;
};

enum prepared_state { OPENING, MEASURED, WAITING, GONE };

struct prepared_process {
	struct prepared_place *place;
	struct prepared_process *next;
	struct warm_process *from;
	char *key;
	struct strings environment; /* of a program */
	enum prepared_state state;
	struct sandbox *sandbox; /* NULL: a run has it */
	struct sandbox_group *group;
	pid_t pid;    /* of what has opened the GPU; 0: not known */
	pid_t listed; /* as gpu_take_prepared has it; 0: not measured yet */
	struct sandbox_limits limits;
	uint64_t group_bytes;
	uint64_t bytes;
	uv_poll_t control;
	uv_timer_t timer; /* for the opening, then for its age */
	unsigned handles; /* open ones, and work */
	struct work work;
	json_t *reading; /* belongs to the work while it runs */
	struct prepared_waiter *wait;
};

static bool
is_same(const struct strings *a, const struct strings *b)
{
	bool same = a->count == b->count;
	for (size_t i = 0; same && i < a->count; i++)
		same = strcmp(a->list[i], b->list[i]) == 0;
	return same;
}

static bool
is_shared(const struct strings *a, const struct strings *b)
{
	bool shared = false;
	for (size_t i = 0; !shared && i < a->count; i++)
		shared = strings_have(b, a->list[i]);
	return shared;
}

/* The entry for these GPUs; NULL: nothing is prepared for them. */
static struct prepared_place *
find_place(struct warm *warm, const struct strings *gpus)
{
	struct prepared_place *place = warm ? warm->places : NULL;
	while (place && !is_same(&place->gpus, gpus))
		place = place->next;
	return place;
}

static struct prepared_place *
make_place(struct warm *warm, const struct strings *gpus)
{
	struct prepared_place *place = find_place(warm, gpus);
	if (place || !warm || warm->closing || warm->prepare == WARM_PREPARE_OFF || gpus->count == 0)
		return place;
	place = xcalloc(1, sizeof(*place));
	place->warm = warm;
	strings_add_all(&place->gpus, gpus);
	LIST_APPEND(warm->places, place);
	return place;
}

/* ---- requests ---- */

static void
free_request(struct request *request)
{
	if (!request)
		return;
	strings_free(&request->texts);
	strings_free(&request->environment);
	cores_free(&request->cores);
	free_all(request->binds, request->key, request);
}

/* All that a run must have in common with a prepared process from the same origin. New string. */
static char *
make_key(const struct prepared_origin *origin, const struct sandbox_config *config)
{
	AUTO_FREE char *sandbox = sandbox_prepared_key(config);
	AUTO_BUF struct buf key = {0};
	buf_adds(&key, sandbox);
	for (size_t i = 0; i < origin->environment->count; i++)
		buf_printf(&key, "\n%s", origin->environment->list[i]);
	return buf_take(&key);
}

static struct request *
make_request(const struct prepared_origin *origin, char *key_take, const struct sandbox_config *config)
{
	struct request *request = xcalloc(1, sizeof(*request));
	*request = (struct request){.from = origin->process,
		.key = key_take,
		.config = {.level = config->level,
			.counts = config->counts,
			.limits = config->limits,
			.machine = config->machine,
			.warm = config->warm,
			.uid = config->uid},
		.group_bytes = sandbox_group_bytes(config->group),
		.binds = xcalloc(config->binds_count + 1, sizeof(*request->binds))};
	cores_join(&request->cores, &(struct cores){(int *)config->cores, config->cores_count});
	for (size_t i = 0; i < config->binds_count; i++) {
		const struct sandbox_bind *bind = &config->binds[i];
		strings_add(&request->texts, bind->source);
		strings_add(&request->texts, bind->target ? bind->target : bind->source);
	}
	strings_add(&request->texts, config->file);
	strings_add_all(&request->environment, origin->environment);
	for (size_t i = 0; i < config->binds_count; i++) {
		request->binds[i] = config->binds[i];
		request->binds[i].source = request->texts.list[2 * i];
		request->binds[i].target = config->binds[i].target ? request->texts.list[2 * i + 1] : NULL;
	}
	request->config.binds = request->binds;
	request->config.binds_count = config->binds_count;
	request->config.cores = request->cores.list;
	request->config.cores_count = request->cores.count;
	request->argv[0] = request->texts.list[request->texts.count - 1];
	request->config.file = request->argv[0];
	request->config.argv = request->argv;
	request->config.envp = request->environment.list;
	return request;
}

/* Remembers the request of a run, where there is no room in place of the oldest one. */
static void
remember(struct prepared_place *place, struct request *request_take)
{
	unsigned last = 0;
	while (last + 1 < place->warm->prepare_count && place->requests[last])
		last++;
	free_request(place->requests[last]);
	memmove(&place->requests[1], &place->requests[0], last * sizeof(*place->requests));
	place->requests[0] = request_take;
}

static bool
is_alike(const struct request *request, const struct warm_process *from, const char *key)
{
	return request && request->from == from && strcmp(request->key, key) == 0;
}

/* Forgets the oldest request that a process was prepared for, so that no other takes its place. */
static void
forget(struct prepared_process *process)
{
	struct request **requests = process->place->requests;
	for (size_t i = PREPARED_MAX; i-- > 0;)
		if (is_alike(requests[i], process->from, process->key)) {
			free_request(STEAL(requests[i]));
			return;
		}
}

/* ---- the end ---- */

static void
release(struct prepared_process *process)
{
	if (--process->handles > 0)
		return;
	LIST_REMOVE(process->place->list, process);
	json_decref(process->reading);
	strings_free(&process->environment);
	free_all(process->key, process);
}

static void
on_closed(uv_handle_t *handle)
{
	release(handle->data);
}

/* A sandbox may end slowly, so a thread of work waits for it. */
struct ended {
	struct work work;
	struct sandbox *sandbox;
	struct sandbox_group *group;
};

static void
work_free(void *arg)
{
	struct ended *ended = arg;
	sandbox_free(ended->sandbox);
	sandbox_group_free(ended->group);
}

static void
on_wake(uv_timer_t *timer)
{
	struct warm *warm = timer->data;
	while (warm->woken) {
		struct prepared_waiter *wait = warm->woken;
		warm->woken = wait->next;
		wait->woken = NULL;
		wait->ended(wait->arg);
	}
}

/* Not at once: another step may be starting. */
static void
wake(struct prepared_process *process)
{
	struct warm *warm = process->place->warm;
	struct prepared_waiter *wait = STEAL(process->wait);
	if (!wait)
		return;
	wait->of = NULL;
	wait->woken = warm;
	LIST_APPEND(warm->woken, wait);
	(void)uv_timer_start(&warm->wake, on_wake, 0, 0);
}

static void
close_process(struct prepared_process *process)
{
	process->state = GONE;
	uv_close((uv_handle_t *)&process->control, on_closed);
	uv_close((uv_handle_t *)&process->timer, on_closed);
	wake(process);
}

static void
end_process(struct prepared_process *process)
{
	if (process->state == GONE)
		return;
	struct ended *ended = xcalloc(1, sizeof(*ended));
	ended->sandbox = STEAL(process->sandbox);
	ended->group = STEAL(process->group);
	sandbox_kill(ended->sandbox, SANDBOX_LIMIT_CANCEL);
	uv_loop_t *loop = process->place->warm->setup.loop;
	close_process(process);
	work_start(&ended->work, loop, work_free, free, ended);
}

/* For a while none is made for these GPUs. */
static void
back_off(struct prepared_place *place, const char *why)
{
	AUTO_FREE char *text =
		xasprintf("No process could be prepared on GPU %s, so runs open it themselves: %s.", place->gpus.list[0], why);
	warm_tell_once(place->warm, place->gpus.list[0], text);
	place->until_ns = time_monotonic_ns() + ((WARM_RETRY_MS * UINT64_C(1000000)) << place->failures);
	place->failures += place->failures < BACKOFF_TIMES;
}

static void
fail(struct prepared_process *process, const char *why)
{
	back_off(process->place, why);
	end_process(process);
}

/* ---- ready ---- */

/* The only child of a process; 0: not known. */
static pid_t
find_child(pid_t parent)
{
	AUTO_FREE char *path = xasprintf("/proc/%d/task/%d/children", (int)parent, (int)parent);
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	AUTO_FILE FILE *file = fopen(path, "re");
	return file && getline(&text, &size, file) > 0 ? (pid_t)atoi(text) : 0;
}

/* The process that opens the GPU: init's child, of kettle-host the child of that one. 0: not known. */
static pid_t
find_opener(const struct prepared_process *process)
{
	pid_t pid = find_child(sandbox_pid(process->sandbox));
	return pid > 0 && !process->from ? find_child(pid) : pid;
}

static void
work_measure(void *arg)
{
	struct prepared_process *process = arg;
	(void)gpu_read(process->place->warm->setup.config, &process->reading, NULL);
}

/* Why the GPUs of a process do not allow it to wait; NULL: they do. New string. Finds out how the driver lists it. */
static char *
find_fault(struct prepared_process *process)
{
	const struct strings *gpus = &process->place->gpus;
	uint64_t most = process->place->warm->setup.config->gpu_prepared_bytes;
	bool says = json_array_size(json_object_get(process->reading, "gpus")) > 0;
	process->listed = -1;
	for (size_t i = 0; says && i < gpus->count; i++) {
		struct gpu gpu = gpu_find(process->reading, gpus->list[i]);
		if (!gpu.json)
			return xasprintf("GPU %s is not there any more", gpus->list[i]);
		json_array_each(gpu.processes, one) {
			bool own = member_int(one, "pid") == process->pid;
			if (own || process->listed < 0)
				process->listed = own ? process->pid : 0;
			if (own && member_int(one, "memory") > (json_int_t)most)
				return xasprintf("it holds %lld MiB of its memory, more than `gpu: prepared_bytes` of exec.yml",
					(long long)member_int(one, "memory") >> 20);
		}
	}
	return NULL;
}

static void
on_age(uv_timer_t *timer)
{
	struct prepared_process *process = timer->data;
	forget(process);
	end_process(process);
}

static void
measured(void *arg)
{
	struct prepared_process *process = arg;
	AUTO_FREE char *fault = process->state == MEASURED ? find_fault(process) : NULL;
	if (fault) {
		fail(process, fault);
	} else if (process->state == MEASURED) {
		process->state = WAITING;
		process->place->failures = 0;
		(void)uv_timer_start(&process->timer, on_age, PREPARED_AGE_MS, 0);
		wake(process);
	}
	release(process);
}

static void
take_ready(struct prepared_process *process)
{
	struct warm *warm = process->place->warm;
	process->pid = find_opener(process);
	if (process->pid > 0)
		(void)warm_memory_of(process->pid, &process->bytes);
	uint64_t bytes = prepared_bytes(warm);
	for (const struct warm_process *other = warm->list; other; other = other->next)
		bytes += other->state == READY_TO_COPY ? other->bytes : 0;
	if (bytes > warm->max_bytes) {
		fail(process, "with it the warm processes would exceed `warm: memory` of exec.yml");
		return;
	}
	process->state = MEASURED;
	process->handles++;
	work_start(&process->work, warm->setup.loop, work_measure, measured, process);
}

static void
on_control(uv_poll_t *poll, int status, int events)
{
	struct prepared_process *process = poll->data;
	struct kettle_error error = {0};
	(void)status;
	(void)events;
	int rc = process->state == GONE ? 0 : sandbox_look_prepared(process->sandbox, &error);
	if (rc < 0)
		fail(process, error.message);
	else if (rc > 0 && process->state == OPENING)
		take_ready(process);
}

static void
on_late(uv_timer_t *timer)
{
	struct prepared_process *process = timer->data;
	AUTO_FREE char *why = xasprintf(
		"it took longer than %u s (`warm: start_seconds` of exec.yml)", process->place->warm->start_ms / 1000);
	fail(process, why);
}

/* ---- the start ---- */

static void
prepare(struct prepared_place *place, const struct request *request)
{
	struct warm *warm = place->warm;
	struct sandbox *sandbox = NULL;
	struct sandbox_group *group = NULL;
	struct sandbox_config config = request->config;
	struct kettle_error error = {0};
	int rc =
		request->group_bytes > 0 ? sandbox_group_new(warm->setup.machine, request->group_bytes, &group, &error) : 0;
	config.group = group;
	config.init_cores = warm->setup.build->list;
	config.init_cores_count = warm->setup.build->count;
	if (rc == 0)
		rc = sandbox_prepare(&config, &sandbox, &error);
	if (rc != 0) {
		back_off(place, error.message);
		sandbox_group_free(group);
		return;
	}
	struct prepared_process *process = xcalloc(1, sizeof(*process));
	*process = (struct prepared_process){.place = place,
		.from = request->from,
		.key = xstrdup(request->key),
		.sandbox = sandbox,
		.group = group,
		.limits = config.limits,
		.group_bytes = request->group_bytes,
		.handles = 2};
	strings_add_all(&process->environment, &request->environment);
	process->control.data = process->timer.data = process;
	LIST_APPEND(place->list, process);
	(void)uv_poll_init(warm->setup.loop, &process->control, sandbox_control_fd(sandbox));
	(void)uv_timer_init(warm->setup.loop, &process->timer);
	(void)uv_poll_start(&process->control, UV_READABLE, on_control);
	(void)uv_timer_start(&process->timer, on_late, warm->start_ms, 0);
}

/* The number of requests, or of processes, for a key. */
static unsigned
count_requests(const struct prepared_place *place, const struct request *like)
{
	unsigned count = 0;
	for (size_t i = 0; i < PREPARED_MAX; i++)
		count += is_alike(place->requests[i], like->from, like->key);
	return count;
}

static unsigned
count_processes(const struct prepared_place *place, const struct request *like)
{
	unsigned count = 0;
	for (const struct prepared_process *process = place->list; process; process = process->next)
		count += process->state != GONE && process->from == like->from && strcmp(process->key, like->key) == 0;
	return count;
}

static unsigned
count_all(const struct warm *warm)
{
	unsigned count = 0;
	for (const struct prepared_place *place = warm->places; place; place = place->next)
		for (const struct prepared_process *process = place->list; process; process = process->next)
			count += process->state != GONE;
	return count;
}

static bool
can_begin(const struct warm_process *from)
{
	return !from || (from->state == READY_TO_COPY && sandbox_warm_works(from->sandbox));
}

static void
fill_place(struct prepared_place *place)
{
	bool used = is_shared(&place->gpus, &place->warm->gpus_used);
	if (time_monotonic_ns() < place->until_ns || (place->warm->prepare == WARM_PREPARE_IDLE && used))
		return;
	/* Processes that no request needs any more make room for others. */
	for (struct prepared_process *process = place->list, *next; process; process = next) {
		const struct request like = {.from = process->from, .key = process->key};
		next = process->next;
		if (process->state != GONE && count_processes(place, &like) > count_requests(place, &like))
			end_process(process);
	}
	for (size_t i = 0; i < PREPARED_MAX; i++) {
		const struct request *request = place->requests[i];
		if (request && can_begin(request->from) && count_processes(place, request) < count_requests(place, request))
			prepare(place, request);
	}
}

static void
on_watch(uv_timer_t *timer)
{
	struct warm *warm = timer->data;
	if (devlock_others_hold(warm->setup.locks))
		prepared_forget(warm, NULL);
	if (count_all(warm) == 0)
		(void)uv_timer_stop(timer);
}

void
prepared_fill(struct warm *warm)
{
	if (warm->closing || !warm->places || devlock_others_hold(warm->setup.locks))
		return;
	for (struct prepared_place *place = warm->places; place; place = place->next)
		fill_place(place);
	if (count_all(warm) > 0)
		(void)uv_timer_start(&warm->prepared_watch, on_watch, PREPARED_WATCH_MS, PREPARED_WATCH_MS);
}

/* ---- runs ---- */

static bool
is_possible(const struct prepared_origin *origin)
{
	return origin->process || origin->environment->count > 0;
}

/* Whether a process began as this run does. For programs the environment counts as well. */
static bool
is_from(const struct prepared_process *process, const struct prepared_origin *origin)
{
	return process->from == origin->process && (process->from || is_same(&process->environment, origin->environment));
}

/* Whether its limits are those of a run; the rest of the key is not known before the run is launched. */
static bool
has_limits(const struct prepared_process *process, const struct sandbox_limits *limits, uint64_t group_bytes)
{
	const struct sandbox_limits *own = &process->limits;
	return process->group_bytes == group_bytes && own->memory == limits->memory && own->cpu_ns == limits->cpu_ns &&
		   own->processes == limits->processes && own->disk == limits->disk && own->shm == limits->shm;
}

bool
prepared_await(struct warm *warm, const struct prepared_origin *origin, const struct strings *gpus,
	const struct sandbox_limits *limits, uint64_t group_bytes, struct prepared_waiter *wait)
{
	struct prepared_place *place = is_possible(origin) ? find_place(warm, gpus) : NULL;
	for (struct prepared_process *one = place ? place->list : NULL; one; one = one->next)
		if ((one->state == OPENING || one->state == MEASURED) && is_from(one, origin) && !one->wait &&
			has_limits(one, limits, group_bytes)) {
			one->wait = wait;
			wait->of = one;
			return true;
		}
	return false;
}

void
prepared_cancel(struct prepared_waiter *wait)
{
	if (wait->of)
		wait->of->wait = NULL;
	if (wait->woken)
		LIST_REMOVE(wait->woken->woken, wait);
	wait->of = NULL;
	wait->woken = NULL;
}

/* Whether the machine has less memory left than a run may use. */
static bool
is_short_of(uint64_t memory)
{
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	unsigned long long kib;
	if (file_read("/proc/meminfo", MEMINFO_MAX, &text, &size, NULL) != 0)
		return false;
	const char *line = strstr(text, "MemAvailable:");
	return line && sscanf(line, "MemAvailable: %llu", &kib) == 1 && kib * 1024 < memory;
}

/*
 * With `idle` none may open a GPU beside a run, and none for other runs may hold its memory. place: of the run; NULL: it
 * is of a kind for which nothing is prepared.
 */
static void
clear_way(struct warm *warm, const struct strings *gpus, const struct prepared_place *place)
{
	for (struct prepared_place *other = warm->places; other; other = other->next)
		for (struct prepared_process *one = is_shared(&other->gpus, gpus) ? other->list : NULL, *next; one;
			 one = next) {
			const struct request like = {.from = one->from, .key = one->key};
			next = one->next;
			if (one->state != GONE && (other != place || one->state != WAITING || count_requests(other, &like) == 0))
				end_process(one);
		}
}

struct sandbox *
prepared_take(struct warm *warm, const struct prepared_origin *origin, const struct strings *gpus,
	const struct sandbox_config *config, struct sandbox_group **group)
{
	struct prepared_place *place = is_possible(origin) ? make_place(warm, gpus) : NULL;
	struct sandbox *found = NULL;
	if (!warm || warm->prepare == WARM_PREPARE_OFF)
		return NULL;
	strings_add_all(&warm->gpus_used, gpus);
	if (!place) {
		if (warm->prepare == WARM_PREPARE_IDLE)
			clear_way(warm, gpus, NULL);
		return NULL;
	}
	/* Made before the config's group is replaced. */
	struct request *request = make_request(origin, make_key(origin, config), config);
	for (struct prepared_process *one = place->list; one && !found; one = one->next)
		if (one->state == WAITING && is_from(one, origin) && strcmp(one->key, request->key) == 0) {
			found = STEAL(one->sandbox);
			if (one->group) {
				sandbox_group_free(*group);
				*group = STEAL(one->group);
			}
			close_process(one);
		}
	if (is_short_of(config->limits.memory))
		(void)prepared_give_up(warm);
	remember(place, request);
	if (warm->prepare == WARM_PREPARE_IDLE)
		clear_way(warm, gpus, place);
	return found;
}

void
prepared_end_use(struct warm *warm, const struct strings *gpus)
{
	if (!warm || warm->prepare == WARM_PREPARE_OFF)
		return;
	for (size_t i = 0; i < gpus->count; i++)
		strings_remove(&warm->gpus_used, gpus->list[i]);
	prepared_fill(warm);
}

json_t *
prepared_pids(const struct warm *warm, const char *gpu)
{
	json_t *pids = json_array();
	for (const struct prepared_place *place = warm ? warm->places : NULL; place; place = place->next)
		for (const struct prepared_process *one = strings_have(&place->gpus, gpu) ? place->list : NULL; one;
			 one = one->next)
			if (one->state != GONE)
				json_array_append_new(pids, json_integer(one->state == WAITING ? one->listed : find_opener(one)));
	return pids;
}

json_t *
prepared_all(const struct warm *warm)
{
	json_t *all = json_object();
	for (const struct prepared_place *place = warm ? warm->places : NULL; place; place = place->next)
		for (size_t i = 0; i < place->gpus.count; i++)
			json_object_set_new(all, place->gpus.list[i], prepared_pids(warm, place->gpus.list[i]));
	return all;
}

/* ---- the pool ---- */

void
prepared_forget(struct warm *warm, const struct warm_process *process)
{
	for (struct prepared_place *place = warm->places; place; place = place->next) {
		for (size_t i = 0; i < PREPARED_MAX; i++)
			if (place->requests[i] && (!process || place->requests[i]->from == process))
				free_request(STEAL(place->requests[i]));
		for (struct prepared_process *one = place->list, *next; one; one = next) {
			next = one->next;
			if (!process || one->from == process)
				end_process(one);
		}
	}
}

bool
prepared_give_up(struct warm *warm)
{
	for (struct prepared_place *place = warm->places; place; place = place->next)
		for (struct prepared_process *one = place->list; one; one = one->next)
			if (one->state != GONE) {
				forget(one);
				end_process(one);
				return true;
			}
	return false;
}

uint64_t
prepared_bytes(const struct warm *warm)
{
	uint64_t bytes = 0;
	for (const struct prepared_place *place = warm->places; place; place = place->next)
		for (const struct prepared_process *one = place->list; one; one = one->next)
			bytes += one->state != GONE ? one->bytes : 0;
	return bytes;
}

unsigned
prepared_count(const struct warm *warm, const struct warm_process *process)
{
	unsigned count = 0;
	for (const struct prepared_place *place = warm->places; place; place = place->next)
		for (const struct prepared_process *one = place->list; one; one = one->next)
			count += one->state == WAITING && one->from == process;
	return count;
}

json_t *
prepared_programs(const struct warm *warm)
{
	uint64_t bytes = 0;
	for (const struct prepared_place *place = warm->places; place; place = place->next)
		for (const struct prepared_process *one = place->list; one; one = one->next)
			bytes += one->state == WAITING && !one->from ? one->bytes : 0;
	return json_pack("{s:s, s:[], s:[], s:[], s:s, s:I, s:i, s:i, s:i}", "tool", "kettle-host", "modules", "recipes",
		"absent", "state", "ready", "memory", (json_int_t)bytes, "disk", 0, "runs", 0, "prepared",
		(int)prepared_count(warm, NULL));
}

void
prepared_open(struct warm *warm)
{
	const struct execconfig *config = warm->setup.config;
	const json_t *gpu = config ? json_object_get(config->root, "gpu") : NULL;
	const json_t *count = json_object_get(gpu, "prepared");
	warm->prepare = member_is(gpu, "prepare", "idle")     ? WARM_PREPARE_IDLE
					: member_is(gpu, "prepare", "always") ? WARM_PREPARE_ALWAYS
														  : WARM_PREPARE_OFF;
	warm->prepare_count = count ? (unsigned)json_integer_value(count) : PREPARED_DEFAULT;
	(void)uv_timer_init(warm->setup.loop, &warm->prepared_watch);
	(void)uv_timer_init(warm->setup.loop, &warm->wake);
	warm->prepared_watch.data = warm->wake.data = warm;
}

void
prepared_close(struct warm *warm)
{
	prepared_forget(warm, NULL);
	uv_close((uv_handle_t *)&warm->prepared_watch, NULL);
	uv_close((uv_handle_t *)&warm->wake, NULL);
}

void
prepared_free(struct warm *warm)
{
	strings_free(&warm->gpus_used);
	while (warm->places) {
		struct prepared_place *place = warm->places;
		warm->places = place->next;
		for (size_t i = 0; i < PREPARED_MAX; i++)
			free_request(place->requests[i]);
		strings_free(&place->gpus);
		free(place);
	}
}
