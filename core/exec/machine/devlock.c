/* SPDX-License-Identifier: MIT */
/* Device locks: which job may run on a device, among all kettle-execs of a machine. */
/*
 * Theory of operation. All waiting requests are in one list by rank. Of each name only the first request in the list is
 * tried, at once and then by a timer every DEVLOCK_RETRY_MS, because the kernel offers no way to wait for a flock
 * without a thread; a release within this process tries at once. A lock is given back by closing its descriptor, never
 * by LOCK_UN: that would take the lock from an init that still holds the same open file. So a lock that the processes of
 * an ended job keep (devlock_keep) passes to the next job of this process as a copy of the descriptor.
 */
#include <config.h>

#include "exec/machine/machine.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "base/list.h"
#include "base/text.h"

#define NAME_MAX_KEPT 100

static void retry(uv_timer_t *timer);

int
devlock_open(struct devlock_table *table, uv_loop_t *loop, const char *dir, struct kettle_error *err)
{
	*table = (struct devlock_table){.loop = loop, .dir = dir};
	int rc = uv_timer_init(loop, &table->timer);
	if (rc != 0)
		return kettle_fail(err, KETTLE_EINTERNAL, "Could not create a timer: %s.", uv_strerror(rc));
	table->timer.data = table;
	table->open = true;
	return 0;
}

void
devlock_close(struct devlock_table *table)
{
	if (table->open)
		uv_close((uv_handle_t *)&table->timer, NULL);
	table->open = false;
}

char *
devlock_name(const char *name)
{
	char kept[NAME_MAX_KEPT + 1], hex[65];
	size_t len = 0;
	bool same = strlen(name) <= NAME_MAX_KEPT && name[0] != '\0' && name[0] != '.';
	for (; len < NAME_MAX_KEPT && name[len]; len++) {
		char c = name[len];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
					 c == '_' || c == ',' || (c == '.' && len > 0);
		kept[len] = plain ? c : '_';
		same = same && plain;
	}
	kept[len] = '\0';
	if (same)
		return xstrdup(kept);
	sha256_hex(name, strlen(name), hex);
	return xasprintf("%s.%.16s", kept, hex);
}

static struct devlock_kept *
find_kept(const struct devlock_table *table, const char *name, unsigned slot)
{
	struct devlock_kept *kept = table->kept;
	while (kept && (kept->slot != slot || strcmp(kept->name, name) != 0))
		kept = kept->next;
	return kept;
}

static int
take(struct devlock_table *table, struct devlock *lock, unsigned slot, int fd)
{
	lock->fd = fd;
	table->held++;
	lock->slot = slot;
	lock->waited_ns = time_monotonic_ns() - lock->since_ns;
	return 1;
}

/* 1: the lock is held now; 0: another process has it; or a code. */
static int
try_slot(struct devlock_table *table, struct devlock *lock, unsigned slot, struct kettle_error *err)
{
	struct devlock_kept *kept = find_kept(table, lock->name, slot);
	if (kept && kept->lost)
		return kettle_fail(err, KETTLE_EUNAVAIL, "%s", kept->lost);
	int copy = kept && !kept->held && !kept->blocked ? fcntl(kept->fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (copy >= 0) {
		kept->held = true;
		return take(table, lock, slot, copy);
	}
	AUTO_FREE char *path = xasprintf("%s/%s.%u", table->dir, lock->name, slot);
	AUTO_FD int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (fd < 0)
		return kettle_fail(err, KETTLE_EIO, "The device lock `%s` cannot be opened: %s.", path, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) != 0)
		return errno == EWOULDBLOCK || errno == EINTR
				   ? 0
				   : kettle_fail(err, KETTLE_EIO, "The device lock `%s` cannot be taken: %s.", path, strerror(errno));
	return take(table, lock, slot, STEAL_FD(fd));
}

static int
try_all(struct devlock_table *table, struct devlock *lock, struct kettle_error *err)
{
	int rc = 0;
	for (unsigned slot = 0; rc == 0 && slot < lock->slots; slot++)
		rc = try_slot(table, lock, slot, err);
	return rc;
}

/* Whether no request for the same lock is before this one. */
static bool
is_first(const struct devlock_table *table, const struct devlock *lock)
{
	for (const struct devlock *other = table->waiting; other && other != lock; other = other->next)
		if (strcmp(other->name, lock->name) == 0)
			return false;
	return true;
}

