/* SPDX-License-Identifier: MIT */
/* Calls that happen later, to try again. Loop thread. */
#pragma once

#include <stdint.h>

#include "discord/interaction/bot.h"

struct later;

struct later *later_new(struct bot *bot);
/* Makes all waiting calls now. bot->stopping is set, so the called functions end. */
void later_stop(struct later *later);
void later_free(struct later *later); /* after later_stop; NULL is allowed */

/* Calls fn(arg) once, about ms from now, or as soon as the bot stops. */
void later_call(struct bot *bot, uint64_t ms, kettle_fn fn, void *arg);
