/* SPDX-License-Identifier: MIT */
/* Chance, time and trace of a simulated world, its engine, and what must hold. */
#include <config.h>

#include "peers/remote/world.h"

#include <kettle/testing.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/contents.h"
#include "base/hash.h"
#include "base/json_access.h"
#include "base/number.h"
#include "base/xalloc.h"
#include "peers/remote/engine.h"
#include "peers/remote/life.h"
#include "sealed/result_package.h"
#include "sealed/sealed.h"
#include "unit/scratch.h"

#define BEGIN_UTC_MS INT64_C(1590000000000) /* before any file is made, so that none is old */
#define CASES 100                           /* of the gate, for each side */
#define CASES_ALL 4000                      /* of everything */
#define CANCELLED_MS 15000                  /* after which nothing of a job runs there, where all is well */
#define TRACE_MAX (1u << 20)
#define STEP_MS 1000
#define BOUND_MS 7200000 /* after the world has settled, until all has ended */

void __real_random_bytes(void *data, size_t size);
void __wrap_random_bytes(void *data, size_t size);

static struct world *current; /* whose numbers random_bytes draws */
static bool with_parts;       /* of the cases that run */

/* ---- chance ---- */

/* splitmix64. */
static uint64_t
next_number(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* What the runner draws follows from the seed, too; linked with --wrap. */
void
__wrap_random_bytes(void *data, size_t size)
{
	if (!current)
		__real_random_bytes(data, size);
	for (size_t i = 0; current && i < size; i++)
		((unsigned char *)data)[i] = (unsigned char)next_number(&current->state[1]);
}

uint64_t
world_draw(struct world *world, uint64_t below)
{
	return below ? next_number(&world->state[0]) % below : 0;
}

bool
world_is_calm(const struct world *world)
{
	return world->climate == FAIR || (world_now(world) >= world->calm_ms && !world->endless);
}

bool
world_is_out(const struct world *world, size_t number)
{
	uint64_t now = world_now(world);
	return now >= world->outage_ms[number][0] && now < world->outage_ms[number][1];
}

bool
world_strikes(struct world *world, unsigned per_mille)
{
	return !world_is_calm(world) && world_draw(world, 1000) < per_mille;
}

/* ---- time and trace ---- */

uint64_t
world_now(const struct world *world)
{
	return world->host->monotonic_ms(world->host);
}

int64_t
world_utc(const struct world *world)
{
	return world->host->utc_ms(world->host);
}

void
world_say(struct world *world, const char *format, ...)
{
	char text[1000];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	/* The folder of a case has another name each time. */
	char *folder = strstr(text, world->folder);
	if (folder)
		memmove(folder, folder + strlen(world->folder), strlen(folder + strlen(world->folder)) + 1);
	if (world->trace.len < TRACE_MAX)
		buf_printf(&world->trace, "# %9.3f %s\n", (double)(world_now(world) - world->began_ms) / 1000, text);
}

void
world_fail(struct world *world, const char *format, ...)
{
	va_list args;
	if (world->failure)
		return;
	va_start(args, format);
	if (vasprintf(&world->failure, format, args) < 0)
		xalloc_fail();
	va_end(args);
	world_say(world, "!! %s", world->failure);
}

struct later {
	struct world *world;
	struct later *next, *prev;
	struct kettle_timer *timer;
	void (*fn)(void *arg);
	void *arg;
};

static void
free_later(struct later *later)
{
	*(later->prev ? &later->prev->next : &later->world->laters) = later->next;
	if (later->next)
		later->next->prev = later->prev;
	later->world->host->timer_stop(later->world->host, later->timer);
	free(later);
}

static void
on_later(void *arg)
{
	struct later *later = arg;
	void (*fn)(void *arg) = later->fn;
	void *fn_arg = later->arg;
	later->timer = NULL;
	free_later(later);
	fn(fn_arg);
}

void
world_after(struct world *world, uint64_t ms, void (*fn)(void *arg), void *arg)
{
	struct later *later = xcalloc(1, sizeof(*later));
	*later = (struct later){.world = world, .next = world->laters, .fn = fn, .arg = arg};
	if (later->next)
		later->next->prev = later;
	world->laters = later;
	(void)world->host->timer_start(world->host, ms, 0, on_later, later, &later->timer, NULL);
}

/* ---- what the remote side does with jobs ---- */

static struct attempt *
find_attempt(struct world *world, const char *text, bool by_name)
{
	for (unsigned i = 0; i < world->job_count; i++)
		for (unsigned k = 0; k < world->jobs[i].count; k++) {
			struct attempt *attempt = &world->jobs[i].attempts[k];
			if (strcmp(by_name ? attempt->name : attempt->ref, text) == 0)
				return attempt;
			if (by_name && attempt->first && strcmp(attempt->first->name, text) == 0)
				return attempt->first;
		}
	return NULL;
}

struct attempt *
world_attempt(struct world *world, const char *name)
{
	return find_attempt(world, name, true);
}

struct attempt *
world_attempt_by_ref(struct world *world, const char *ref)
{
	return find_attempt(world, ref, false);
}

static void
derive_key(const struct attempt *attempt, unsigned char ret_key[SEALED_KEY_SIZE])
{
	unsigned char key[SEALED_KEY_SIZE];
	(void)sealed_key_parse(WORLD_KEY, key, NULL);
	sealed_key_derive(key, attempt->name, ret_key);
}

/* Whether what it builds is refused by the compiler: none of its runs takes a place then. */
static bool
is_broken(const struct attempt *attempt)
{
	return attempt->job->number % 4 == 3;
}

static json_t *
plan_of_parts(const struct attempt *attempt)
{
	return json_pack(
		"{s:i, s:{s:{s:s}, s:{s:s}}, s:[{s:s, s:s, s:s, s:[s], s:{s:{s:s}}, s:[s], s:b}, {s:s, s:s, s:[s], s:i, "
		"s:{s:{s:s, s:s}, s:{s:s}}, s:{s:s}}], s:i}",
		"version", 1, "files", "code", "text", attempt->ref, "seeds", "text", WORLD_SECRET, "steps", "id", "build",
		"kind", "build", "owner", "user-7", "argv", "g++", "inputs", "a.cpp", "file", "code", "outputs", "program",
		"cache", 1, "id", "run", "kind", "run", "argv", "./program", "device", 1, "inputs", "program", "step", "build",
		"output", "program", "seeds.txt", "file", "seeds", "secret", "SEED", WORLD_SECRET, "job",
		(int)attempt->job->number);
}

json_t *
world_plan(const struct attempt *attempt)
{
	if (attempt->job->world->parts)
		return plan_of_parts(attempt);
	return json_pack(
		"{s:i, s:[], s:s, s:i}", "version", 1, "steps", "secret", WORLD_SECRET, "job", (int)attempt->job->number);
}

json_t *
world_options(const struct world *world, json_t *options_take, json_t *build_take)
{
	if (world->parts)
		json_object_set(options_take, "build", build_take);
	json_decref(build_take);
	return options_take;
}

void
world_placed(struct world *world, const struct attempt *attempt, bool builds)
{
	if (attempt && builds != (attempt->whole != NULL))
		world_fail(world, "%s goes to the place that is for the other part", attempt->name);
}

struct attempt *
world_part(struct attempt *attempt)
{
	AUTO_JSON json_t *handle = json_loads(attempt->handle ? attempt->handle : "", 0, NULL);
	return attempt->first && !member_is(handle, "name", attempt->name) ? attempt->first : attempt;
}

/* Checks what is sent of a job with parts, as kettle-exec gets it. */
static bool
is_right_part(const struct attempt *attempt, const json_t *content, const char *text)
{
	const struct attempt *whole = attempt->whole ? attempt->whole : attempt;
	AUTO_JSON json_t *plan = world_plan(whole), *sent = json_deep_copy(json_object_get(content, "plan"));
	json_t *step = json_array_get(json_object_get(sent, "steps"), 0);
	if (attempt->whole)
		return !strstr(text, WORLD_SECRET) && json_array_size(json_object_get(sent, "steps")) == 1 &&
			   json_equal(step, json_array_get(json_object_get(plan, "steps"), 0)) &&
			   json_object_size(json_object_get(sent, "files")) == 1 && member_true(sent, "return_outputs") &&
			   !json_object_get(json_object_get(content, "unit"), "gpu");
	AUTO_JSON json_t *ended = json_incref(json_object_get(step, "ended"));
	const json_t *output = json_array_get(json_object_get(ended, "outputs"), 0);
	AUTO_FREE char *program = base64_encode(attempt->ref, strlen(attempt->ref));
	(void)json_object_del(step, "ended");
	return json_equal(sent, plan) && member_is(output, "base64", program) &&
		   json_equal(json_object_get(ended, "outcome"), json_array_get(json_object_get(attempt->made, "outcomes"), 0));
}

struct attempt *
world_open(struct world *world, const char *name, const void *data, size_t size)
{
	struct attempt *attempt = world_attempt(world, name);
	unsigned char key[SEALED_KEY_SIZE];
	AUTO_FREE char *text = NULL;
	size_t text_size = 0;
	struct kettle_error err = {0};
	if (!attempt) {
		world_fail(world, "a job `%s` was sent, which no engine has submitted", name);
		return NULL;
	}
	struct attempt *owner = attempt->whole ? attempt->whole : attempt;
	/* After a kill it would run without an engine that knows it. */
	if (!owner->handle || (!attempt->whole && world_part(owner) != attempt))
		world_fail(world, "%s was sent before its handle was committed", name);
	const struct sealed_scope scope = {attempt->name, attempt->hash};
	derive_key(attempt, key);
	int rc = sealed_open(key, SEALED_PLAN, &scope, data, size, 1 << 20, &text, &text_size, &err);
	AUTO_JSON json_t *content = rc == 0 ? json_loadb(text, text_size, 0, NULL) : NULL;
	AUTO_JSON json_t *plan = world_plan(attempt);
	if (world->parts ? is_right_part(attempt, content, text) : json_equal(json_object_get(content, "plan"), plan))
		return attempt;
	world_fail(world, "the plan of %s was sent wrong: %s", name, err.message);
	return NULL;
}

void
world_begins(struct world *world, struct attempt *attempt)
{
	attempt->starts++;
	world_say(world, "%s begins there", attempt->name);
	if (attempt->starts > 1)
		world_fail(world, "%s begins twice", attempt->ref);
	else if ((attempt->whole ? attempt->whole : attempt)->denied && !attempt->doubted)
		world_fail(world, "%s begins, and was said never to", attempt->ref);
}

/* What building leaves: an outcome, and a program that lies in the world's folder. */
static json_t *
make_built(const struct attempt *attempt)
{
	AUTO_FREE char *folder = path_join(attempt->job->world->folder, "build"), *path = path_join(folder, "program");
	char sha256[65];
	sha256_hex(attempt->ref, strlen(attempt->ref), sha256);
	if (is_broken(attempt))
		return json_pack("{s:s, s:s, s:[{s:s, s:s, s:s}]}", "event", "done", "status", "done", "outcomes", "step",
			"build", "kind", "build", "state", "failed");
	if (file_mkdirs(folder, 0700, NULL) < 0 || file_write(path, attempt->ref, strlen(attempt->ref), 0600, NULL) < 0)
		abort();
	return json_pack("{s:s, s:s, s:[{s:s, s:s, s:s, s:I, s:{s:i}, s:[{s:s, s:i, s:s}], s:[{s:s, s:i, s:i, s:s}]}]}",
		"event", "done", "status", "done", "outcomes", "step", "build", "kind", "build", "state", "passed", "start_ns",
		(json_int_t)77, "stamps", "begun_ns", 7, "artifacts", "name", "program", "size", (int)strlen(attempt->ref),
		"sha256", sha256, "outputs", "path", "program", "mode", 0755, "size", (int)strlen(attempt->ref), "sha256",
		sha256);
}

/* The completion that the engine must get: that of the second part, or that of the first, if nothing follows it. */
static json_t *
make_of_parts(struct world *world, struct attempt *attempt)
{
	struct attempt *whole = attempt->whole ? attempt->whole : attempt;
	json_t *built =
		json_pack("{s:s, s:s, s:s}", "step", "build", "kind", "build", "state", is_broken(whole) ? "failed" : "passed");
	if (!whole->made)
		whole->made = json_pack("{s:s, s:s, s:[o]}", "event", "done", "status", "done", "outcomes", built);
	else
		json_decref(built);
	json_t *outcomes = json_object_get(whole->made, "outcomes");
	if (is_broken(whole) && json_array_size(outcomes) == 1)
		json_array_append_new(outcomes, json_pack("{s:s, s:s, s:s}", "step", "run", "kind", "run", "state", "skipped"));
	else if (!attempt->whole && json_array_size(outcomes) == 1)
		json_array_append_new(outcomes, json_pack("{s:s, s:s, s:I}", "step", "run", "command", attempt->ref, "wall_ns",
											(json_int_t)world_draw(world, 1 << 30)));
	whole->finished = whole->finished || is_broken(whole);
	return attempt->whole ? make_built(attempt) : json_incref(whole->made);
}

const json_t *
world_makes(struct world *world, struct attempt *attempt)
{
	const struct attempt *whole = attempt->whole ? attempt->whole : attempt;
	bool same_life = world->life && whole->cancelled_in == world->life && !world->life->stopping;
	if (same_life && !attempt->doubted && world_now(world) - whole->cancel_ms > CANCELLED_MS)
		world_fail(world, "%s has run on, %d s after its cancel", attempt->ref, CANCELLED_MS / 1000);
	if (world->parts && (attempt->whole || !attempt->finished)) {
		json_t *made = make_of_parts(world, attempt);
		json_decref(attempt->made);
		attempt->made = made;
	}
	if (!attempt->made)
		attempt->made = json_pack("{s:s, s:s, s:[{s:s, s:s, s:I}]}", "event", "done", "status", "done", "outcomes",
			"step", "run", "command", attempt->ref, "wall_ns", (json_int_t)world_draw(world, 1 << 30));
	attempt->finished = true;
	world_say(world, "%s has run there", attempt->name);
	return attempt->made;
}

static char *
seal(const struct attempt *attempt, const json_t *completion, const char *run, size_t *ret_size)
{
	unsigned char key[SEALED_KEY_SIZE];
	const struct sealed_scope scope = {attempt->name, attempt->hash};
	AUTO_FREE char *packed = NULL;
	char *sealed = NULL;
	size_t size;
	derive_key(attempt, key);
	if (result_package_write(completion, attempt->job->world->folder, run, 1 << 20, &packed, &size, NULL) < 0 ||
		sealed_seal(key, SEALED_RESULT, &scope, packed, size, &sealed, ret_size, NULL) < 0)
		abort();
	return sealed;
}

char *
world_seal(struct world *world, struct attempt *attempt, const char *run, size_t *ret_size)
{
	return seal(attempt, world_makes(world, attempt), run, ret_size);
}

char *
world_seal_other(struct world *world, const struct attempt *attempt, const char *run, bool same_plan, size_t *ret_size)
{
	struct attempt other = *attempt;
	AUTO_JSON json_t *false_one = json_pack("{s:s, s:s, s:[]}", "event", "done", "status", "done", "outcomes");
	if (!same_plan && world_draw(world, 2))
		(void)snprintf(other.name, sizeof(other.name), "%.40s9", attempt->name);
	else if (!same_plan)
		other.hash[0] = other.hash[0] == 'a' ? 'b' : 'a';
	return seal(&other, false_one, run, ret_size);
}

/* ---- a case ---- */

/* Between two numbers, mostly near to the first. */
static unsigned
mostly_low(struct world *world, unsigned most)
{
	return (unsigned)(world_draw(world, most + 1) * world_draw(world, 1001) / 1000);
}

static void
draw_weather(struct world *world)
{
	uint64_t now = world->began_ms;
	uint64_t kind = world_draw(world, 10);
	world->climate = kind == 0 ? FAIR : kind < 6 ? ROUGH : HOSTILE;
	world->calm_ms = now + 20000 + world_draw(world, 100000);
	struct weather *weather = &world->weather;
	weather->lost = mostly_low(world, 300);
	weather->unheard = mostly_low(world, 300);
	weather->slow = mostly_low(world, 200);
	weather->errors = mostly_low(world, 300);
	weather->limits = mostly_low(world, 150);
	weather->lies = world->climate == HOSTILE ? mostly_low(world, 150) : 0;
	weather->deaths = world->climate == HOSTILE ? mostly_low(world, 500) : 0;
	for (size_t i = 0; i < ARRAY_SIZE(world->outage_ms) && world->climate != FAIR; i++) {
		world->outage_ms[i][0] = now + world_draw(world, world->calm_ms - now);
		world->outage_ms[i][1] = world->outage_ms[i][0] + world_draw(world, 30000);
		if (world->outage_ms[i][1] > world->calm_ms)
			world->outage_ms[i][1] = world->calm_ms;
	}
	world->endless = world->climate == HOSTILE && world_draw(world, 12) == 0;
	if (world->endless)
		world->outage_ms[0][1] = UINT64_MAX;
	world->kills = world->climate == FAIR ? 0 : (unsigned)world_draw(world, 4);
	for (unsigned stops = world->climate == FAIR ? 0 : (unsigned)world_draw(world, 3); stops > 0; stops--)
		world_after(world, world_draw(world, world->calm_ms - now), engine_stop, world);
}

static void
draw_jobs(struct world *world)
{
	bool many = world_draw(world, 12) == 0;
	uint64_t most = many ? world->side->most_jobs : 4;
	world->job_count = 1 + (unsigned)world_draw(world, most);
	for (unsigned i = 0; i < world->job_count; i++) {
		struct job *job = &world->jobs[i];
		uint64_t at = world_draw(world, 3) == 0 ? 0 : world_draw(world, 30000);
		job->world = world;
		job->number = 10 + i;
		engine_plan(job, at);
		if (world_draw(world, 4) == 0)
			world_after(world, at + world_draw(world, world_draw(world, 2) ? 2000 : 60000), engine_cancel, job);
	}
}

/* Reloads that move the device, in every fifth case: none of `cases`, which go as they went. */
static void
draw_moves(struct world *world)
{
	uint64_t own = world->seed;
	if (!world->side->outlives || world->seed % 5 != 3)
		return;
	for (uint64_t moves = 1 + next_number(&own) % 3; moves > 0; moves--)
		world_after(world, next_number(&own) % (world->calm_ms - world->began_ms), engine_move, world);
}

static struct world *
world_new(const struct side *side, uint64_t seed)
{
	struct kettle_error err = {0};
	struct world *world = xcalloc(1, sizeof(*world));
	*world = (struct world){
		.side = side, .seed = seed, .state = {seed, ~seed}, .parts = with_parts, .folder = scratch_make()};
	assert_non_null(world->folder);
	assert_int_equal(kettle_fake_new(side->name, &world->fake, &err), 0);
	kettle_fake_simulate(world->fake, BEGIN_UTC_MS);
	world->host = kettle_fake_host(world->fake);
	world->began_ms = world_now(world);
	current = world;
	side->begin(world);
	draw_weather(world);
	draw_jobs(world);
	draw_moves(world);
	world_say(world, "climate %d, calm at %.3f, %u jobs, %u kills", (int)world->climate,
		(double)(world->calm_ms - world->began_ms) / 1000, world->job_count, world->kills);
	engine_start(world);
	return world;
}

static int
is_to_be_tended(void *arg)
{
	const struct world *world = arg;
	return world->failure || (world->life && (world->life->dead || world->life->stopped));
}

static bool
all_ended(const struct world *world)
{
	for (unsigned i = 0; i < world->job_count; i++)
		if (!world->jobs[i].ended)
			return false;
	return true;
}

static void
check_log(struct world *world)
{
	AUTO_FREE char *log = json_dumps(kettle_fake_log(world->fake), 0);
	if (strstr(log, WORLD_SECRET) || strstr(log, WORLD_KEY))
		world_fail(world, "a secret is in the log");
}

static void
world_run(struct world *world)
{
	uint64_t latest = world->calm_ms + world->side->settle_ms + (world->endless ? 3 : 1) * BOUND_MS;
	while (!all_ended(world) && !world->failure) {
		(void)kettle_fake_run(world->fake, is_to_be_tended, world, STEP_MS);
		engine_tend(world);
		if (world_now(world) > latest)
			world_fail(world, "it does not end, though the world %s", world->endless ? "has" : "is calm");
	}
	/* What goes on after the last job: cancels there, late answers. */
	uint64_t until = world_now(world) + world->side->linger_ms;
	while (world_now(world) < until && !world->failure) {
		(void)kettle_fake_run(world->fake, is_to_be_tended, world, STEP_MS);
		engine_tend(world);
	}
	if (!world->failure && world->side->check)
		world->side->check(world);
	world->over = true;
	if (world->life && !world->life->dead && !world->life->stopping && !world->failure)
		engine_end(world);
	while (world->life && !world->failure) {
		(void)kettle_fake_run(world->fake, is_to_be_tended, world, STEP_MS);
		engine_tend(world);
	}
	check_log(world);
}

static void
free_children(struct world *world)
{
	while (world->children) {
		struct child *child = world->children;
		world->children = child->next;
		for (size_t i = 0; child->argv[i]; i++)
			free(child->argv[i]);
		free(child->argv);
		free(child->input);
		free(child->own);
		free(child);
	}
}

/* The result: what does not hold, and NULL where all does. New strings. */
static char *
world_free(struct world *world, char **ret_trace)
{
	struct kettle_error err = {0};
	for (struct life *life = world->lives; life; life = life->next) {
		life->dead = life->dead || !life->destroyed;
		if (!life->destroyed)
			life_bury(life);
	}
	while (world->lives) {
		struct life *life = world->lives;
		world->lives = life->next;
		life_close(life);
	}
	while (world->laters)
		free_later(world->laters);
	engine_free(world);
	if (kettle_fake_free(world->fake, &err) < 0)
		world->failure = world->failure ? world->failure : xstrdup(err.message);
	wires_free(world);
	free_children(world);
	world->side->end(world);
	scratch_remove(world->folder);
	char *failure = world->failure;
	*ret_trace = buf_take(&world->trace);
	current = NULL;
	free(world);
	return failure;
}

/* ---- the tests ---- */

static uint64_t running; /* the seed of the case that runs */

/* The process dies of a case, as by a sanitizer. */
void __sanitizer_set_death_callback(void (*fn)(void)) __attribute__((weak));

static void
on_death(void)
{
	(void)fprintf(stderr, "# it died in the case KETTLE_SEED=%llu\n%s", (unsigned long long)running,
		current && current->trace.data ? current->trace.data : "");
}

/* One case, with recorded answers or without. What does not hold, or NULL. New strings. */
static char *
run_case(const struct side *side, uint64_t seed, json_t *records, json_t *shown, char **ret_trace)
{
	running = seed;
	struct world *world = world_new(side, seed);
	world->records = records;
	world->shown = shown;
	world_run(world);
	return world_free(world, ret_trace);
}

/* The seeds: *ret_count from *ret_first on. */
static void
choose_seeds(uint64_t *ret_first, uint64_t *ret_count)
{
	const char *seed = getenv("KETTLE_SEED"), *size = getenv("KETTLE_TEST_SIZE");
	bool everything = !size || strcmp(size, "all") == 0;
	uint32_t random;
	__real_random_bytes(&random, sizeof(random));
	*ret_first = seed ? strtoull(seed, NULL, 10) : everything ? random : 1;
	*ret_count = seed ? 1 : everything ? CASES_ALL : CASES;
}

static void
must_hold(const struct side *side, uint64_t seed, bool shown)
{
	AUTO_FREE char *trace = NULL, *failure = run_case(side, seed, NULL, NULL, &trace);
	if (failure || shown)
		(void)fprintf(stderr, "# the case KETTLE_SEED=%llu of %s\n%s", (unsigned long long)seed, side->name, trace);
	if (failure)
		fail_msg("KETTLE_SEED=%llu: %s", (unsigned long long)seed, failure);
}

void
world_test(const struct side *side)
{
	uint64_t first, count;
	choose_seeds(&first, &count);
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(on_death);
	for (size_t i = 0; count > 1 && i < ARRAY_SIZE(side->cases) && side->cases[i]; i++)
		must_hold(side, side->cases[i], false);
	for (uint64_t seed = first; seed < first + count; seed++)
		must_hold(side, seed, count == 1);
}

void
world_test_parts(const struct side *side)
{
	uint64_t first, count;
	choose_seeds(&first, &count);
	with_parts = true;
	for (uint64_t seed = first; seed < first + (count + 1) / 2; seed++)
		must_hold(side, seed, count == 1);
	with_parts = false;
}

void
world_test_replay(const struct side *side)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		AUTO_FREE char *one = NULL, *other = NULL;
		AUTO_FREE char *failure = run_case(side, seed, NULL, NULL, &one),
					   *failure_again = run_case(side, seed, NULL, NULL, &other);
		assert_string_equal(one, other);
		assert_true(!failure == !failure_again);
	}
}

void
world_test_forms(const struct side *side)
{
	AUTO_FREE char *path = xasprintf("%s/tests/fixtures/remote/%s.json", getenv("top_srcdir"), side->name);
	AUTO_JSON json_t *records = json_load_file(path, 0, NULL), *shown = json_object();
	const char *key;
	json_t *record;
	assert_non_null(records);
	for (uint64_t seed = 1; seed < CASES && json_object_size(shown) < json_object_size(records); seed++) {
		AUTO_FREE char *trace = NULL, *failure = run_case(side, seed, records, shown, &trace);
		if (failure)
			fail_msg("KETTLE_SEED=%llu: %s", (unsigned long long)seed, failure);
	}
	json_object_foreach(records, key, record)
		if (!json_object_get(shown, key))
			fail_msg("no case shows `%s`", key);
}
