/* SPDX-License-Identifier: MIT */
/* Commands that the engine answers: its devices, and the place of a job in the queue. */
#include <config.h>

#include "commands/handlers.h"

#include "base/base.h"
#include "commands/local_job.h"
#include "judge/calibration.h"
#include "judge/unit_facts.h"
#include "model/board.h"
#include "model/jobs.h"
#include "model/settings.h"
#include "session/core.h"

#define DESCRIBE_LIMIT_MS 10000 /* after which a silent machine counts as unreachable */
#define UNREACHABLE "Its machine does not answer."

/* A device.list that waits for the greeting of each unit's machine, unless stored facts are enough. */
struct device_listing {
	struct core *core;
	json_t *devices;
	json_t *reading, *stored;    /* rows of units: the store's thread writes them, then they are the loop's */
	json_t *running;             /* the numbers of the jobs that units have */
	json_t *reading_jobs, *jobs; /* rows of these, likewise */
	int64_t user;                /* the caller, or -1 */
	kettle_answer answer;
	void *arg;
	unsigned pending; /* machines, and the loop over them itself */
	bool known, answered;
	bool paused; /* no submissions are accepted; the store's thread writes it, then it is the loop's */
	bool whole;  /* with the members that only admins may see */
	struct kettle_timer *timer;
};

struct unit_request {
	struct device_listing *listing;
	const json_t *device;
	json_t *unit; /* where the facts go; of devices */
};

/* The stored speed of a unit, and whether its machine is still the one that was measured. */
static void
add_calibration(json_t *unit, const json_t *calibration)
{
	bool changed = calibration_machine_changed(calibration, json_object_get(unit, "machine"));
	if (json_is_object(calibration))
		(void)json_object_set_new(unit, "calibration",
			json_pack("{s:O*, s:O*, s:O*, s:b, s:O*}", "names", json_object_get(calibration, "names"), "spreads",
				json_object_get(calibration, "spreads"), "at", json_object_get(calibration, "at"), "changed", changed,
				"missing", json_object_get(calibration, "missing")));
}

static void
add_stored(const struct device_listing *listing, const json_t *device, json_t *unit)
{
	const char *name = json_text_or_null(device, "name");
	const char *key = json_text_or_empty(unit, "key");
	json_array_each(listing->stored, row) {
		json_t *facts = json_object_get(row, "facts");
		if (strcasecmp(json_text_or_null(row, "device"), name) != 0 || strcmp(json_text_or_empty(row, "key"), key) != 0)
			continue;
		if (listing->known && json_is_object(facts))
			(void)json_object_update_missing(unit, facts);
		add_calibration(unit, json_object_get(row, "calibration"));
	}
}

/*
 * The jobs of a unit as the caller may see them: those of other users only by their leaderboard, if it is public. New
 * reference.
 */
static json_t *
shown_jobs(const struct device_listing *listing, const json_t *unit)
{
	json_t *shown = json_array();
	json_array_each(json_object_get(unit, "jobs"), job)
		json_array_each(listing->jobs, row) {
			bool own = member_int(row, "user") == listing->user;
			if (member_int(row, "job") != member_int(job, "job") ||
				!(own || listing->whole || member_true(row, "public")))
				continue;
			json_t *one = json_pack("{s:O, s:b}", "leaderboard", json_object_get(row, "leaderboard"), "own", own);
			if (own || listing->whole)
				(void)json_object_update_new(
					one, json_pack("{s:O, s:O, s:O}", "submission", json_object_get(row, "submission"), "mode",
							 json_object_get(row, "mode"), "since", json_object_get(row, "since")));
			(void)json_array_append_new(shown, one);
		}
	return shown;
}

/* A unit as participants see it: without its configuration and paths of its machine. New reference. */
static json_t *
public_unit(const json_t *unit)
{
	json_t *shown = json_copy((json_t *)unit);
	(void)json_object_del(shown, "config");
	(void)json_object_del(shown, "key");
	if (json_object_get(shown, "unreachable"))
		(void)json_object_set_new(shown, "unreachable", json_string(UNREACHABLE));
	return shown;
}

