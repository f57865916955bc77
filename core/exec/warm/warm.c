/* SPDX-License-Identifier: MIT */
/* Warm processes: interpreters that have imported what steps need, and that steps begin from as copies. */
/*
 * Theory of operation. A warm process is the interpreter itself with an extension that serves copies to the sandbox
 * library (core/sandbox/zygote.h). The step that first needs one starts it and waits: importing takes as long as in the
 * step, the step holds its device, so no measurement is disturbed, and every run of a board begins in the same way.
 * Processes are keyed by everything by which a script could tell them apart: interpreter, modules, environment, cores.
 * One that does not match the disk any more, has been copied often, has grown, or has died is ended, and the next step
 * that needs it starts another. The disk is checked on a thread of libuv's pool while the step waits. A failed start is
 * remembered and reported once; its steps begin cold. Copies are children of this process and outlive the warm one, so it
 * may be ended at any time.
 *
 * The process imports on the cores of its device, because libraries count those when they are loaded, and moves off them
 * afterwards. Its output is a pipe, as a step's is; what it prints while it imports would be missing in the copies'
 * output, so one that prints does not serve.
 *
 * Where kettle-exec is root, it imports as a user that owns nothing, in mounts of its own that it cannot write to and
 * without a network (plugins/languages/py/confine.c); where that cannot be, and for an ordinary user, with kettle-exec's
 * rights. HOME of a sandbox is a path below /tmp, where anybody on the machine could put code or settings that imports
 * read; so it imports with an empty folder of its own as HOME, and without a user's packages. Afterwards it says that of
 * the sandbox, as a fresh interpreter would.
 *
 * Before it serves it writes its memory to a file (image.h). Sandboxes of its copies show that file, and in the place of
 * the interpreter a program that begins with it: so all that a run starts under the interpreter's name begins warm. The
 * interpreter itself, for whatever that program cannot do, is shown at another place, within its whole installation,
 * since it may look for its libraries beside itself.
 */
#include <config.h>

#include "exec/warm/warm_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/installed.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "exec/tools/tools.h"
#include "exec/util/list.h"
#include "exec/util/work.h"
#include "exec/warm/image.h"

#define READY "ready\n"
#define READY_MAX (256u << 10)
#define PRINTED_MAX 65536        /* bytes of its output that are kept */
#define PATHS_MAX 4096           /* whose change is looked for */
#define GROWTH_BYTES (64u << 20) /* and a half of what it had */

/* ---- the pool ---- */

/* A file of this installation; NULL: it is not there. */
static char *
find_part(const char *in_build, const char *configured)
{
	AUTO_FREE char *path = installed_path(in_build, configured);
	return path && access(path, R_OK) == 0 ? STEAL(path) : NULL;
}

struct warm *
warm_open(const struct warm_setup *setup)
{
	const json_t *max = json_object_get(setup->section, "processes");
	const json_t *copies = json_object_get(setup->section, "copies");
	if (!KETTLE_HAVE_WARM || (max && json_integer_value(max) == 0))
		return NULL;
	image_remove_stale();
	struct warm *warm = xcalloc(1, sizeof(*warm));
	warm->setup = *setup;
	warm->module = find_part(INSTALLED_WARM);
	warm->stand_in = find_part(INSTALLED_STAND_IN);
	warm->max = max ? (unsigned)json_integer_value(max) : WARM_PROCESSES;
	warm->max_copies = copies ? (unsigned)json_integer_value(copies) : WARM_FORKS;
	(void)uv_timer_init(setup->loop, &warm->later);
	warm->later.data = warm;
	return warm;
}

static void
free_process(struct warm_process *process)
{
	warm_remove_private(process);
	LIST_REMOVE(process->pool->list, process);
	json_decref(process->paths);
	free(process->lines);
	image_remove(&process->image);
	free(process->real);
	free(process->home);
	buf_free(&process->printed);
	free(process->key);
	free(process);
}

void
warm_free(struct warm *warm)
{
	if (!warm)
		return;
	while (warm->list)
		free_process(warm->list);
	free(warm->module);
	free(warm->stand_in);
	strings_free(&warm->entitled);
	free(warm);
}

/* ---- the end of one ---- */

