/* SPDX-License-Identifier: MIT */
/* Memory that belongs to no process's own, for the probe of the sandbox's tests. */
#pragma once

/*
 * Takes a few hundred MiB, and gives them back to nobody. kind: a file's path, "memfd", "anonymous" and "/dev/zero" (shared
 * mappings, no longer mapped), "segments" (System V), "sockets", "tables" (page tables), "many" (8000 sockets, in children that stay). -1: it may not.
 */
int hide_memory(const char *kind);
/* Bytes that one TCP connection takes before anything is received, with the largest buffers that it gets. */
long hide_in_connection(void);
