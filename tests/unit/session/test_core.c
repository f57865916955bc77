/* SPDX-License-Identifier: MIT */
/* Commands on their way between processes: owners that end in order or not, clients, and others on the socket. */
#include <config.h>

#include "unit/core_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"
#include "store/db_file.h"

static void
test_owner_and_client(void **state)
{
	(void)state;
	cores_make(1, false);
	cores_must(1, "ada", "submit", cores_file("arena"));
	assert_int_equal(cores.core[0]->role, CORE_OWNER);
	assert_int_equal(cores.core[1]->role, CORE_CLIENT);
	const json_t *list = cores_must(0, "ada", "submission.list", NULL);
	assert_true(json_array_size(json_object_get(list, "submissions")) == 1 || json_array_size(list) == 1);
	cores_must(1, "ada", "device.list", NULL);
}

/* How a unit is configured is for those who configure it. */
static void
test_device_list(void **state)
{
	struct kettle_error err = {0};
	(void)state;
	AUTO_JSON json_t *devices =
		json_pack("{s:{s:[{s:s, s:s}]}}", "CPU", "units", "runner", "keep", "environment", "/srv/secret");
	const struct core_limits limits = {.submission_bytes = 1000000};
	cores_must(0, "ada", "leaderboard.list", NULL);
	assert_int_equal(core_reload(cores.core[0], devices, &limits, &err), 0);
	cores_make(1, false);
	for (size_t place = 0; place < 2; place++) {
		const json_t *list = cores_must(place, "ada", "device.list", NULL);
		const json_t *unit = json_array_get(json_object_get(json_array_get(list, 0), "units"), 0);
		assert_string_equal(json_string_value(json_object_get(unit, "unit")), "CPU.0");
		assert_string_equal(json_string_value(json_object_get(unit, "state")), "idle");
		assert_null(json_object_get(unit, "config"));
		list = cores_must(place, "owner", "device.list", NULL);
		unit = json_array_get(json_object_get(json_array_get(list, 0), "units"), 0);
		assert_string_equal(
			json_string_value(json_object_get(json_object_get(unit, "config"), "environment")), "/srv/secret");
	}
}

/* The jobs of the first unit, as NAME sees them. */
static const json_t *
jobs_on_unit(const char *who)
{
	const json_t *list = cores_must(0, who, "device.list", json_pack("{s:b}", "known", 1));
	return commands_at(list, "0.units.0.jobs");
}

/* What runs: one's own by its number, that of others only by a leaderboard that all may see. */
static void
test_device_jobs(void **state)
{
	(void)state;
	assert_int_equal(json_array_size(jobs_on_unit("ada")), 0);
	const json_t *job = cores_must(0, "ada", "submit", cores_file("arena"));
	json_int_t id = json_integer_value(json_object_get(job, "id"));
	until(json_array_size(jobs_on_unit("ada")) == 1 && commands_at(jobs_on_unit("ada"), "0.since"));
	job = jobs_on_unit("ada");
	assert_int_equal(commands_number(job, "0.submission"), id);
	assert_string_equal(commands_text(job, "0.leaderboard"), "arena");
	assert_true(json_is_true(commands_at(job, "0.own")));
	job = json_array_get(jobs_on_unit("bob"), 0);
	assert_int_equal(json_object_size(job), 2);
	assert_string_equal(commands_text(job, "leaderboard"), "arena");
	assert_true(json_is_false(json_object_get(job, "own")));
	job = jobs_on_unit("owner:admin");
	assert_int_equal(commands_number(job, "0.submission"), id);
	assert_true(json_is_false(commands_at(job, "0.own")));
	/* Closed, or not open yet: not at all, except to its owner and admins. */
	static const char *const hidden[][2] = {{"visibility", "closed"}, {"opens", "+1d"}};
	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++) {
		cores_must(0, "owner:admin", "leaderboard.update",
			json_pack("{s:s, s:s}", "name", "arena", hidden[i][0], hidden[i][1]));
		assert_int_equal(json_array_size(jobs_on_unit("bob")), 0);
		assert_int_equal(json_array_size(jobs_on_unit("ada")), 1);
		assert_int_equal(json_array_size(jobs_on_unit("owner:admin")), 1);
		cores_must(
			0, "owner:admin", "leaderboard.update", json_pack("{s:s, s:s}", "name", "arena", "visibility", "public"));
	}
	cores_must(0, "ada", "submission.cancel", json_pack("{s:I}", "id", id));
	until(json_array_size(jobs_on_unit("ada")) == 0);
}

