/* SPDX-License-Identifier: MIT */
/* What profilers this machine has, whether they are permitted, and how to get them. */
/*
 * A profiler runs in the sandbox of a submission, without privileges. So what this process may do itself proves nothing:
 * it is looked up what the kernel and the driver allow to those that have no rights.
 */
#include <config.h>

#include "exec/tools/profilers.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/xalloc.h"

#define MAX_FILE 65536
#define PARANOID_MAX 2 /* what kernel.perf_event_paranoid may be at most */

static const char paranoid_file[] = "/proc/sys/kernel/perf_event_paranoid";
static const char nvidia_file[] = "/proc/driver/nvidia/params";

/* The contents of a small file; "" where it cannot be read. New string. */
static char *
read_small(const char *path)
{
	char *text = NULL;
	size_t size = 0;
	return file_read(path, MAX_FILE, &text, &size, NULL) == 0 ? text : xstrdup("");
}

/* What forbids perf; NULL: nothing that is known. New reference. */
static json_t *
perf_trouble(void)
{
	AUTO_FREE char *text = read_small(paranoid_file);
	if (!text[0])
		return json_string("The kernel, or the container that it is in, has no perf_event_open.");
	long paranoid = strtol(text, NULL, 10);
	if (paranoid <= PARANOID_MAX)
		return NULL;
	return json_sprintf(
		"kernel.perf_event_paranoid is %ld: `sysctl kernel.perf_event_paranoid=%d` allows it, and a file "
		"in /etc/sysctl.d keeps it so.",
		paranoid, PARANOID_MAX);
}

static json_t *
ncu_trouble(void)
{
	AUTO_FREE char *text = read_small(nvidia_file);
	if (!strstr(text, "RmProfilingAdminOnly: 1"))
		return NULL;
	return json_string("The driver lets only root read the GPU's counters: write `options nvidia "
					   "NVreg_RestrictProfilingToAdminUsers=0` into a file in /etc/modprobe.d and load it anew.");
}

static const struct {
	const char *name, *purpose, *how;
	json_t *(*trouble)(void); /* NULL: nothing forbids it */
} profilers[] = {
	{"perf", "boards in C and C++", "Install it (Debian: the package linux-perf), or name it in exec.yml's `tools`.",
		perf_trouble},
	{"ncu", "CUDA, and Python on NVIDIA's GPUs",
		"Install Nsight Compute (it comes with the CUDA toolkit), or name it in exec.yml's `tools`.", ncu_trouble},
	{"rocprofv3", "HIP, and Python on AMD's GPUs",
		"Install it (it comes with ROCm, from 6.2 on), or name it in exec.yml's `tools`.", NULL},
};

json_t *
profilers_describe(struct toolchain *toolchain)
{
	json_t *list = json_array();
	for (size_t i = 0; i < ARRAY_SIZE(profilers); i++) {
		const struct tool *tool = NULL;
		bool there = toolchain_find(toolchain, profilers[i].name, &tool, NULL) == 0;
		json_t *trouble = there && profilers[i].trouble ? profilers[i].trouble() : NULL;
		bool permitted = there && !trouble;
		json_t *how = there ? trouble : json_string(profilers[i].how);
		(void)json_array_append_new(
			list, json_pack("{s:s, s:s, s:s?, s:b, s:o?}", "name", profilers[i].name, "for", profilers[i].purpose,
					  "path", there ? tool->path : NULL, "permitted", permitted, "how", how));
	}
	return list;
}
