/* SPDX-License-Identifier: MIT */
/* The profiler Nsight Compute: the first launches of kernels in the range `custom_kernel`, in all detail. */
#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/xalloc.h"
#include "profile/profile.h"

#define REPORT_FILE PROFILE_OUT "/profile.ncu-rep"
#define LOG "ncu.log" /* in profile->folder */
#define LAUNCHES "10"
#define MAGIC "NVR" /* what a report begins with */
#define MAGIC_SIZE 4
#define MAX_LOG (1u << 20)
#define MAX_PAGE (16u << 20)
#define READ_SECONDS 120
#define MAX_SHOWN 300

static int
ncu_record(struct profile *profile, const char *log, struct kettle_error *err)
{
	/* KernelBot-compatible harnesses go by POPCORN_NCU: no profiler of their own then, and the range around one call. */
	struct child child = {.mark = -1, .variables = {{"POPCORN_NCU", "1"}, {"KETTLE_PROFILER", "ncu"}}};
	child_add(&child, profile->tool, "--set", "full", "--nvtx", "--nvtx-include", "custom_kernel/", "--import-source",
		"yes", "-c", LAUNCHES, "-f", "--log-file", log, "-o", REPORT_FILE, NULL);
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

/* Why there is no report, out of what ncu wrote. */
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
			"Nsight Compute may not read the counters of this machine's GPU (ERR_NVGPUCTRPERM): its owner writes "
			"`options nvidia NVreg_RestrictProfilingToAdminUsers=0` into a file in /etc/modprobe.d and loads the "
			"driver anew.");
	else if (error)
		profile_set_problem(profile, "Nsight Compute made no report: %.*s", MAX_SHOWN, error);
	else if (profile->status == 0) /* else it is the program that says why */
		profile_set_problem(profile,
			"Nsight Compute made no report: it saw no launch of a kernel in the NVTX range `custom_kernel`, which the "
			"harness opens around the call.");
}

/* A file that does not begin as a report is none, and is not kept. */
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

/* The details page; the body of its sections where this version can give it. */
static int
read_ncu_page(const struct profile *profile, struct buf *page, struct kettle_error *err)
{
	const char *argv[] = {
		profile->tool, "--import", REPORT_FILE, "--page", "details", "--csv", "--print-details", "all", NULL};
	int rc = child_read(argv, READ_SECONDS, take_page, page, err);
	if (rc == KETTLE_EUNAVAIL) {
		argv[6] = NULL;
		page->len = 0;
		rc = child_read(argv, READ_SECONDS, take_page, page, err);
	}
	if (rc == KETTLE_ETOOBIG)
		return kettle_fail(err, rc, "Its details page is longer than %u MiB.", MAX_PAGE >> 20);
	return rc;
}

static void
add_details(struct profile *profile)
{
	struct kettle_error err = {0};
	AUTO_BUF struct buf page = {0};
	int rc = read_ncu_page(profile, &page, &err);
	if (rc == 0)
		rc = details_text(page.data ? page.data : (char[]){""}, page.len, &profile->report, &err);
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
		add_details(profile);
		return 0;
	}
	bool there = access(REPORT_FILE, F_OK) == 0;
	(void)unlink(REPORT_FILE);
	if (there)
		profile_set_problem(profile, "What Nsight Compute left is no report, and is not kept.");
	else
		explain(profile, log);
	return 0;
}
