/* SPDX-License-Identifier: MIT */
/* What each page adds to its model; see site.h. */
#pragma once

#include "web/site/site.h"

void boards_finish(const struct visit *visit, json_t *model);
json_t *board_args(const struct visit *visit);
void board_finish(const struct visit *visit, json_t *model);
