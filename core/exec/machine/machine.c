/* SPDX-License-Identifier: MIT */
/* Facts about this machine: processor, cores, memory, kernel, name. */
#include <config.h>

#include "exec/machine/machine.h"

#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include "base/base.h"
#include "base/text.h"
#include "exec/util/cores.h"

/* The value of the first line `key : value`, without its newline; new string or NULL. */
static char *
proc_value(const char *path, const char *key)
{
	AUTO_FILE FILE *file = fopen(path, "re");
	AUTO_FREE char *line = NULL;
	size_t cap = 0;
	while (file && getline(&line, &cap, file) > 0) {
		char *colon = strchr(line, ':');
		size_t len = strlen(key);
		if (!colon || strncmp(line, key, len) != 0 || line + len + strspn(line + len, " \t") != colon)
			continue;
		char *value = colon + 1 + strspn(colon + 1, " \t");
		value[strcspn(value, "\n")] = '\0';
		return xstrdup(value);
	}
	return NULL;
}

/* Lowers *memory to the limits of this process's own cgroup and of those above it. */
static void
bound_by_cgroups(uint64_t *memory)
{
	AUTO_FREE char *value = proc_value("/proc/self/cgroup", "0"); /* ":/PATH" */
	char *group = value ? value + 1 : NULL;
	for (char *end = group ? group + strlen(group) : NULL; end; end = strrchr(group, '/')) {
		char text[32] = "";
		*end = '\0';
		AUTO_FREE char *path = xasprintf("/sys/fs/cgroup%s/memory.max", group);
		AUTO_FILE FILE *file = fopen(path, "re");
		unsigned long long most;
		if (file && fgets(text, sizeof(text), file) && sscanf(text, "%llu", &most) == 1 && most < *memory)
			*memory = most;
	}
}

uint64_t
machine_memory(void)
{
	AUTO_FREE char *total = proc_value("/proc/meminfo", "MemTotal");
	uint64_t memory = total ? strtoull(total, NULL, 10) * 1024 : 0;
	bound_by_cgroups(&memory);
	return memory;
}

/* Bytes of a text such as "32768K"; 0: it has no size. */
static uint64_t
cache_size(int core, int index)
{
	char text[32] = "", unit = ' ';
	unsigned long long size = 0;
	AUTO_FREE char *path = xasprintf("/sys/devices/system/cpu/cpu%d/cache/index%d/size", core, index);
	AUTO_FILE FILE *file = fopen(path, "re");
	if (!file || !fgets(text, sizeof(text), file) || sscanf(text, "%10llu%c", &size, &unit) < 1)
		return 0;
	return size << (unit == 'K' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : 0);
}

uint64_t
machine_cpu_cache(int core)
{
	uint64_t largest = 0, size;
	for (int index = 0; (size = cache_size(core, index)) > 0; index++)
		if (size > largest)
			largest = size;
	return largest;
}

/* The processor's model. ARM processors have no model name, but a part number. New string or NULL. */
static char *
cpu_model(void)
{
	char *model = proc_value("/proc/cpuinfo", "model name");
	return model ? model : proc_value("/proc/cpuinfo", "CPU part");
}

void
machine_cpu_digest(char ret_hex[DIGEST_HEX_SIZE])
{
	AUTO_FREE char *model = cpu_model();
	AUTO_FREE char *flags = proc_value("/proc/cpuinfo", "flags");
	if (!flags)
		flags = proc_value("/proc/cpuinfo", "Features");
	AUTO_DIGEST struct sha256 *digest = sha256_new();
	sha256_field(digest, model);
	sha256_field(digest, flags);
	sha256_end(digest, ret_hex);
}

json_t *
machine_describe(void)
{
	AUTO_FREE char *model = cpu_model();
	struct utsname name = {0};
	(void)uname(&name);
	struct cores cores = {0};
	(void)cores_allowed(&cores, NULL);
	char platform[4 * sizeof(name.sysname)];
	/* The name that KernelBot's harnesses use: Python's platform.platform(). */
	(void)snprintf(platform, sizeof(platform), "%s-%s-%s-with-glibc%s", name.sysname, name.release, name.machine,
		gnu_get_libc_version());
	json_t *machine = json_pack("{s:s, s:I, s:I, s:s, s:s, s:s}", "cpu", model ? model : "unknown", "cores",
		(json_int_t)cores.count, "memory", (json_int_t)machine_memory(), "kernel", name.release, "platform", platform,
		"host", name.nodename);
	cores_free(&cores);
	return machine;
}
