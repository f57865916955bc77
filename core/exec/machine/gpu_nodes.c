/* SPDX-License-Identifier: MIT */
/* What a sandbox must be given of GPUs: their device nodes and the variables that name them. */
/*
 * A runtime counts the GPUs whose nodes it can open, from 0: where a sandbox has the nodes of its own GPUs alone, their
 * indices are not the machine's. So GPUs are named by UUID wherever that is known. AMD's two runtimes select one after
 * the other: the upper one counts what the lower one left.
 */
#include <config.h>

#include "exec/machine/gpu_nodes.h"

#include <glob.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/machine/gpu.h"
#include "base/text.h"

/* What every GPU of NVIDIA needs besides its own node. */
static const char *const nvidia_nodes[] = {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"};
/* And every one of AMD, whose runtime looks GPUs up in the kernel's list of compute nodes. */
static const char *const amd_nodes[] = {"/dev/kfd"};
static const char *const amd_folders[] = {"/sys/class/kfd", "/sys/devices/virtual/kfd"};

static int
add_matches(const char *pattern, json_t *paths)
{
	glob_t found = {0};
	int rc = glob(pattern, 0, NULL, &found) == GLOB_NOSPACE ? KETTLE_ENOMEM : 0;
	for (size_t i = 0; rc == 0 && i < found.gl_pathc; i++)
		if (json_array_append_new(paths, json_string(found.gl_pathv[i])) != 0)
			rc = KETTLE_ENOMEM;
	globfree(&found);
	return rc;
}

static bool
is_index(const char *gpu)
{
	return gpu[0] && strspn(gpu, "0123456789") == strlen(gpu);
}

static const char *
member(const json_t *facts, const char *key)
{
	const char *text = json_string_value(json_object_get(facts, key));
	return text ? text : "";
}

/* Whose GPU it is; where nothing is known of it, the one whose driver is here. */
static bool
is_amd(const json_t *facts)
{
	return facts ? strcmp(member(facts, "vendor"), "amd") == 0
				 : access("/dev/kfd", F_OK) == 0 && access("/dev/nvidiactl", F_OK) != 0;
}

/* The node of one GPU; of those of which nothing is known, all. */
static int
add_own(const json_t *facts, const char *gpu, json_t *paths)
{
	const json_t *minor = json_object_get(facts, is_amd(facts) ? "render" : "minor");
	AUTO_BUF struct buf own = {0};
	int rc;
	if (is_amd(facts))
		rc = minor ? buf_printf(&own, "/dev/dri/renderD%lld", (long long)json_integer_value(minor))
				   : buf_adds(&own, "/dev/dri/renderD*");
	else if (minor)
		rc = buf_printf(&own, "/dev/nvidia%lld", (long long)json_integer_value(minor));
	else
		rc = is_index(gpu) ? buf_printf(&own, "/dev/nvidia%s", gpu) : buf_adds(&own, "/dev/nvidia[0-9]*");
	return rc == 0 ? add_matches(own.data, paths) : rc;
}

int
gpu_nodes_nodes(const json_t *reading, const json_t *gpus, json_t *paths)
{
	const json_t *gpu;
	size_t i;
	int rc = 0;
	bool nvidia = false, amd = false;
	json_array_foreach(gpus, i, gpu) {
		const json_t *facts = gpu_find(reading, json_string_value(gpu));
		*(is_amd(facts) ? &amd : &nvidia) = true;
		if (rc == 0)
			rc = add_own(facts, json_string_value(gpu), paths);
	}
	for (i = 0; rc == 0 && nvidia && i < ARRAY_SIZE(nvidia_nodes); i++)
		rc = add_matches(nvidia_nodes[i], paths);
	for (i = 0; rc == 0 && amd && i < ARRAY_SIZE(amd_nodes); i++)
		rc = add_matches(amd_nodes[i], paths);
	return rc;
}

int
gpu_nodes_folders(const json_t *reading, const json_t *gpus, json_t *folders)
{
	const json_t *gpu;
	size_t i;
	bool amd = false;
	int rc = 0;
	json_array_foreach(gpus, i, gpu)
		amd = amd || is_amd(gpu_find(reading, json_string_value(gpu)));
	for (i = 0; rc == 0 && amd && i < ARRAY_SIZE(amd_folders); i++)
		rc = json_array_append_new(folders, json_string(amd_folders[i]));
	return rc == 0 ? 0 : KETTLE_ENOMEM;
}

/* The list for CUDA: by UUID, else by the numbers that they have inside. */
static int
list_nvidia(const json_t *reading, const json_t *gpus, struct buf *text)
{
	const json_t *gpu;
	size_t i, inside = 0;
	int rc = 0;
	json_array_foreach(gpus, i, gpu) {
		const char *name = json_string_value(gpu), *uuid = member(gpu_find(reading, name), "uuid");
		const char *between = i ? "," : "";
		if (rc == 0 && (*uuid || !is_index(name)))
			rc = buf_printf(text, "%s%s", between, *uuid ? uuid : name);
		else if (rc == 0)
			rc = buf_printf(text, "%s%zu", between, inside++);
	}
	return rc;
}

/* The list for ROCr, which numbers as the machine does, and the one for HIP above it. */
static int
list_amd(const json_t *reading, const json_t *gpus, struct buf *lower, struct buf *upper)
{
	const json_t *gpu;
	size_t i;
	int rc = 0;
	json_array_foreach(gpus, i, gpu) {
		const char *name = json_string_value(gpu), *uuid = member(gpu_find(reading, name), "uuid");
		if (rc == 0)
			rc = buf_printf(lower, "%s%s", i ? "," : "", *uuid ? uuid : name);
		if (rc == 0)
			rc = buf_printf(upper, "%s%zu", i ? "," : "", i);
	}
	return rc;
}

int
gpu_nodes_environment(const json_t *reading, const json_t *gpus, json_t *environment)
{
	AUTO_BUF struct buf lower = {0};
	AUTO_BUF struct buf upper = {0};
	if (json_array_size(gpus) == 0)
		return 0;
	bool amd = is_amd(gpu_find(reading, json_string_value(json_array_get(gpus, 0))));
	int rc = amd ? list_amd(reading, gpus, &lower, &upper) : list_nvidia(reading, gpus, &lower);
	if (rc == 0 && amd)
		rc = json_object_set_new(environment, "ROCR_VISIBLE_DEVICES", json_string(lower.data)) ||
			 json_object_set_new(environment, "HIP_VISIBLE_DEVICES", json_string(upper.data));
	/* By an index the runtime would count by speed: PCI order is what nvidia-smi shows. */
	else if (rc == 0)
		rc = json_object_set_new(environment, "CUDA_VISIBLE_DEVICES", json_string(lower.data)) ||
			 json_object_set_new(environment, "CUDA_DEVICE_ORDER", json_string("PCI_BUS_ID"));
	return rc == 0 ? 0 : KETTLE_ENOMEM;
}
