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

static const char *const board_changes[] = {"task", "deadline", "devices", "visibility", "code_visibility", "jit_cache",
	"after_deadline", "opens", "description", NULL};
static const char *const earlier_scores[] = {"kept", "left", NULL};
static const char *const template_sources[] = {"template", "skeleton", NULL};
static const char *const done_words[] = {"ok", NULL};

#define VERSION_HELP "grows with every change of what `leaderboard.show` answers"
/* A leaderboard as board_object has it. */
#define LEADERBOARD \
	MEMBER("id", SHAPE_INT), MEMBER("name", SHAPE_STRING), MEMBER("description", SHAPE_STRING), \
		MEMBER("task", SHAPE_ANY, .help = "its task.yml with all defaults, see task.schema.json"), \
		MEMBER("deadline", SHAPE_TIME, .null = true), \
		MEMBER("gpu_types", ARRAY(SHAPE_STRING), .help = "the devices that it ranks on"), \
		MEMBER("visibility", SHAPE_STRING, .choices = visibilities), \
		MEMBER("code", SHAPE_STRING, .choices = code_settings, .help = "who may read the code of a submission"), \
		MEMBER("jit_cache", SHAPE_STRING, .choices = yes_or_no), \
		MEMBER("after_deadline", SHAPE_STRING, .choices = after_deadline), \
		MEMBER("creator", SHAPE_STRING, .help = "the user's name"), MEMBER("created", SHAPE_TIME), \
		MEMBER("opens", SHAPE_TIME, .null = true), \
		MEMBER("ended", SHAPE_BOOL, .help = "whether its deadline has passed")
#define REMARKS MEMBER("remarks", ARRAY(SHAPE_STRING), .help = "sentences about the task, the name and the deadline")
/* How far the score may be from the true one. */
#define INTERVAL \
	MEMBER("low", SHAPE_NUMBER, .unit = "s", .null = true, .help = "where the 95 % interval of the score begins"), \
		MEMBER("high", SHAPE_NUMBER, .unit = "s", .null = true)

static const struct shape leaderboard_shape[] = {LEADERBOARD, {0}};
static const struct shape rate_limits_shape[] = {MEMBER("leaderboard", SHAPE_STRING),
	MEMBER("limits", ARRAY(OBJECT(MEMBER("category", SHAPE_STRING, .choices = rate_categories),
						 MEMBER("device", SHAPE_STRING, .null = true, .help = "null: of all devices together"),
						 MEMBER("per_hour", SHAPE_INT)))),
	{0}};
static const struct shape ranking_entry_shape[] = {MEMBER("submission_id", SHAPE_INT),
	MEMBER("rank", SHAPE_INT, .null = true, .help = "null, with `mine`, of a run that is not your best"),
	MEMBER("submission_name", SHAPE_STRING, .help = "of the file"), MEMBER("submission_time", SHAPE_TIME),
	MEMBER("submission_score", SHAPE_NUMBER, .unit = "s"), MEMBER("leaderboard_name", SHAPE_STRING),
	MEMBER("user_id", SHAPE_STRING), MEMBER("user_name", SHAPE_STRING),
	MEMBER("gpu_type", SHAPE_STRING, .help = "the device"), INTERVAL,
	MEMBER("close", SHAPE_BOOL, .optional = true,
		.help = "whether the gap to the entry above is within the error of both; missing with `mine` and `practice`"),
	{0}};
static const struct shape contents_shape[] = {MEMBER("text", SHAPE_STRING, .optional = true),
	MEMBER("base64", SHAPE_STRING, .optional = true, .help = "instead of `text`, of what is not text"), {0}};

/* ---- submissions ---- */

#define OUTCOME \
	MEMBER("fault", SHAPE_STRING, .choices = faults, .null = true, .help = "whose it is that it did not pass"), \
		MEMBER("stage", SHAPE_STRING, .choices = stages, .null = true, .help = "where it ended"), \
		MEMBER("retriable", SHAPE_BOOL, .null = true, .help = "whether the same may pass another time")

/* ---- users ---- */

/* ---- the engine ---- */

/* ---- local ---- */

#endif
