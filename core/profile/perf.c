/* SPDX-License-Identifier: MIT */
/* The profiler `perf`: counters and a flame graph of a program on the CPU. */
/*
 * Theory of operation. `perf record` runs `perf stat`, which runs the harness: one run gives both. Only the program
 * itself is profiled, not the kernel: more is not allowed without rights. A harness that supports it pauses both
 * outside of custom_kernel (CHILD_CONTROL_VARIABLE); else the whole process is in the profile. Before anything is
 * started, kettle-profile tries whether the kernel allows it at all, since perf's own sentences are for the machine's
 * owner. `perf script` reads the recording, line by line. The names of functions are the participant's.
 */
#include <config.h>

#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "base/line.h"
#include "profile/profile.h"

/* ---- what `perf stat -x ;` counted, as text ---- */

#define NAME_WIDTH 20
#define VALUE_WIDTH 16

/* Fields of a line: value;unit;event;time;percent;metric;its unit. */
enum { VALUE, UNIT, EVENT, METRIC = 5, METRIC_UNIT = 6, FIELDS_MIN = 5 };

static void
add_counter(struct buf *out, const struct csv_row *row, const char *name, double value)
{
	char number[REPORT_NUMBER_SIZE];
	const char *metric = csv_field(row, METRIC), *unit = csv_field(row, UNIT);
	report_number(value, strchr(csv_field(row, VALUE), '.') ? 2 : 0, number);
	buf_adds(out, "  ");
	report_column(out, name, NAME_WIDTH);
	buf_printf(out, "%*s ", VALUE_WIDTH, number);
	report_word(out, unit, NAME_WIDTH);
	if (*metric && *csv_field(row, METRIC_UNIT)) {
		buf_printf(out, "%*s", (int)(8 - (strlen(unit) < 7 ? strlen(unit) : 7)), "");
		report_word(out, metric, NAME_WIDTH);
		buf_adds(out, " ");
		report_word(out, csv_field(row, METRIC_UNIT), REPORT_MAX_WORD);
	}
	buf_adds(out, "\n");
}

int
counters_text(char *data, size_t size, struct buf *out, struct kettle_error *err)
{
	struct csv csv = {.at = data, .end = data + size, .separator = ';'};
	struct csv_row row;
	AUTO_BUF struct buf missing = {0};
	size_t count = 0;
	while (count < COUNTERS_MAX && report_has_room(out) && csv_next(&csv, &row)) {
		const char *text = csv_field(&row, VALUE);
		char *end = NULL;
		double value = strtod(text, &end);
		bool lacks = text[0] == '<'; /* "<not supported>", "<not counted>" */
		if (row.count < FIELDS_MIN || !*csv_field(&row, EVENT) || (!lacks && (end == text || *end)))
			continue;
		/* "cycles:u" counts in the program alone; the report calls it "cycles". */
		AUTO_FREE char *name = xstrndup(csv_field(&row, EVENT), strcspn(csv_field(&row, EVENT), ":"));
		count++;
		if (!lacks) {
			add_counter(out, &row, name, value);
			continue;
		}
		buf_adds(&missing, missing.len ? ", " : "");
		report_word(&missing, name, REPORT_MAX_WORD);
	}
	if (missing.len > 0)
		buf_printf(out, "  not supported by this machine: %s\n", missing.data);
	return count > 0 ? 0 : kettle_fail(err, KETTLE_EINVAL, "The output of `perf stat` has no counters.");
}

#define RECORDED "perf.data" /* in profile->folder */
#define COUNTED "perf.stat"
#define SAMPLES_A_SECOND "999"
#define BUFFER_PAGES "64" /* of each core: more than an ordinary user may lock */
#define READ_SECONDS 60   /* for perf script */
#define MAX_COUNTED 65536 /* bytes of what perf stat wrote */
#define MAX_FOLDED (4u << 20)
#define HOTTEST 20
#define CONTROL_NAME_SIZE 40
#define EVENTS \
	"task-clock,page-faults,cycles:u,instructions:u,branches:u,branch-misses:u,cache-references:u,cache-misses:u"

static const char paranoid_file[] = "/proc/sys/kernel/perf_event_paranoid";

