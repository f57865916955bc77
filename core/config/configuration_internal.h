/* SPDX-License-Identifier: MIT */
/* What the files of the configuration share. */
#ifndef KETTLE_CONFIG_CONFIGURATION_INTERNAL_H
#define KETTLE_CONFIG_CONFIGURATION_INTERNAL_H

#include "config/configuration.h"

/* What messages call the file. */
#define CONFIG_NAME(config) ((config)->file ? (config)->file : "configuration")

/* Makes the devices of root what configuration.h says. EINVAL. */
int config_devices(struct config *config, struct kettle_error *err);

#endif