static void
test_sentences(void **state)
{
	(void)state;
	/* A name that is quoted in part is not cut within a character: no answer could carry that. */
	char name[] = "a\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
				  "\xc3\xa9\xc3\xa9"
				  "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3"
				  "\xa9\xc3\xa9\xc3\xa9"
				  "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9";
	assert_int_equal(cores_run(0, "ada", name, NULL), KETTLE_EINVAL);
	assert_true(utf8_valid(cores_answer.err.message, strlen(cores_answer.err.message)));
	cores_make(1, false);
	for (size_t place = 0; place < 2; place++) {
		assert_int_equal(cores_run(place, "ada", "submitt", NULL), KETTLE_EINVAL);
		assert_says(&cores_answer.err, "`submit`");
		assert_int_equal(
			cores_run(place, "ada", "leaderboard.show", json_pack("{s:s}", "name", "aren")), KETTLE_ENOENT);
		assert_says(&cores_answer.err, "`arena`");
		AUTO_JSON json_t *args = cores_file("arena");
		json_object_set_new(args, "no_wait", json_true());
		assert_int_equal(cores_run(place, "ada", "submit", json_incref(args)), KETTLE_EUNAVAIL);
		assert_says(&cores_answer.err, "kettle serve");
	}
	/* What is for the engine's own plugins no client may call. */
	for (size_t place = 0; place < 2; place++) {
		assert_int_equal(cores_run(place, "ada", "token.check", json_pack("{s:s}", "token", "x")), KETTLE_EACCES);
		assert_says(&cores_answer.err, place == 0 ? "not valid" : "for the plugins of the engine");
	}
}

/* ---- handing over ---- */

static void
test_next_owner(void **state)
{
	(void)state;
	cores_make(1, false);
	cores_make(2, false);
	cores_must(1, "ada", "submit", cores_file("arena"));
	cores_must(2, "bob", "leaderboard.list", NULL);
	cores_close(0);
	until(cores.core[1]->role == CORE_OWNER || cores.core[2]->role == CORE_OWNER);
	cores_must(1, "ada", "submission.list", NULL);
	cores_must(2, "bob", "submit", cores_file("arena"));
	assert_true((cores.core[1]->role == CORE_OWNER) != (cores.core[2]->role == CORE_OWNER));
}

/* Whatever moment of the owner's end a write meets: it happens once, and its answer says so. */
static void
test_write_meets_the_end(void **state)
{
	(void)state;
	for (int turns = 0; turns < 12; turns++) {
		struct answer answers[3] = {0};
		cores_make(1, false);
		cores_must(1, "ada", "leaderboard.list", NULL);
		cores_leave(0);
		for (int i = 0; i < turns; i++)
			(void)uv_run(&cores.loop, UV_RUN_NOWAIT);
		for (int i = 0; i < 3; i++)
			cores_ask(
				1, "ada", i == 1 ? "submission.list" : "submit", i == 1 ? NULL : cores_file("arena"), &answers[i]);
		cores_close(0);
		for (int i = 0; i < 3; i++) {
			until(answers[i].count);
			if (answers[i].err.code)
				fail_msg("after %d turns: %s", turns, answers[i].err.message);
			answer_clear(&answers[i]);
		}
		const json_t *list = cores_must(1, "ada", "submission.list", NULL);
		const json_t *all = json_is_array(list) ? list : json_object_get(list, "submissions");
		assert_int_equal(json_array_size(all), 2 * (turns + 1));
		/* The next round begins with this one as the owner. */
		cores_close(1);
		cores_make(0, false);
		cores_must(0, "ada", "leaderboard.list", NULL);
	}
}

