/* SPDX-License-Identifier: MIT */
/* The tokens of the runner github and GitHub's limits, on a clock of the test. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/unit_test.h"
#include "runners/github/github.h"

#define NOW 1000000
#define WALL INT64_C(1800000000000)

/* Two tokens, of which one was read from each line. */
static struct tokens
two(void)
{
	struct tokens tokens = {0};
	struct kettle_error err = {0};
	assert_int_equal(tokens_read(&tokens, "\n  ghp_one \r\n\nghp_two", &err), 0);
	assert_int_equal(tokens.count, 2);
	assert_string_equal(tokens.tokens[0].text, "ghp_one");
	assert_string_equal(tokens.tokens[1].text, "ghp_two");
	return tokens;
}

/* An answer with a header or two; NULL: without. */
static enum tokens_verdict
answer(struct tokens *tokens, size_t number, int status, const char *after, const char *remaining, const char *reset,
	const char *message, uint64_t now)
{
	struct kettle_http_header headers[3];
	size_t count = 0;
	const char *const names[] = {"retry-after", "x-ratelimit-remaining", "x-ratelimit-reset"};
	const char *const values[] = {after, remaining, reset};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (values[i])
			headers[count++] = (struct kettle_http_header){names[i], values[i]};
	const struct kettle_http_answer http = {
		.size = sizeof(http), .status = status, .headers = headers, .headers_count = count};
	return tokens_answered(tokens, number, &http, message, now, WALL);
}

static int
choose(const struct tokens *tokens, uint64_t now, uint64_t *ret_at)
{
	return tokens_choose(tokens, now, false, 0, 0, ret_at);
}

static void
test_read(void **state)
{
	(void)state;
	static const char *const wrong[] = {"", " \n\t\n", "two words", "tok\x01n", "t\xc3\xb6ken"};
	struct tokens tokens = two();
	tokens_free(&tokens);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct kettle_error err = {0};
		assert_int_equal(tokens_read(&tokens, wrong[i], &err), KETTLE_EINVAL);
		assert_null(strstr(err.message, "words"));
		assert_int_equal(tokens.count, 0);
	}
}

/* retry-after, then x-ratelimit-reset, then a minute that doubles up to an hour. */
static void
test_limits(void **state)
{
	(void)state;
	struct tokens tokens = two();
	uint64_t at = 0;
	assert_int_equal(answer(&tokens, 0, 429, "7", "0", "1800000100", "", NOW), TOKENS_LIMITED);
	assert_int_equal(tokens.tokens[0].blocked_until, NOW + 7001);
	assert_int_equal(choose(&tokens, NOW, &at), 1);
	assert_int_equal(answer(&tokens, 1, 403, NULL, "0", "1800000100", "API rate limit exceeded", NOW), TOKENS_LIMITED);
	assert_int_equal(tokens.tokens[1].blocked_until, NOW + 101000);
	assert_int_equal(choose(&tokens, NOW, &at), -1);
	assert_int_equal(at, NOW + 7001);
	assert_int_equal(choose(&tokens, NOW + 7001, &at), 0);
	/* A reset that is long over, or a year away, is met with a second and with an hour. */
	(void)answer(&tokens, 0, 403, NULL, "0", "12", "", NOW);
	assert_int_equal(tokens.tokens[0].blocked_until, NOW + 1000);
	(void)answer(&tokens, 0, 403, NULL, "0", "1900000000", "", NOW);
	assert_int_equal(tokens.tokens[0].blocked_until, NOW + TOKENS_WAIT_MAX_MS);
	uint64_t wait = TOKENS_WAIT_MS;
	for (int i = 0; i < 70; i++) {
		assert_int_equal(answer(&tokens, 1, 403, "soon", "12", NULL, "You have exceeded a secondary rate limit.", NOW),
			TOKENS_LIMITED);
		assert_int_equal(tokens.tokens[1].blocked_until, NOW + wait);
		wait = 2 * wait < TOKENS_WAIT_MAX_MS ? 2 * wait : TOKENS_WAIT_MAX_MS;
	}
	/* The next answer begins anew. */
	assert_int_equal(answer(&tokens, 1, 304, NULL, "11", NULL, "", NOW), TOKENS_TAKEN);
	(void)answer(&tokens, 1, 429, NULL, NULL, NULL, "", NOW);
	assert_int_equal(tokens.tokens[1].blocked_until, NOW + TOKENS_WAIT_MS);
	tokens_free(&tokens);
}

