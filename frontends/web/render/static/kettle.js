/* SPDX-License-Identifier: MIT */
/* What makes pages live; every page and form works without it. The files are served as one. */
"use strict";
