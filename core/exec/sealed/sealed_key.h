/* SPDX-License-Identifier: MIT */
/* The key of a unit, in a process that nothing else may look into. Main thread. */
#ifndef KETTLE_EXEC_SEALED_SEALED_KEY_H
#define KETTLE_EXEC_SEALED_SEALED_KEY_H

#include <kettle/error.h>

#include "sealed/sealed.h"

#define SEALED_KEY_VARIABLE "KETTLE_KEY"

/*
 * Closes this process to debuggers, core dumps and readers of /proc/PID/mem and environ. Call it before anything else, and
 * before the process has threads. EINTERNAL: the kernel refuses.
 */
int sealed_key_protect(struct kettle_error *err);
/*
 * The key that the file has (NULL: that KETTLE_KEY has), and overwrites every KETTLE_KEY in the environment, which
 * loses it. Wipe the key with explicit_bzero. EINVAL: there is none, or it is no key; what file_read_at reports.
 */
int sealed_key_take(const char *file, unsigned char ret_key[SEALED_KEY_SIZE], struct kettle_error *err);

#endif