/* The client itself ends while it waits: its calls are answered, before closed is told. */
static void
test_client_ends(void **state)
{
	(void)state;
	struct answer answer = {0};
	cores_make(1, false);
	cores_must(1, "ada", "leaderboard.list", NULL);
	cores_ask(1, "ada", "submission.list", NULL, &answer);
	(void)uv_run(&cores.loop, UV_RUN_NOWAIT);
	cores_close(1);
	assert_int_equal(answer.count, 1);
	answer_clear(&answer);
}

static void
test_end_twice(void **state)
{
	(void)state;
	struct answer answer = {0};
	cores_leave(0);
	cores_leave(0);
	cores_ask(0, "ada", "leaderboard.list", NULL, &answer);
	until(answer.count);
	answer_clear(&answer);
	cores_close(0);
	cores_make(0, false); /* never attached */
	cores_close(0);
	cores_make(0, false); /* attaching */
	cores_ask(0, "ada", "leaderboard.list", NULL, &answer);
	(void)uv_run(&cores.loop, UV_RUN_NOWAIT);
	cores_close(0);
	assert_int_equal(answer.count, 1);
	answer_clear(&answer);
}

/* What was asked before the end is answered, what is asked of the engine too. */
static void
test_end_with_calls(void **state)
{
	(void)state;
	static const char *const asked[] = {"leaderboard.list", "device.list", "submission.list"};
	struct answer answers[30] = {0};
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++)
		cores_ask(0, "ada", asked[i % ARRAY_SIZE(asked)], NULL, &answers[i]);
	(void)uv_run(&cores.loop, UV_RUN_NOWAIT);
	cores_close(0);
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		assert_int_equal(answers[i].count, 1);
		answer_clear(&answers[i]);
	}
}

struct work {
	struct core *core;
	uv_sem_t go;
	int state; /* 1: in the pool, 2: over */
};

static void
work_waits(void *arg)
{
	struct work *work = arg;
	__atomic_store_n(&work->state, 1, __ATOMIC_SEQ_CST);
	uv_sem_wait(&work->go);
	/* The core is there as long as it works. */
	assert_string_equal(work->core->setup.database, cores.path);
}

static void
work_over(void *arg)
{
	struct work *work = arg;
	assert_string_equal(work->core->setup.owner, "owner");
	work->state = 2;
}

static int
reader_waits(struct db *db, void *arg, struct kettle_error *err)
{
	(void)db, (void)err;
	uv_sem_wait(arg);
	return 0;
}

/* What looks at many rows is answered while the reader that all commands share is busy, and keeps none waiting. */
static void
test_slow_reads(void **state)
{
	(void)state;
	static uv_sem_t go;
	struct answer answer = {0}, behind = {0};
	(void)cores_must(0, "ada", "submit", cores_file("arena"));
	assert_int_equal(uv_sem_init(&go, 0), 0);
	store_query(cores.core[0]->store, reader_waits, NULL, &go);
	cores_ask(0, "ada", "leaderboard.list", NULL, &behind);
	cores_ask(0, "ada", "submission.count", json_pack("{s:s}", "leaderboard", "arena"), &answer);
	/* Where it waits for the reader it would be answered behind the other one. */
	uint64_t end = uv_hrtime() + UINT64_C(30000000000);
	while (!answer.count && uv_hrtime() < end)
		cores_turn();
	bool first = answer.count == 1 && behind.count == 0;
	uv_sem_post(&go);
	until(behind.count == 1 && answer.count == 1);
	assert_true(first);
	assert_int_equal(commands_number(answer.result, "count"), 1);
	answer_clear(&answer);
	answer_clear(&behind);
	uv_sem_destroy(&go);
	/* Its connection serves the next one, and does not keep the database's log at the end. */
	assert_int_equal(cores.core[0]->readers.count, 1);
	(void)cores_must(0, "ada", "submission.count", json_pack("{s:s}", "leaderboard", "arena"));
	assert_int_equal(cores.core[0]->readers.count, 1);
	cores_close(0);
	AUTO_FREE char *log = xasprintf("%s-wal", cores.path);
	assert_int_equal(access(log, F_OK), -1);
}

