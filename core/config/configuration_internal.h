/* SPDX-License-Identifier: MIT */
/* Shared by the files of the configuration. */
#pragma once

#include "config/configuration.h"

/* The file's name in messages. */
#define CONFIG_NAME(config) ((config)->file ? (config)->file : "configuration")

/* Brings the devices of root into the form in configuration.h. EINVAL. */
int config_devices(struct config *config, struct kettle_error *err);
