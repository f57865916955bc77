/* SPDX-License-Identifier: MIT */
/* What answers of Modal and of modal_app.py mean (runners/modal/modal.h). */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/bounded_json.h"
#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"
#include "runners/modal/modal.h"

#define APP "https://ada--kettle-web.modal.run"
#define SENTENCE 1000
#define REPLACED "\xef\xbf\xbd" /* a control character */
#define STARTED "{\"id\": \"fc-1\", \"interface\": 1}"

/* What a reply says, kept beyond it. */
struct said {
	enum reply_kind kind;
	enum remote_status state; /* of the call fc-1 */
	bool unknown;
	char why[SENTENCE], call[ANSWER_MAX_NAME + 1], no_call[SENTENCE];
};

static struct said
judge(const char *app, const char *url, int status, const char *body)
{
	const struct kettle_http_answer answer = {
		.size = sizeof(answer), .status = status, .url = url, .body = body, .body_size = body ? strlen(body) : 0};
	struct kettle_error why = {0};
	AUTO_JSON json_t *json = NULL;
	const struct modal_reply reply = answer_judge(app, &answer, &json, &why);
	struct said said = {.kind = reply.kind, .state = answer_state(&reply, "fc-1"), .unknown = answer_unknown(&reply)};
	const char *no_call, *call = answer_call(&reply, &no_call);
	assert_true((call == NULL) == (no_call != NULL && no_call[0]));
	(void)snprintf(said.call, sizeof(said.call), "%s", call ? call : "");
	(void)snprintf(said.no_call, sizeof(said.no_call), "%s", no_call ? no_call : "");
	(void)snprintf(said.why, sizeof(said.why), "%s", reply.why);
	return said;
}

static struct said
say(int status, const char *body)
{
	return judge(APP, APP "/submit/gpu", status, body);
}

static void
assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("`%s` has no `%s`", text, part);
}

/* A status and a body, and what they are. */
static void
test_kinds(void **state)
{
	(void)state;
	static const struct {
		int status;
		const char *body;
		enum reply_kind kind;
		const char *why;
	} cases[] = {
		{200, STARTED, REPLY_ANSWERED, ""},
		{202, "{\"state\": \"starting\"}", REPLY_ANSWERED, ""},
		{200, "<html>", REPLY_ANSWERED, ""}, /* a result is no JSON */
		{401, "modal-http: missing credentials", REPLY_REFUSED, "Modal answered 401: it refuses the token"},
		{403, "{\"error\": \"no\"}", REPLY_REFUSED, "Modal answered 403"},
		{400, "{\"error\": \"The body breaks off.\"}", REPLY_ANSWERED,
			"modal_app.py answered 400: The body breaks off."},
		{410, "{\"error\": \"a\\u001b[31mb\\nc\"}", REPLY_ANSWERED, "modal_app.py answered 410: a" REPLACED "[31mb c"},
		{404, "{\"error\": \"none\", \"state\": \"unknown\"}", REPLY_ANSWERED, "none"},
		{404, "modal-http: invalid function call", REPLY_SILENT, "Modal answered 404: there is no app at `url`."},
		{404, "[{\"error\": \"none\"}]", REPLY_SILENT, "there is no app"},
		{408, "{\"error\": \"slow\"}", REPLY_SILENT, "Modal answered 408: slow"},
		{429, "", REPLY_SILENT, "Modal answered 429: it gave no reason."},
		{503, "{\"error\": \"later\"}", REPLY_SILENT, "Modal answered 503: later"},
		{500, "{\"error\": 7}", REPLY_SILENT, "Modal answered 500: it gave no reason."},
		{413, "<html>", REPLY_GARBAGE, "Modal answered 413: it gave no reason."},
		{303, "", REPLY_GARBAGE, "Modal answered 303: it gave no reason."},
		{204, "", REPLY_GARBAGE, "Modal answered 204"},
		{100, NULL, REPLY_GARBAGE, "Modal answered 100"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct said said = say(cases[i].status, cases[i].body);
		if (said.kind != cases[i].kind)
			fail_msg("%d %s is %d", cases[i].status, cases[i].body, said.kind);
		assert_has(said.why, cases[i].why);
		assert_int_equal(said.why[0] != 0, cases[i].why[0] != 0);
	}
}

/* What another place says counts for nothing, whatever it is. */
static void
test_places(void **state)
{
	(void)state;
	static const char *const ours[] = {APP, APP "/", APP "/submit/gpu?__modal_function_call_id=fc-9", APP "?x",
		"HTTPS://ADA--kettle-web.modal.run/poll"};
	static const char *const others[] = {"http://ada--kettle-web.modal.run/poll", APP ".evil.example/poll",
		APP ":444/poll", APP "@evil.example/poll", "https://evil.example/" APP, "", NULL};
	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		assert_int_equal(judge(APP, ours[i], 200, STARTED).kind, REPLY_ANSWERED);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		for (int status = 200; status <= 500; status += 100) {
			const struct said said = judge(APP, others[i], status, STARTED);
			assert_int_equal(said.kind, REPLY_GARBAGE);
			assert_string_equal(said.call, "");
			assert_has(said.why, "another host");
		}
	}
	/* The app may be below a path; the host counts. */
	assert_int_equal(judge("https://a.example/app", "https://a.example/login", 200, STARTED).kind, REPLY_ANSWERED);
	assert_int_equal(judge("https://a.example/app", "https://a.example.org/app", 200, STARTED).kind, REPLY_GARBAGE);
}

