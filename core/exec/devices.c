/* SPDX-License-Identifier: MIT */
/* What a sandbox must be given of a GPU: its device nodes and the variables that name it. */
#include <config.h>

#include "devices.h"

#include <glob.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <string.h>

#include "cleanup.h"
#include "text.h"

/* Nodes that every GPU of its maker needs. */
static const char *const shared_nodes[] = {
	"/dev/nvidiactl",
	"/dev/nvidia-uvm",
	"/dev/nvidia-uvm-tools",
	"/dev/kfd",
	/* AMD numbers these by PCI slot, not by GPU index: ROCR_VISIBLE_DEVICES tells the GPUs apart. */
	"/dev/dri/renderD*",
};

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

int
devices_nodes(const char *gpu, json_t *paths)
{
	AUTO_BUF struct buf own = {0};
	int rc = is_index(gpu) ? buf_printf(&own, "/dev/nvidia%s", gpu) : buf_adds(&own, "/dev/nvidia[0-9]*");
	if (rc == 0)
		rc = add_matches(own.data, paths);
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(shared_nodes); i++)
		rc = add_matches(shared_nodes[i], paths);
	return rc;
}

int
devices_environment(const char *gpu, json_t *environment)
{
	/* By an index the runtimes would count by speed: PCI order is what nvidia-smi shows. */
	static const char *const names[] = {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"};
	int rc = json_object_set_new(environment, "CUDA_DEVICE_ORDER", json_string("PCI_BUS_ID"));
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(names); i++)
		rc = json_object_set_new(environment, names[i], json_string(gpu));
	return rc == 0 ? 0 : KETTLE_ENOMEM;
}
