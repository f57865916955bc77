/* SPDX-License-Identifier: MIT */
/* The profiler Nsight Compute: the first launches of kernels in the range `custom_kernel`, in all detail. */
#include <config.h>

#include <fcntl.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "base/utf8.h"
#include "profile/profile.h"

/* ---- Nsight Compute's details page as text ---- */

#define MAX_ID 32 /* bytes of a launch's number */
#define METRIC_WIDTH 45

/* Parts of the names of the sections that are shown; the names themselves differ between versions. */
static const char *const sections[] = {"Speed Of Light", "Compute Workload", "Pipe", "Warp State"};
enum column { ID, KERNEL, GRID, BLOCK, SECTION, METRIC, UNIT, VALUE, COLUMNS };
static const char *const column_names[COLUMNS] = {[ID] = "ID",
	[KERNEL] = "Kernel Name",
	[GRID] = "Grid Size",
	[BLOCK] = "Block Size",
	[SECTION] = "Section Name",
	[METRIC] = "Metric Name",
	[UNIT] = "Metric Unit",
	[VALUE] = "Metric Value"};

/* The position in the text: the launch and the section of the last line. */
struct page {
	struct buf *out;
	int columns[COLUMNS];
	char id[MAX_ID], section[REPORT_MAX_WORD];
	size_t launches, metrics, left_out;
};

static bool
is_shown(const char *section)
{
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++)
		if (strstr(section, sections[i]))
			return true;
	return false;
}

/* Before the header the profiler reports its progress. */
static bool
find_header(struct csv *csv, struct page *page)
{
	struct csv_row row;
	while (csv_next(csv, &row)) {
		(void)csv_columns(&row, column_names, COLUMNS, page->columns);
		if (page->columns[ID] >= 0 && page->columns[SECTION] >= 0 && page->columns[METRIC] >= 0 &&
			page->columns[VALUE] >= 0)
			return true;
	}
	return false;
}

static void
add_launch(struct page *page, const struct csv_row *row)
{
	const char *grid = csv_field(row, page->columns[GRID]), *block = csv_field(row, page->columns[BLOCK]);
	buf_printf(page->out, "%slaunch %zu: ", page->launches > 1 ? "\n" : "", page->launches);
	report_word(page->out, csv_field(row, page->columns[KERNEL]), REPORT_MAX_WORD);
	buf_adds(page->out, *grid ? ", grid " : "");
	report_word(page->out, grid, MAX_ID);
	buf_adds(page->out, *block ? ", block " : "");
	report_word(page->out, block, MAX_ID);
	buf_adds(page->out, "\n");
}

/* Begins a launch or a section with a line of its own. */
static void
add_headings(struct page *page, const struct csv_row *row)
{
	const char *id = csv_field(row, page->columns[ID]), *section = csv_field(row, page->columns[SECTION]);
	if (page->launches == 0 || strncmp(page->id, id, MAX_ID - 1) != 0) {
		(void)snprintf(page->id, sizeof(page->id), "%s", id);
		page->section[0] = '\0';
		page->metrics = 0;
		page->launches++;
		if (page->launches <= DETAILS_MAX_LAUNCHES)
			add_launch(page, row);
	}
	if (page->launches > DETAILS_MAX_LAUNCHES || strncmp(page->section, section, REPORT_MAX_WORD - 1) == 0)
		return;
	(void)snprintf(page->section, sizeof(page->section), "%s", section);
	buf_adds(page->out, "  ");
	report_word(page->out, section, REPORT_MAX_WORD);
	buf_adds(page->out, "\n");
}

static void
add_row(struct page *page, const struct csv_row *row)
{
	/* A row of a rule has no metric; what the rules recommend is in the report itself. */
	if (!is_shown(csv_field(row, page->columns[SECTION])) || !*csv_field(row, page->columns[METRIC]))
		return;
	bool room = report_has_room(page->out);
	if (room)
		add_headings(page, row);
	if (!room || page->launches > DETAILS_MAX_LAUNCHES || page->metrics >= DETAILS_MAX_METRICS) {
		page->left_out++;
		return;
	}
	page->metrics++;
	const char *unit = csv_field(row, page->columns[UNIT]);
	buf_adds(page->out, "    ");
	report_column(page->out, csv_field(row, page->columns[METRIC]), METRIC_WIDTH);
	report_word(page->out, csv_field(row, page->columns[VALUE]), REPORT_MAX_WORD);
	buf_adds(page->out, *unit ? " " : "");
	report_word(page->out, unit, MAX_ID);
	buf_adds(page->out, "\n");
}

static int
details_names(char *data, size_t size, struct kernel_names *list, struct kettle_error *err)
{
	struct csv csv = {.at = data, .end = data + size, .separator = ','};
	struct csv_row row;
	struct page page = {0};
	if (!find_header(&csv, &page) || page.columns[KERNEL] < 0)
		return kettle_fail(err, KETTLE_EINVAL, "The output of Nsight Compute names no kernels.");
	while (csv_next(&csv, &row))
		if (*csv_field(&row, page.columns[KERNEL]))
			kernel_names_add(list, csv_field(&row, page.columns[KERNEL]));
	return 0;
}

