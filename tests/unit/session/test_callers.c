/* SPDX-License-Identifier: MIT */
/* Frontends that serve others: callers, limits of clients on a network, cancelled calls, and followed events. */
#include <config.h>

#include "unit/core_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "lib/unit_test.h"
#include "session/plugin_host.h"

static struct core_host hosts[2];
static const struct kettle_host *web = &hosts[0].table, *other = &hosts[1].table;

static void
open_hosts(void)
{
	host_init(&hosts[0], cores.io, cores.core[0], "web");
	host_init(&hosts[1], cores.io, cores.core[0], "other");
}

/* They are closed before their core. */
static void
close_hosts(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		host_end(&hosts[i]);
		hosts[i].core = NULL;
	}
}

static int
setup(void **state)
{
	int rc = cores_setup(state);
	const char *top = getenv("top_srcdir");
	char tasks[1000];
	(void)snprintf(tasks, sizeof(tasks), "%s/tasks", top ? top : ".");
	(void)setenv("KETTLE_TASKS", tasks, 1);
	open_hosts();
	(void)cores_must(0, "owner", "leaderboard.list", NULL);
	return rc;
}

static int
teardown(void **state)
{
	close_hosts();
	return cores_teardown(state);
}

static void
settle(void)
{
	for (int i = 0; i < 10; i++)
		cores_turn();
}

static void
on_answer(void *arg, const struct kettle_error *err, json_t *result)
{
	struct answer *answer = arg;
	assert_int_equal(answer->count++, 0);
	answer->err = *err;
	answer->result = json_deep_copy(result);
}

static uint64_t
open_caller(const struct kettle_host *host)
{
	uint64_t caller = 0;
	assert_int_equal(host->caller_open(host, &caller, NULL), 0);
	assert_true(caller > 0);
	return caller;
}

static void
on_ended(void *arg)
{
	(*(int *)arg)++;
}

static void
close_caller(uint64_t caller)
{
	int ended = 0;
	assert_int_equal(web->caller_close(web, caller, on_ended, &ended), 0);
	assert_int_equal(ended, 0);
	until(ended);
}

/* Sends a request; its code if it is refused at once, with a sentence. */
static int
send_request(const struct kettle_request *given, struct answer *answer, uint64_t *ret_id, struct kettle_error *err)
{
	struct kettle_request request = *given;
	request.size = sizeof(request);
	request.done = on_answer;
	request.arg = answer;
	int rc = web->request(web, &request, ret_id, err);
	assert_int_equal(answer->count, 0);
	assert_true((rc < 0) == (err->message[0] != '\0'));
	return rc;
}

/* The code of a command from outside. */
static int
from_outside(json_t *actor_take, const char *command, json_t *args_take)
{
	AUTO_JSON json_t *actor = actor_take, *args = args_take;
	struct kettle_error err = {0};
	struct answer answer = {0};
	const struct kettle_request request = {.actor = actor, .command = command, .args = args, .outside = true};
	int rc = send_request(&request, &answer, NULL, &err);
	if (rc < 0)
		return rc;
	until(answer.count);
	rc = answer.err.code;
	answer_clear(&answer);
	return rc;
}

/* ---- trust ---- */

static json_t *
to_root(void)
{
	return json_pack("{s:s, s:s, s:s}", "user", "owner", "provider", "web", "subject", "mallory");
}

static json_t *
nobody(void)
{
	return json_pack("{s:s, s:s}", "provider", "web", "subject", "anonymous");
}

/* The core refuses it, whatever the plugin forgot. */
static void
test_outside(void **state)
{
	(void)state;
	assert_int_equal(from_outside(nobody(), "identity.add", to_root()), KETTLE_EACCES);
	assert_int_equal(cores_run(0, "web", "identity.add", to_root()), 0);
	for (const struct command *command = commands; command->name; command++) {
		bool closed = command->internal || command->kind == COMMAND_LOCAL;
		if (closed)
			assert_int_equal(from_outside(nobody(), command->name, NULL), KETTLE_EACCES);
		if (closed && command->alias)
			assert_int_equal(from_outside(nobody(), command->alias, NULL), KETTLE_EACCES);
		/* Nothing else takes a path of this machine. */
		for (const struct argument *one = command->arguments; one && one->name; one++)
			assert_true(one->type != ARGUMENT_PATH || closed);
	}
	json_t *actor = nobody();
	json_object_set_new(actor, "role", json_string("admin"));
	assert_int_equal(from_outside(json_incref(actor), "admin.stats", NULL), KETTLE_EACCES);
	json_object_del(actor, "role");
	assert_int_equal(from_outside(json_incref(actor), "admin.stats", NULL), KETTLE_EACCES);
	json_object_set_new(actor, "caller", json_integer(1));
	assert_int_equal(from_outside(actor, "leaderboard.list", NULL), KETTLE_EACCES);
	assert_int_equal(from_outside(json_object(), "leaderboard.list", NULL), KETTLE_EINVAL);
	assert_int_equal(from_outside(NULL, "leaderboard.list", NULL), KETTLE_EINVAL);
	assert_int_equal(from_outside(nobody(), "no.such", NULL), KETTLE_EINVAL);
}

