/* SPDX-License-Identifier: MIT */
/* Discord's limits, on a clock of the test. */
#include <config.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "discord/rest/limits.h"
#include "lib/unit_test.h"

#define NOW 1000000
#define HEADERS_MAX 4

static struct route
route_of(const char *method, const char *path)
{
	struct route route = {0};
	struct kettle_error err = {0};
	assert_int_equal(route_parse(method, path, &route, &err), 0);
	return route;
}

/* Answers a request with the state of a bucket; name NULL: without one. */
static void
answer(struct limits *limits, struct bucket *sent, const struct route *route, const char *name, const char *limit,
	const char *remaining, const char *reset_after, uint64_t now)
{
	const struct kettle_http_header headers[HEADERS_MAX] = {{"x-ratelimit-bucket", name}, {"x-ratelimit-limit", limit},
		{"x-ratelimit-remaining", remaining}, {"x-ratelimit-reset-after", reset_after}};
	const struct kettle_http_answer answer = {
		.size = sizeof(answer), .status = 200, .headers = headers, .headers_count = name ? HEADERS_MAX : 0};
	limits_answered(limits, sent, route, &answer, now);
}

static void
test_bucket(void **state)
{
	(void)state;
	struct limits *limits = limits_new(50, 10, 60000);
	struct route one = route_of("POST", "/channels/1/messages"), two = route_of("POST", "/channels/2/messages");
	struct route typing = route_of("POST", "/channels/1/typing");
	/* One at a time, until Discord has said how many. */
	assert_int_equal(limits_wait(limits, &one, NOW), 0);
	struct bucket *sent = limits_sent(limits, &one, NOW);
	assert_true(limits_wait(limits, &one, NOW) == LIMITS_ANSWER);
	assert_int_equal(limits_wait(limits, &two, NOW), 0);
	answer(limits, sent, &one, "b1", "3", "2", "2.5", NOW);
	struct bucket *first = limits_sent(limits, &one, NOW), *second = limits_sent(limits, &one, NOW);
	assert_int_equal(limits_wait(limits, &one, NOW), 2501);
	/* An answer that was made before the other request came does not give its place away. */
	answer(limits, first, &one, "b1", "3", "1", "2", NOW + 500);
	assert_int_equal(limits_wait(limits, &one, NOW + 500), 2001);
	answer(limits, second, &one, "b1", "3", "0", "2", NOW + 500);
	assert_int_equal(limits_wait(limits, &one, NOW + 2500), 1);
	assert_int_equal(limits_wait(limits, &one, NOW + 2501), 0);
	/* Another route of the same bucket and channel counts with it; another channel does not. */
	answer(limits, limits_sent(limits, &typing, NOW + 3000), &typing, "b1", "3", "0", "5", NOW + 3000);
	assert_int_equal(limits_wait(limits, &one, NOW + 3000), 5001);
	assert_int_equal(limits_wait(limits, &two, NOW + 3000), 0);
	route_free(&one);
	route_free(&two);
	route_free(&typing);
	limits_free(limits);
}

/* A bucket whose answers are lost, or that says nonsense, stops nothing for ever. */
static void
test_lies(void **state)
{
	(void)state;
	struct limits *limits = limits_new(50, 10, 60000);
	struct route route = route_of("GET", "/channels/1");
	static const char *const wrong[][3] = {
		{"x", "1", "1"}, {"-1", "0", "1"}, {"1", "", "1"}, {"1", "0", "nan"}, {"1", "0", "-5"}, {"1", "0", "inf"}};
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		answer(limits, limits_sent(limits, &route, NOW), &route, "b", wrong[i][0], wrong[i][1], wrong[i][2], NOW);
		assert_int_equal(limits_wait(limits, &route, NOW), 0);
	}
	answer(limits, limits_sent(limits, &route, NOW), &route, "\xff\xfe", "1", "0", "1e300", NOW);
	assert_int_equal(limits_wait(limits, &route, NOW), 60001);
	assert_int_equal(limits_wait(limits, &route, NOW + 60001), 0);
	for (int i = 0; i < 5; i++) {
		struct bucket *sent = limits_sent(limits, &route, NOW + 70000);
		assert_true(limits_wait(limits, &route, NOW + 70000) == LIMITS_ANSWER);
		limits_answered(limits, sent, &route, NULL, NOW + 70000);
		assert_int_equal(limits_wait(limits, &route, NOW + 70000), 0);
	}
	route_free(&route);
	limits_free(limits);
}

