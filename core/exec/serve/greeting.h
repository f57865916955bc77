/* SPDX-License-Identifier: MIT */
/* The greetings of a kettle-exec that stays: at once, once more when its tools are known, and when somebody asks. */
#ifndef KETTLE_EXEC_GREETING_H
#define KETTLE_EXEC_GREETING_H

#include <jansson.h>
#include <stdbool.h>
#include <uv.h>

#include "exec/context/exec_context.h"

/* Zero-initialise. Everything on the loop thread. */
struct greeting {
	struct exec_context *exec; /* NULL: not open */
	bool closed;
	uv_work_t gpus, tools;
	bool reading, again;     /* GPUs are being read; once more then */
	json_t *read;            /* of the GPUs; the pool's while it reads */
	struct toolchain *asked; /* the pool's while it asks */
	json_t *versions, *packages, *parts;
};

/* Sends the first greeting, and begins to ask what tools this machine has. */
void greeting_open(struct greeting *greeting, struct exec_context *exec);
/* Another one, with GPUs as they are now: sent once they are read. Whoever asks while one is made gets the next. */
void greeting_refresh(struct greeting *greeting);
/* Sends nothing more. What is under way ends with the loop's next turns; exec must not be closed before. */
void greeting_close(struct greeting *greeting);

#endif
