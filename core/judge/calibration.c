/* SPDX-License-Identifier: MIT */
/* Calibrators' times: their text for harnesses, from harnesses, and whether they still hold for a machine. */
#include <config.h>

#include "judge/calibration.h"

#include <math.h>

#include "base/buf.h"
#include "base/base.h"
#include "base/number.h"
#include "judge/completion.h"

/* Memory that differs by less than 1/MEMORY_PART is the same: kernels keep some for themselves. */
#define MEMORY_PART 16

bool
calibration_is_name(const char *name)
{
	size_t len = name ? strlen(name) : 0;
	return len > 0 && len <= CALIBRATION_NAME_MAX &&
		   strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == len;
}

bool
calibration_is_own(const char *name)
{
	return calibration_is_name(name) && strstr(name, CALIBRATION_OWN);
}

static bool
is_time(double ns)
{
	return isfinite(ns) && ns > 0;
}

static bool
is_spread(double spread)
{
	return isfinite(spread) && spread > 0 && spread <= CALIBRATION_SPREAD_MAX;
}

/* One more of the text, as a whole or not at all. */
static void
add_word(struct buf *text, const char *name, double ns, double spread)
{
	AUTO_BUF struct buf word = {0};
	buf_printf(&word, "%s%s=%.1f", text->len > 0 ? " " : "", name, ns);
	if (is_spread(spread))
		buf_printf(&word, ":%.5f", spread);
	if (text->len + word.len <= CALIBRATION_TEXT_MAX)
		buf_add(text, word.data, word.len);
}

/* Of the tasks' own, or of the others, show at most N. */
static void
add_words(struct buf *text, const json_t *names, const json_t *spreads, bool own, size_t most)
{
	size_t count = 0;
	json_object_each(names, name, value) {
		double ns = json_number_value(value);
		if (count == most || !calibration_is_name(name) || calibration_is_own(name) != own || !is_time(ns))
			continue;
		add_word(text, name, ns, json_number_value(json_object_get(spreads, name)));
		count++;
	}
}

char *
calibration_text(const json_t *calibration, const char *hash)
{
	const json_t *tasks = json_object_get(calibration, "tasks");
	AUTO_BUF struct buf text = {0};
	add_words(&text, json_object_get(calibration, "names"), json_object_get(calibration, "spreads"), false,
		CALIBRATION_NAMES_MAX);
	if (hash)
		add_words(&text, json_object_get(tasks, hash), NULL, true, CALIBRATION_OWN_MAX);
	return buf_take(&text);
}

bool
calibration_machine_changed(const json_t *stored, const json_t *machine)
{
	static const char *const keys[] = {"cpu", "cores"};
	const json_t *then = json_object_get(stored, "machine");
	double memory = json_number_value(json_object_get(then, "memory")),
		   memory_now = json_number_value(json_object_get(machine, "memory"));
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const json_t *before = json_object_get(then, keys[i]), *now = json_object_get(machine, keys[i]);
		if (before && now && !json_equal(before, now))
			return true;
	}
	return memory > 0 && memory_now > 0 && fabs(memory - memory_now) * MEMORY_PART > memory;
}

/* Adds a time to the samples of a name; 1, or 0 where it is invalid. own: whether the task's own calibrators count. */
static size_t
collect_samples(json_t *samples, bool own, const char *name, const char *text)
{
	double ns = 0;
	size_t most = own ? CALIBRATION_OWN_MAX : CALIBRATION_NAMES_MAX;
	if (!calibration_is_name(name) || calibration_is_own(name) != own || !number_parse(text, &ns) || !is_time(ns))
		return 0;
	if (!json_object_get(samples, name) && json_object_size(samples) < most)
		json_object_set_new(samples, name, json_array());
	return json_array_append_new(json_object_get(samples, name), json_real(ns)) == 0;
}

/* `NAME=NS NAME=NS …`. */
static size_t
collect_all(json_t *samples, bool own, const char *text)
{
	AUTO_FREE char *copy = xstrdup(text);
	size_t taken = 0;
	char *rest = copy;
	for (char *ns, *name; (ns = strsep(&rest, " "));) {
		name = strsep(&ns, "=");
		taken += ns ? collect_samples(samples, own, name, ns) : 0;
	}
	return taken;
}

