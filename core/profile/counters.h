/* SPDX-License-Identifier: MIT */
/* What `perf stat -x ;` counted, as text. */
#ifndef KETTLE_PROFILE_COUNTERS_H
#define KETTLE_PROFILE_COUNTERS_H

#include "base/buf.h"
#include <kettle/error.h>

#define COUNTERS_MAX 40 /* lines */

/*
 * Appends a line for each event; those that the machine cannot count are named together at the end. The bytes, with a
 * NUL behind them, are written into. KETTLE_EINVAL with a sentence: it is no such report. [any]
 */
int counters_text(char *data, size_t size, struct buf *out, struct kettle_error *err);

#endif
