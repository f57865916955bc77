/* SPDX-License-Identifier: MIT */
/* What answers have in common: words and objects. A section per file of rows; what two of them use is above. */
#ifndef KETTLE_COMMANDS_SHAPES_H
#define KETTLE_COMMANDS_SHAPES_H

#include "commands/command_parts.h"
#include "session/shape.h"

/* Whose it is that a run did not pass; see docs/protocol.md. */
static const char *const faults[] = {"participant", "task", "machine", "operator", NULL};
/* Where it ended. */
static const char *const stages[] = {
	"queue", "prepare", "build", "test", "benchmark", "ranked", "secret", "profile", "record", NULL};

/* ---- leaderboards ---- */

/* ---- submissions ---- */

#define OUTCOME \
	MEMBER("fault", SHAPE_STRING, .choices = faults, .null = true, .help = "whose it is that it did not pass"), \
		MEMBER("stage", SHAPE_STRING, .choices = stages, .null = true, .help = "where it ended"), \
		MEMBER("retriable", SHAPE_BOOL, .null = true, .help = "whether the same may pass another time")

/* ---- users ---- */

/* ---- the engine ---- */

/* ---- local ---- */

#endif
