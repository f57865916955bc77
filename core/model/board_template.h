/* SPDX-License-Identifier: MIT */
/* What a participant starts from: a board's templates, or the skeletons of its language, with a header. Pure. */
#ifndef KETTLE_MODEL_BOARD_TEMPLATE_H
#define KETTLE_MODEL_BOARD_TEMPLATE_H

#include "judge/language.h"

#include <jansson.h>
#include <kettle/error.h>

/*
 * [{"language": name of the template, "file_name", "text", "source": "template" or "skeleton"}] for a board as
 * board_object shows it. templates: of its task's bundle. wanted: the name of a template, or a language by name or alias
 * (all of its templates; without one, its skeletons where it is the board's); NULL: all templates, without one the
 * skeletons. The text has the header, description and deadline in comments in front; directives that a template has
 * itself are left out. EINVAL: nothing of that name; ENOENT: there is nothing to start from. New array.
 */
int board_template_list(const struct languages *languages, const json_t *board, const json_t *templates,
	const char *wanted, json_t **ret_starters, struct kettle_error *err);

#endif
