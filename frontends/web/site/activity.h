/* SPDX-License-Identifier: MIT */
/* The days of activity of a year as a picture. */
#pragma once

#include <jansson.h>
#include <stdint.h>

/*
 * Adds to a model, of days [{"day": 2026-01-31, "submissions"}, …]: `days`, those of the 53 weeks until now; `total`, the
 * submissions on them; and `grid` {"width", "height", "months": [{"x", "label"}], "cells": [{"x", "y", "level": 0 to 4,
 * "title"}]}, a column for each week and a row for each day of it, Monday first. [any]
 */
void activity_add(json_t *model, const json_t *days, int64_t now_ms);
