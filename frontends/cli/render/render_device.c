/* SPDX-License-Identifier: MIT */
/* Prints devices, their queues and their calibration. */
#include <config.h>

#include "cli/render/render.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "common/format.h"
#include "common/table.h"
#include "common/template.h"

/* ---- device list ---- */

/* Prints "Warning: " and a sentence. */
static void
warn(const struct term *term, const char *template, const json_t *object)
{
	term_put(term, STYLE_YELLOW, "Warning: ");
	template_put(term, template, object, NULL);
}

/* Makes an array of the members (names: only these) for templates, each with its name, version and packages. */
static json_t *
list_versions(const json_t *versions, const json_t *packages, const json_t *names)
{
	json_t *list = json_array();
	json_object_each(versions, name, version) {
		const json_t *inside = json_object_get(packages, name);
		if (json_string_length(version) == 0 || (names && !list_has_text(names, name)))
			continue; /* a system program without a version, such as sh */
		json_array_append_new(list, json_pack("{s:s, s:O, s:o*}", "name", name, "version", version, "packages",
										inside ? list_versions(inside, NULL, NULL) : NULL));
	}
	return list;
}

/* The tools of the first machine of a device that answers: "CPU has g++ 12.2.0, python3 3.11.2 (numpy 1.24.2)". */
void
render_device_tools(const struct term *term, const json_t *device, const json_t *names)
{
	json_array_each(json_object_get(device, "units"), unit) {
		const json_t *tools = json_object_get(unit, "tools");
		AUTO_JSON json_t *list = list_versions(tools, json_object_get(unit, "packages"), names);
		if (json_array_size(list) == 0)
			continue;
		AUTO_JSON json_t *shown = json_pack("{s:O, s:O, s:O*}", "name", json_object_get(device, "name"), "tools", list,
			"remarks", json_object_get(device, "remarks"));
		template_put(term,
			"\n{name} has {tools@{name}{version? {version}}{packages? ({packages@{name} {version}})}}{remarks@@; {}}\n",
			shown, NULL);
		return;
	}
}

/* "H100.0 has submission 12 to matmul", "H100.0 has a submission to matmul" */
static void
put_job(const struct term *term, const json_t *unit, json_t *job)
{
	AUTO_JSON json_t *shown = json_copy(job);
	json_object_set(shown, "unit", json_object_get(unit, "unit"));
	template_put(term,
		"{unit} has {submission?submission {submission}|a submission} to {leaderboard}{since?, since {since:time}}\n",
		shown, NULL);
}

/* "H100.0: NVIDIA H200 (GPU 0), driver 550.54.15, compute 9.0, 500 of 81920 MiB used, 1980 MHz, 41 °C" */
static void
put_gpu(const struct term *term, const json_t *unit, json_t *gpu)
{
	AUTO_JSON json_t *shown = json_copy(gpu);
	json_object_set(shown, "unit", json_object_get(unit, "unit"));
	json_object_set_new(shown, "used", json_integer(member_int(gpu, "used") >> 20));
	json_object_set_new(shown, "memory", json_integer(member_int(gpu, "memory") >> 20));
	template_put(term,
		"{unit}: {name} (GPU {index}){driver?, driver {driver}}{compute?, compute {compute}}"
		"{gfx?, architecture {gfx}}, {used} of {memory} MiB used{clocks.sm?, {clocks.sm} MHz}",
		shown, NULL);
	if (json_object_get(gpu, "temperature"))
		template_put(term, ", {temperature:count} °C", gpu, NULL);
	template_put(term, "{throttle?, slowed by {throttle}}{unfit?, not fit to score ({unfit})}\n", gpu, NULL);
}

/* "CPU.0 has python3 warm with numpy, torch, torch.compile: 445 MiB and 150 MiB of disk, 12 runs" */
static void
put_warm(const struct term *term, const json_t *unit, const json_t *warm)
{
	AUTO_JSON json_t *shown = json_copy((json_t *)warm), *names = json_array();
	json_array_extend(names, json_object_get(warm, "modules"));
	json_array_extend(names, json_object_get(warm, "recipes"));
	json_object_set(shown, "names", names);
	json_object_set(shown, "unit", json_object_get(unit, "unit"));
	json_object_set_new(shown, "memory", json_integer(member_int(warm, "memory") >> 20));
	if (member_int(warm, "disk") >> 20)
		json_object_set_new(shown, "disk", json_integer(member_int(warm, "disk") >> 20));
	else
		json_object_del(shown, "disk");
	template_put(term,
		"{unit} has {tool} warm{names? with {names@{}}}: {memory} MiB{disk? and {disk} MiB on disk}, "
		"{runs} run{runs#|s}\n",
		shown, NULL);
}

/* Makes a row of the list for each unit, with its device. */
static json_t *
list_units(const json_t *devices)
{
	json_t *rows = json_array();
	json_array_each(devices, device)
		json_array_each_at(json_object_get(device, "units"), j, unit)
			json_array_append_new(rows, json_pack("{s:O, s:O, s:b}", "device", device, "unit", unit, "first", j == 0));
	return rows;
}

