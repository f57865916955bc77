/* SPDX-License-Identifier: MIT */
/* `kettle leaderboard export`: pages of submissions, written as they come. */
#ifndef KETTLE_CLI_EXPORT_H
#define KETTLE_CLI_EXPORT_H

#include "cli/run/invocation.h"

extern const struct args_option export_options[];

/*
 * start member: writes a line of JSON for each submission (with --json and without -o one array). With -o into a file
 * beside, which takes the name once it is whole.
 */
void export_start(struct run *run);

#endif