/* Whether the kernel lets this process count an event of its own; 0 or the errno. */
static int
try_event(unsigned type, unsigned long long config)
{
	struct perf_event_attr attr = {
		.type = type, .size = sizeof(attr), .config = config, .disabled = 1, .exclude_kernel = 1, .exclude_hv = 1};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

/* "3", or "" where it cannot be read. */
static void
read_paranoid(char ret_text[16])
{
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	ret_text[0] = '\0';
	if (file_read(paranoid_file, 64, &text, &size, NULL) == 0)
		(void)snprintf(ret_text, 16, "%.*s", (int)strcspn(text, "\n"), text);
}

/* false: the kernel does not allow perf; the sentence is set. */
static bool
is_usable(struct profile *profile)
{
	char paranoid[16];
	int error = try_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	if (error == 0)
		return true;
	read_paranoid(paranoid);
	if (error == EACCES || error == EPERM)
		profile_set_problem(profile,
			"perf is not permitted on this machine (kernel.perf_event_paranoid is %s). To permit it, the machine's "
			"operator runs `sysctl kernel.perf_event_paranoid=2` and, in a container, allows the system call "
			"perf_event_open.",
			paranoid[0] ? paranoid : "unknown");
	else
		profile_set_problem(profile,
			"perf cannot be used on this machine: its kernel, or the container that it is in, has no perf_event_open "
			"(%s).",
			strerror(error));
	return false;
}

/* Makes a control; its name for perf: "fd:10,13". */
static int
make_control(struct child *child, char ret_name[CONTROL_NAME_SIZE], struct kettle_error *err)
{
	const struct child_control *control = &child->controls[child->controls_count];
	int rc = child_make_control(child, err);
	if (rc == 0)
		(void)snprintf(ret_name, CONTROL_NAME_SIZE, "fd:%d,%d", control->commands[0], control->answers[1]);
	return rc;
}

static int
perf_record(struct profile *profile, const char *recorded, const char *counted, struct kettle_error *err)
{
	struct child child = {.mark = -1, .variables = {{"KETTLE_PROFILER", "perf"}}};
	char controls[CHILD_CONTROLS][CONTROL_NAME_SIZE];
	bool hardware = try_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES) == 0;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < CHILD_CONTROLS; i++)
		rc = make_control(&child, controls[i], err);
	if (rc == 0) {
		child_add(&child, profile->tool, "record", "-q", "-B", "--no-bpf-event", "-m", BUFFER_PAGES, "-F",
			SAMPLES_A_SECOND, "-e", hardware ? "cycles:u" : "cpu-clock:u", "--call-graph", "fp", "--control",
			controls[0], "-o", recorded, "--", NULL);
		child_add(&child, profile->tool, "stat", "-x", ";", "-e", EVENTS, "--control", controls[1], "-o", counted, "--",
			NULL);
		rc = profile_under(profile, &child, "perf", err);
	}
	child_close(&child);
	return rc;
}

/* ---- the recording ---- */

static void
add_counters(struct profile *profile, const char *counted)
{
	struct kettle_error err = {0};
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	buf_adds(&profile->report, "perf stat\n");
	if (file_read(counted, MAX_COUNTED, &text, &size, &err) < 0 ||
		counters_text(text, size, &profile->report, &err) < 0)
		profile_set_problem(profile, "No counters: %s", err.message);
}

struct perf_reader {
	struct line_reader lines;
	struct stacks stacks;
};

static int
take_lines(void *arg, const char *data, size_t size)
{
	struct perf_reader *reader = arg;
	return line_add(&reader->lines, data, size, stacks_line, &reader->stacks);
}

/* Makes the tree of the samples. 0, or the reason why there is none. */
static int
read_samples(const struct profile *profile, const char *recorded, struct perf_reader *reader, struct kettle_error *err)
{
	const char *argv[] = {profile->tool, "script", "-i", recorded, "--no-inline", "-F", "comm,ip,sym", NULL};
	/* The C++ library reads its own names, where the machine has it. A pointer to a function is copied as dlsym gave it. */
	void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
	void *function = library ? dlsym(library, "__cxa_demangle") : NULL;
	memcpy(&reader->stacks.demangle, &function, sizeof(function));
	int rc = child_read(argv, READ_SECONDS, take_lines, reader, err);
	if (rc == 0)
		rc = line_end(&reader->lines, stacks_line, &reader->stacks);
	if (rc == 0)
		stacks_end(&reader->stacks);
	if (rc == KETTLE_ETOOBIG)
		return kettle_fail(
			err, rc, "the recording of perf is not valid: it has lines of more than %d bytes.", STACKS_MAX_LINE);
	if (rc == 0 && reader->stacks.root.samples == 0)
		return kettle_fail(err, KETTLE_ENOENT, "perf recorded no samples: the calls are too short.");
	return rc;
}

static void
perf_draw(struct profile *profile, const struct stacks *stacks)
{
	AUTO_BUF struct buf picture = {0};
	AUTO_BUF struct buf folded = {0};
	buf_printf(&profile->report, "\nhottest functions, of %llu samples\n", (unsigned long long)stacks->root.samples);
	stacks_hottest(stacks, HOTTEST, &profile->report);
	flame_svg(stacks, "custom_kernel", &picture);
	stacks_folded(stacks, MAX_FOLDED, &folded);
	profile_leave(profile, "flamegraph.svg", &picture);
	profile_leave(profile, "stacks.txt", &folded);
}

static void
add_samples(struct profile *profile, const char *recorded)
{
	struct kettle_error err = {0};
	struct perf_reader reader = {.lines = {.max = STACKS_MAX_LINE}};
	if (read_samples(profile, recorded, &reader, &err) < 0)
		profile_set_problem(profile, "No flame graph: %s", err.message);
	else
		perf_draw(profile, &reader.stacks);
	line_free(&reader.lines);
	stacks_free(&reader.stacks);
}

int
perf_profile(struct profile *profile, struct kettle_error *err)
{
	AUTO_FREE char *recorded = path_join(profile->folder, RECORDED);
	AUTO_FREE char *counted = path_join(profile->folder, COUNTED);
	if (!is_usable(profile))
		return profile_plain(profile, err);
	int rc = perf_record(profile, recorded, counted, err);
	if (rc != 0 || profile->trouble.len > 0)
		return rc;
	add_counters(profile, counted);
	add_samples(profile, recorded);
	return 0;
}
