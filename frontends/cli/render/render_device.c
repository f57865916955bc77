/* SPDX-License-Identifier: MIT */
/* Devices, their queues and their calibration for people. */
#include <config.h>

#include "cli/render/render.h"

#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/run/follow.h"
#include "cli/text/format.h"
#include "cli/text/table.h"
#include "cli/text/json_read.h"

#define DEVICE_TEXT_SIZE 300

/* ---- device list ---- */

static const char *
calibration_text(const json_t *calibration)
{
	if (!json_is_object(calibration))
		return "no";
	return value_true(calibration, "changed") ? "for another machine" : "yes";
}

/* Scores go on with the calibration of the machine that was there before. */
static void
warn_changed(struct run *run, const json_t *device, const json_t *unit)
{
	if (!value_true(json_object_get(unit, "calibration"), "changed"))
		return;
	term_put(&run->term, STYLE_YELLOW, "Warning: ");
	fputs("the machine of ", run->term.out);
	term_sanitize(run->term.out, value_text(unit, "unit"), 0);
	fputs(" has changed since it was calibrated; `kettle device calibrate ", run->term.out);
	term_sanitize(run->term.out, value_text(device, "name"), 0);
	fputs("` measures it again.\n", run->term.out);
}

static void
device_row(json_t *rows, const json_t *device, const json_t *unit, bool first)
{
	char slots[FORMAT_SIZE], queued[FORMAT_SIZE];
	const char *level = value_text(unit, "level"), *state = value_text(unit, "state"),
			   *reason = value_text(unit, *value_text(unit, "reason") ? "reason" : "unreachable");
	char both[DEVICE_TEXT_SIZE];
	snprintf(slots, sizeof(slots), "%lld/%lld", (long long)value_int(unit, "running", 0),
		(long long)value_int(unit, "slots", 0));
	snprintf(queued, sizeof(queued), "%lld", (long long)value_int(device, "queued", 0));
	snprintf(both, sizeof(both), *reason ? "%s: %s" : "%s", state, reason);
	table_row(rows, 8, first ? value_text(device, "name") : "", value_text(unit, "unit"), value_text(unit, "runner"),
		both, slots, first ? queued : "", *level ? level : value_text(json_object_get(unit, "config"), "sandbox"),
		calibration_text(json_object_get(unit, "calibration")));
}

/* " (numpy 1.24.2, torch 2.1.0)" */
static void
put_packages(const struct term *term, const json_t *packages)
{
	const char *name, *between = " (";
	json_t *version;
	json_object_foreach((json_t *)packages, name, version) {
		fputs(between, term->out);
		term_sanitize(term->out, name, 0);
		fputc(' ', term->out);
		term_sanitize(term->out, value_text(packages, name), 0);
		between = ", ";
	}
	if (json_object_size(packages) > 0)
		fputc(')', term->out);
}

/* "; py: Triton runs in its interpreter, so scores mean nothing for a GPU" */
static void
put_remarks(const struct term *term, const json_t *remarks)
{
	size_t i;
	const json_t *remark;
	json_array_foreach(remarks, i, remark) {
		fputs("; ", term->out);
		term_sanitize(term->out, json_string_value(remark), 0);
	}
}

/* What a device's first machine that answers can build and import: "CPU has g++ 12.2.0, python3 3.11.2 (numpy 1.24.2)". */
void
render_device_tools(const struct term *term, const json_t *device)
{
	size_t i;
	const json_t *unit;
	json_array_foreach(json_object_get(device, "units"), i, unit) {
		const json_t *tools = json_object_get(unit, "tools");
		const char *name, *between = " has ";
		json_t *version;
		if (json_object_size(tools) == 0)
			continue;
		fputc('\n', term->out);
		term_sanitize(term->out, value_text(device, "name"), 0);
		json_object_foreach((json_t *)tools, name, version) {
			fputs(between, term->out);
			term_sanitize(term->out, name, 0);
			fputc(' ', term->out);
			term_sanitize(term->out, value_text(tools, name), 0);
			put_packages(term, json_object_get(json_object_get(unit, "packages"), name));
			between = ", ";
		}
		put_remarks(term, json_object_get(device, "remarks"));
		fputc('\n', term->out);
		return;
	}
}

