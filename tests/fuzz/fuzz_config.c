/* SPDX-License-Identifier: MIT */
/* The configuration file, up to the options of a plugin. */
#include <config.h>

#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "config/configuration.h"

static const struct kettle_option options[] = {
	{.key = "repo", .type = KETTLE_OPTION_STRING, .help = "x"},
	{.key = "count", .type = KETTLE_OPTION_INT, .default_value = "3", .min = 1, .max = 9, .help = "x"},
	{.key = "labels", .type = KETTLE_OPTION_STRINGS, .help = "x"},
	{.key = "folder", .type = KETTLE_OPTION_PATH, .default_value = "spool", .help = "x"},
	{.key = "any", .type = KETTLE_OPTION_ANY, .help = "x"},
};

/* What everybody relies on after a load. */
static void
check_devices(const struct config *config)
{
	const char *name;
	json_t *device, *unit;
	size_t i;
	json_object_foreach(json_object_get(config->root, "devices"), name, device) {
		if (json_array_size(json_object_get(device, "units")) == 0)
			abort();
		json_array_foreach(json_object_get(device, "units"), i, unit) {
			if (!json_is_string(json_object_get(unit, "runner")) || !json_is_integer(json_object_get(unit, "slots")))
				abort();
		}
	}
}

static void
use(struct config *config)
{
	const struct option_table table = {options, ARRAY_SIZE(options), sizeof(options[0])};
	AUTO_JSON json_t *got = NULL, *reloaded = NULL, *restart = NULL;
	struct config *defaults = NULL;
	check_devices(config);
	(void)config_plugin(config, "runners", "local", &table, &got, NULL);
	if (config_load(&(struct config_request){.file = "/dev/null/none"}, &defaults, NULL) == 0)
		abort();
	config_compare(config, config, &reloaded, &restart);
	if (json_array_size(reloaded) != 0 || json_array_size(restart) != 0)
		abort();
	config_adopt(config, config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_FD int fd = memfd_create("fuzz", MFD_CLOEXEC);
	char path[64];
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return 0;
	struct config *config = NULL;
	struct kettle_error err = {0};
	int rc = config_load(&(struct config_request){.file = path, .database = "fuzz.db"}, &config, &err);
	if ((rc == 0) != (config != NULL) || (rc && !strchr(err.message, ':')))
		abort();
	if (config)
		use(config);
	config_free(config);
	return 0;
}