static void
warm_release(struct warm_process *process)
{
	if (--process->handles > 0)
		return;
	close(STEAL_FD(process->socket_fd));
	close(STEAL_FD(process->output_fd));
	if (process->report_fd >= 0)
		close(STEAL_FD(process->report_fd));
	if (process->state == ENDING)
		free_process(process);
}

static void
on_closed(uv_handle_t *handle)
{
	warm_release(handle->data);
}

/* The child has ended, and with it all there is to follow. */
static void
close_handles(struct warm_process *process)
{
	uv_handle_t *handles[] = {(uv_handle_t *)&process->child, (uv_handle_t *)&process->socket,
		(uv_handle_t *)&process->output, (uv_handle_t *)&process->patience};
	for (size_t i = 0; i < ARRAY_SIZE(handles); i++)
		if (handles[i]->type != UV_UNKNOWN_HANDLE)
			uv_close(handles[i], on_closed);
		else
			process->handles--;
}

/*
 * Makes the copy that the next step begins as, if there is none. False: the process is of no use any more. Rather than to
 * go on in a fresh interpreter the step then waits for another process, so that all runs of a board begin in the same way.
 */
static bool
is_copied(const struct warm_process *process)
{
	sandbox_warm_prepare(process->sandbox, process->pool->setup.machine);
	return sandbox_warm_works(process->sandbox);
}

/* Resumes the steps that wait; they begin from `found`; NULL: they begin cold, or with `again` search again. */
static void
warm_tell(struct warm_process *process, struct warm_process *found, bool again)
{
	struct warm_waiter *wait;
	while ((wait = process->waits)) {
		process->waits = wait->next;
		wait->of = NULL;
		wait->process = found && is_copied(found) ? found : NULL;
		wait->again = again || (found && !wait->process);
		wait->ended(wait->arg);
	}
}

/* Ends it: a later step starts another. */
static void
warm_end(struct warm_process *process, enum state state)
{
	process->state = state;
	sandbox_warm_free(STEAL(process->sandbox));
	image_remove(&process->image);
	if (process->running)
		(void)uv_process_kill(&process->child, SIGKILL);
	else if (process->handles == 0 && state == ENDING)
		free_process(process);
}

void
warm_close(struct warm *warm)
{
	if (!warm || warm->closing)
		return;
	warm->closing = true;
	uv_close((uv_handle_t *)&warm->later, NULL);
	for (struct warm_process *process = warm->list, *next; process; process = next) {
		next = process->next;
		if (process->state != ENDING)
			warm_end(process, ENDING);
	}
}

/* The last line with something in it. */
static const char *
last_line(struct buf *printed)
{
	while (printed->len > 0 && (printed->data[printed->len - 1] == '\n' || printed->data[printed->len - 1] == ' '))
		printed->data[--printed->len] = '\0';
	const char *line = printed->len ? strrchr(printed->data, '\n') : NULL;
	return line ? line + 1 : printed->len ? printed->data : "it printed nothing";
}

static void
warm_fail(struct warm_process *process, const char *why)
{
	AUTO_BUF struct buf text = {0};
	AUTO_BUF struct buf clean = {0};
	if (process->state != STARTING)
		return;
	process->failed_ns = time_monotonic_ns();
	if (!process->warned)
		buf_printf(&text, "A warm process could not be made, so its steps begin cold: %s: %.500s", why,
			last_line(&process->printed));
	if (text.len && utf8_sanitize(text.data, text.len, &clean) < text.len)
		json_lines_json(process->pool->setup.out, json_pack("{s:s, s:s}", "event", "error", "error", clean.data));
	process->warned = true;
	warm_end(process, FAILED);
	warm_tell(process, NULL, false);
}

static void
take_output(struct warm_process *process)
{
	char chunk[4096];
	ssize_t n;
	while ((n = read(process->output_fd, chunk, sizeof(chunk))) > 0)
		if (process->printed.len < PRINTED_MAX)
			buf_add(&process->printed, chunk, (size_t)n);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		(void)uv_poll_stop(&process->output);
}

static void
on_output(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	take_output(poll->data);
}

static void
out_of_patience(uv_timer_t *timer)
{
	warm_fail(timer->data, "it imported for longer than a minute");
}