int
details_text(char *data, size_t size, struct buf *out, struct kettle_error *err)
{
	struct csv csv = {.at = data, .end = data + size, .separator = ','};
	struct csv_row row;
	struct page page = {.out = out};
	if (!find_header(&csv, &page))
		return kettle_fail(err, KETTLE_EINVAL,
			"The output of Nsight Compute is not a report: a details page has the columns `ID`, `Section Name`, "
			"`Metric "
			"Name` and `Metric Value`.");
	while (csv_next(&csv, &row))
		add_row(&page, &row);
	if (page.left_out > 0)
		buf_printf(out, "(%zu more lines are in the report itself)\n", page.left_out);
	if (page.launches == 0)
		return kettle_fail(err, KETTLE_EINVAL,
			"Nsight Compute's report has none of the sections Speed Of Light, Compute Workload and Warp State.");
	return 0;
}

#define RANGE "custom_kernel/" /* a push and pop range, as ncu writes it */
#define REPORT "profile.ncu-rep"
#define REPORT_FILE PROFILE_OUT "/" REPORT
#define LOG "ncu.log" /* in profile->folder */
#define DETAILS_CSV "ncu-details.csv"
#define DETAILS_TXT "ncu-details.txt"
#define MAGIC "NVR" /* the first bytes of a report */
#define MAGIC_SIZE 4
#define MAX_LOG (1u << 20)
#define MAX_PAGE (16u << 20)
#define READ_SECONDS 120
#define SEEN_LOG "seen.csv" /* in profile->folder */
#define SEEN_SECONDS 60     /* of the second run, in which the names of the kernels are read */
#define SEEN_LAUNCHES "200"
#define MAX_SHOWN 300

static bool
has_range(const struct profile *profile)
{
	return !profile->capture.range || strcmp(profile->capture.range, "no") != 0;
}

static int
ncu_record(struct profile *profile, const char *log, struct kettle_error *err)
{
	/* KernelBot-compatible harnesses go by POPCORN_NCU: no profiler of their own then, and the range around one call. */
	struct child child = {.mark = -1, .variables = {{"POPCORN_NCU", "1"}, {"KETTLE_PROFILER", "ncu"}}};
	const struct profile_capture *capture = &profile->capture;
	child_add(&child, profile->tool, "--set", "full", "--import-source", "yes", "--target-processes", "all",
		"--replay-mode", "kernel", "--cache-control", "all", "--clock-control", "none", "-c",
		capture->launches ? capture->launches : PROFILE_LAUNCHES, "-f", "--log-file", log, "-o", REPORT_FILE, NULL);
	if (has_range(profile))
		child_add(&child, "--nvtx", "--nvtx-include", RANGE, NULL);
	if (capture->skip)
		child_add(&child, "--launch-skip", capture->skip, NULL);
	if (capture->kernel)
		child_add(&child, "--kernel-name", capture->kernel, NULL);
	if (capture->kernel_base)
		child_add(&child, "--kernel-name-base", capture->kernel_base, NULL);
	int rc = profile_under(profile, &child, "Nsight Compute", err);
	child_close(&child);
	return rc;
}

/* The first line that says an error; NUL-terminated in place. NULL: there is none. */
static const char *
find_error(char *log)
{
	char *line = strstr(log, "==ERROR==");
	if (line) {
		line += strlen("==ERROR==");
		line += strspn(line, " ");
		line[strcspn(line, "\r\n")] = '\0';
	}
	return line;
}

static int
pass_over(void *arg, const char *data, size_t size)
{
	(void)arg;
	(void)data;
	(void)size;
	return 0;
}

/*
 * Runs the program once more, under an ncu that covers all kernels and measures only how they are launched. The results
 * of this run are dropped; those of the first run count.
 */
static void
run_for_names(const struct profile *profile, const char *log)
{
	const char *base = profile->capture.kernel_base ? profile->capture.kernel_base : "function";
	const char *words[] = {profile->tool, "--section", "LaunchStats", "--target-processes", "all", "--clock-control",
		"none", "--cache-control", "none", "--print-kernel-base", base, "--csv", "-c", SEEN_LAUNCHES, "--log-file",
		log};
	struct child child = {0};
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		child_add(&child, words[i], NULL);
	child_add_list(&child, profile->program);
	AUTO_FD int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	AUTO_FD int kept = profile->channel > 0 ? fcntl(profile->channel, F_DUPFD_CLOEXEC, 3) : -1;
	if (child.count > CHILD_MAX_WORDS || nothing < 0 || (profile->channel > 0 && kept < 0))
		return;
	if (kept >= 0)
		(void)dup2(nothing, profile->channel);
	(void)setenv("POPCORN_NCU", "1", 1);
	(void)setenv("KETTLE_PROFILER", "ncu", 1);
	(void)child_read(child.words, SEEN_SECONDS, pass_over, NULL, NULL);
	if (kept >= 0)
		(void)dup2(kept, profile->channel);
}

