/* SPDX-License-Identifier: MIT */
/* A board's scores over time, and its feed. */
#include <config.h>

#include "web/site/parts.h"

static const struct site_page pages[] = {
	{.path = NULL},
};

static const struct site_form forms[] = {
	{.path = NULL},
};

const struct site_part part_live = {pages, forms};