static void
test_overall(void **state)
{
	(void)state;
	struct limits *limits = limits_new(2, 3, 60000);
	struct route bot = route_of("GET", "/users/@me"), callback = route_of("POST", "/interactions/1/token/callback");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(limits_overall(limits, NOW + (uint64_t)i), 0);
		answer(limits, limits_sent(limits, &bot, NOW + (uint64_t)i), &bot, NULL, NULL, NULL, NULL, NOW + (uint64_t)i);
	}
	assert_in_range(limits_overall(limits, NOW + 2), 998, 1100);
	assert_int_equal(limits_overall(limits, NOW + 1100), 0);
	/* Interactions are not counted. */
	assert_null(limits_sent(limits, &callback, NOW + 1100));
	assert_int_equal(limits_wait(limits, &callback, NOW + 1100), 0);
	limits_block(limits, &bot, true, 700, NOW + 2000);
	assert_int_equal(limits_overall(limits, NOW + 2000), 700);
	assert_int_equal(limits_overall(limits, NOW + 2700), 0);
	limits_block(limits, &bot, false, 1u << 31, NOW + 2700);
	assert_int_equal(limits_overall(limits, NOW + 2700), 0);
	assert_int_equal(limits_wait(limits, &bot, NOW + 2700), 60000);
	assert_false(limits_invalid(limits, NOW));
	assert_false(limits_invalid(limits, NOW + 1000));
	assert_true(limits_invalid(limits, NOW + 5000));
	assert_false(limits_invalid(limits, NOW + 5000));
	assert_int_equal(limits_overall(limits, NOW + 5000), 596000);
	assert_int_equal(limits_overall(limits, NOW + 601000), 0);
	route_free(&bot);
	route_free(&callback);
	limits_free(limits);
}

/* Interactions come with a bucket each: those that are over are forgotten, those that count are not. */
static void
test_many(void **state)
{
	(void)state;
	struct limits *limits = limits_new(50, 10, 60000);
	struct route kept = route_of("PATCH", "/webhooks/1/kept/messages/@original");
	answer(limits, limits_sent(limits, &kept, NOW), &kept, "b", "5", "0", "50", NOW);
	for (int i = 0; i < 3000; i++) {
		AUTO_FREE char *path = xasprintf("/webhooks/1/token%d/messages/@original", i);
		struct route route = route_of("PATCH", path);
		answer(limits, limits_sent(limits, &route, NOW), &route, "b", "5", "4", "0", NOW);
		route_free(&route);
	}
	assert_int_equal(limits_wait(limits, &kept, NOW), 50001);
	route_free(&kept);
	limits_free(limits);
}

static void
assert_route(const char *method, const char *path, const char *name, const char *major, const char *lane)
{
	struct route route = route_of(method, path);
	assert_string_equal(route.name, name);
	assert_string_equal(route.major, major);
	assert_string_equal(route.lane, lane);
	route_free(&route);
}

static void
test_routes(void **state)
{
	(void)state;
	assert_route("GET", "/channels/12/messages?limit=50", "GET /channels/:id/messages", "channels/12",
		"GET /channels/:id/messages channels/12");
	assert_route("PATCH", "/channels/12/messages/34", "PATCH /channels/:id/messages/:id", "channels/12", "messages 12");
	assert_route("POST", "/channels/12/messages/34/threads", "POST /channels/:id/messages/:id/threads", "channels/12",
		"messages 12");
	assert_route("PUT", "/applications/1/guilds/2/commands", "PUT /applications/:id/guilds/:id/commands", "",
		"PUT /applications/:id/guilds/:id/commands ");
	assert_route("GET", "/guilds/2/roles", "GET /guilds/:id/roles", "guilds/2", "GET /guilds/:id/roles guilds/2");
	assert_route("POST", "/interactions/1/abc/callback", "POST /interactions/:id/:token/callback", "interactions/1/abc",
		"token abc");
	assert_route("DELETE", "/webhooks/1/abc/messages/@original", "DELETE /webhooks/:id/:token/messages/@original",
		"webhooks/1/abc", "token abc");
	assert_route("GET", "/", "GET /", "", "GET / ");
	/* What no path of Discord's has. */
	assert_route("GET", "/a/b/c/d/e/f/g/h/i", "GET /a/b/c/d/e/f/g/h", "", "GET /a/b/c/d/e/f/g/h ");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_bucket),
	cmocka_unit_test(test_lies),
	cmocka_unit_test(test_overall),
	cmocka_unit_test(test_many),
	cmocka_unit_test(test_routes),
};

UNIT_TESTS(test_limits);
