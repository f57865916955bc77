/* SPDX-License-Identifier: MIT */
/* Holds the threads of libuv's pool, so that nothing that a plugin gives to host->work is done. On the test's thread. */
#pragma once

#include <kettle/testing.h>

/* Until pool_release no thread of the pool does anything. */
void pool_hold(struct kettle_fake *fake);
/* Returns when all threads have gone on. */
void pool_release(struct kettle_fake *fake);
