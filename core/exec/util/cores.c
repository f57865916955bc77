/* SPDX-License-Identifier: MIT */
/* Lists of processor cores: "1", "2-3,6". */
#include <config.h>

#include "exec/util/cores.h"

#include <errno.h>

#include "base/base.h"
#include "base/text.h"

bool
cores_has(const struct cores *cores, int core)
{
	for (size_t i = 0; i < cores->count; i++)
		if (cores->list[i] == core)
			return true;
	return false;
}

static void
cores_add(struct cores *cores, int core)
{
	if (cores_has(cores, core))
		return;
	int *list = cores->list = xreallocarray(cores->list, cores->count + 1, sizeof(*list));
	/* Keeps the list in order, so that equal lists have equal names. */
	size_t at = cores->count++;
	for (; at > 0 && list[at - 1] > core; at--)
		list[at] = list[at - 1];
	list[at] = core;
}

/* Reads a number of at most CORES_MAX - 1; -1: there is none. */
static long
number(const char **text)
{
	long value = 0;
	const char *at = *text;
	while (*at >= '0' && *at <= '9' && value < CORES_MAX)
		value = value * 10 + (*at++ - '0');
	if (at == *text || value >= CORES_MAX)
		return -1;
	*text = at;
	return value;
}

/* Reads one core or range, and moves *text behind it. False: there is none. */
static bool
add_range(struct cores *cores, const char **text)
{
	long first = number(text), last = first;
	if (first >= 0 && **text == '-') {
		++*text;
		last = number(text);
	}
	if (first < 0 || last < first)
		return false;
	for (long core = first; core <= last; core++)
		cores_add(cores, (int)core);
	return true;
}

int
cores_parse(const char *text, struct cores *ret_cores, struct kettle_error *err)
{
	struct cores cores = {0};
	const char *at = text;
	bool good;
	while ((good = add_range(&cores, &at)) && *at == ',')
		at++;
	if (good && *at == '\0') {
		*ret_cores = cores;
		return 0;
	}
	cores_free(&cores);
	return kettle_fail(err, KETTLE_EINVAL, "`%.100s` is not a list of cores; examples: `1`, `2-3,6`.", text);
}

int
cores_allowed(struct cores *ret_cores, struct kettle_error *err)
{
	cpu_set_t *set = CPU_ALLOC(CORES_MAX);
	size_t size = CPU_ALLOC_SIZE(CORES_MAX);
	int rc = 0;
	if (!set)
		xalloc_fail();
	*ret_cores = (struct cores){0};
	if (sched_getaffinity(0, size, set) != 0)
		rc = kettle_fail(err, KETTLE_EIO, "The cores of this machine could not be read: %s.", strerror(errno));
	for (int core = 0; rc == 0 && core < CORES_MAX; core++)
		if (CPU_ISSET_S(core, size, set))
			cores_add(ret_cores, core);
	CPU_FREE(set);
	return rc;
}

struct cores
cores_without(const struct cores *all, const struct cores *without)
{
	struct cores cores = {0};
	for (size_t i = 0; i < all->count; i++)
		if (!cores_has(without, all->list[i]))
			cores_add(&cores, all->list[i]);
	if (cores.count == 0)
		cores_join(&cores, all);
	return cores;
}

void
cores_join(struct cores *cores, const struct cores *more)
{
	for (size_t i = 0; i < more->count; i++)
		cores_add(cores, more->list[i]);
}

void
cores_set(const struct cores *cores, cpu_set_t *ret_set)
{
	CPU_ZERO(ret_set);
	for (size_t i = 0; i < cores->count; i++)
		CPU_SET((size_t)cores->list[i], ret_set);
}

/* Reads a line of /proc/stat: "cpu3 user nice system idle iowait …". */
static bool
core_idle_ticks(int core, const char *stat, uint64_t *ticks)
{
	char name[32];
	unsigned long long idle, waits;
	(void)snprintf(name, sizeof(name), "\ncpu%d ", core);
	const char *line = strstr(stat, name);
	if (!line || sscanf(line + strlen(name), "%*u %*u %*u %llu %llu", &idle, &waits) != 2)
		return false;
	*ticks += idle + waits;
	return true;
}

bool
cores_idle_ticks(const struct cores *cores, const char *stat, uint64_t *ret_ticks)
{
	uint64_t ticks = 0;
	for (size_t i = 0; i < cores->count; i++)
		if (!core_idle_ticks(cores->list[i], stat, &ticks))
			return false;
	*ret_ticks = ticks;
	return true;
}

char *
cores_text(const struct cores *cores)
{
	AUTO_BUF struct buf text = {0};
	for (size_t i = 0; i < cores->count; i++)
		buf_printf(&text, "%s%d", i ? "," : "", cores->list[i]);
	return buf_take(&text);
}

void
cores_free(struct cores *cores)
{
	free(cores->list);
	*cores = (struct cores){0};
}
