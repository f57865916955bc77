/* SPDX-License-Identifier: MIT */
/* Two submissions compared. */
#include <config.h>

#include "web/site/parts.h"

static const struct site_page pages[] = {
	{.path = NULL},
};

static const struct site_form forms[] = {
	{.path = NULL},
};

const struct site_part part_diff = {pages, forms};
