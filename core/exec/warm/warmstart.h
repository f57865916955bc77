/* SPDX-License-Identifier: MIT */
/* Starts the interpreter of a warm process. Loop thread. */
#ifndef KETTLE_EXEC_WARMSTART_H
#define KETTLE_EXEC_WARMSTART_H

#include <uv.h>

#include "exec/warm/warm.h"

/* All borrowed for the call. */
struct warmstart {
	const struct warm_key *key;
	const char *module; /* the extension that it loads */
	int socket, output; /* its ends */
	int image;          /* the file for its memory; -1: none */
	uv_exit_cb ended;
};

/* 0, or -1: it could not be started; the handle is then to be closed where libuv has made it one. */
int warmstart_spawn(uv_loop_t *loop, const struct warmstart *start, uv_process_t *child);

#endif