static size_t
count_users(void)
{
	return json_array_size(cores_must(0, "owner", "user.list", NULL));
}

/* An actor that is invented for those who have not logged in becomes no user by reading. */
static void
test_anonymous(void **state)
{
	(void)state;
	size_t before = count_users();
	assert_int_equal(from_outside(nobody(), "leaderboard.list", NULL), 0);
	assert_int_equal(from_outside(nobody(), "leaderboard.show", json_pack("{s:s}", "name", "arena")), 0);
	assert_int_equal(count_users(), before);
	assert_int_equal(from_outside(nobody(), "token.create", json_pack("{s:s}", "name", "t")), 0);
	assert_int_equal(count_users(), before + 1);
}

/* Malformed requests are refused at once, with the member. */
static void
test_refused_requests(void **state)
{
	(void)state;
	AUTO_JSON json_t *actor = nobody(), *boss = nobody();
	struct answer answer = {0};
	struct kettle_error err = {0};
	uint64_t theirs = open_caller(other);
	json_object_set_new(boss, "role", json_string("boss"));
	const struct {
		struct kettle_request request;
		int code;
		const char *member;
	} cases[] = {
		{{.actor = actor, .command = NULL}, KETTLE_EINVAL, ""},
		{{.actor = actor, .command = "leaderboard.list", .caller = 4711}, KETTLE_EINVAL, "caller"},
		{{.actor = actor, .command = "leaderboard.list", .caller = theirs}, KETTLE_EINVAL, "caller"},
		{{.actor = boss, .command = "leaderboard.list"}, KETTLE_EINVAL, "role"},
		{{.actor = boss, .command = "leaderboard.list", .outside = true}, KETTLE_EACCES, "role"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		err = (struct kettle_error){0};
		assert_int_equal(send_request(&cases[i].request, &answer, NULL, &err), cases[i].code);
		assert_string_equal(err.member, cases[i].member);
		assert_sentence(err.message);
	}
	const struct kettle_request small = {.size = 4, .actor = actor, .command = "leaderboard.list"};
	assert_int_equal(web->request(web, &small, NULL, &err), KETTLE_EINVAL);
	assert_int_equal(web->caller_close(web, theirs, NULL, NULL), KETTLE_EINVAL);
	assert_int_equal(web->caller_close(web, 4711, NULL, NULL), KETTLE_EINVAL);
	assert_int_equal(other->caller_close(other, theirs, NULL, NULL), 0);
	assert_int_equal(other->caller_close(other, theirs, NULL, NULL), KETTLE_EINVAL);
	settle();
}

/* ---- callers ---- */

struct ear {
	json_t *events;
	uint64_t id;
};

static void
on_event(void *arg, const json_t *event)
{
	struct ear *ear = arg;
	assert_non_null(json_text_or_null(event, "at"));
	(void)json_array_append_new(ear->events, json_deep_copy(event));
}

static void
follow(struct ear *ear, const char *who, json_t *filter_take, int64_t after, uint64_t caller)
{
	AUTO_JSON json_t *actor = cores_actor(who), *filter = filter_take;
	struct kettle_error err = {0};
	ear->events = json_array();
	const struct kettle_subscription subscription = {.size = sizeof(subscription),
		.actor = actor,
		.filter = filter,
		.after = after,
		.caller = caller,
		.fn = on_event,
		.arg = ear};
	if (web->follow(web, &subscription, &ear->id, &err) < 0)
		fail_msg("%s", err.message);
}

static void
forget(struct ear *ear)
{
	(void)web->unsubscribe(web, ear->id, NULL, NULL);
	json_decref(ear->events);
	*ear = (struct ear){0};
}

static json_t *
progress(void)
{
	return json_pack("{s:b}", "task_run", 1);
}

static const char *
kind_of(const struct ear *ear, size_t index)
{
	return json_text_or_empty(json_array_get(ear->events, index), "kind");
}

static json_int_t
seq_of(const struct ear *ear, size_t index)
{
	return member_int(json_array_get(ear->events, index), "seq");
}

/* The reference of the last job that no queue knows. */
static const char *
last_job(const struct core *core, const char *kind)
{
	static char ref[INFLIGHT_REF_SIZE];
	(void)snprintf(ref, sizeof(ref), "%s-%ld.%llu", kind, (long)getpid(), (unsigned long long)core->local_jobs);
	return ref;
}

static bool
runs(struct core *core, const char *kind)
{
	return core->local_jobs > 0 && inflight_find(&core->inflight, last_job(core, kind));
}

/* A calibration of CPU, by a request of the caller; waits until a job of it runs. */
static void
calibrate(uint64_t caller, struct answer *answer, uint64_t *ret_id)
{
	AUTO_JSON json_t *actor = cores_actor("owner"), *args = json_pack("{s:s}", "device", "CPU");
	const struct kettle_request request = {
		.actor = actor, .command = "device.calibrate", .args = args, .caller = caller};
	struct kettle_error err = {0};
	assert_int_equal(send_request(&request, answer, ret_id, &err), 0);
	until(runs(cores.core[0], "calibrate"));
}

/* Arguments of a task.run. New reference. */
static json_t *
run_args(void)
{
	const char *tasks = getenv("KETTLE_TASKS");
	return json_pack("{s:o, s:o, s:s}", "path", json_sprintf("%s/vectoradd_cpp", tasks), "file",
		json_sprintf("%s/vectoradd_cpp/template.cpp", tasks), "mode", "test");
}

static void
say_step(const char *kind)
{
	AUTO_JSON json_t *event = json_pack("{s:s, s:s}", "event", "step", "step", "test");
	web->job_event(web, last_job(cores.core[0], kind), event);
}

/* Each client sees the progress of its own commands, and none of another's. */
static void
test_progress(void **state)
{
	(void)state;
	uint64_t ann = open_caller(web), bea = open_caller(web);
	struct ear of_ann, of_bea, own;
	struct answer answer = {0};
	assert_true(ann != bea);
	follow(&of_ann, "owner", progress(), -1, ann);
	follow(&of_bea, "owner", progress(), -1, bea);
	follow(&own, "owner", progress(), -1, 0);
	calibrate(ann, &answer, NULL);
	size_t before = json_array_size(of_ann.events);
	say_step("calibrate");
	assert_int_equal(json_array_size(of_ann.events), before + 1);
	assert_string_equal(kind_of(&of_ann, before), "progress");
	assert_int_equal(json_array_size(of_bea.events) + json_array_size(own.events), 0);
	close_caller(ann);
	assert_int_equal(answer.count, 1);
	assert_int_equal(answer.err.code, KETTLE_ECANCELED);
	until(!runs(cores.core[0], "calibrate"));
	answer_clear(&answer);
	/* A number in an actor means nothing. */
	AUTO_JSON json_t *actor = cores_actor("owner"), *args = run_args();
	json_object_set_new(actor, "caller", json_integer((json_int_t)bea));
	assert_int_equal(web->call(web, actor, "task.run", args, on_answer, &answer), 0);
	until(runs(cores.core[0], "local"));
	say_step("local");
	assert_true(json_array_size(own.events) > 0);
	assert_int_equal(json_array_size(of_bea.events), 0);
	cores.runner.ops->cancel(NULL, last_job(cores.core[0], "local"));
	until(answer.count);
	answer_clear(&answer);
	/* With its caller a subscription ends. */
	size_t count = cores.core[0]->subscriptions.count;
	close_caller(bea);
	assert_int_equal(cores.core[0]->subscriptions.count, count - 1);
	json_decref(of_ann.events);
	json_decref(of_bea.events);
	forget(&own);
}

/* ---- cancelled ---- */

static void
test_cancel(void **state)
{
	(void)state;
	struct answer answer = {0};
	uint64_t id = 0;
	calibrate(0, &answer, &id);
	other->request_cancel(other, id);
	web->request_cancel(web, id + 1000);
	settle();
	assert_int_equal(answer.count, 0);
	assert_true(runs(cores.core[0], "calibrate"));
	web->request_cancel(web, id);
	assert_int_equal(answer.count, 0);
	until(answer.count);
	assert_int_equal(answer.err.code, KETTLE_ECANCELED);
	until(!runs(cores.core[0], "calibrate"));
	web->request_cancel(web, id);
	settle();
	answer_clear(&answer);
}

/* Of this process itself. */
static void
test_cancel_local(void **state)
{
	(void)state;
	struct answer answer = {0};
	struct kettle_error err = {0};
	uint64_t id = 0;
	AUTO_JSON json_t *actor = cores_actor("owner"), *args = run_args();
	const struct kettle_request request = {.actor = actor, .command = "task.run", .args = args};
	assert_int_equal(send_request(&request, &answer, &id, &err), 0);
	until(runs(cores.core[0], "local"));
	web->request_cancel(web, id);
	until(answer.count);
	assert_int_equal(answer.err.code, KETTLE_ECANCELED);
	until(!runs(cores.core[0], "local"));
	answer_clear(&answer);
}

/* At once, and when the answer is there already: done comes once. */
static void
test_cancel_any_moment(void **state)
{
	(void)state;
	AUTO_JSON json_t *actor = cores_actor("owner");
	const struct kettle_request request = {.actor = actor, .command = "leaderboard.list"};
	for (int turns = 0; turns < 6; turns++) {
		struct answer answer = {0};
		struct kettle_error err = {0};
		uint64_t id = 0;
		assert_int_equal(send_request(&request, &answer, &id, &err), 0);
		for (int i = 0; i < turns; i++)
			cores_turn();
		web->request_cancel(web, id);
		until(answer.count);
		assert_true(answer.err.code == (turns == 0 ? KETTLE_ECANCELED : 0) || answer.err.code == KETTLE_ECANCELED);
		settle();
		answer_clear(&answer);
	}
}

/* A process that is no owner tells the owner. */
static void
test_cancel_at_owner(void **state)
{
	(void)state;
	struct answer answer = {0};
	struct kettle_error err = {0};
	uint64_t id = 0;
	AUTO_JSON json_t *actor = cores_actor("owner"), *args = json_pack("{s:s}", "device", "CPU");
	const struct kettle_request request = {
		.actor = actor, .command = "device.calibrate", .args = args, .done = on_answer, .arg = &answer};
	cores_make(1, false);
	assert_int_equal(core_request(cores.core[1], &request, NULL, &id, &err), 0);
	until(runs(cores.core[0], "calibrate"));
	core_cancel(cores.core[1], NULL, id);
	until(answer.count);
	assert_int_equal(answer.err.code, KETTLE_ECANCELED);
	until(!runs(cores.core[0], "calibrate"));
	cores_must(1, "ada", "leaderboard.list", NULL);
	answer_clear(&answer);
}

struct thread {
	struct answer answers[20];
	int ended;
};

static void
serve(void *arg)
{
	struct thread *thread = arg;
	AUTO_JSON json_t *actor = cores_actor("owner");
	uint64_t caller = 0, id = 0;
	assert_int_equal(web->caller_open(web, &caller, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(thread->answers); i++) {
		const struct kettle_request request = {.size = sizeof(request),
			.actor = actor,
			.command = "leaderboard.list",
			.caller = caller,
			.outside = true,
			.done = on_answer,
			.arg = &thread->answers[i]};
		assert_int_equal(web->request(web, &request, &id, NULL), 0);
		if (i % 2)
			web->request_cancel(web, id);
	}
	assert_int_equal(web->caller_close(web, caller, on_ended, &thread->ended), 0);
}

/* Another thread does all of it; after the end of a caller nothing of it comes. */
static void
test_other_thread(void **state)
{
	(void)state;
	struct thread served = {0};
	uv_thread_t thread;
	assert_int_equal(uv_thread_create(&thread, serve, &served), 0);
	until(served.ended);
	for (size_t i = 0; i < ARRAY_SIZE(served.answers); i++) {
		assert_int_equal(served.answers[i].count, 1);
		answer_clear(&served.answers[i]);
	}
	assert_int_equal(uv_thread_join(&thread), 0);
}

/* ---- followed events ---- */

struct change {
	const char *sql;
	bool done;
};

static int
change_op(struct db *db, void *arg, struct kettle_error *err)
{
	return db_exec(db, err, ((struct change *)arg)->sql, NULL);
}

static void
change_done(void *arg, const struct kettle_error *err)
{
	assert_null(err);
	((struct change *)arg)->done = true;
}

static void
change_database(const char *sql)
{
	struct change change = {.sql = sql};
	store_write(cores.core[0]->store, change_op, change_done, &change);
	until(change.done);
}

static size_t
size_of(const struct ear *ear)
{
	return json_array_size(ear->events);
}

/* Follows until it has caught up; the number of events before that. */
static size_t
catch_up(struct ear *ear, int64_t after)
{
	follow(ear, "owner", NULL, after, 0);
	until(size_of(ear) > 0 && strcmp(kind_of(ear, size_of(ear) - 1), "caught_up") == 0);
	return size_of(ear) - 1;
}

static void
test_follow(void **state)
{
	(void)state;
	struct ear ear;
	for (int i = 0; i < 3; i++) {
		char name[20];
		(void)snprintf(name, sizeof(name), "b%d", i);
		cores_board(0, name, false);
	}
	size_t all = catch_up(&ear, 0);
	json_int_t newest = seq_of(&ear, all - 1);
	assert_int_equal(newest, all); /* from 1 on */
	const json_t *marker = json_array_get(ear.events, all);
	assert_int_equal(member_int(marker, "oldest"), 1);
	assert_int_equal(member_int(marker, "newest"), newest);
	assert_int_equal(member_int(marker, "seq"), newest);
	forget(&ear);
	/* `after` itself does not come. */
	assert_int_equal(catch_up(&ear, newest - 1), 1);
	assert_int_equal(seq_of(&ear, 0), newest);
	forget(&ear);
	assert_int_equal(catch_up(&ear, newest), 0);
	forget(&ear);
	assert_int_equal(catch_up(&ear, -1), 0);
	assert_int_equal(seq_of(&ear, 0), newest);
	cores_board(0, "live", false);
	until(size_of(&ear) == 2);
	assert_int_equal(seq_of(&ear, 1), newest + 1);
	forget(&ear);
}

/* A gap is reported, not passed over. */
static void
test_reset(void **state)
{
	(void)state;
	struct ear ear;
	cores_board(0, "b0", false);
	cores_board(0, "b1", false);
	json_int_t newest = (json_int_t)catch_up(&ear, 0);
	forget(&ear);
	change_database("DELETE FROM events WHERE seq <= 2");
	size_t before = catch_up(&ear, 1);
	assert_string_equal(kind_of(&ear, 0), "reset");
	assert_int_equal(seq_of(&ear, 0), 2);
	assert_int_equal(before, 1 + newest - 2);
	assert_int_equal(seq_of(&ear, 1), 3);
	forget(&ear);
	assert_int_equal(catch_up(&ear, 2), newest - 2);
	forget(&ear);
	/* A database that was restored. */
	assert_int_equal(catch_up(&ear, newest + 100), 1);
	assert_string_equal(kind_of(&ear, 0), "reset");
	assert_int_equal(seq_of(&ear, 0), newest);
	cores_board(0, "b2", false);
	until(size_of(&ear) == 3);
	assert_int_equal(seq_of(&ear, 2), newest + 1);
	forget(&ear);
	/* All of them are gone, and none is missing after the last one. */
	change_database("DELETE FROM events");
	assert_int_equal(catch_up(&ear, newest + 1), 0);
	forget(&ear);
	assert_int_equal(catch_up(&ear, newest), 1);
	assert_string_equal(kind_of(&ear, 0), "reset");
	forget(&ear);
}

static void
test_refused_board(void **state)
{
	(void)state;
	struct ear ear, secret;
	cores_board(0, "secret", true);
	follow(&ear, "ada", json_pack("{s:s}", "leaderboard", "nope"), 0, 0);
	follow(&secret, "ada", json_pack("{s:s}", "leaderboard", "secret"), 0, 0);
	until(size_of(&ear) == 1 && size_of(&secret) == 1);
	assert_string_equal(kind_of(&ear, 0), "refused");
	assert_string_equal(json_text_or_empty(json_array_get(ear.events, 0), "code"), "not-found");
	assert_string_equal(kind_of(&secret, 0), "refused");
	assert_string_equal(json_text_or_empty(json_array_get(secret.events, 0), "code"), "not-found");
	cores_board(0, "nope", false);
	settle();
	assert_int_equal(size_of(&ear), 1);
	forget(&ear);
	forget(&secret);
}

/* A filter or an actor that is wrong is no subscription to everything. */
static void
test_refused_follow(void **state)
{
	(void)state;
	const char *const cases[][3] = {
		/* actor, filter, member */
		{"{\"provider\": \"web\", \"subject\": \"a\"}", "{\"leaderbord\": \"arena\"}", "leaderbord"},
		{"{\"provider\": \"web\", \"subject\": \"a\"}", "{\"leaderboard\": 5}", "leaderboard"},
		{"{\"provider\": \"web\", \"subject\": \"a\"}", "{\"leaderboard\": \"\"}", "leaderboard"},
		{"{\"provider\": \"web\", \"subject\": \"a\"}", "{\"submission\": \"7\"}", "submission"},
		{"{\"provider\": \"web\", \"subject\": \"a\"}", "{\"submission\": 0}", "submission"},
		{"{\"provider\": \"web\", \"subject\": \"a\"}", "[]", ""},
		{"{\"provider\": \"web\", \"subject\": \"a\", \"role\": \"boss\"}", "{}", "role"},
		{"{\"provider\": \"web\", \"subject\": \"a\", \"caller\": 3}", "{}", "caller"},
		{"{}", "{}", ""},
		{"null", "{}", ""},
	};
	hosts[0].abi_minor = 3;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_JSON json_t *actor = json_loads(cases[i][0], JSON_DECODE_ANY, NULL),
						 *filter = json_loads(cases[i][1], JSON_DECODE_ANY, NULL);
		struct kettle_error err = {0};
		uint64_t id = 0;
		const struct kettle_subscription subscription = {.size = sizeof(subscription),
			.actor = json_is_null(actor) ? NULL : actor,
			.filter = filter,
			.fn = on_event};
		assert_int_equal(web->follow(web, &subscription, &id, &err), KETTLE_EINVAL);
		assert_string_equal(err.member, cases[i][2]);
		assert_sentence(err.message);
		assert_int_equal(web->subscribe(web, subscription.actor, filter, 0, on_event, NULL, &id, &err), KETTLE_EINVAL);
	}
	assert_int_equal(cores.core[0]->subscriptions.count, 0);
}

/* Another process hears the same, and again when the engine has changed hands. */
static void
test_follow_elsewhere(void **state)
{
	(void)state;
	struct ear ear = {.events = json_array()}, lost = {.events = json_array()}, old = {.events = json_array()};
	AUTO_JSON json_t *actor = cores_actor("owner"), *filter = json_pack("{s:s}", "leaderboard", "nope");
	struct core *client = cores_make(1, false);
	struct core_subscription setup_of = {.actor = actor, .after = 0, .markers = true, .fn = on_event, .arg = &ear};
	assert_int_equal(core_follow(client, &setup_of, &ear.id, NULL), 0);
	setup_of.filter = filter;
	setup_of.arg = &lost;
	assert_int_equal(core_follow(client, &setup_of, &lost.id, NULL), 0);
	/* Without markers it waits for a board that is not there yet. */
	assert_int_equal(cores_subscribe(client, actor, filter, -1, on_event, &old, &old.id, NULL), 0);
	cores_must(1, "ada", "leaderboard.list", NULL);
	until(size_of(&ear) > 1 && size_of(&lost) == 1);
	assert_string_equal(kind_of(&lost, 0), "refused");
	assert_string_equal(kind_of(&ear, size_of(&ear) - 1), "caught_up");
	size_t before = size_of(&ear);
	close_hosts();
	cores_close(0);
	until(client->role == CORE_OWNER && size_of(&ear) > before);
	settle();
	assert_int_equal(size_of(&ear), before + 1);
	assert_string_equal(kind_of(&ear, before), "caught_up");
	assert_int_equal(size_of(&old), 0);
	cores_board(1, "nope", false);
	until(size_of(&old) == 1);
	assert_int_equal(size_of(&lost), 1);
	(void)core_unsubscribe(client, old.id, NULL, NULL);
	json_decref(old.events);
	(void)core_unsubscribe(client, ear.id, NULL, NULL);
	(void)core_unsubscribe(client, lost.id, NULL, NULL);
	json_decref(ear.events);
	json_decref(lost.events);
	cores_make(0, false);
	open_hosts();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_outside),
	TEST(test_anonymous),
	TEST(test_refused_requests),
	TEST(test_progress),
	TEST(test_cancel),
	TEST(test_cancel_local),
	TEST(test_cancel_any_moment),
	TEST(test_cancel_at_owner),
	TEST(test_other_thread),
	TEST(test_follow),
	TEST(test_reset),
	TEST(test_refused_board),
	TEST(test_refused_follow),
	TEST(test_follow_elsewhere),
};

UNIT_TESTS(test_callers, .words = "waiting tsan");