static void
unlink_waiting(struct devlock_table *table, struct devlock *lock)
{
	LIST_REMOVE(table->waiting, lock);
	lock->waits = false;
	lock->next = NULL;
	if (!table->waiting && table->open)
		(void)uv_timer_stop(&table->timer);
}

/* A waiting request that can have its lock now; NULL: there is none. */
static struct devlock *
next_granted(struct devlock_table *table)
{
	for (struct devlock *lock = table->waiting; lock; lock = lock->next)
		if (is_first(table, lock) && try_all(table, lock, NULL) == 1)
			return lock;
	return NULL;
}

static void
retry(uv_timer_t *timer)
{
	struct devlock_table *table = timer->data;
	struct devlock *lock;
	/* Begins anew each time, since granted may change the list. */
	while ((lock = next_granted(table))) {
		unlink_waiting(table, lock);
		lock->granted(lock->arg);
	}
}

int
devlock_acquire(struct devlock_table *table, struct devlock *lock, const char *name, unsigned slots, uint64_t rank,
	void (*granted)(void *arg), void *arg, struct kettle_error *err)
{
	assert(lock->fd < 0 && !lock->waits);
	*lock = (struct devlock){
		.fd = -1, .slots = slots, .rank = rank, .granted = granted, .arg = arg, .since_ns = time_monotonic_ns()};
	int rc = file_mkdirs(table->dir, 0755, err);
	lock->name = devlock_name(name);
	if (rc == 0 && is_first(table, lock))
		rc = try_all(table, lock, err);
	if (rc != 0) {
		if (rc < 0)
			free(STEAL(lock->name));
		return rc;
	}
	struct devlock **at = &table->waiting;
	while (*at && (*at)->rank <= rank)
		at = &(*at)->next;
	lock->next = *at;
	*at = lock;
	lock->waits = true;
	return uv_timer_start(&table->timer, retry, DEVLOCK_RETRY_MS, DEVLOCK_RETRY_MS);
}

void
devlock_release(struct devlock_table *table, struct devlock *lock)
{
	if (lock->waits)
		unlink_waiting(table, lock);
	struct devlock_kept *kept = lock->fd >= 0 ? find_kept(table, lock->name, lock->slot) : NULL;
	if (kept)
		kept->held = false;
	free(STEAL(lock->name));
	if (lock->fd < 0)
		return;
	close(STEAL_FD(lock->fd));
	table->held--;
	/* Later, since the caller may not expect `granted` to be called here. */
	if (table->waiting)
		(void)uv_timer_start(&table->timer, retry, 0, DEVLOCK_RETRY_MS);
}

struct devlock_kept *
devlock_keep(struct devlock_table *table, const struct devlock *lock)
{
	struct devlock_kept *kept = find_kept(table, lock->name, lock->slot);
	int fd = kept ? -1 : fcntl(lock->fd, F_DUPFD_CLOEXEC, 0);
	if (!kept && fd < 0)
		return NULL;
	if (!kept) {
		kept = xnew(struct devlock_kept, .name = xstrdup(lock->name), .slot = lock->slot, .fd = fd, .held = true);
		LIST_APPEND(table->kept, kept);
	}
	kept->users++;
	return kept;
}

void
devlock_lose(struct devlock_kept *kept, const char *why)
{
	kept->blocked = true;
	if (!kept->lost)
		kept->lost = xstrdup(why);
}

void
devlock_drop(struct devlock_table *table, struct devlock_kept *kept)
{
	if (--kept->users > 0)
		return;
	LIST_REMOVE(table->kept, kept);
	close(kept->fd);
	free_all(kept->name, kept->lost, kept);
	if (table->waiting)
		(void)uv_timer_start(&table->timer, retry, 0, DEVLOCK_RETRY_MS);
}

/* Takes a shared lock for a moment. A process that tries for the lock just then tries again after DEVLOCK_RETRY_MS. */
bool
devlock_others_hold(const struct devlock_table *table)
{
	bool held = false;
	DIR *list = table->held || table->kept ? NULL : opendir(table->dir);
	const struct dirent *entry;
	while (list && !held && (entry = readdir(list))) {
		AUTO_FD int fd = openat(dirfd(list), entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
		held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
	}
	if (list)
		closedir(list);
	return held;
}