static void
test_calls(void **state)
{
	(void)state;
	assert_string_equal(say(200, STARTED).call, "fc-1");
	static const char *const none[] = {"", "[]", "{}", "{\"id\": 1, \"interface\": 1}", "{\"id\": \"fc-1\"}",
		"{\"id\": \"\", \"interface\": 1}", "{\"id\": \"../../x\", \"interface\": 1}",
		"{\"id\": \"fc-1?x\", \"interface\": 1}", "{\"id\": \"fc-1\", \"interface\": \"1\"}",
		"{\"id\": \"fc-1\\u0000\", \"interface\": 1}", "{\"id\": \"f\\u00fc\", \"interface\": 1}",
		"{\"id\": \"fc-1\", \"inter"};
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		assert_has(say(200, none[i]).no_call, "is not one of modal_app.py");
	char longest[ANSWER_MAX_NAME + 2];
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	AUTO_FREE char *over = xasprintf("{\"id\": \"%s\", \"interface\": 1}", longest);
	AUTO_FREE char *right = xasprintf("{\"id\": \"%s\", \"interface\": 1}", longest + 1);
	assert_string_equal(say(200, over).call, "");
	assert_string_equal(say(200, right).call, longest + 1);
	assert_has(say(200, "{\"id\": \"fc-1\", \"interface\": 2}").no_call, "kettle runner init");
	/* Only a 200 has a call; another reply keeps its own sentence. */
	assert_has(say(202, STARTED).no_call, "is not one of modal_app.py");
	assert_has(say(503, "{\"id\": \"fc-1\", \"interface\": 1, \"error\": \"later\"}").no_call, "503: later");
}

static void
test_states(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		enum remote_status state;
	} cases[] = {{"\"starting\"", REMOTE_PENDING}, {"\"running\"", REMOTE_RUNNING}, {"\"later\"", REMOTE_NO_ANSWER},
		{"\"done\"", REMOTE_ENDED}, {"\"failed\"", REMOTE_ENDED}, {"\"unknown\"", REMOTE_ENDED},
		{"\"Done\"", REMOTE_INVALID}, {"\"\"", REMOTE_INVALID}, {"null", REMOTE_INVALID},
		{"[\"done\"]", REMOTE_INVALID}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *body = xasprintf("{\"calls\": {\"fc-2\": \"done\", \"fc-1\": %s}}", cases[i].text);
		assert_int_equal(say(200, body).state, cases[i].state);
		assert_int_equal(say(202, body).state, REMOTE_INVALID);
		assert_int_equal(say(503, body).state, REMOTE_INVALID);
	}
	assert_int_equal(say(200, "{\"calls\": [\"fc-1\"]}").state, REMOTE_INVALID);
	assert_int_equal(say(200, "{\"calls\": {\"fc-2\": \"done\"}}").state, REMOTE_INVALID);
	assert_int_equal(say(200, "{\"fc-1\": \"done\"}").state, REMOTE_INVALID);
}