/* No launch was caught: reports this, with the names of the kernels that the program launches. */
static void
explain_none(struct profile *profile)
{
	const char *kernel = profile->capture.kernel;
	AUTO_FREE char *log = path_join(profile->folder, SEEN_LOG);
	AUTO_FREE char *text = NULL;
	AUTO_BUF struct buf seen = {0};
	struct kernel_names names = {0};
	size_t size = 0;
	run_for_names(profile, log);
	if (file_read(log, MAX_PAGE, &text, &size, NULL) == 0)
		(void)details_names(text, size, &names, NULL);
	kernel_names_text(&names, &seen);
	kernel_names_free(&names);
	profile->empty = true;
	profile_set_problem(profile,
		"Nsight Compute wrote no report: it saw no launch of %s%.100s%s%s%s. Kernels of the whole program: %s.",
		kernel ? "`" : "a kernel", kernel ? kernel : "", kernel ? "`" : "",
		has_range(profile) ? " in the NVTX range `custom_kernel`, which the harness opens around the call" : "",
		profile->capture.skip ? ", after the skipped ones" : "", seen.data);
}

static void
explain(struct profile *profile, const char *path)
{
	AUTO_FREE char *log = NULL;
	size_t size = 0;
	if (file_read(path, MAX_LOG, &log, &size, NULL) < 0)
		log = xstrdup("");
	const char *error = !strstr(log, "ERR_NVGPUCTRPERM") ? find_error(log) : NULL;
	if (strstr(log, "ERR_NVGPUCTRPERM"))
		profile_set_problem(profile,
			"Nsight Compute is not permitted to read the counters of this machine's GPU (ERR_NVGPUCTRPERM). "
			"To permit it, the machine's operator writes `options nvidia "
			"NVreg_RestrictProfilingToAdminUsers=0` to a file in /etc/modprobe.d and reloads the driver.");
	else if (error)
		profile_set_problem(profile, "Nsight Compute wrote no report: %.*s", MAX_SHOWN, error);
	else if (profile->status == 0) /* else the program itself reports the reason */
		explain_none(profile);
}

/* A file that does not begin like a report is not kept. */
static bool
is_report(void)
{
	char begin[MAGIC_SIZE] = "";
	AUTO_FILE FILE *file = fopen(REPORT_FILE, "re");
	if (!file)
		return false;
	return fread(begin, 1, sizeof(begin), file) == sizeof(begin) && memcmp(begin, MAGIC, sizeof(begin)) == 0;
}

static int
take_page(void *arg, const char *data, size_t size)
{
	struct buf *page = arg;
	if (page->len + size > MAX_PAGE)
		return KETTLE_ETOOBIG;
	buf_add(page, data, size);
	return 0;
}

/* The details page, as rows or as text; the body of its sections where this version can give it. */
static int
read_ncu_page(const struct profile *profile, bool rows, struct buf *page, struct kettle_error *err)
{
	const char *argv[] = {profile->tool, "--import", REPORT_FILE, "--page", "details", "--print-details", "all",
		rows ? "--csv" : NULL, NULL};
	int rc = child_read(argv, READ_SECONDS, take_page, page, err);
	if (rc == KETTLE_EUNAVAIL) {
		argv[5] = argv[7];
		argv[6] = NULL;
		page->len = 0;
		rc = child_read(argv, READ_SECONDS, take_page, page, err);
	}
	if (rc == KETTLE_ETOOBIG)
		return kettle_fail(err, rc, "Its details page is longer than %u MiB.", MAX_PAGE >> 20);
	return rc;
}

/* Leaves a page as a file; its names of kernels are the submission's. */
static void
leave_page(struct profile *profile, const char *name, const struct buf *page)
{
	AUTO_BUF struct buf clean = {0};
	(void)utf8_sanitize(page->data ? page->data : "", page->len, &clean);
	profile_leave(profile, name, &clean);
}

static void
add_details(struct profile *profile)
{
	struct kettle_error err = {0};
	AUTO_BUF struct buf rows = {0};
	AUTO_BUF struct buf text = {0};
	int rc = read_ncu_page(profile, true, &rows, &err);
	if (rc == 0 && (rc = read_ncu_page(profile, false, &text, &err)) == 0) {
		leave_page(profile, DETAILS_CSV, &rows);
		leave_page(profile, DETAILS_TXT, &text);
	}
	if (rc == 0)
		rc = details_text(rows.data ? rows.data : (char[]){""}, rows.len, &profile->report, &err);
	if (rc != 0)
		profile_set_problem(profile, "The report of Nsight Compute could not be read: %s", err.message);
}

int
ncu_profile(struct profile *profile, struct kettle_error *err)
{
	AUTO_FREE char *log = path_join(profile->folder, LOG);
	int rc = ncu_record(profile, log, err);
	if (rc != 0 || profile->trouble.len > 0)
		return rc;
	if (is_report()) {
		profile_keep(profile, REPORT);
		add_details(profile);
		return 0;
	}
	bool there = access(REPORT_FILE, F_OK) == 0;
	(void)unlink(REPORT_FILE);
	if (there)
		profile_set_problem(profile, "The file that Nsight Compute wrote is not a report and was not stored.");
	else
		explain(profile, log);
	return 0;
}
