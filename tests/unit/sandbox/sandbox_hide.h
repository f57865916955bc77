/* SPDX-License-Identifier: MIT */
/* Memory that belongs to no process's own, for the probe of the sandbox's tests. */
#ifndef KETTLE_TEST_SANDBOX_HIDE_H
#define KETTLE_TEST_SANDBOX_HIDE_H

/*
 * Takes a few hundred MiB, and gives them back to nobody. kind: a file's path, "memfd", "anonymous" and "/dev/zero" (shared
 * mappings, no longer mapped), "segments" (System V), "sockets", "tables" (page tables). -1: it may not.
 */
int hide_memory(const char *kind);

#endif