void
render_device_list(struct run *run, const json_t *result)
{
	static const struct view_column columns[] = {COLUMN_CUT("device", "{first?{device.name}}"),
		COLUMN_CUT("unit", "{unit.unit}"), SPARE_COLUMN(1, "runner", "{unit.runner}"),
		COLUMN_CUT("state", "{unit.state}{unit.reason?: {unit.reason}|{unit.unreachable?: {unit.unreachable}}}"),
		COLUMN_RIGHT("slots", "{unit.running}/{unit.slots}"),
		SPARE_COLUMN_RIGHT(4, "queued", "{first?{device.queued}}"),
		SPARE_COLUMN_RIGHT(5, "wait", "{first?{device.wait_s?{device.wait_s} s}}"),
		SPARE_COLUMN(2, "sandbox", "{unit.level?{unit.level}|{unit.config.sandbox}}"),
		SPARE_COLUMN(3, "calibrated",
			"{unit.calibration?{unit.calibration.changed?for another "
			"machine|{unit.calibration.missing?in part|yes}}|no}")};
	const struct term *term = &run->term;
	AUTO_JSON json_t *rows = list_units(result);
	if (json_array_size(rows) == 0)
		fputs("There are no devices.\n", term->out);
	else
		TABLE_PRINT(term, columns, rows, 0);
	if (member_true(json_array_get(result, 0), "paused"))
		warn(term, "submissions are paused; `kettle admin resume` accepts them again.\n", json_array_get(result, 0));
	json_array_each(result, device)
		if (*json_text_or_empty(device, "waits"))
			warn(term, "{queued} job{queued# waits for a slot|s wait for slots} of {name}. {waits}\n", device);
	json_array_each(result, device)
		if (json_object_get(device, "budget"))
			template_put(term,
				"{name} has used {budget.used_s}{budget.seconds_per_day? of {budget.seconds_per_day}} device seconds "
				"today{budget.user_seconds_per_day?; each user has {budget.user_seconds_per_day}}.\n",
				device, NULL);
	json_array_each(result, device)
		render_device_tools(term, device, NULL);
	json_array_each(rows, row) {
		const json_t *unit = json_object_get(row, "unit");
		json_array_each(json_object_get(unit, "jobs"), job)
			put_job(term, unit, job);
		json_array_each(json_object_get(unit, "gpus"), gpu)
			put_gpu(term, unit, gpu);
		json_array_each(json_object_get(unit, "warm"), warm)
			if (member_is(warm, "state", "ready"))
				put_warm(term, unit, warm);
		if (json_object_get(unit, "expect"))
			template_put(term,
				"{unit}: its machines must be {expect.gpu?{expect.gpu}|{expect.cpu}}{expect.whole?, like the machine "
				"of the device's first job|, by `model` of the configuration}\n",
				unit, NULL);
		if (*json_text_or_empty(unit, "gpu_error"))
			warn(term, "{unit}: {gpu_error}\n", unit);
	}
	/* Scores still use the calibration of the earlier machine. */
	json_array_each(rows, row)
		if (member_true(json_object_get(json_object_get(row, "unit"), "calibration"), "changed"))
			warn(term,
				"the machine of {unit.unit} has changed since it was calibrated; "
				"`kettle device calibrate {device.name}` measures it again.\n",
				row);
}

/* ---- device calibrations ---- */

void
render_device_calibrations(struct run *run, const json_t *result)
{
	static const struct view_column columns[] = {
		COLUMN_CUT("unit", "{unit}"), COLUMN("when", "{at:time}"), COLUMN_CUT("times", "{times@{name} {ns:ns}}")};
	AUTO_JSON json_t *rows = json_array();
	json_array_each(result, calibration) {
		json_t *row = json_copy(calibration), *times = json_array();
		json_object_each(json_object_get(calibration, "names"), name, ns)
			json_array_append_new(times, json_pack("{s:s, s:O}", "name", name, "ns", ns));
		json_object_set_new(row, "times", times);
		json_array_append_new(rows, row);
	}
	if (json_array_size(rows) == 0)
		fputs("There are no calibrations; `kettle device calibrate` makes one.\n", run->term.out);
	else
		TABLE_PRINT(&run->term, columns, rows, 0);
}

/* ---- queue place ---- */

/* Returns the position of a job; NULL: it is not queued. */
static const json_t *
find_position(const json_t *result, json_int_t job)
{
	json_array_each(json_object_get(result, "places"), position)
		if (member_int(position, "job") == job)
			return position;
	return NULL;
}

