/* SPDX-License-Identifier: MIT */
/* The command that hands out harnesses. See command.h for its form. */
#ifndef KETTLE_CMD_HARNESS_H
#define KETTLE_CMD_HARNESS_H

#include "commands/command.h"

#define HARNESS_MAX_FILE (1u << 20) /* bytes */

/*
 * eval_code {language}: the harness files of a language, by its name or an alias: {"language", "files": [{"name",
 * "text"}]}. EINVAL: no such language; ENOENT: it has none; EIO: they are not where they should be.
 */
void cmd_eval_code(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg);

#endif
