/* SPDX-License-Identifier: MIT */
/* What runners are asked for commands: device.doctor, runner.init, runner.status. */
#include <config.h>

#include "unit/core_fixture.h"

#include <string.h>

#include "base/cleanup.h"
#include "lib/unit_test.h"

typedef void (*answer_fn)(void *arg, const struct kettle_error *err, json_t *result);

/* A runner that answers when the test says so. */
static struct {
	answer_fn done;
	void *arg;
	unsigned asks;
	json_t *args; /* of the last request */
	bool apart;   /* each unit is on a machine of its own */
	int refuses;  /* what it returns instead, without a sentence */
} remote;

static int
take(const json_t *args, answer_fn done, void *arg)
{
	json_decref(remote.args);
	remote.args = json_deep_copy(args);
	remote.asks++;
	if (remote.refuses)
		return remote.refuses;
	remote.done = done;
	remote.arg = arg;
	return 0;
}

static int
remote_ask(void *self, const json_t *args, answer_fn done, void *arg, struct kettle_error *err)
{
	(void)self, (void)err;
	return take(args, done, arg);
}

static int
remote_status(void *self, answer_fn done, void *arg, struct kettle_error *err)
{
	(void)self, (void)err;
	return take(NULL, done, arg);
}

static int
remote_same_machine(void *self, const json_t *unit, const json_t *other)
{
	(void)self, (void)unit, (void)other;
	return !remote.apart;
}

/* Answers the last request; result NULL: with this error. */
static void
reply(json_t *result_take, const char *error)
{
	struct kettle_error err = {0};
	AUTO_JSON json_t *result = result_take;
	if (error)
		(void)kettle_fail(&err, KETTLE_EUNAVAIL, "%s", error);
	answer_fn done = STEAL(remote.done);
	assert_non_null(done);
	done(remote.arg, &err, result);
}

static struct kettle_runner ops;

static int
setup(void **state)
{
	memset(&remote, 0, sizeof(remote));
	int rc = cores_setup(state);
	ops = *cores.runner.ops;
	ops.same_machine = remote_same_machine;
	ops.doctor = remote_ask;
	ops.init = remote_ask;
	ops.status = remote_status;
	cores.runner.ops = &ops;
	return rc;
}

static int
teardown(void **state)
{
	json_decref(remote.args);
	return cores_teardown(state);
}

static void
refused(const char *who, const char *command, json_t *args_take, int code)
{
	assert_int_equal(cores_run(0, who, command, args_take), code);
	assert_sentence(cores_answer.err.message);
}

/* Asks as the owner and waits until the runner has the request. */
static void
ask(const char *command, json_t *args_take, struct answer *answer)
{
	unsigned before = remote.asks;
	answer_clear(answer);
	cores_ask(0, "owner", command, args_take, answer);
	until(remote.asks > before || answer->count);
}

static json_t *
name(const char *text)
{
	return json_pack("{s:s}", "name", text);
}

static void
use_units(size_t count)
{
	json_t *units = json_array();
	const struct core_limits limits = {.submission_bytes = 1000000, .artifact_bytes = 1000000};
	struct kettle_error err = {0};
	for (size_t i = 0; i < count; i++)
		json_array_append_new(units, json_pack("{s:s, s:i}", "runner", "keep", "number", (int)i));
	AUTO_JSON json_t *devices = json_pack("{s:{s:o}}", "CPU", "units", units);
	assert_int_equal(core_reload(cores.core[0], devices, &limits, &err), 0);
}

static void
test_doctor(void **state)
{
	(void)state;
	struct answer answer = {0};
	use_units(2);
	/* Units of one machine share its report, and the text for people is beside it. */
	ask("device.doctor", name("cpu"), &answer);
	assert_string_equal(commands_text(remote.args, "unit"), "CPU.0");
	reply(json_pack("{s:s, s:s}", "level", "full", "text", "all is well\n"), NULL);
	assert_int_equal(answer.count, 1);
	AUTO_FREE char *text = json_dumps(answer.result, JSON_SORT_KEYS);
	assert_string_equal(text, "{\"machines\": [{\"report\": {\"level\": \"full\"}, \"runner\": \"keep\", \"text\": "
							  "\"all is well\\n\", \"units\": [\"CPU.0\", \"CPU.1\"]}]}");
	/* One unit of several, and what its runner says against it. */
	remote.apart = true;
	ask("device.doctor", name("CPU.1"), &answer);
	assert_string_equal(commands_text(remote.args, "unit"), "CPU.1");
	reply(NULL, "The machine is off.");
	assert_string_equal(commands_text(answer.result, "machines.0.error"), "The machine is off.");
	remote.refuses = KETTLE_EIO;
	ask("device.doctor", name("CPU"), &answer);
	until(answer.count);
	assert_int_equal(json_array_size(commands_at(answer.result, "machines")), 2);
	assert_string_equal(
		commands_text(answer.result, "machines.1.error"), "The runner refused the request without a reason.");
	answer_clear(&answer);
	use_units(33);
	refused("owner", "device.doctor", name("CPU"), KETTLE_ETOOBIG);
	ops.doctor = NULL;
	assert_string_equal(commands_text(cores_must(0, "owner", "device.doctor", name("CPU.0")), "machines.0.error"),
		"The runner `keep` cannot run `kettle-exec --doctor` on its machines.");
	refused("owner", "device.doctor", name("TPU"), KETTLE_ENOENT);
	refused("ada", "device.doctor", name("CPU"), KETTLE_EACCES);
}

