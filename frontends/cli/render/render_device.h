/* SPDX-License-Identifier: MIT */
/* Devices, their queues and their calibration for people. */
#ifndef KETTLE_CLI_RENDER_DEVICE_H
#define KETTLE_CLI_RENDER_DEVICE_H

#include "cli/run/invocation.h"

/* Members of struct run_ui, but where it is said. */
int render_device_list(struct run *run, const json_t *result);
/* Where the jobs that were asked for stand in the queues of their devices. */
int render_device_places(struct run *run, const json_t *result);
/* A line on what can be built and imported there, of a row of device.list; nothing where that is not known. */
void render_device_tools(const struct term *term, const json_t *device);
/* Calls device.calibrate and shows what its runs do meanwhile. */
void render_device_calibrate_start(struct run *run);
/* What units became; the status says whether all of them did. */
int render_device_changed(struct run *run, const json_t *result);
int render_device_changed_status(const json_t *result);
int render_device_calibrated(struct run *run, const json_t *result);
/* RUN_ENGINE where a unit could not be calibrated. */
int render_device_calibrated_status(const json_t *result);

#endif
