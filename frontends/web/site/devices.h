/* SPDX-License-Identifier: MIT */
/* What pages show of devices. */
#pragma once

#include "web/visit/visit.h"

/* What is computed of `devices`, an answer of device.list, in the model; `mine` (or missing) of submission.list. */
void devices_finish(const struct visit *visit, json_t *model);