static void
on_core_closed(void *arg)
{
	const struct work *work = arg;
	assert_int_equal(work->state, 2);
	cores_closed(0);
}

/* A core is closed once nothing in the pool uses it any more. */
static void
test_end_with_work(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	struct work work = {.core = cores.core[0]};
	assert_int_equal(uv_sem_init(&work.go, 0), 0);
	assert_int_equal(core_work(work.core, work_waits, work_over, &work, &err), 0);
	while (__atomic_load_n(&work.state, __ATOMIC_SEQ_CST) == 0)
		cores_turn();
	core_close(work.core, 0, on_core_closed, &work);
	/* Everything else of it is closed long before. */
	until(work.core->ending.idle);
	assert_int_equal(work.state, 1);
	uv_sem_post(&work.go);
	cores_close(0);
	assert_int_equal(work.state, 2);
	uv_sem_destroy(&work.go);
}

static void
attached(void *arg, const struct kettle_error *err)
{
	*(int *)arg = err ? err->code : 1;
}

/* A server waits for a command line, and is refused by a server. */
static void
test_server_waits(void **state)
{
	(void)state;
	int first = 0, second = 0;
	core_attach(cores_make(1, true), attached, &first);
	for (int i = 0; i < 10; i++)
		cores_turn();
	assert_int_equal(first, 0);
	cores_close(0);
	until(first);
	assert_int_equal(first, 1);
	assert_int_equal(cores.core[1]->role, CORE_OWNER);
	core_attach(cores_make(2, true), attached, &second);
	until(second);
	assert_int_equal(second, KETTLE_EUNAVAIL);
	/* Once attached, there is nothing to wait for. */
	core_attach(cores.core[1], attached, &second);
	assert_int_equal(second, 1);
}

static void
test_reload(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	const struct core_limits few = {.submission_bytes = 5}, many = {.submission_bytes = 1000000};
	AUTO_JSON json_t *more = json_pack(
		"{s:{s:[{s:s}]}, s:{s:[{s:s}]}}", "CPU", "units", "runner", "keep", "H100", "units", "runner", "keep");
	AUTO_JSON json_t *wrong = json_pack("{s:{s:[{s:s}]}}", "H100", "units", "runner", "absent");
	assert_int_equal(core_reload(cores.core[0], more, &few, &err), 0);
	assert_int_equal(cores_run(0, "ada", "submit", cores_file("arena")), KETTLE_ETOOBIG);
	assert_true(core_reload(cores.core[0], wrong, &many, &err) < 0);
	assert_int_equal(cores_run(0, "ada", "submit", cores_file("arena")), KETTLE_ETOOBIG);
	assert_int_equal(json_array_size(json_object_get(cores_must(0, "ada", "device.list", NULL), "devices")) +
						 json_array_size(cores_answer.result),
		2);
	assert_int_equal(core_reload(cores.core[0], more, &many, &err), 0);
	cores_must(0, "ada", "submit", cores_file("arena"));
}

/* ---- strangers on the owner's socket ---- */