/* Modal's own 404, and one with another state, say nothing of a call. */
static void
test_unknown(void **state)
{
	(void)state;
	assert_true(say(404, "{\"error\": \"e\", \"state\": \"unknown\"}").unknown);
	assert_false(say(404, "{\"error\": \"e\"}").unknown);
	assert_false(say(404, "{\"state\": \"unknown\"}").unknown);
	assert_false(say(404, "not found").unknown);
	assert_false(say(410, "{\"error\": \"e\", \"state\": \"unknown\"}").unknown);
	assert_false(say(200, "{\"state\": \"unknown\"}").unknown);
}

static void
test_missing(void **state)
{
	(void)state;
	struct kettle_error err = {.code = KETTLE_EUNAVAIL, .message = "no route"};
	assert_int_equal(answer_missing(&err).kind, REPLY_SILENT);
	assert_string_equal(answer_missing(&err).why, "no route");
	err.code = KETTLE_ETOOBIG;
	assert_int_equal(answer_missing(&err).kind, REPLY_GARBAGE);
	err.code = KETTLE_EIO;
	assert_int_equal(answer_missing(&err).kind, REPLY_SILENT);
}

static void
assert_health(const char *body, const char *expected)
{
	AUTO_JSON json_t *health = json_loads(body, JSON_DECODE_ANY, NULL);
	AUTO_FREE char *text = answer_health(health);
	assert_string_equal(text, expected);
}

static void
test_health(void **state)
{
	(void)state;
	assert_health(
		"{\"version\": \"0.1.0\", \"devices\": [{\"name\": \"H100\", \"gpu\": \"H100:2\", \"queue\": {\"waiting\": 2, "
		"\"running\": 1}}, {\"name\": \"cpu\", \"gpu\": null, \"queue\": null}]}",
		"kettle-exec 0.1.0; H100 (H100:2): 2 waiting, 1 running; cpu");
	assert_health("{\"version\": 1, \"devices\": {\"a\": 1}}", "modal_app.py gives no version");
	assert_health("[]", "modal_app.py gives no version");
	assert_health("{\"version\": \"\\u001b[2J\\n1\", \"devices\": [7, {\"name\": \"\\u202ea\", \"queue\": "
				  "{\"waiting\": \"x\"}}]}",
		"kettle-exec " REPLACED "[2J 1; ; a: 0 waiting, 0 running");
	AUTO_JSON json_t *health = json_pack("{s:[]}", "devices");
	for (int i = 0; i < 2 * ANSWER_MAX_DEVICES; i++)
		json_array_append_new(json_object_get(health, "devices"), json_pack("{s:s}", "name", "d"));
	AUTO_FREE char *text = answer_health(health);
	assert_int_equal(strlen(text), strlen("modal_app.py gives no version") + ANSWER_MAX_DEVICES * strlen("; d"));
}

/* What would take a hundred times its bytes of memory is not parsed: a result may be any bytes, a call's answer may not. */
static void
test_values(void **state)
{
	(void)state;
	struct said said[2];
	for (int more = 0; more < 2; more++) {
		AUTO_JSON json_t *answer = json_pack("{s:s, s:i, s:[]}", "id", "fc-1", "interface", 1, "padding");
		for (int i = 0; i < BOUNDED_JSON_VALUES - 10 + 20 * more; i++)
			json_array_append_new(json_object_get(answer, "padding"), json_true());
		AUTO_FREE char *text = json_dumps(answer, JSON_COMPACT);
		assert_true(strlen(text) <= ANSWER_MAX_JSON);
		said[more] = say(200, text);
		assert_int_equal(said[more].kind, REPLY_ANSWERED);
	}
	assert_string_equal(said[0].call, "fc-1");
	assert_string_equal(said[1].call, "");
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinds), cmocka_unit_test(test_places),
	cmocka_unit_test(test_calls), cmocka_unit_test(test_states), cmocka_unit_test(test_unknown),
	cmocka_unit_test(test_missing), cmocka_unit_test(test_health), cmocka_unit_test(test_values)};

UNIT_TESTS(test_modal_answers);
