/* SPDX-License-Identifier: MIT */
/* A board's task: what is asked, what judges it, and how to submit. */
#include <config.h>

#include "base/json_access.h"
#include "web/site/site.h"

#define CASES_MAX 200           /* tests, and benchmarks, that the page shows */
#define TEXT_MAX (64u << 10)    /* bytes of a file that it shows */
#define TEXTS_MAX (1024u << 10) /* of all files */
#define PACKAGES_MAX 300        /* of an interpreter */

/* ---- files ---- */

/* The files of the task: [{"name", "text": or null where it is long or not text}]. */
static json_t *
files_of(const json_t *task)
{
	json_t *files = json_array();
	size_t shown = 0;
	json_object_each(json_object_get(task, "files"), name, contents) {
		json_t *text = json_object_get(contents, "text");
		size_t size = json_string_length(text);
		bool fits = text && size <= TEXT_MAX && shown + size <= TEXTS_MAX;
		shown += fits ? size : 0;
		json_array_append_new(files, json_pack("{s:s, s:O?}", "name", name, "text", fits ? text : NULL));
	}
	return files;
}

/* ---- cases ---- */

/* {"shown": the first ones, "more": how many are not shown, or null}. */
static json_t *
cases_of(const json_t *cases)
{
	json_t *shown = json_array();
	size_t count = json_array_size(cases);
	json_array_each(cases, one)
		if (one_index < CASES_MAX)
			json_array_append(shown, one);
	return json_pack("{s:o, s:o}", "shown", shown, "more",
		count > CASES_MAX ? json_integer((json_int_t)(count - CASES_MAX)) : json_null());
}

/* ---- machines ---- */

/* Adds the versions of a map, those that `wanted` names, or all where it is NULL: {"name", "version"}. */
static void
add_versions(json_t *list, const json_t *versions, const json_t *wanted)
{
	json_object_each(versions, name, version)
		if ((!wanted || list_has_text(wanted, name)) && json_array_size(list) < PACKAGES_MAX)
			json_array_append_new(list, json_pack("{s:s, s:O}", "name", name, "version", version));
}

/* The first unit of a device whose machine is known; NULL: there is none. */
static const json_t *
known_unit(const json_t *device)
{
	json_array_each(json_object_get(device, "units"), unit)
		if (json_object_get(unit, "tools"))
			return unit;
	return NULL;
}

/* The board's devices: [{"name", "model": or null, "cpu": or null, "tools", "packages"}]. */
static json_t *
machines_of(const json_t *board, const json_t *devices)
{
	const json_t *names = json_object_get(json_object_get(board, "leaderboard"), "gpu_types");
	const json_t *wanted = json_object_get(board, "tools");
	json_t *machines = json_array();
	json_array_each(names, name) {
		const json_t *unit = known_unit(list_find(devices, "name", json_string_value(name)));
		json_t *tools = json_array(), *packages = json_array();
		add_versions(tools, json_object_get(unit, "tools"), wanted);
		json_array_each(wanted, tool)
			add_versions(packages, json_object_get(json_object_get(unit, "packages"), json_string_value(tool)), NULL);
		json_array_append_new(machines,
			json_pack("{s:O, s:O?, s:O?, s:o, s:o}", "name", name, "model", json_object_get(unit, "model"), "cpu",
				json_object_get(json_object_get(unit, "machine"), "cpu"), "tools", tools, "packages", packages));
	}
	return machines;
}

/* ---- the page ---- */

static void
finish_task(const struct visit *visit, json_t *model)
{
	const json_t *task = json_object_get(model, "task");
	json_object_update_new(model, json_pack("{s:O?, s:o, s:o, s:o, s:o}", "work", site_model(visit, "task.task.work"),
									  "files", files_of(task), "tests", cases_of(site_model(visit, "task.task.tests")),
									  "benchmarks", cases_of(site_model(visit, "task.task.benchmarks")), "machines",
									  machines_of(json_object_get(model, "board"), json_object_get(model, "devices"))));
}

const struct site_page pages_task[] = {
	{.path = "board/*/task",
		.template = "task",
		.title = "Task of {board.leaderboard.name}",
		.data = "/api/v1/leaderboard.task?name={board.leaderboard.name}",
		.reads = {{"board", "leaderboard.show", SITE_BOARD}, {"task", "leaderboard.task", "name=/1 mode=ranked"},
			{"devices", "device.list", "known=true", true}},
		.markdown = "board.leaderboard.description",
		.finish = finish_task,
		.kept = true},
	{.path = NULL},
};