static uint64_t
memory_of(pid_t pid)
{
	char path[64];
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	(void)snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	AUTO_FILE FILE *file = fopen(path, "re");
	if (!file || getline(&text, &size, file) <= 0)
		return 0;
	const char *resident = strchr(text, ' ');
	return resident ? strtoull(resident, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* What changes when a file or folder does; 0: it is not there. */
static json_int_t
stamp_of(const char *path)
{
	struct stat st;
	if (stat(path, &st) != 0)
		return 0;
	return ((json_int_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec) ^ (json_int_t)(st.st_ino << 20);
}

/* ---- looking at the disk ---- */

static void
work_stamp(void *arg)
{
	struct warm_process *process = arg;
	char *rest = process->lines;
	process->paths = json_array();
	for (const char *path; (path = strsep(&rest, "\n"));)
		if (*path && json_array_size(process->paths) < PATHS_MAX)
			json_array_append_new(process->paths, json_pack("[s, I]", path, stamp_of(path)));
	process->memory = memory_of(process->child.pid);
	warm_remove_private(process);
}

static void
work_remove(void *arg)
{
	warm_remove_private(arg);
}

static void
remove_done(void *arg)
{
	struct warm_process *process = arg;
	process->looking = false;
	warm_release(process);
}

static void
work_look(void *arg)
{
	struct warm_process *process = arg;
	const json_t *entry;
	size_t i;
	json_array_foreach(process->paths, i, entry)
		if (stamp_of(json_string_value(json_array_get(entry, 0))) != json_integer_value(json_array_get(entry, 1)))
			process->changed = true;
	uint64_t memory = memory_of(process->child.pid);
	if (memory == 0 || memory > process->memory + process->memory / 2 + GROWTH_BYTES)
		process->changed = true;
}

static void
look_done(void *arg)
{
	struct warm_process *process = arg;
	process->looking = false;
	process->looked_ns = time_monotonic_ns();
	if (process->state == READY_TO_COPY && process->changed)
		warm_end(process, ENDING);
	bool found = process->state == READY_TO_COPY;
	warm_tell(process, found ? process : NULL, !found);
	warm_release(process);
}

static void
warm_look(struct warm_process *process, void (*run)(void *process), void (*done)(void *process))
{
	process->changed = false;
	process->looking = true;
	process->handles++;
	work_start(&process->work, process->pool->setup.loop, run, done, process);
}

/* Whether it has ended since it could not give up this process's rights; then its steps wait for one that keeps them. */
static bool
is_refused(struct warm_process *process)
{
	char byte;
	if (process->state != STARTING || process->report_fd < 0 || read(process->report_fd, &byte, 1) != 1)
		return false;
	json_lines_json(
		process->pool->setup.out, json_pack("{s:s, s:s}", "event", "error", "error",
									  "An interpreter imports with the rights of kettle-exec: this machine lets no "
									  "ordinary user make namespaces, or "
									  "the interpreter or its PYTHONPATH is below a folder that is closed to others."));
	strings_add(&process->pool->entitled, process->key);
	warm_end(process, ENDING);
	warm_tell(process, NULL, true);
	return true;
}

static void
on_ended(uv_process_t *child, int64_t status, int signal)
{
	struct warm_process *process = child->data;
	(void)status;
	(void)signal;
	process->running = false;
	take_output(process);
	if (!is_refused(process))
		warm_fail(process, "the interpreter ended while it imported");
	if (process->state == READY_TO_COPY)
		warm_end(process, ENDING);
	/* What its imports wrote may be much. */
	if (!process->looking && process->private)
		warm_look(process, work_remove, remove_done);
	close_handles(process);
}

/* ---- ready ---- */

/* From now on it must not be where something is measured. */
static void
move(const struct warm_process *process)
{
	cpu_set_t set;
	cores_set(process->pool->setup.build, &set);
	(void)sched_setaffinity(process->child.pid, sizeof(set), &set);
}

static void
stamp_done(void *arg)
{
	struct warm_process *process = arg;
	process->looking = false;
	process->looked_ns = time_monotonic_ns();
	free(STEAL(process->lines));
	if (process->state == STARTING) {
		process->sandbox = sandbox_warm_new(process->socket_fd);
		move(process);
		if (process->sandbox && is_copied(process)) {
			process->state = READY_TO_COPY;
			warm_tell(process, process, false);
		} else {
			warm_fail(process, "it could not be copied");
		}
	}
	warm_release(process);
}

static void
on_warm_message(uv_poll_t *poll, int status, int events)
{
	struct warm_process *process = poll->data;
	AUTO_FREE char *text = xcalloc(1, READY_MAX + 1);
	(void)status;
	(void)events;
	ssize_t size = recv(process->socket_fd, text, READY_MAX, MSG_DONTWAIT);
	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* From here on the socket is the sandbox library's; its end shows as the end of the child. */
	(void)uv_poll_stop(poll);
	if (size <= 0 || process->state != STARTING)
		return;
	(void)uv_timer_stop(&process->patience);
	take_output(process);
	if (strncmp(text, READY, strlen(READY)) != 0 || process->printed.len > 0) {
		warm_fail(process, "what it imports prints, which its copies would not");
		return;
	}
	process->lines = xstrdup(text + strlen(READY));
	warm_look(process, work_stamp, stamp_done);
}

/* ---- the start ---- */

/* Follows a child that was started, or that was not: then only the handle of it is closed. */
static void
follow(struct warm_process *process, bool started)
{
	uv_loop_t *loop = process->pool->setup.loop;
	process->handles = 4;
	(void)uv_timer_init(loop, &process->patience);
	(void)uv_poll_init(loop, &process->socket, process->socket_fd);
	(void)uv_poll_init(loop, &process->output, process->output_fd);
	process->child.data = process->patience.data = process->socket.data = process->output.data = process;
	process->running = started;
	if (!started) {
		warm_fail(process, "the interpreter could not be started");
		close_handles(process);
		return;
	}
	uv_update_time(loop);
	(void)uv_timer_start(&process->patience, out_of_patience, WARM_START_MS, 0);
	(void)uv_poll_start(&process->socket, UV_READABLE, on_warm_message);
	(void)uv_poll_start(&process->output, UV_READABLE, on_output);
}

/* Starts the interpreter of an entry of the list. */
static void
warm_start(struct warm_process *process, const struct warm_key *parts)
{
	int pair[2] = {-1, -1}, ends[2] = {-1, -1};
	struct kettle_error error = {0};
	process->state = STARTING;
	process->printed.len = 0;
	memset(&process->child, 0, sizeof(process->child));
	process->copies = 0;
	json_decref(STEAL(process->paths));
	if (warm_make_private(process, parts, &error) != 0) {
		buf_printf(&process->printed, "%s", error.message);
		warm_fail(process, "its interpreter cannot import safely");
		return;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0 || pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
		if (pair[0] >= 0) {
			close(pair[0]);
			close(pair[1]);
		}
		warm_fail(process, "no descriptors are left");
		return;
	}
	/* The interpreter's own end is as a step's: one that waits. */
	(void)fcntl(ends[1], F_SETFL, O_WRONLY);
	process->socket_fd = pair[0];
	process->output_fd = ends[0];
	warm_prepare_image(process, parts);
	bool started = warm_spawn(process, parts, pair[1], ends[1], on_ended) == 0;
	close(pair[1]);
	close(ends[1]);
	follow(process, started);
}

/* ---- finding one for a step ---- */

static char *
make_key(const struct warm_key *parts)
{
	AUTO_JSON json_t *cores = json_array();
	for (size_t i = 0; i < parts->cores->count; i++)
		json_array_append_new(cores, json_integer(parts->cores->list[i]));
	AUTO_JSON json_t *key = json_pack("{s:s, s:O, s:o, s:O}", "tool", parts->tool->path, "environment",
		parts->environment, "modules", strings_json(parts->modules), "cores", cores);
	return json_dumps(key, JSON_COMPACT | JSON_SORT_KEYS);
}

static bool
fits(const struct warm_process *process)
{
	return sandbox_warm_works(process->sandbox) && process->copies < process->pool->max_copies &&
		   !image_is_lost(&process->image);
}

/* Whether a check of the disk is due or under way; then the step waits for its end. */
static bool
must_look(struct warm_process *process, uint64_t now)
{
	if (!process->looking && now - process->looked_ns >= WARM_LOOK_MS * UINT64_C(1000000))
		warm_look(process, work_look, look_done);
	return process->looking;
}

/* Whether there is room for one more: the one that was not used for longest goes. */
static bool
make_room(struct warm *warm)
{
	struct warm_process *oldest = NULL;
	unsigned count = 0;
	for (struct warm_process *process = warm->list; process; process = process->next) {
		bool idle = (process->state == READY_TO_COPY && !process->waits) || process->state == FAILED;
		count += process->state != ENDING;
		if (idle && (!oldest || process->used_ns < oldest->used_ns))
			oldest = process;
	}
	if (count < warm->max)
		return true;
	if (oldest)
		warm_end(oldest, ENDING);
	return oldest != NULL;
}

static struct warm_process *
warm_find(struct warm *warm, const char *key)
{
	for (struct warm_process *process = warm->list; process; process = process->next)
		if (process->state != ENDING && strcmp(process->key, key) == 0)
			return process;
	return NULL;
}

/* A new entry in the list, or NULL. Takes the key. */
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
	process->socket_fd = process->output_fd = process->report_fd = -1;
	process->next = warm->list;
	warm->list = process;
	return process;
}

/* Reports once what this installation lacks. */
static void
complain(struct warm *warm)
{
	bool lacks_stand_in = KETTLE_HAVE_STAND_IN && !warm->stand_in;
	if (warm->complained || (warm->module && !lacks_stand_in))
		return;
	warm->complained = true;
	json_lines_json(
		warm->setup.out, json_pack("{s:s, s:s}", "event", "error", "error",
							 warm->module ? "What runs in Python start begins cold, since this installation of Kettle "
											"has no kettle/warm/python."
										  : "Runs in Python begin cold, since this installation of Kettle has no "
											"kettle/warm/python.so."));
}

bool
warm_request(struct warm *warm, const struct warm_key *parts, struct warm_waiter *wait)
{
	AUTO_FREE char *key = warm && !warm->closing && warm->module ? make_key(parts) : NULL;
	if (warm)
		complain(warm);
	wait->process = wait->of = NULL;
	wait->again = false;
	if (!key)
		return false;
	struct warm_process *process = warm_find(warm, key);
	uint64_t now = time_monotonic_ns();
	bool idle = process && process->state == READY_TO_COPY && !process->waits;
	if (idle && (!fits(process) || !is_copied(process))) {
		warm_end(process, ENDING);
		process = NULL;
	}
	bool failed = process && process->state == FAILED;
	if (failed && (process->handles > 0 || now - process->failed_ns < WARM_RETRY_MS * UINT64_C(1000000)))
		return false;
	if (!process && !(process = warm_add(warm, STEAL(key))))
		return false;
	process->used_ns = now;
	if (process->state == FAILED)
		warm_start(process, parts);
	bool waits = process->state == STARTING || (process->state == READY_TO_COPY && must_look(process, now));
	if (!waits && process->state == READY_TO_COPY)
		wait->process = process;
	if (!waits)
		return false;
	wait->of = process;
	wait->next = process->waits;
	process->waits = wait;
	return true;
}

void
warm_cancel_request(struct warm_waiter *wait)
{
	if (!wait->of)
		return;
	LIST_REMOVE(wait->of->waits, wait);
	wait->of = NULL;
}

size_t
warm_binds(const struct warm_process *process, const struct strings *folders, struct sandbox_bind binds[WARM_BINDS])
{
	struct stat st;
	/* Only where the sandbox shows the installation at all. */
	if (!process || !process->image.path || fstat(process->image.fd, &st) != 0 || st.st_size == 0 ||
		!image_is_visible(process->home, folders))
		return 0;
	/* It may go before the sandbox is made, with the process; then what the run starts begins cold. */
	binds[0] = (struct sandbox_bind){.source = process->image.path, .target = IMAGE_SHOWN, .optional = true};
	binds[1] = (struct sandbox_bind){.source = process->home, .target = IMAGE_HOME};
	binds[2] = (struct sandbox_bind){.source = process->pool->stand_in, .target = process->real};
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
	/*
	 * Off the device it disturbs nothing; else the end of the step is the time for it. Not at once, since it keeps the loop
	 * from what a short run says.
	 */
	if (!process->pool->closing)
		(void)uv_timer_start(&process->pool->later, prepare_later, WARM_LATER_MS, 0);
}

void
warm_prepare(struct warm *warm)
{
	struct warm_process *latest = NULL;
	for (struct warm_process *process = warm ? warm->list : NULL; process; process = process->next)
		if (process->state == READY_TO_COPY && (!latest || process->used_ns > latest->used_ns))
			latest = process;
	if (latest && sandbox_warm_works(latest->sandbox))
		sandbox_warm_prepare(latest->sandbox, warm->setup.machine);
}
