/* SPDX-License-Identifier: MIT */
/* The model that a job's machine must be, where the remote side chooses a machine for each job. */
/*
 * Theory of operation. A unit whose runner describes machines is checked before its jobs (unit_health.c). Any other
 * unit may get a different machine for each job, so every run line says which model it expects: `model` of the
 * configuration, or else the model of the device's first unit that knows one. A unit learns it from its first
 * completion. The database stores it with the unit's facts, in a write before that of the verdict. kettle-exec compares
 * the model before the first step. The engine compares it again with each completion, since jobs that began before the
 * first completion expected nothing.
 */
#include <config.h>

#include "engine/engine_internal.h"

#include "base/base.h"
#include "base/log.h"
#include "judge/unit_facts.h"
#include "model/settings.h"

/* Whether the remote side chooses a machine for each job. */
static bool
is_chosen(const struct unit *unit)
{
	return !unit->runner->ops->describe;
}

/* The model of the first unit of the device that knows one. New string; NULL: none does. */
static char *
known_model(const struct unit *unit)
{
	for (const struct unit *one = unit->device->units; one; one = one->next) {
		char *model = one->removed           ? NULL
					  : one->machine.learned ? xstrdup(one->machine.learned)
											 : unit_model(one->machine.facts);
		if (model)
			return model;
	}
	return NULL;
}

json_t *
unit_model_expect(const struct unit *unit)
{
	AUTO_FREE char *known = is_chosen(unit) ? known_model(unit) : NULL;
	return unit_expect(unit->config, known);
}

/* ---- learned ---- */

struct learned {
	char *device, *key, *model, *label;
};

static int
learn_op(struct db *db, void *arg, struct kettle_error *err)
{
	const struct learned *learned = arg;
	return settings_unit_learn_model(db, learned->device, learned->key, learned->model, err);
}

static void
on_learned(void *arg, const struct kettle_error *err)
{
	struct learned *learned = arg;
	if (err)
		log_write(KETTLE_LOG_WARNING, "engine", "the model of unit %s could not be stored; a restart loses it: %s",
			learned->label, err->message);
	free_all(learned->device, learned->key, learned->model, learned->label, learned);
}

static void
learn(struct engine *engine, struct unit *unit, const char *model)
{
	struct learned *learned = xmalloc(sizeof(*learned));
	free(unit->machine.learned);
	unit->machine.learned = xstrdup(model);
	*learned = (struct learned){.device = xstrdup(unit->device->name),
		.key = xstrdup(unit->key),
		.model = xstrdup(model),
		.label = xstrdup(unit->label)};
	log_write(KETTLE_LOG_INFO, "engine", "unit %s ran its job on %s, which is now the model of its device", unit->label,
		model);
	store_write(engine->setup.store, learn_op, on_learned, learned);
}

int
unit_model_check(struct engine *engine, struct unit *unit, const json_t *system, struct kettle_error *err)
{
	const char *model = unit_system_model(unit->config, system);
	if (!is_chosen(unit) || !model)
		return 0;
	AUTO_JSON json_t *expected = unit_model_expect(unit);
	int rc = unit_check_expected(unit->config, expected, model, err);
	if (rc == 0 && (!unit->machine.learned || strcmp(unit->machine.learned, model) != 0))
		learn(engine, unit, model);
	return rc;
}

void
unit_model_load(struct unit *unit, const json_t *row)
{
	const char *model = json_text_or_null(json_object_get(row, "facts"), "model");
	if (model && is_chosen(unit) && !unit->machine.learned)
		unit->machine.learned = xstrdup(model);
}
