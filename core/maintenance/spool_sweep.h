/* SPDX-License-Identifier: MIT */
/* Removes what is left in the spool and nothing speaks of any more. Loop thread of the database's owner. */
#ifndef KETTLE_SWEEP_H
#define KETTLE_SWEEP_H

#include <kettle/error.h>
#include <stdint.h>

struct core;

/* How many folders went, and what they held. */
typedef void (*sweep_done)(void *arg, const struct kettle_error *err, int64_t folders, int64_t bytes);

/* Lists in the pool, asks the database, removes in the pool; done once, on the loop; it may be NULL. */
void sweep_start(struct core *core, sweep_done done, void *arg);
/* The same after something was deleted: one at a time, and once more for what was deleted meanwhile. */
void sweep_poke(struct core *core);

#endif
