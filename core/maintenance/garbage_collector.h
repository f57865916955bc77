/* SPDX-License-Identifier: MIT */
/* Frees what need not be kept: when it is asked for, and once a day where a server runs. Loop thread of the owner. */
#ifndef KETTLE_GC_H
#define KETTLE_GC_H

#include <kettle/host.h>

#define GC_FIRST_MS 600000   /* after a server has started */
#define GC_EVERY_MS 86400000 /* from then on */

struct core;

/*
 * All steps of retention.h in small parts with other writes between them, then the spool, then the log. Answers once:
 * {"artifacts", "artifact_bytes", "logs", "events", "tokens", "blobs", "blob_bytes", "folders", "folder_bytes",
 * "database_bytes", "log_bytes"}. ECONFLICT: it is being done already; ECANCELED: the engine stops.
 */
void gc_run(struct core *core, kettle_answer answer, void *arg);
/* Once a day from now on, until gc_stop. */
void gc_serve(struct core *core);
void gc_stop(struct core *core);

#endif
