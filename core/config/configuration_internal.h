/* SPDX-License-Identifier: MIT */
/* What the files of the configuration share. */
#ifndef KETTLE_CORE_CONFIG_INNER_H
#define KETTLE_CORE_CONFIG_INNER_H

#include "config/configuration.h"

/* What messages call the file. */
#define CONFIG_NAME(config) ((config)->file ? (config)->file : "configuration")

/* "FILE:LINE: " of a place into err, with the sentence after it. Returns code. */
int config_fail(const struct config *config, const char *pointer, int code, struct kettle_error *err,
	const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Makes the devices of root what config.h says. EINVAL, ENOMEM. */
int config_devices(struct config *config, struct kettle_error *err);

/* Whether a device of another configuration uses runners that this one has. */
bool config_device_fits(const struct config *config, const json_t *device);

#endif
