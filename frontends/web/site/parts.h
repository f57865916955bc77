/* SPDX-License-Identifier: MIT */
/* The parts of the site: each file has the rows of its pages and forms, with what they compute. */
#pragma once

#include "web/site/site.h"

/* Both lists end with a NULL path; forms may be NULL. */
struct site_part {
	const struct site_page *pages;
	const struct site_form *forms;
};

extern const struct site_part part_boards, part_board, part_live, part_task, part_submit, part_submission, part_diff,
	part_user, part_devices, part_operator, part_join, part_docs;
/* All of them, NULL at the end; of web.c. */
extern const struct site_part *const site_parts[];
