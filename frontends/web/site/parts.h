/* SPDX-License-Identifier: MIT */
/* The rows of the site's pages: each file has some of them, with what they compute. */
#pragma once

#include "web/site/site.h"

/* Each list ends with a NULL path. */
extern const struct site_page pages_boards[], pages_board[], pages_live[], pages_task[], pages_submit[],
	pages_submission[], pages_diff[], pages_user[], pages_devices[], pages_operator[], pages_join[], pages_docs[];
/* All of them, NULL at the end; of web.c. */
extern const struct site_page *const site_parts[];
