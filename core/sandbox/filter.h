/* SPDX-License-Identifier: MIT */
/* Puts filters of system calls in force. The library's own. */
#ifndef KETTLE_SANDBOX_FILTER_H
#define KETTLE_SANDBOX_FILTER_H

#include <linux/filter.h>

/* Payload, after no_new_privs: takes effect. 0 or -1 with errno. */
int sandbox_filter_enter(const struct sock_fprog *program);
/* Payload, before sandbox_filter_enter: from now on it stays on its cores. 0 or -1 with errno. */
int sandbox_filter_bind(void);

#endif
