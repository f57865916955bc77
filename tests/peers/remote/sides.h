/* SPDX-License-Identifier: MIT */
/* The remote sides (world.h). */
#ifndef KETTLE_TEST_REMOTE_SIDES_H
#define KETTLE_TEST_REMOTE_SIDES_H

#include "peers/remote/world.h"

extern const struct side side_github, side_modal, side_slurm, side_ssh;

#endif