/* The positions of the jobs of the command's arguments: "Job 70 on H100: 2 before it, of 5 that wait." */
void
render_queue_positions(struct run *run, const json_t *result)
{
	const struct term *term = &run->term;
	json_array_each(json_object_get(run->args.values, "job"), job) {
		const json_t *position = find_position(result, json_integer_value(job));
		if (!position)
			template_put(term, "Job {} is not queued.\n", job, NULL);
		else if (!json_is_integer(json_object_get(position, "place")))
			template_put(term, "Job {job} on {device} waits outside of the queue.{waits? {waits}}\n", position, NULL);
		else
			template_put(term,
				"Job {job} on {device}: {place?{place} before it|next}, of {length} that wait{place?|{length#s}}."
				"{waits? {waits}}\n",
				position, NULL);
	}
}

/* ---- device calibrate ---- */

/* "  cpu-c-1-tile  129.4 µs  (+0.3 % against before)" */
static void
put_calibrator(const struct term *term, const char *name, double ns, double before)
{
	char text[FORMAT_SIZE];
	format_ns(ns, text);
	fputs("  ", term->out);
	term_sanitize(term->out, name, 0);
	fprintf(term->out, "  %s", text);
	if (isfinite(before) && before > 0)
		fprintf(term->out, "  (%+.2f %% from the last calibration)", 100 * (ns / before - 1));
	fputc('\n', term->out);
}

static void
put_unit(const struct term *term, const json_t *unit)
{
	json_t *before = json_object_get(unit, "before");
	template_put(term,
		"{*unit}: {state=failed?{!error}|{state=already?is already calibrated; --force measures it "
		"again|calibrated}}\n{remarks@@  remark: {}\n}",
		unit, NULL);
	json_object_each(json_object_get(unit, "names"), name, ns)
		put_calibrator(term, name, json_number_value(ns), member_number(before, name));
	json_array_each(json_object_get(unit, "boards"), board) {
		size_t count = json_object_size(json_object_get(board, "names"));
		template_put(term, "  leaderboard {leaderboard}: ", board, NULL);
		fprintf(term->out, "%zu calibrator%s of its own\n", count, count == 1 ? "" : "s");
	}
	if (json_is_object(before))
		fputs("  Earlier scores stay as they are until their submissions are rerun.\n", term->out);
}

void
render_device_calibrated(struct run *run, const json_t *result)
{
	json_array_each(json_object_get(result, "units"), unit)
		put_unit(&run->term, unit);
}

int
render_device_status(const json_t *result)
{
	return list_find(json_object_get(result, "units"), "state", "failed") ? RUN_ENGINE : RUN_OK;
}

/* ---- device doctor ---- */

/* "H100.0, GPU 0 (NVIDIA H100): fit to score", with its state and what to know of scores on it below. */
static void
put_score(const struct term *term, const json_t *score)
{
	AUTO_JSON json_t *shown = json_copy((json_t *)score);
	json_t *facts = json_object_get(score, "facts");
	static const char *const powers[] = {"power_mw", "power_limit_mw"};
	for (size_t i = 0; i < ARRAY_SIZE(powers); i++)
		if (json_object_get(facts, powers[i]))
			json_object_set_new(shown, powers[i], json_integer(member_int(facts, powers[i]) / 1000));
	template_put(term, "  {unit}, GPU {gpu}{facts.name? ({facts.name})}: {fit?fit to score|not fit to score: {why}}\n",
		shown, NULL);
	template_put(term,
		"{facts.clocks.sm?    clocks {facts.clocks.sm}{facts.clocks.sm_max? of {facts.clocks.sm_max}} MHz{facts."
		"clocks_locked?, locked}\n}{power_limit_mw?    power {power_mw?{power_mw} of }{power_limit_mw} W\n}",
		shown, NULL);
	template_put(term,
		"{facts.temperature?    temperature {facts.temperature} °C\n}{facts.ecc_uncorrected?    memory errors "
		"{facts.ecc_corrected} corrected, {facts.ecc_uncorrected} not corrected\n}{facts.processes?    processes "
		"{facts.processes@{pid}}\n}{note?    with each score: {note}\n}",
		shown, NULL);
}

void
render_device_doctor(struct run *run, const json_t *result)
{
	json_array_each(json_object_get(result, "machines"), machine) {
		const char *text = json_text_or_empty(machine, "text");
		template_put(&run->term,
			"{*units:and} ({runner}){error?: {!error}}\n"
			"{obstacles@@{unit} {cause=operator?has waited for its operator|has been out of reach} since {since:time}: "
			"{error}\n}",
			machine, NULL);
		json_array_each(json_object_get(machine, "score"), score)
			put_score(&run->term, score);
		if (*text)
			term_block(run->term.out, text, 0, 0);
	}
}

int
render_device_doctor_status(const json_t *result)
{
	json_array_each(json_object_get(result, "machines"), machine) {
		bool unfit = false;
		json_array_each(json_object_get(machine, "score"), score)
			unfit = unfit || !member_true(score, "fit");
		if (unfit || json_object_get(machine, "error"))
			return RUN_ENGINE;
	}
	return RUN_OK;
}