/* The devices as this listing shows them. New reference. */
static json_t *
shown_devices(const struct device_listing *listing)
{
	if (listing->whole)
		return json_incref(listing->devices);
	json_t *list = json_array();
	json_array_each(listing->devices, device) {
		json_t *shown = json_copy(device), *units = json_array();
		json_array_each(json_object_get(device, "units"), unit)
			(void)json_array_append_new(units, public_unit(unit));
		(void)json_object_set_new(shown, "units", units);
		(void)json_object_del(shown, "budget");
		(void)json_array_append_new(list, shown);
	}
	return list;
}

static void
answer_once(struct device_listing *listing)
{
	struct kettle_error none = {0};
	loop_timer_stop(listing->core->setup.io, STEAL(listing->timer));
	json_array_each(listing->answered ? NULL : listing->devices, device)
		json_array_each(json_object_get(device, "units"), unit) {
			add_stored(listing, device, unit);
			(void)json_object_set_new(unit, "jobs", shown_jobs(listing, unit));
		}
	if (!listing->answered) {
		AUTO_JSON json_t *shown = shown_devices(listing);
		listing->answer(listing->arg, &none, shown);
	}
	listing->answered = true;
}

static void
device_list_finish(struct device_listing *listing)
{
	if (--listing->pending > 0)
		return;
	answer_once(listing);
	json_decref_all(listing->devices, listing->stored, listing->running, listing->jobs);
	free(listing);
}

static int
read_stored(struct db *db, void *arg, struct kettle_error *err)
{
	struct device_listing *listing = arg;
	AUTO_JSON json_t *accepting = NULL;
	int rc = setting_get(db, "accepting", &accepting, err);
	listing->paused = json_is_false(accepting);
	if (rc == 0)
		rc = jobs_shown(db, listing->running, &listing->reading_jobs, err);
	return rc < 0 ? rc : settings_units(db, &listing->reading, err);
}

/* Later answers go into a list that is not shown. */
static void
time_out(void *arg)
{
	struct device_listing *listing = arg;
	listing->timer = NULL;
	answer_once(listing);
}

/* Facts of a machine that are about to be stored. */
struct unit_facts_update {
	json_t *device, *key, *facts;
	char *identity;
};

static int
device_list_learn(struct db *db, void *arg, struct kettle_error *err)
{
	struct unit_facts_update *update = arg;
	const char *device = json_string_value(update->device), *key = json_string_value(update->key);
	AUTO_JSON json_t *row = NULL;
	int rc =
		strcmp(update->identity, key) == 0 ? 0 : settings_unit_identify(db, device, key, update->identity, &row, err);
	return rc < 0 ? rc : settings_unit_store_facts(db, device, key, update->facts, false, err);
}

/* On a failure the next listing asks the machine and stores the facts again. */
static void
on_learned(void *arg, const struct kettle_error *err)
{
	struct unit_facts_update *update = arg;
	(void)err;
	json_decref_all(update->device, update->key, update->facts);
	free_all(update->identity, update);
}

static void
device_list_keep(const struct unit_request *request, json_t *facts)
{
	struct core *core = request->listing->core;
	if (core->closing || !core->store)
		return;
	struct unit_facts_update *update = xmalloc(sizeof(*update));
	/* A copy: the store's thread reads it. */
	*update = (struct unit_facts_update){.device = json_deep_copy(json_object_get(request->device, "name")),
		.key = json_deep_copy(json_object_get(request->unit, "key")),
		.facts = json_deep_copy(facts),
		.identity =
			unit_identity(json_object_get(request->unit, "config"), json_text_or_empty(request->unit, "key"), facts)};
	store_write(core->store, device_list_learn, on_learned, update);
}

static void
on_device_list_described(void *arg, const struct kettle_error *err, json_t *greeting)
{
	struct unit_request *request = arg;
	(void)json_object_del(request->unit, "unreachable");
	if (err->code < 0) {
		(void)json_object_set_new(request->unit, "unreachable", json_string(err->message));
	} else {
		const json_t *section = json_object_get(request->unit, "config");
		AUTO_JSON json_t *facts = unit_facts(section, greeting), *lasting = unit_facts_lasting(section, greeting);
		(void)json_object_update(request->unit, facts);
		device_list_keep(request, lasting);
	}
	device_list_finish(request->listing);
	free(request);
}

