/* SPDX-License-Identifier: MIT */
/* Holds the threads of libuv's pool. */
#include <config.h>

#include "lib/held_pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kettle/host.h>
#include <uv.h>

#define POOL_THREADS 4 /* of libuv */
#define PATIENCE_MS 120000

static uv_sem_t held, go;
static int ended;

static void
hold_thread(void *arg)
{
	(void)arg;
	uv_sem_post(&held);
	uv_sem_wait(&go);
}

static void
on_thread_left(void *arg)
{
	(void)arg;
	ended++;
}

static int
have_left(void *arg)
{
	(void)arg;
	return ended == POOL_THREADS;
}

void
pool_hold(struct kettle_fake *fake)
{
	const struct kettle_host *host = kettle_fake_host(fake);
	assert_int_equal(uv_sem_init(&go, 0) | uv_sem_init(&held, 0), 0);
	ended = 0;
	for (int i = 0; i < POOL_THREADS; i++)
		assert_int_equal(host->work(host, hold_thread, on_thread_left, NULL, NULL), 0);
	for (int i = 0; i < POOL_THREADS; i++)
		uv_sem_wait(&held);
}

void
pool_release(struct kettle_fake *fake)
{
	for (int i = 0; i < POOL_THREADS; i++)
		uv_sem_post(&go);
	assert_int_equal(kettle_fake_run(fake, have_left, NULL, PATIENCE_MS), 0);
	uv_sem_destroy(&go);
	uv_sem_destroy(&held);
}
