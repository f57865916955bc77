/* SPDX-License-Identifier: MIT */
/* Whether processes that are still listed run no code any more. */
/*
 * Theory of operation. The end of a process that has opened a device may take long: the driver frees what it had while
 * the process is in the kernel's exit path, listed but without a way back to its code. /proc/PID/stat shows that: the
 * flag PF_EXITING, and no memory. The flag alone comes a moment before the exit code is set; the memory is given up
 * after it.
 *
 * The list of a cgroup's tasks is read twice. If all tasks of the first list are exiting, and the second list names no
 * other task, then none was left that could have made one: a task that is alive while the list is read is in it, and a
 * task that is exiting cannot fork. One of the first list may be gone; those of the second list must be seen to exit, since
 * a task without an entry in /proc may also be hidden. Init is left out: it makes no process after the first one, and none
 * once it exits.
 */
#include <config.h>

#include "sandbox/exiting.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/base.h"

#define EXITING_FLAG 0x4 /* PF_EXITING */
#define EXITING_TASKS 1024
#define EXITING_TEXT 4096

/* Numbers of the fields of /proc/PID/stat, as proc(5) counts them. */
enum { FIELD_STATE = 3, FIELD_FLAGS = 9, FIELD_MEMORY = 23, FIELD_EXIT_CODE = 52 };

struct task {
	char state;
	bool exiting;
	int exit_code;
};

static ssize_t
read_text(int dir, const char *name, char *text)
{
	AUTO_FD int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, text, EXITING_TEXT - 1);
	text[size > 0 ? size : 0] = '\0';
	return size;
}

static int
open_task(pid_t pid)
{
	char path[32];
	(void)snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Reads the state of a task by its folder in /proc. The name in its second field may hold anything. */
static bool
read_task(int dir, struct task *ret)
{
	char text[EXITING_TEXT];
	struct task task = {0};
	if (read_text(dir, "stat", text) <= 0)
		return false;
	const char *at = strrchr(text, ')');
	unsigned long long flags = 0, memory = 1;
	int field = FIELD_STATE - 1;
	while (at && field < FIELD_EXIT_CODE && (at = strchr(at, ' '))) {
		at++;
		field++;
		if (field == FIELD_STATE)
			task.state = *at;
		else if (field == FIELD_FLAGS)
			flags = strtoull(at, NULL, 10);
		else if (field == FIELD_MEMORY)
			memory = strtoull(at, NULL, 10);
		else if (field == FIELD_EXIT_CODE)
			task.exit_code = (int)strtol(at, NULL, 10);
	}
	task.exiting = flags & EXITING_FLAG && memory == 0;
	*ret = task;
	return field == FIELD_EXIT_CODE;
}

/* `gone`: the answer for a task without an entry in /proc, which is gone, or hidden (hidepid, another namespace). */
static bool
is_exiting(pid_t pid, bool gone)
{
	struct task task;
	AUTO_FD int dir = open_task(pid);
	if (dir < 0)
		return errno == ENOENT && gone;
	return read_task(dir, &task) && task.exiting;
}

/* The tasks of the sandbox but init. -1: they are not known, or too many. */
static ssize_t
list_tasks(const struct sandbox_child *child, pid_t *list)
{
	ssize_t count = child->has_cgroup ? sandbox_cgroup_tasks(&child->cgroup, list, EXITING_TASKS) : -1;
	ssize_t kept = 0;
	for (ssize_t i = 0; i < count; i++)
		if (list[i] != child->pid)
			list[kept++] = list[i];
	return count < 0 ? -1 : kept;
}

static bool
has_task(const pid_t *list, ssize_t count, pid_t pid)
{
	for (ssize_t i = 0; i < count; i++)
		if (list[i] == pid)
			return true;
	return false;
}

/* Whether all tasks but init are exiting or gone; see above. `pid`, unless it is 0, must be one of them. */
static bool
all_exit(const struct sandbox_child *child, pid_t pid)
{
	pid_t first[EXITING_TASKS], second[EXITING_TASKS];
	ssize_t firsts = list_tasks(child, first), seconds;
	for (ssize_t i = 0; i < firsts; i++)
		if (!is_exiting(first[i], true))
			return false;
	if (firsts < 0 || (seconds = list_tasks(child, second)) < 0)
		return false;
	for (ssize_t i = 0; i < seconds; i++)
		if (!has_task(first, firsts, second[i]) || !is_exiting(second[i], false))
			return false;
	return pid == 0 || has_task(second, seconds, pid);
}

/* The number here of the process that has the number `inner` in the sandbox; 0: it is not there. */
static pid_t
find_payload(const struct sandbox_child *child, pid_t inner)
{
	pid_t list[EXITING_TASKS];
	char text[EXITING_TEXT];
	ssize_t count = list_tasks(child, list);
	for (ssize_t i = 0; i < count; i++) {
		AUTO_FD int dir = open_task(list[i]);
		const char *numbers = dir >= 0 && read_text(dir, "status", text) > 0 ? strstr(text, "\nNSpid:") : NULL;
		if (!numbers)
			continue;
		const char *end = strchr(numbers + 1, '\n'), *last = end;
		while (last && last > numbers && last[-1] >= '0' && last[-1] <= '9')
			last--;
		if (last && last < end && strtol(last, NULL, 10) == inner)
			return list[i];
	}
	return 0;
}

bool
sandbox_exiting_look(const struct sandbox_child *child, pid_t *payload, int *ret_status)
{
	const struct sandbox_result *result = &child->plan->result;
	struct task task;
	char link[64];
	if (result->killed) {
		*ret_status = -1;
		return is_exiting(child->pid, false) && all_exit(child, 0);
	}
	if (!result->started || result->end_ns || result->payload <= 0)
		return false;
	if (*payload == 0)
		*payload = find_payload(child, result->payload);
	AUTO_FD int dir = *payload > 0 ? open_task(*payload) : -1;
	/*
	 * One that has ended in full may have been the first thread alone, whose code is not that of the process; init will
	 * tell. The kernel shows an exit code to those that may also read its namespaces, and 0 to others.
	 */
	if (dir < 0 || !read_task(dir, &task) || !task.exiting || task.state == 'Z' || task.state == 'X' ||
		readlinkat(dir, "ns/user", link, sizeof(link)) <= 0 || !all_exit(child, *payload))
		return false;
	*ret_status = task.exit_code;
	return !result->end_ns;
}