size_t
calibration_collect(const json_t *result, size_t count, bool own, json_t *samples)
{
	size_t taken = 0;
	for (size_t i = 0; i < count; i++) {
		const char *all = result_value(result, "benchmark", i, "calibrators");
		taken += all ? collect_all(samples, own, all)
					 : collect_samples(samples, own, result_value(result, "benchmark", i, "calibrator"),
						   result_value(result, "benchmark", i, "calibrator-ns"));
	}
	return taken;
}

size_t
calibration_collect_ratios(const json_t *result, json_t *samples)
{
	const char *all = result_value(result, "benchmark", 0, "ratios");
	return all ? collect_all(samples, false, all) : 0;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* 0 of none. */
static double
median(const json_t *list)
{
	size_t count = json_array_size(list);
	AUTO_FREE double *values = xcalloc(count, sizeof(*values));
	if (count == 0)
		return 0;
	for (size_t i = 0; i < count; i++)
		values[i] = json_number_value(json_array_get(list, i));
	qsort(values, count, sizeof(*values), by_value);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

json_t *
calibration_medians(const json_t *samples)
{
	json_t *medians = json_object();
	json_object_each(samples, name, list) {
		double ns = median(list);
		if (is_time(ns))
			json_object_set_new(medians, name, json_real(ns));
	}
	return medians;
}

/* The range of 95 % of further samples, as part of the mean of these; the mean of few samples is itself uncertain. */
static double
spread_of(const json_t *list)
{
	/* Student's factors for two degrees of freedom and more */
	static const double factors[] = {4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23};
	size_t count = json_array_size(list);
	double mean = 0, squares = 0;
	if (count < 3)
		return 0;
	json_array_each(list, value)
		mean += json_number_value(value) / (double)count;
	json_array_each(list, value)
		squares += (json_number_value(value) - mean) * (json_number_value(value) - mean);
	size_t freedom = count - 1 < ARRAY_SIZE(factors) + 1 ? count - 1 : ARRAY_SIZE(factors) + 1;
	double deviation = sqrt(squares / (double)(count - 1) * (1 + 1 / (double)count));
	return fmin(factors[freedom - 2] * deviation / mean, CALIBRATION_SPREAD_MAX);
}

void
calibration_spreads(const json_t *ratios, json_t *spreads)
{
	json_object_each(ratios, name, list) {
		double spread = spread_of(list);
		if (is_spread(spread) && spread > json_number_value(json_object_get(spreads, name)))
			json_object_set_new(spreads, name, json_real(spread));
	}
}

/* ---- tasks ---- */

void
calibration_keep_names(json_t *calibration, const json_t *before, int64_t now, int64_t oldest)
{
	json_t *names = json_object_get(calibration, "names"), *spreads = json_object_get(calibration, "spreads"),
		   *kept = json_object();
	json_object_each(json_object_get(before, "names"), name, ns) {
		json_t *since = json_object_get(json_object_get(before, "kept"), name),
			   *spread = json_object_get(json_object_get(before, "spreads"), name);
		int64_t then = since ? (int64_t)json_integer_value(since) : now;
		if (json_object_get(names, name) || json_object_size(names) >= CALIBRATION_NAMES_MAX || oldest >= then)
			continue;
		(void)json_object_set(names, name, ns);
		(void)json_object_set_new(kept, name, json_integer(then));
		if (spread)
			(void)json_object_set(spreads, name, spread);
	}
	if (json_object_size(kept) > 0)
		(void)json_object_set(calibration, "kept", kept);
	json_decref(kept);
}

bool
calibration_has_task(const json_t *calibration, const char *hash)
{
	return json_is_object(json_object_get(json_object_get(calibration, "tasks"), hash));
}

int
calibration_set_task(json_t *calibration, const char *hash, json_t *names, struct kettle_error *err)
{
	json_t *tasks = json_object_get(calibration, "tasks");
	if (json_object_size(tasks) >= CALIBRATION_TASKS_MAX && !json_object_get(tasks, hash))
		return kettle_fail(err, KETTLE_ETOOBIG,
			"The calibration times of %d tasks are stored for this unit, which is the maximum.", CALIBRATION_TASKS_MAX);
	if (!json_is_object(tasks))
		json_object_set_new(calibration, "tasks", tasks = json_object());
	json_object_set(tasks, hash, names);
	return 0;
}

void
calibration_keep_tasks(json_t *calibration, const json_t *hashes)
{
	const char *hash;
	json_t *names;
	void *next;
	json_object_foreach_safe(json_object_get(calibration, "tasks"), next, hash, names) {
		if (!json_object_get(hashes, hash))
			(void)json_object_del(json_object_get(calibration, "tasks"), hash);
	}
}
