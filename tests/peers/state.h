/* SPDX-License-Identifier: MIT */
/* What the stand-ins of the makers' libraries say: a file tells them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The file has lines `FROM TO KEY GPU VALUE`: in the readings number FROM to TO (counted from 1 in FILE.count, one for
 * each process that opens the library) KEY of GPU (-1: all) has VALUE. Later lines win.
 */
/* One more reading begins. variable: the environment variable that names the file. */
void state_begin(const char *variable);
/* The value in force, or the other one. */
uint64_t state_number(const char *key, int gpu, uint64_t other);
