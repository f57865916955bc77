/* SPDX-License-Identifier: MIT */
/* Whose a token is, and for how long that is remembered. */
#include <config.h>

#include "web/visit/caller.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/times.h"
#include "lib/unit_test.h"
#include "common/recent.h"

#define NOW_MS INT64_C(1800000000123)

static struct {
	uint64_t now_ms; /* of both clocks, from the begin of the test on */
	int64_t ends_ms; /* when the token expires; 0: never */
	int checks, code;
} world;

static uint64_t
monotonic_ms(const struct kettle_host *host)
{
	(void)host;
	return world.now_ms;
}

static int64_t
utc_ms(const struct kettle_host *host)
{
	(void)host;
	return NOW_MS + (int64_t)world.now_ms;
}

/* The core: it answers at once. */
static int
request(
	const struct kettle_host *host, const struct kettle_request *request, uint64_t *ret_id, struct kettle_error *err)
{
	struct kettle_error why = {0};
	char expires[TIME_TEXT_SIZE];
	(void)host;
	(void)ret_id;
	(void)err;
	assert_string_equal(request->command, "token.check");
	world.checks++;
	time_text(world.ends_ms, expires);
	if (world.ends_ms && world.ends_ms <= utc_ms(host))
		(void)kettle_fail(&why, KETTLE_EACCES, "It has expired.");
	AUTO_JSON json_t *result =
		json_pack("{s:s?, s:{s:s}}", "expires", world.ends_ms ? expires : NULL, "actor", "name", "ada");
	request->done(request->arg, &why, why.code ? NULL : result);
	return 0;
}

static void
on_caller(void *arg, const json_t *actor, const struct kettle_error *err)
{
	(void)arg;
	world.code = err->code;
	assert_true(err->code || member_is(actor, "name", "ada"));
}

static void
identify(struct web *web, uint64_t at_ms, int code, int checks)
{
	world.now_ms = at_ms;
	callers_identify(web, "ktl_token", on_caller, NULL);
	assert_int_equal(world.code, code);
	assert_int_equal(world.checks, checks);
}

static void
test_expiry(void **state)
{
	(void)state;
	static const struct kettle_host host = {.monotonic_ms = monotonic_ms, .utc_ms = utc_ms, .request = request};
	struct web web = {.host = &host, .tokens = recent_new(&host, WEB_RECENT_MAX)};
	/* At most a minute, whether it expires later or never. */
	for (int i = 0; i < 2; i++) {
		world.checks = 0;
		world.ends_ms = i ? NOW_MS + 3600000 : 0;
		identify(&web, 0, 0, 1);
		identify(&web, CALLERS_KEEP_MS - 1, 0, 1);
		identify(&web, CALLERS_KEEP_MS, 0, 2);
		recent_forget(web.tokens);
	}
	/* A token that expires before is none from then on. */
	world.checks = 0;
	world.ends_ms = NOW_MS + 10000;
	identify(&web, 0, 0, 1);
	identify(&web, 5000, 0, 1);
	identify(&web, 10000, KETTLE_EACCES, 2);
	recent_free(web.tokens);
}

/* Who fills the memory puts out the oldest entry alone. */
static void
test_full(void **state)
{
	(void)state;
	static const struct kettle_host host = {.monotonic_ms = monotonic_ms};
	struct recent *recent = recent_new(&host, 3);
	static const char *const keys[] = {"d", "b", "a", "c"};
	for (int i = 0; i < 4; i++)
		recent_put(recent, keys[i], json_integer(i), 1000, 0);
	for (int i = 0; i < 4; i++) {
		AUTO_JSON json_t *value = recent_get(recent, keys[i]);
		assert_int_equal(value ? json_integer_value(value) : -1, i ? i : -1);
	}
	recent_free(recent);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_expiry),
	cmocka_unit_test(test_full),
};

UNIT_TESTS(test_caller);