/* Neither the end of the engine nor a command waits for a runner that does not answer; its answer is dropped then. */
static void
test_silent(void **state)
{
	(void)state;
	struct answer answer = {0};
	ask("device.doctor", name("CPU"), &answer);
	assert_int_equal(answer.count, 0);
	cores_leave(0);
	until(answer.count);
	assert_int_equal(answer.err.code, 0);
	assert_non_null(strstr(commands_text(answer.result, "machines.0.error"), "ended before the runner had answered"));
	cores_close(0);
	reply(json_pack("{s:s}", "level", "full"), NULL);
	assert_int_equal(answer.count, 1);
	answer_clear(&answer);
}

static void
test_init(void **state)
{
	(void)state;
	struct answer answer = {0};
	ask("runner.init",
		json_pack(
			"{s:s, s:s, s:[s, s], s:b}", "name", "keep", "dir", "/srv/x", "option", "queue=gpu", "key=a=b", "force", 1),
		&answer);
	AUTO_FREE char *got = json_dumps(remote.args, JSON_SORT_KEYS);
	assert_string_equal(
		got, "{\"folder\": \"/srv/x\", \"force\": true, \"options\": {\"key\": \"a=b\", \"queue\": \"gpu\"}}");
	reply(json_pack("{s:[{s:s, s:s, s:i}], s:[s, i]}", "files", "path", "/srv/x/job.sh", "state", "created", "size", 7,
			  "next", "Copy it.", 7),
		NULL);
	AUTO_FREE char *text = json_dumps(answer.result, JSON_SORT_KEYS);
	assert_string_equal(text, "{\"files\": [{\"path\": \"/srv/x/job.sh\", \"state\": \"created\"}], \"next\": [\"Copy "
							  "it.\"], \"runner\": \"keep\"}");
	/* A relative folder is one of the current one. */
	ask("runner.init", name("keep"), &answer);
	assert_int_equal(commands_text(remote.args, "folder")[0], '/');
	reply(NULL, "/srv/x/job.sh exists.");
	assert_int_equal(answer.err.code, KETTLE_EUNAVAIL);
	assert_says(&answer.err, "/srv/x/job.sh exists.");
	ask("runner.init", name("keep"), &answer);
	reply(json_array(), NULL);
	assert_says(&answer.err, "not an object");
	answer_clear(&answer);
	refused("owner", "runner.init", json_pack("{s:s, s:[s]}", "name", "keep", "option", "queue"), KETTLE_EINVAL);
	refused(
		"owner", "runner.init", json_pack("{s:s, s:[s, s]}", "name", "keep", "option", "a=1", "a=2"), KETTLE_EINVAL);
	refused("owner", "runner.init", name("kep"), KETTLE_ENOENT);
	ops.init = NULL;
	refused("owner", "runner.init", name("keep"), KETTLE_EUNAVAIL);
}

static void
test_status(void **state)
{
	(void)state;
	struct answer answer = {0};
	ask("runner.status", name("keep"), &answer);
	reply(json_pack("{s:[{s:s, s:s, s:s, s:s}], s:s}", "jobs", "job", "1.1", "state", "waiting", "token", "secret",
			  "where", "slurm 12", "text", "3 jobs of others come first"),
		NULL);
	AUTO_FREE char *text = json_dumps(answer.result, JSON_SORT_KEYS);
	assert_string_equal(text, "{\"jobs\": [{\"job\": \"1.1\", \"state\": \"waiting\", \"where\": \"slurm 12\"}], "
							  "\"runner\": \"keep\", \"text\": \"3 jobs of others come first\"}");
	answer_clear(&answer);
	refused("ada", "runner.status", name("keep"), KETTLE_EACCES);
	refused("owner", "runner.status", name("other"), KETTLE_ENOENT);
	ops.status = NULL;
	refused("owner", "runner.status", name("keep"), KETTLE_EUNAVAIL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {TEST(test_doctor), TEST(test_silent), TEST(test_init), TEST(test_status)};

UNIT_TESTS(test_cmd_runner);
