/* SPDX-License-Identifier: MIT */
/* The payload's /proc, which tells nothing of the machine's other processes, start or load. Private to the library. [init] */
#pragma once

/* Mounts it while the old root is there. *ret_proc: a descriptor of a /proc that shows all processes. 0, or -1 with errno. */
int sandbox_proc_mount(const char *target, int *ret_proc);
/* Lets the payload write to the files of its own processes. 0, or -1 with errno. */
int sandbox_proc_open_own(const char *target);
