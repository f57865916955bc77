/* SPDX-License-Identifier: MIT */
/* The remote sides (world.h). */
#pragma once

#include "peers/remote/world.h"

extern const struct side side_github, side_modal, side_slurm, side_ssh;
