/* SPDX-License-Identifier: MIT */
/* What organisers and operators do. */
#include <config.h>

#include "web/site/parts.h"

static const struct site_page pages[] = {
	{.path = NULL},
};

static const struct site_form forms[] = {
	{.path = NULL},
};

const struct site_part part_operator = {pages, forms};