/* The last request of an hour is not followed by one that would be refused. */
static void
test_last(void **state)
{
	(void)state;
	struct tokens tokens = two();
	uint64_t at;
	assert_int_equal(answer(&tokens, 0, 200, NULL, "0", "1800000010", "", NOW), TOKENS_TAKEN);
	assert_int_equal(choose(&tokens, NOW, &at), 1);
	assert_int_equal(choose(&tokens, NOW + 11000, &at), 0);
	tokens_free(&tokens);
}

static void
test_refused(void **state)
{
	(void)state;
	struct tokens tokens = two();
	uint64_t at;
	assert_int_equal(answer(&tokens, 0, 401, NULL, NULL, NULL, "Bad credentials", NOW), TOKENS_REFUSED);
	assert_int_equal(tokens_refused(&tokens), 1);
	assert_int_equal(choose(&tokens, NOW, &at), 1);
	assert_int_equal(tokens_choose(&tokens, NOW, false, 0, 2, &at), -1);
	assert_int_equal(at, NOW + TOKENS_REFUSED_MS);
	assert_int_equal(tokens_choose(&tokens, NOW, false, 0, 3, &at), -1);
	assert_true(at == UINT64_MAX);
	assert_int_equal(choose(&tokens, NOW + TOKENS_REFUSED_MS, &at), 0);
	/* A 403 without any sign of a limit is about what the token may do. */
	assert_int_equal(
		answer(&tokens, 1, 403, NULL, "4000", NULL, "Resource not accessible by personal access token", NOW),
		TOKENS_HIDDEN);
	assert_int_equal(answer(&tokens, 1, 404, NULL, NULL, NULL, "Not Found", NOW), TOKENS_HIDDEN);
	assert_int_equal(answer(&tokens, 0, 422, NULL, NULL, NULL, "", NOW), TOKENS_TAKEN);
	assert_int_equal(tokens_refused(&tokens), 0);
	tokens_free(&tokens);
}

/* Changes are one at a time, and a second apart; reads are not. */
static void
test_changes(void **state)
{
	(void)state;
	struct tokens tokens = two();
	uint64_t at;
	tokens_sent(&tokens, 0, true, NOW);
	assert_int_equal(tokens_choose(&tokens, NOW, true, 0, 0, &at), 1);
	tokens_sent(&tokens, 1, true, NOW + 100);
	assert_int_equal(tokens_choose(&tokens, NOW + 2000, true, 0, 0, &at), -1);
	assert_int_equal(at, NOW + TOKENS_CHANGE_MAX_MS);
	assert_int_equal(tokens_choose(&tokens, NOW + 2000, false, 1, 0, &at), 1);
	tokens_changed(&tokens, 1, NOW + 100, NOW + 2000);
	assert_int_equal(tokens_choose(&tokens, NOW + 2999, true, 0, 0, &at), -1);
	assert_int_equal(at, NOW + 3000);
	assert_int_equal(tokens_choose(&tokens, NOW + 3000, true, 0, 0, &at), 1);
	/* The end of an older one does not make way while a newer one is under way. */
	tokens_sent(&tokens, 1, true, NOW + 3000);
	tokens_sent(&tokens, 1, true, NOW + 20000);
	tokens_changed(&tokens, 1, NOW + 3000, NOW + 20100);
	assert_int_equal(tokens_choose(&tokens, NOW + 22000, true, 1, 1, &at), -1);
	tokens_free(&tokens);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(test_read), cmocka_unit_test(test_limits),
	cmocka_unit_test(test_last), cmocka_unit_test(test_refused), cmocka_unit_test(test_changes)};

UNIT_TESTS(test_github_tokens);
