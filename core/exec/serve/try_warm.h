/* SPDX-License-Identifier: MIT */
/* What --doctor finds out about warm interpreters. */
#ifndef KETTLE_EXEC_SERVE_TRY_WARM_H
#define KETTLE_EXEC_SERVE_TRY_WARM_H

#include <jansson.h>
#include <stddef.h>

#include "exec/machine/machine.h"
#include "exec/tools/tools.h"
#include "sandbox/sandbox.h"

/*
 * Makes a warm process of each interpreter and ends it again: {name: what warm_describe says of it, "errors": sentences,
 * "budget": bytes that all warm processes may have, "tried": whether it followed recipes, as an interpreter does that
 * exec.yml names}. Nothing for an interpreter where a folder of the state cannot be made. New reference. [blocks]
 */
json_t *try_warm(
	const struct execconfig *config, struct sandbox_machine *machine, const struct tool *const *tools, size_t count);

#endif
