/* SPDX-License-Identifier: MIT */
/* GPUs in a sandbox: their device nodes, and the variables that name them. */
/*
 * A runtime counts the GPUs whose nodes it can open, from 0. In a sandbox that has only the nodes of its own GPUs,
 * indices are therefore not the machine's, so GPUs are named by UUID wherever it is known. AMD's two runtimes select
 * one after the other: the upper one counts the GPUs that the lower one left.
 */
#include <config.h>

#include "exec/machine/machine.h"

#include <glob.h>
#include <kettle/error.h>
#include <unistd.h>

#include "base/base.h"
#include "base/text.h"

/* The nodes that every GPU of NVIDIA needs besides its own. */
static const char *const nvidia_nodes[] = {"/dev/nvidiactl", "/dev/nvidia-uvm"};
/* For events of unified memory, which only profilers read. */
static const char *const nvidia_profile_nodes[] = {"/dev/nvidia-uvm-tools"};
/* The nodes that every GPU of AMD needs. AMD's runtime looks GPUs up in the kernel's list of compute nodes. */
static const char *const amd_nodes[] = {"/dev/kfd"};
static const char *const amd_folders[] = {"/sys/class/kfd", "/sys/devices/virtual/kfd"};

static void
add_matches(const char *pattern, struct strings *paths)
{
	glob_t found = {0};
	(void)glob(pattern, 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++)
		strings_add(paths, found.gl_pathv[i]);
	globfree(&found);
}

static bool
is_index(const char *gpu)
{
	return gpu[0] && strspn(gpu, "0123456789") == strlen(gpu);
}

/* Whether the GPU is AMD's. If it is unknown: whether only AMD's driver is here. */
static bool
is_amd(const struct gpu *gpu)
{
	return gpu->json ? gpu->vendor && strcmp(gpu->vendor, "amd") == 0
					 : access("/dev/kfd", F_OK) == 0 && access("/dev/nvidiactl", F_OK) != 0;
}

/* Adds the node of one GPU; if its number is not known, all nodes of its vendor. */
static void
add_own(const struct gpu *gpu, const char *name, struct strings *paths)
{
	bool amd = is_amd(gpu);
	json_int_t number = amd ? gpu->render : gpu->minor;
	AUTO_BUF struct buf own = {0};
	buf_adds(&own, amd ? "/dev/dri/renderD" : "/dev/nvidia");
	if (number >= 0)
		buf_printf(&own, "%lld", (long long)number);
	else if (amd)
		buf_adds(&own, "*");
	else
		buf_adds(&own, is_index(name) ? name : "[0-9]*");
	add_matches(own.data, paths);
}

void
gpu_nodes_nodes(const json_t *reading, const struct strings *gpus, bool profile, struct strings *paths)
{
	bool nvidia = false, amd = false;
	for (size_t i = 0; i < gpus->count; i++) {
		struct gpu gpu = gpu_find(reading, gpus->list[i]);
		*(is_amd(&gpu) ? &amd : &nvidia) = true;
		add_own(&gpu, gpus->list[i], paths);
	}
	for (size_t i = 0; nvidia && i < ARRAY_SIZE(nvidia_nodes); i++)
		add_matches(nvidia_nodes[i], paths);
	for (size_t i = 0; nvidia && profile && i < ARRAY_SIZE(nvidia_profile_nodes); i++)
		add_matches(nvidia_profile_nodes[i], paths);
	for (size_t i = 0; amd && i < ARRAY_SIZE(amd_nodes); i++)
		add_matches(amd_nodes[i], paths);
}

void
gpu_nodes_folders(const json_t *reading, const struct strings *gpus, struct strings *folders)
{
	bool amd = false;
	for (size_t i = 0; i < gpus->count && !amd; i++) {
		struct gpu gpu = gpu_find(reading, gpus->list[i]);
		amd = is_amd(&gpu);
	}
	for (size_t i = 0; amd && i < ARRAY_SIZE(amd_folders); i++)
		strings_add(folders, amd_folders[i]);
}

/* Names GPUs by UUID; without one, AMD's by the machine's numbers and NVIDIA's by their numbers in the sandbox. */
static void
list_gpus(const json_t *reading, const struct strings *gpus, bool amd, struct buf *text)
{
	size_t inside = 0;
	for (size_t i = 0; i < gpus->count; i++) {
		const char *name = gpus->list[i], *uuid = gpu_find(reading, name).uuid;
		buf_adds(text, i ? "," : "");
		if (!uuid && !amd && is_index(name))
			buf_printf(text, "%zu", inside++);
		else
			buf_adds(text, uuid ? uuid : name);
	}
}

void
gpu_nodes_environment(const json_t *reading, const struct strings *gpus, json_t *environment)
{
	AUTO_BUF struct buf list = {0};
	AUTO_BUF struct buf upper = {0};
	if (gpus->count == 0)
		return;
	struct gpu first = gpu_find(reading, gpus->list[0]);
	bool amd = is_amd(&first);
	list_gpus(reading, gpus, amd, &list);
	for (size_t i = 0; i < gpus->count; i++)
		buf_printf(&upper, "%s%zu", i ? "," : "", i);
	json_object_set_new(environment, amd ? "ROCR_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES", json_string(list.data));
	/* CUDA would count indices by speed; PCI order is that of nvidia-smi. */
	if (amd)
		json_object_set_new(environment, "HIP_VISIBLE_DEVICES", json_string(upper.data));
	else
		json_object_set_new(environment, "CUDA_DEVICE_ORDER", json_string("PCI_BUS_ID"));
}
