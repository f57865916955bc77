/* SPDX-License-Identifier: MIT */
/* Installs filters of system calls. Private to the library. */
#ifndef KETTLE_SANDBOX_FILTER_H
#define KETTLE_SANDBOX_FILTER_H

#include <linux/filter.h>

/* Payload, after no_new_privs: installs a filter. 0 or -1 with errno. */
int sandbox_filter_enter(const struct sock_fprog *program);
/* Payload, before sandbox_filter_enter: keeps it on its cores from now on. 0 or -1 with errno. */
int sandbox_filter_bind(void);

#endif
