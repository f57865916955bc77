/* SPDX-License-Identifier: MIT */
/* A warm process, from its start to its end. */
#include <config.h>

#include "exec/warm/warm_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/base.h"
#include "base/list.h"
#include "base/text.h"

#define READY "ready\n"
#define NEXT "next\n"     /* the next recipe begins, or the work after the last one */
#define ABSENT "absent\n" /* the same, and nothing is installed for the recipe before */
#define READY_MAX (256u << 10)
#define PRINTED_MAX 65536 /* bytes of its output that are kept */

/* ---- the end ---- */

void
warm_free_process(struct warm_process *process)
{
	LIST_REMOVE(process->pool->list, process);
	for (struct warm_waiter *wait = process->waits; wait; wait = wait->next)
		wait->of = NULL;
	warm_layer_release(process->layer);
	warm_order_free(&process->order);
	json_decref(process->paths);
	free_all(process->lines, process->trouble, process->private);
	image_remove(&process->image);
	free(process->home);
	buf_free(&process->printed);
	free_all(process->key, process);
}

static void
warm_release(struct warm_process *process)
{
	if (--process->handles > 0)
		return;
	close(STEAL_FD(process->socket_fd));
	close(STEAL_FD(process->output_fd));
	if (process->report_fd >= 0)
		close(STEAL_FD(process->report_fd));
	if (process->cache_fd >= 0)
		close(STEAL_FD(process->cache_fd));
	if (process->state == ENDING)
		warm_free_process(process);
}

static void
on_closed(uv_handle_t *handle)
{
	warm_release(handle->data);
}

/* Closes the handles after the child has ended. */
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

bool
warm_is_copied(const struct warm_process *process)
{
	sandbox_warm_prepare(process->sandbox, process->pool->setup.machine);
	return sandbox_warm_works(process->sandbox);
}

/* The last one that waits; NULL: the others, if any, only hold the process. */
static struct warm_waiter *
next_waiter(const struct warm_process *process)
{
	struct warm_waiter *wait = process->waits;
	while (wait && wait->holds)
		wait = wait->next;
	return wait;
}

/* Resumes the waiting steps. They begin from `found`; NULL: they begin cold, or search again if `again`. */
static void
warm_tell(struct warm_process *process, struct warm_process *found, bool again)
{
	struct warm_waiter *wait;
	while ((wait = next_waiter(process))) {
		LIST_REMOVE(process->waits, wait);
		wait->of = NULL;
		wait->process = found && warm_is_copied(found) ? found : NULL;
		wait->again = again || (found && !wait->process);
		wait->ended(wait->arg);
	}
}

/* A copy may end slowly, so a thread of work waits for it. */
struct retired {
	struct work work;
	struct sandbox_warm *sandbox;
};

static void
work_retire(void *arg)
{
	struct retired *retired = arg;
	sandbox_warm_free(retired->sandbox);
}

static void
retire(uv_loop_t *loop, struct sandbox_warm *sandbox_take)
{
	if (!sandbox_take)
		return;
	struct retired *retired = xcalloc(1, sizeof(*retired));
	retired->sandbox = sandbox_take;
	work_start(&retired->work, loop, work_retire, free, retired);
}

void
warm_end(struct warm_process *process, enum state state)
{
	/* Kills the whole group while it starts, since no member of it is a copy then. */
	pid_t victim = process->state == STARTING ? -process->child.pid : process->child.pid;
	process->state = state;
	process->paused = false;
	prepared_forget(process->pool, process);
	retire(process->pool->setup.loop, STEAL(process->sandbox));
	image_remove(&process->image);
	if (process->running)
		(void)kill(victim, SIGKILL);
	else if (process->handles == 0 && state == ENDING)
		warm_free_process(process);
}

/* The last line that is not empty. */
static const char *
last_line(struct buf *printed)
{
	while (printed->len > 0 && (printed->data[printed->len - 1] == '\n' || printed->data[printed->len - 1] == ' '))
		printed->data[--printed->len] = '\0';
	const char *line = printed->len ? strrchr(printed->data, '\n') : NULL;
	return line ? line + 1 : printed->len ? printed->data : "it printed nothing";
}

/* The recipe that it follows; NULL: it imports, or has followed all. */
static const char *
current_recipe(const struct warm_process *process)
{
	bool follows = process->begun > 0 && process->begun <= process->order.recipes.count;
	return follows ? process->order.recipes.list[process->begun - 1] : NULL;
}

