/* SPDX-License-Identifier: MIT */
/* A submission. */
#include <config.h>

#include "web/site/parts.h"

static const struct site_page pages[] = {
	{.path = NULL},
};

static const struct site_form forms[] = {
	{.path = NULL},
};

const struct site_part part_submission = {pages, forms};