static void
device_list_describe(struct device_listing *listing, const json_t *device, json_t *unit)
{
	const struct runner *runner = local_job_runner(listing->core, unit);
	struct kettle_error err = {0};
	if (!runner || !runner->ops->describe)
		return;
	struct unit_request *request = xnew(struct unit_request, listing, device, unit);
	listing->pending++;
	(void)json_object_set_new(unit, "unreachable", json_string(UNREACHABLE));
	if (runner->ops->describe(runner->self, json_object_get(unit, "config"), on_device_list_described, request, &err) <
		0)
		on_device_list_described(request, &err, NULL);
}

static void
describe_all(struct device_listing *listing)
{
	json_array_each(listing->devices, device)
		json_array_each(json_object_get(device, "units"), unit)
			device_list_describe(listing, device, unit);
}

/* Without the stored rows, the list only lacks calibrations and facts. */
static void
on_device_list_stored(void *arg, const struct kettle_error *err)
{
	struct device_listing *listing = arg;
	(void)err;
	listing->stored = STEAL(listing->reading);
	listing->jobs = STEAL(listing->reading_jobs);
	json_array_each(listing->paused ? listing->devices : NULL, device)
		(void)json_object_set_new(device, "paused", json_true());
	if (listing->known) {
		answer_once(listing);
		if (listing->core->setup.is_server && !listing->core->closing)
			describe_all(listing);
	}
	device_list_finish(listing);
}

/* The remarks of languages that a reader of scores needs, the same on every device. */
static void
add_remarks(const struct core *core, json_t *devices)
{
	const struct languages *languages = core->languages;
	AUTO_JSON json_t *remarks = json_array();
	size_t i;
	for (i = 0; i < languages->count; i++) {
		const struct language *language = &languages->items[i];
		const char *remark = language->ops->remark ? language->ops->remark(language->self) : NULL;
		if (remark)
			(void)json_array_append_new(remarks, json_sprintf("%s: %s", language->name, remark));
	}
	json_array_each(json_array_size(remarks) > 0 ? devices : NULL, device)
		(void)json_object_set(device, "remarks", remarks);
}

void
cmd_device_list(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	struct kettle_error err = {0};
	struct device_listing *listing = xmalloc(sizeof(*listing));
	*listing = (struct device_listing){.core = core,
		.whole = actor->role >= RIGHT_ADMIN,
		.devices = engine_devices(core->engine),
		.running = json_array(),
		.user = board_user(actor),
		.answer = answer,
		.arg = arg,
		.pending = 2, /* the stored rows, and this function */
		.known = member_true(args, "known")};
	add_remarks(core, listing->devices);
	json_array_each(listing->devices, device)
		json_array_each(json_object_get(device, "units"), unit)
			json_array_each(json_object_get(unit, "jobs"), job)
				(void)json_array_append_new(listing->running, json_integer(member_int(job, "job")));
	if (!listing->known)
		(void)loop_timer_start(core->setup.io, DESCRIBE_LIMIT_MS, 0, time_out, listing, &listing->timer, &err);
	store_read(core->store, read_stored, on_device_list_stored, listing);
	if (!listing->known)
		describe_all(listing);
	device_list_finish(listing);
}

void
cmd_queue_place(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	struct kettle_error none = {0};
	AUTO_JSON json_t *result = json_object();
	json_t *positions = json_array();
	if (actor->user == 0 && actor->role != RIGHT_ADMIN)
		args = NULL; /* an actor who is not a user yet has no job */
	int64_t user = actor->role == RIGHT_ADMIN ? 0 : actor->user;
	json_array_each(json_object_get(args, "job"), id) {
		json_t *position = engine_queue_position(core->engine, json_integer_value(id), user);
		if (!position)
			continue;
		(void)json_object_set(position, "job", id);
		(void)json_array_append_new(positions, position);
	}
	(void)json_object_set_new(result, "places", positions);
	answer(arg, &none, result);
}

void
cmd_admin_gc(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	(void)actor;
	(void)args;
	garbage_collector_run(&core->maintenance, answer, arg);
}