static void
warm_fail(struct warm_process *process, const char *why)
{
	if (process->state != STARTING)
		return;
	process->failed_ns = time_monotonic_ns();
	bool cooks = process->order.recipes.count > 0;
	const char *recipe = current_recipe(process), *line = last_line(&process->printed);
	AUTO_FREE char *text =
		recipe ? xasprintf("The recipe `%s` of warm processes failed, so steps start without it: %s: %.500s", recipe,
					 why, line)
			   : xasprintf("Could not create a warm process, so its steps start %s: %s: %.500s",
					 cooks ? "without its recipes" : "cold", why, line);
	if (recipe)
		warm_refuse(process, recipe);
	warm_tell_once(process->pool, recipe ? process->order.path : process->key, text);
	warm_end(process, FAILED);
	warm_tell(process, NULL, cooks);
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
	struct warm_process *process = timer->data;
	bool cooks = current_recipe(process) != NULL;
	AUTO_FREE char *why = xasprintf("it took longer than %u s (`warm: %s` of exec.yml)",
		(cooks ? process->patience_ms : process->pool->start_ms) / 1000, cooks ? "recipe_seconds" : "start_seconds");
	warm_fail(process, why);
}

/* ---- checks of the disk ---- */

static void
remove_done(void *arg)
{
	struct warm_process *process = arg;
	process->looking = false;
	warm_release(process);
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

void
warm_check(struct warm_process *process)
{
	warm_look(process, warm_work_snapshot, look_done);
}

/* ---- ready ---- */

/* Moves the process off the cores on which steps are measured. */
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
	if (process->cache_fd >= 0)
		close(STEAL_FD(process->cache_fd));
	if (process->state == STARTING && process->trouble) {
		buf_printf(&process->printed, "%s", process->trouble);
		warm_fail(process, "the code that its recipes compiled cannot be stored");
	} else if (process->state == STARTING && warm_is_too_large(process)) {
		warm_end(process, ENDING);
		warm_tell(process, NULL, false);
	} else if (process->state == STARTING && !warm_make_room_for(process)) {
		buf_printf(&process->printed, "%llu MiB", (unsigned long long)(process->bytes >> 20));
		warm_fail(process, "with it the warm processes would exceed `warm: memory` of exec.yml");
	} else if (process->state == STARTING) {
		process->sandbox = sandbox_warm_new(process->socket_fd);
		move(process);
		if (process->sandbox && warm_is_copied(process)) {
			process->state = READY_TO_COPY;
			warm_tell(process, process, false);
		} else {
			warm_fail(process, "it could not be copied");
		}
	}
	warm_release(process);
}

/* Receives a message, and the folder in which its recipes compiled, if there is one. */
static ssize_t
receive(struct warm_process *process, char *text, size_t size)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov = {text, size};
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof(control.space)};
	ssize_t got = recvmsg(process->socket_fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *header = got > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	if (header && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&process->cache_fd, CMSG_DATA(header), sizeof(int));
	return got;
}

unsigned
warm_recipe_ms(unsigned configured, unsigned imports_ms)
{
	unsigned scaled = imports_ms * WARM_RECIPE_IMPORTS;
	return configured ? configured : scaled > WARM_RECIPE_MS ? scaled : WARM_RECIPE_MS;
}

