/* SPDX-License-Identifier: MIT */
/* Answers of GitHub: right ones, and all that is not. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/unit_test.h"
#include "runners/github/github.h"

static const char digest[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static json_t *
parse(const char *text)
{
	json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
	assert_non_null(json);
	return json;
}

static void
test_dispatched(void **state)
{
	(void)state;
	static const char *const wrong[] = {"{}", "{\"workflow_run_id\": \"12\"}", "{\"workflow_run_id\": -1}",
		"{\"workflow_run_id\": 1.5}", "{\"workflow_run_id\": null}"};
	int64_t id = 0;
	AUTO_JSON json_t *right = parse("{\"workflow_run_id\": 16000000001, \"run_url\": \"x\"}");
	assert_int_equal(answer_dispatched(right, &id, NULL), 0);
	assert_true(id == INT64_C(16000000001));
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		AUTO_JSON json_t *body = parse(wrong[i]);
		struct kettle_error err = {0};
		assert_int_equal(answer_dispatched(body, &id, &err), KETTLE_EIO);
		assert_true(err.message[0] != '\0' && id == INT64_C(16000000001));
	}
}

static void
test_run(void **state)
{
	(void)state;
	static const char *const wrong[] = {"{}", "[]", "{\"id\": 3}", "{\"id\": \"3\", \"status\": \"queued\"}",
		"{\"id\": 3, \"status\": null}", "{\"id\": 3, \"status\": \"completed\", \"conclusion\": null}"};
	struct run_facts facts = {0};
	AUTO_JSON json_t *right =
		parse("{\"id\": 3, \"status\": \"completed\", \"conclusion\": \"success\", \"run_attempt\": 2, "
			  "\"display_title\": \"kettle-1f0c9a3e-12.1\", \"html_url\": \"https://x/3\", "
			  "\"created_at\": \"2026-03-10T12:00:00Z\"}");
	assert_int_equal(answer_run(right, &facts, NULL), 0);
	assert_int_equal(facts.id, 3);
	assert_int_equal(facts.attempt, 2);
	assert_string_equal(facts.conclusion, "success");
	assert_string_equal(facts.title, "kettle-1f0c9a3e-12.1");
	assert_true(facts.created_ms == INT64_C(1773144000000));
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		AUTO_JSON json_t *body = parse(wrong[i]);
		struct kettle_error err = {0};
		assert_int_equal(answer_run(body, &facts, &err), KETTLE_EIO);
		assert_int_equal(facts.id, 3);
	}
	assert_true(answer_time("2026-03-10T12:00:00.123Z") == INT64_C(1773144000000));
	assert_true(answer_time("yesterday") == 0);
	assert_true(answer_time("2026-03-10T12:00:00") == 0);
}

static void
test_runs(void **state)
{
	(void)state;
	static const char *const wrong[] = {"{}", "{\"workflow_runs\": {}}", "{\"workflow_runs\": null}"};
	const json_t *runs = NULL;
	AUTO_JSON json_t *right = parse("{\"total_count\": 1, \"workflow_runs\": [{}]}");
	assert_int_equal(answer_runs(right, &runs, NULL), 0);
	assert_int_equal(json_array_size(runs), 1);
	for (int i = 0; i < ANSWER_LIST_MAX; i++)
		json_array_append_new((json_t *)runs, json_object());
	struct kettle_error err = {0};
	assert_int_equal(answer_runs(right, &runs, &err), KETTLE_EIO);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		AUTO_JSON json_t *body = parse(wrong[i]);
		assert_int_equal(answer_runs(body, &runs, &err), KETTLE_EIO);
	}
}

static json_t *
artifacts(json_t *one_take, json_t *other_take)
{
	return json_pack("{s:i, s:[o, o]}", "total_count", 2, "artifacts", one_take, other_take);
}

static void
test_artifact(void **state)
{
	(void)state;
	struct artifact_facts facts = {0};
	struct kettle_error err = {0};
	AUTO_JSON json_t *right =
		artifacts(json_pack("{s:i, s:s, s:i, s:o, s:b}", "id", 9, "name", "kettle-result", "size_in_bytes", 700,
					  "digest", json_sprintf("sha256:%s", digest), "expired", 0),
			json_pack("{s:i, s:s, s:i}", "id", 11, "name", "other", "size_in_bytes", 1));
	assert_int_equal(answer_artifact(right, "kettle-result", &facts, &err), 0);
	assert_true(facts.id == 9 && facts.size == 700 && !facts.expired);
	assert_string_equal(facts.sha256, digest);
	assert_int_equal(answer_artifact(right, "nothing", &facts, &err), KETTLE_ENOENT);
	/* Of two of a name the newer one counts; null is no digest. */
	AUTO_JSON json_t *two =
		artifacts(json_pack("{s:i, s:s, s:i, s:n}", "id", 9, "name", "a", "size_in_bytes", 7, "digest"),
			json_pack("{s:i, s:s, s:i, s:b}", "id", 10, "name", "a", "size_in_bytes", 8, "expired", 1));
	assert_int_equal(answer_artifact(two, "a", &facts, &err), 0);
	assert_true(facts.id == 10 && facts.size == 8 && facts.expired && facts.sha256[0] == '\0');
	static const char *const wrong[] = {"{}", "{\"artifacts\": 1}", "{\"artifacts\": [{\"id\": 1, \"name\": \"a\"}]}",
		"{\"artifacts\": [{\"id\": 1, \"name\": \"a\", \"size_in_bytes\": -4}]}",
		"{\"artifacts\": [{\"id\": 1, \"name\": \"a\", \"size_in_bytes\": 4, \"digest\": \"md5:00\"}]}",
		"{\"artifacts\": [{\"id\": 1, \"name\": \"a\", \"size_in_bytes\": 4, \"digest\": 12}]}"};
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		AUTO_JSON json_t *body = parse(wrong[i]);
		assert_int_equal(answer_artifact(body, "a", &facts, &err), KETTLE_EIO);
	}
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(test_dispatched), cmocka_unit_test(test_run),
	cmocka_unit_test(test_runs), cmocka_unit_test(test_artifact)};

UNIT_TESTS(test_github_answers);