static int
stranger(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s.sock", cores.path);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* The next line that is said; "" at the end. */
static const char *
hear(int fd)
{
	static char line[20000];
	size_t len = 0;
	uint64_t end = uv_hrtime() + UINT64_C(20000000000);
	while (uv_hrtime() < end) {
		ssize_t got = read(fd, line + len, 1);
		if (got == 1 && line[len] == '\n')
			break;
		if (got == 0)
			return "";
		if (got == 1 && len + 1 < sizeof(line))
			len++;
		else if (got < 0 && errno != EAGAIN)
			return "";
		else if (got < 0)
			cores_turn();
	}
	line[len] = '\0';
	return line;
}

/* Markers of subscriptions are passed over. */
static void
assert_hears(int fd, const char *word)
{
	const char *line = hear(fd);
	while (strstr(line, "\"caught_up\""))
		line = hear(fd);
	if (!strstr(line, word))
		fail_msg("%s does not say %s", line, word);
}

static void
tell(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void
test_strangers(void **state)
{
	(void)state;
	int fd = stranger();
	assert_hears(fd, "\"hello\"");
	tell(fd, "{}\n{\"id\": 1, \"call\": 5}\n{\"unsubscribe\": 99}\n{\"unsubscribe\": 0}\n{\"subscribe\": "
			 "[]}\n{\"cancel\": 7}\n");
	assert_hears(fd, "An actor must have");
	tell(fd, "{\"id\": 8, \"subscribe\": [], \"actor\": {\"provider\": \"cli\", \"subject\": \"a\"}}\n");
	assert_hears(fd, "an object");
	tell(fd, "{\"id\": 2, \"call\": \"leaderboard.list\"}\n");
	assert_hears(fd, "no actor");
	tell(fd, "{\"id\": 3, \"call\": \"leaderboard.list\", \"actor\": {}}\n");
	assert_hears(fd, "\"id\":3");
	tell(fd, "{\"id\": 4, \"call\": \"task.run\", \"actor\": {}, \"args\": {\"path\": \"/etc\"}}\n");
	assert_hears(fd, "runs in the calling process");
	tell(fd, "{\"id\": \"x\", \"call\": \"no.such\", \"actor\": {\"provider\": 7}, \"args\": []}\n");
	assert_hears(fd, "no command");
	tell(fd, "{\"id\": 6, \"call\": \"leaderboard.list\", \"actor\": {\"provider\": 7}, \"args\": [1]}\n");
	assert_hears(fd, "error");
	tell(fd, "no JSON\n");
	assert_string_equal(hear(fd), "");
	close(fd);
	cores_must(0, "ada", "leaderboard.list", NULL);
}

/* Who goes with calls and subscriptions open leaves nothing that is used again. */
static void
test_strangers_go(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		int fd = stranger();
		for (int k = 0; k < 10; k++)
			tell(fd,
				"{\"id\": 1, \"call\": \"submission.list\", \"actor\": {\"provider\": \"cli\", \"subject\": \"a\", "
				"\"name\": \"a\"}}\n{\"id\": 2, \"subscribe\": {}, \"after\": 0, "
				"\"actor\": {\"provider\": \"cli\", \"subject\": \"a\"}}\n");
		for (int k = 0; k < i; k++)
			(void)uv_run(&cores.loop, UV_RUN_NOWAIT);
		close(fd);
	}
	for (int i = 0; i < 20; i++)
		cores_turn();
	assert_int_equal(cores.core[0]->subscriptions.count, 0);
}

/* Writes a line as often as it goes, and goes away while it waits. */
static void
flood(const char *line, void (*check)(void))
{
	int fd = stranger();
	(void)fcntl(fd, F_SETFL, O_NONBLOCK);
	for (int turns = 0; turns < 20; turns++) {
		while (write(fd, line, strlen(line)) == (ssize_t)strlen(line))
			;
		(void)uv_run(&cores.loop, UV_RUN_NOWAIT);
		check();
	}
	close(fd);
	cores_must(0, "ada", "leaderboard.list", NULL);
}

static void
check_subscriptions(void)
{
	assert_true(cores.core[0]->subscriptions.count <= 64);
}

/* Who begins and ends subscriptions faster than the database reads their past has as many at once as anybody. */
static void
test_subscriptions_in_one_go(void **state)
{
	(void)state;
	flood("{\"id\": 1, \"subscribe\": {}, \"after\": 0, \"actor\": {\"provider\": \"cli\", \"subject\": "
		  "\"a\"}}\n{\"unsubscribe\": 1}\n",
		check_subscriptions);
	until(cores.core[0]->subscriptions.count == 0);
}

static void
check_nothing(void)
{
}

static void
test_calls_in_one_go(void **state)
{
	(void)state;
	flood("{\"id\": 1, \"call\": \"submission.list\", \"actor\": {\"provider\": \"cli\", \"subject\": \"a\", "
		  "\"name\": \"a\"}}\n",
		check_nothing);
}

static void
test_too_many_subscriptions(void **state)
{
	(void)state;
	int fd = stranger();
	assert_hears(fd, "\"hello\"");
	for (int i = 1; i <= 65; i++) {
		char text[200];
		(void)snprintf(text, sizeof(text),
			"{\"id\": %d, \"subscribe\": {}, \"after\": -1, \"actor\": {\"provider\": \"cli\", \"subject\": \"a\", "
			"\"name\": \"a\"}}\n",
			i);
		tell(fd, text);
	}
	assert_hears(fd, "at most 64 subscriptions");
	tell(fd, "{\"unsubscribe\": 3}\n{\"id\": 3, \"subscribe\": {}, \"after\": -1, \"actor\": {\"provider\": \"cli\", "
			 "\"subject\": \"a\"}}\n");
	tell(fd, "{\"id\": 7, \"call\": \"leaderboard.list\", \"actor\": {\"provider\": \"x\"}}\n");
	assert_hears(fd, "\"id\":7");
	close(fd);
}

static void
test_too_many_connections(void **state)
{
	(void)state;
	int fds[300];
	size_t refused = 0;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = stranger();
		(void)uv_run(&cores.loop, UV_RUN_NOWAIT);
	}
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		assert_hears(fds[i], "\"hello\"");
		(void)fcntl(fds[i], F_SETFL, O_NONBLOCK);
	}
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		char text[500] = "";
		if (read(fds[i], text, sizeof(text) - 1) > 0)
			refused += strstr(text, "\"busy\"") != NULL;
	}
	assert_int_equal(refused, 300 - 256);
	cores_make(1, false);
	assert_int_equal(cores_run(1, "ada", "leaderboard.list", NULL), KETTLE_EUNAVAIL);
	assert_says(&cores_answer.err, "as many command lines");
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	for (int i = 0; i < 10; i++)
		cores_turn();
	cores_must(1, "ada", "leaderboard.list", NULL);
}