/* "H100.0: NVIDIA H200, driver 550.54.15, compute 9.0, 500 of 81920 MiB used, 1980 MHz, 41 °C" */
static void
put_gpu(const struct term *term, const json_t *unit, const json_t *gpu)
{
	static const char *const words[] = {"driver", "compute", "gfx"};
	const json_t *temperature = json_object_get(gpu, "temperature"), *throttle = json_object_get(gpu, "throttle"), *one;
	json_int_t mhz = value_int(json_object_get(gpu, "clocks"), "sm", 0);
	size_t i;
	term_sanitize(term->out, value_text(unit, "unit"), 0);
	fputs(": ", term->out);
	term_sanitize(term->out, value_text(gpu, "name"), 0);
	fprintf(term->out, " (GPU %lld)", (long long)value_int(gpu, "index", 0));
	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (*value_text(gpu, words[i])) {
			fprintf(term->out, ", %s ", strcmp(words[i], "gfx") == 0 ? "architecture" : words[i]);
			term_sanitize(term->out, value_text(gpu, words[i]), 0);
		}
	fprintf(term->out, ", %lld of %lld MiB used", (long long)(value_int(gpu, "used", 0) >> 20),
		(long long)(value_int(gpu, "memory", 0) >> 20));
	if (mhz > 0)
		fprintf(term->out, ", %lld MHz", (long long)mhz);
	if (temperature)
		fprintf(term->out, ", %lld °C", (long long)json_integer_value(temperature));
	json_array_foreach(throttle, i, one) {
		fputs(i ? ", " : ", slowed by ", term->out);
		term_sanitize(term->out, json_string_value(one), 0);
	}
	fputc('\n', term->out);
}

static void
put_gpus(const struct term *term, const json_t *unit)
{
	const json_t *gpu;
	size_t i;
	json_array_foreach(json_object_get(unit, "gpus"), i, gpu)
		put_gpu(term, unit, gpu);
	if (!*value_text(unit, "gpu_error"))
		return;
	term_put(term, STYLE_YELLOW, "Warning: ");
	term_sanitize(term->out, value_text(unit, "unit"), 0);
	fputs(": ", term->out);
	term_sanitize(term->out, value_text(unit, "gpu_error"), 0);
	fputc('\n', term->out);
}

/* Submissions that wait although something of the device may be idle. */
static void
put_waiting(const struct term *term, const json_t *device)
{
	long long queued = (long long)value_int(device, "queued", 0);
	if (!*value_text(device, "waits"))
		return;
	term_put(term, STYLE_YELLOW, "Warning: ");
	fprintf(term->out, "%lld job%s of ", queued, queued == 1 ? " waits for a place" : "s wait for places");
	term_sanitize(term->out, value_text(device, "name"), 0);
	fputs(". ", term->out);
	term_sanitize(term->out, value_text(device, "waits"), 0);
	fputc('\n', term->out);
}

int
render_device_list(struct run *run, const json_t *result)
{
	static const struct table_column columns[] = {{.title = "device"}, {.title = "unit", .cut = true},
		{.title = "runner"}, {.title = "state", .cut = true}, {.title = "slots", .right = true},
		{.title = "queued", .right = true}, {.title = "protections"}, {.title = "calibrated"}};
	AUTO_JSON json_t *rows = json_array();
	size_t i, j;
	const json_t *device, *unit;
	json_array_foreach(result, i, device)
		json_array_foreach(json_object_get(device, "units"), j, unit)
			device_row(rows, device, unit, j == 0);
	if (json_array_size(rows) == 0)
		fputs("There is no device.\n", run->term.out);
	else
		table_print(&run->term, columns, ARRAY_SIZE(columns), rows, 0);
	json_array_foreach(result, i, device)
		put_waiting(&run->term, device);
	json_array_foreach(result, i, device)
		render_device_tools(&run->term, device);
	json_array_foreach(result, i, device)
		json_array_foreach(json_object_get(device, "units"), j, unit)
			put_gpus(&run->term, unit);
	json_array_foreach(result, i, device)
		json_array_foreach(json_object_get(device, "units"), j, unit)
			warn_changed(run, device, unit);
	return RUN_OK;
}

/* ---- queue place ---- */

/* NULL: it is not queued. */
static const json_t *
find_position(const json_t *result, json_int_t job)
{
	size_t i;
	const json_t *position;
	json_array_foreach(json_object_get(result, "places"), i, position)
		if (value_int(position, "job", 0) == job)
			return position;
	return NULL;
}

/* "Job 70 on H100: 2 before it, of 5 that wait. No unit of `H100` is in order. …" */
static void
put_position(FILE *out, json_int_t job, const json_t *position)
{
	json_int_t before = value_int(position, "place", -1), length = value_int(position, "length", 0);
	if (!position) {
		fprintf(out, "Job %lld is not queued.\n", (long long)job);
		return;
	}
	fprintf(out, "Job %lld on ", (long long)job);
	term_sanitize(out, value_text(position, "device"), 0);
	if (before > 0)
		fprintf(out, ": %lld before it, of %lld that wait.", (long long)before, (long long)length);
	else if (before == 0)
		fprintf(out, ": next, of %lld that wait%s.", (long long)length, length == 1 ? "s" : "");
	else
		fputs(" waits beside the queue.", out);
	fputs(*value_text(position, "waits") ? " " : "", out);
	term_sanitize(out, value_text(position, "waits"), 0);
	fputc('\n', out);
}