/* Begins a recipe, which has its own time. The work after the last one has as much time as the imports. */
static void
begin_recipe(struct warm_process *process, bool absent)
{
	size_t count = process->order.recipes.count;
	if (absent && process->begun > 0)
		process->absent |= UINT64_C(1) << (process->begun - 1);
	if (process->begun == 0)
		process->patience_ms = warm_recipe_ms(
			process->pool->recipe_ms, (unsigned)((time_monotonic_ns() - process->launched_ns) / 1000000));
	if (process->begun++ > count) {
		warm_fail(process, "it follows more recipes than it has");
		return;
	}
	(void)uv_timer_start(&process->patience, out_of_patience,
		process->begun <= count ? process->patience_ms : process->pool->start_ms, 0);
	/* It waits for this byte, so that its output can be assigned to recipes. */
	(void)send(process->socket_fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* False: there is no message, or it was the last one. */
static bool
take_message(struct warm_process *process)
{
	AUTO_FREE char *text = xcalloc(1, READY_MAX + 1);
	ssize_t size = receive(process, text, READY_MAX);
	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	bool ready = size > 0 && strncmp(text, READY, strlen(READY)) == 0, absent = strcmp(text, ABSENT) == 0;
	/* From here on the socket belongs to the sandbox library; the child's end shows its end. */
	if (ready || size <= 0 || process->state != STARTING)
		(void)uv_poll_stop(&process->socket);
	if (size <= 0 || process->state != STARTING)
		return false;
	take_output(process);
	if ((!ready && !absent && strcmp(text, NEXT) != 0) || process->printed.len > 0) {
		warm_fail(process, "an import prints text, which its copies would not print");
	} else if (ready) {
		(void)uv_timer_stop(&process->patience);
		process->lines = xstrdup(text + strlen(READY));
		warm_look(process, warm_work_stamp, stamp_done);
	} else {
		begin_recipe(process, absent);
	}
	return !ready && process->state == STARTING;
}

static void
on_warm_message(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	(void)take_message(poll->data);
}

/* ---- a pause ---- */

bool
warm_pause(struct warm_process *process)
{
	/* Imports are short, and before they begin the interpreter would outlive this process. */
	if (process->state != STARTING || !process->running || process->begun == 0)
		return false;
	if (process->paused || process->looking)
		return true;
	process->paused = true;
	process->left_ms = uv_timer_get_due_in(&process->patience);
	(void)uv_timer_stop(&process->patience);
	(void)uv_poll_stop(&process->socket);
	/* Alone: it ends with this process, also while it is stopped, and a compiler that it has started ends by itself. */
	(void)kill(process->child.pid, SIGSTOP);
	return true;
}

void
warm_resume(struct warm_process *process)
{
	if (!process->paused)
		return;
	process->paused = false;
	(void)kill(process->child.pid, SIGCONT);
	(void)uv_timer_start(&process->patience, out_of_patience, process->left_ms, 0);
	(void)uv_poll_start(&process->socket, UV_READABLE, on_warm_message);
}

/* ---- its end ---- */

/*
 * Whether it has ended because it could not give up this process's rights. Its steps then wait for a process that keeps
 * them.
 */
static bool
is_refused(struct warm_process *process)
{
	char byte;
	if (process->state != STARTING || process->report_fd < 0 || read(process->report_fd, &byte, 1) != 1)
		return false;
	AUTO_FREE char *text =
		xasprintf("`%s` imports with the rights of kettle-exec: either this machine lets no ordinary user make "
				  "namespaces, or others "
				  "may not enter a folder of the interpreter or of its PYTHONPATH, which `chmod o+rx` permits.",
			process->order.path);
	warm_tell_once(process->pool, process->key, text);
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
	/* Earlier messages say what it did when it ended. */
	while (process->state == STARTING && !process->looking && take_message(process))
		;
	take_output(process);
	if (!is_refused(process))
		warm_fail(
			process, current_recipe(process) ? "the interpreter ended" : "the interpreter ended while it imported");
	if (process->state == READY_TO_COPY)
		warm_end(process, ENDING);
	/* Its imports may have written many files, so a thread of work removes them. */
	if (!process->looking && process->private)
		warm_look(process, warm_work_remove, remove_done);
	close_handles(process);
}

/* ---- the start ---- */

/* Follows a child. If it was not started, only its handle is closed. */
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
	process->launched_ns = time_monotonic_ns();
	(void)uv_timer_start(&process->patience, out_of_patience, process->pool->start_ms, 0);
	(void)uv_poll_start(&process->socket, UV_READABLE, on_warm_message);
	(void)uv_poll_start(&process->output, UV_READABLE, on_output);
}

static void
launch(struct warm_process *process)
{
	int pair[2] = {-1, -1}, ends[2] = {-1, -1};
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0 || pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
		if (pair[0] >= 0) {
			close(pair[0]);
			close(pair[1]);
		}
		warm_fail(process, "no descriptors are left");
		return;
	}
	/* Its end of the pipe blocks, as a step's does. */
	(void)fcntl(ends[1], F_SETFL, O_WRONLY);
	process->socket_fd = pair[0];
	process->output_fd = ends[0];
	warm_prepare_image(process);
	bool started = warm_spawn(process, pair[1], ends[1], on_ended) == 0;
	close(pair[1]);
	close(ends[1]);
	follow(process, started);
}

static void
prepare_done(void *arg)
{
	struct warm_process *process = arg;
	process->looking = false;
	process->handles = 0;
	if (process->state == ENDING && process->private) {
		warm_look(process, warm_work_remove, remove_done);
	} else if (process->state == ENDING) {
		warm_free_process(process);
	} else if (process->trouble) {
		buf_printf(&process->printed, "%s", process->trouble);
		warm_fail(process, "its interpreter cannot import safely");
	} else {
		launch(process);
	}
}

void
warm_start(struct warm_process *process)
{
	process->state = STARTING;
	process->number = ++process->pool->started;
	process->printed.len = 0;
	memset(&process->child, 0, sizeof(process->child));
	process->copies = 0;
	process->begun = 0;
	process->absent = 0;
	free(STEAL(process->trouble));
	json_decref(STEAL(process->paths));
	warm_layer_release(STEAL(process->layer));
	warm_look(process, warm_work_prepare, prepare_done);
}