/* Who does not take its last answers does not hold up the end for ever. */
static void
test_stranger_does_not_read(void **state)
{
	(void)state;
	int fd = stranger();
	for (int i = 0; i < 3000; i++) {
		static const char ask[] = "{\"id\": 1, \"call\": \"leaderboard.show\", \"actor\": {\"provider\": \"cli\", "
								  "\"subject\": \"a\", \"name\": \"a\"}, \"args\": {\"name\": \"arena\"}}\n";
		if (write(fd, ask, strlen(ask)) < 0)
			(void)uv_run(&cores.loop, UV_RUN_NOWAIT);
	}
	uint64_t begin = uv_hrtime();
	cores_close(0);
	assert_true(uv_hrtime() - begin < UINT64_C(15000000000));
	close(fd);
}

/* ---- an owner that is none ---- */

static int lock = -1, listener = -1;

/* Somebody holds the lock and listens. */
static void
play_owner(void)
{
	struct kettle_error err = {0};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	cores_close(0);
	assert_int_equal(db_lock_take(cores.path, false, &lock, NULL, &err), 0);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s.sock", cores.path);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 10), 0);
}

static void
end_owner(void)
{
	close(listener);
	close(lock);
}

static int
next_client(void)
{
	int fd = -1;
	until((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0);
	return fd;
}

static void
test_owner_dies(void **state)
{
	(void)state;
	struct answer write_answer = {0}, read_answer = {0};
	play_owner();
	cores_make(1, false);
	cores_ask(1, "ada", "submit", cores_file("arena"), &write_answer);
	cores_ask(1, "ada", "leaderboard.list", NULL, &read_answer);
	int fd = next_client();
	tell(fd, "{\"hello\": \"9\"}\n");
	assert_hears(fd, "\"submit\"");
	assert_hears(fd, "leaderboard.list");
	close(fd);
	end_owner();
	until(write_answer.count && read_answer.count);
	assert_int_equal(write_answer.err.code, KETTLE_EUNAVAIL);
	assert_says(&write_answer.err, "whether the command took effect");
	assert_int_equal(read_answer.err.code, 0);
	answer_clear(&write_answer);
	answer_clear(&read_answer);
}

static void
test_owner_talks_nonsense(void **state)
{
	(void)state;
	struct answer answer = {0};
	play_owner();
	cores_make(1, false);
	cores_ask(1, "ada", "leaderboard.list", NULL, &answer);
	int fd = next_client();
	tell(fd, "{\"hello\": \"9\"}\n{\"id\": 77, \"result\": 1}\n{\"id\": 1, \"event\": {}}\n{\"x\": 1}\n");
	AUTO_JSON json_t *asked = json_loads(hear(fd), 0, NULL);
	char text[200];
	(void)snprintf(
		text, sizeof(text), "{\"id\": %lld, \"error\": {}}\n", json_integer_value(json_object_get(asked, "id")));
	tell(fd, text);
	tell(fd, text); /* a second answer is nobody's */
	until(answer.count);
	assert_int_equal(answer.err.code, KETTLE_EINTERNAL);
	answer_clear(&answer);
	cores_close(1);
	close(fd);
	end_owner();
}

/* It never took the connection: nothing has happened, and the write goes to the next owner. */
static void
test_owner_never_took_it(void **state)
{
	(void)state;
	struct answer answer = {0};
	play_owner();
	cores_make(1, false);
	cores_ask(1, "ada", "submit", cores_file("arena"), &answer);
	until(cores.core[1]->role == CORE_CLIENT);
	cores_turn();
	end_owner();
	until(answer.count);
	if (answer.err.code)
		fail_msg("%s", answer.err.message);
	answer_clear(&answer);
}

/* It takes every connection and drops it: that is tried again, but not for ever. */
static void
test_owner_drops(void **state)
{
	(void)state;
	struct answer answer = {0};
	play_owner();
	cores_make(1, false);
	cores_ask(1, "ada", "leaderboard.list", NULL, &answer);
	int connections = 0;
	while (!answer.count && connections < 100) {
		int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
		connections += fd >= 0;
		cores_turn();
		if (fd >= 0)
			close(fd);
	}
	assert_true(connections < 30);
	assert_int_equal(answer.err.code, KETTLE_EUNAVAIL);
	assert_says(&answer.err, "The engine ended");
	answer_clear(&answer);
	cores_close(1);
	end_owner();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, cores_setup, cores_teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_owner_and_client),
	TEST(test_device_list),
	TEST(test_device_jobs),
	TEST(test_sentences),
	TEST(test_next_owner),
	TEST(test_write_meets_the_end),
	TEST(test_client_ends),
	TEST(test_end_twice),
	TEST(test_end_with_calls),
	TEST(test_end_with_work),
	TEST(test_slow_reads),
	TEST(test_server_waits),
	TEST(test_reload),
	TEST(test_strangers),
	TEST(test_strangers_go),
	TEST(test_subscriptions_in_one_go),
	TEST(test_calls_in_one_go),
	TEST(test_too_many_subscriptions),
	TEST(test_too_many_connections),
	TEST(test_stranger_does_not_read),
	TEST(test_owner_dies),
	TEST(test_owner_never_took_it),
	TEST(test_owner_talks_nonsense),
	TEST(test_owner_drops),
};

UNIT_TESTS(test_core, .words = "waiting tsan");