int
render_queue_positions(struct run *run, const json_t *result)
{
	size_t i;
	const json_t *job;
	json_array_foreach(json_object_get(run->args.values, "job"), i, job)
		put_position(run->term.out, json_integer_value(job), find_position(result, json_integer_value(job)));
	return RUN_OK;
}

/* ---- device enable, device disable ---- */

int
render_device_changed(struct run *run, const json_t *result)
{
	size_t i;
	const json_t *unit;
	json_array_foreach(json_object_get(result, "units"), i, unit) {
		bool failed = strcmp(value_text(unit, "state"), "failed") == 0;
		term_sanitize(run->term.out, value_text(unit, "unit"), 0);
		fputs(failed ? ": stays disabled: " : ": ", run->term.out);
		if (failed)
			term_put(&run->term, STYLE_RED, value_text(unit, "error"));
		else
			term_sanitize(run->term.out, value_text(unit, "state"), 0);
		fputc('\n', run->term.out);
	}
	return render_device_changed_status(result);
}

int
render_device_changed_status(const json_t *result)
{
	size_t i;
	const json_t *unit;
	json_array_foreach(json_object_get(result, "units"), i, unit)
		if (strcmp(value_text(unit, "state"), "failed") == 0)
			return RUN_ENGINE;
	return RUN_OK;
}

/* ---- device calibrate ---- */

static void
on_render_device_answered(struct run *run, const struct kettle_error *err, json_t *result)
{
	follow_end(run);
	if (err && err->code)
		run_fail(run, err);
	else
		run_result(run, result);
}

void
render_device_calibrate_start(struct run *run)
{
	follow_task_run(run);
	run_call(run, "device.calibrate", run->args.values, on_render_device_answered);
}

/* "  cpu-c-1-tile  129.4 µs  (+0.3 % against before)" */
static void
put_name(struct run *run, const char *name, double ns, double before)
{
	char text[FORMAT_SIZE];
	format_ns(ns, text);
	fputs("  ", run->term.out);
	term_sanitize(run->term.out, name, 0);
	fprintf(run->term.out, "  %s", text);
	if (isfinite(before) && before > 0)
		fprintf(run->term.out, "  (%+.2f %% against before)", 100 * (ns / before - 1));
	fputc('\n', run->term.out);
}

/* "  leaderboard matmul: 2 calibrators of its own" */
static void
put_boards(struct run *run, const json_t *unit)
{
	size_t i;
	const json_t *board;
	json_array_foreach(json_object_get(unit, "boards"), i, board) {
		size_t count = json_object_size(json_object_get(board, "names"));
		fputs("  leaderboard ", run->term.out);
		term_sanitize(run->term.out, value_text(board, "leaderboard"), 0);
		fprintf(run->term.out, ": %zu calibrator%s of its own\n", count, count == 1 ? "" : "s");
	}
}

static void
put_unit(struct run *run, const json_t *unit)
{
	const char *state = value_text(unit, "state"), *name;
	bool failed = strcmp(state, "failed") == 0;
	size_t i;
	json_t *names = json_object_get(unit, "names"), *before = json_object_get(unit, "before"), *ns, *remark;
	term_put(&run->term, STYLE_BOLD, value_text(unit, "unit"));
	fputs(": ", run->term.out);
	if (failed)
		term_put(&run->term, STYLE_RED, value_text(unit, "error"));
	else
		fputs(strcmp(state, "already") == 0 ? "is calibrated already; --force does it again" : "calibrated",
			run->term.out);
	fputc('\n', run->term.out);
	json_array_foreach(json_object_get(unit, "remarks"), i, remark) {
		fputs("  remark: ", run->term.out);
		term_sanitize(run->term.out, json_string_value(remark), 0);
		fputc('\n', run->term.out);
	}
	json_object_foreach(names, name, ns)
		put_name(run, name, json_number_value(ns), value_number(before, name));
	put_boards(run, unit);
	if (json_is_object(before))
		fputs(
			"  Scores that were made before stay as they are, until their submissions are run again.\n", run->term.out);
}

int
render_device_calibrated(struct run *run, const json_t *result)
{
	size_t i;
	const json_t *unit;
	json_array_foreach(json_object_get(result, "units"), i, unit)
		put_unit(run, unit);
	return render_device_calibrated_status(result);
}

int
render_device_calibrated_status(const json_t *result)
{
	size_t i;
	const json_t *unit;
	json_array_foreach(json_object_get(result, "units"), i, unit)
		if (strcmp(value_text(unit, "state"), "failed") == 0)
			return RUN_ENGINE;
	return RUN_OK;
}
