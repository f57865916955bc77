/* SPDX-License-Identifier: MIT */
/* A flame graph: the tree of functions as a picture, without a script and without anything from elsewhere. */
#ifndef KETTLE_PROFILE_FLAME_H
#define KETTLE_PROFILE_FLAME_H

#include "profile/stacks.h"

#define FLAME_MAX_BYTES (4u << 20) /* of the picture; what would be beyond is left out */

/* Appends the SVG. title: whatever text, it is cleaned and escaped. [any] */
void flame_svg(const struct stacks *stacks, const char *title, struct buf *out);

#endif
