/* SPDX-License-Identifier: MIT */
/* The profiler rocprofv3: traces of what ran on an AMD GPU, those of all processes in one. */
#include <config.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "profile/kernels.h"
#include "profile/profile.h"
#include "profile/traces.h"

#define TRACES "traces" /* in the folder of what is only in between */
#define TRACE "trace.pftrace"
#define MAX_FILES 1000 /* that are looked at */
#define MAX_DEPTH 3
#define MAX_CSV (64u << 20)

/* What is found in the folders of rocprofv3. */
struct rocprof_output {
	struct profile *profile;
	struct kernels kernels;
	int trace;     /* the one that comes of all; -1: not yet made */
	uint64_t used; /* bytes in it */
	size_t files, tables;
};

static bool
ends_in(const char *name, const char *ending)
{
	size_t len = strlen(name), end = strlen(ending);
	return len > end && strcmp(name + len - end, ending) == 0;
}

static void
take_trace(struct rocprof_output *found, const char *path)
{
	struct kettle_error err = {0};
	if (found->trace < 0)
		found->trace = open(PROFILE_OUT "/" TRACE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (found->trace < 0)
		profile_set_problem(found->profile, "The trace could not be kept.");
	else if (traces_add(path, found->trace, &found->used, &err) < 0)
		profile_set_problem(found->profile, "Not every trace is kept: %s", err.message);
}

static void
take_table(struct rocprof_output *found, const char *path)
{
	struct kettle_error err = {0};
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	int rc = file_read(path, MAX_CSV, &text, &size, &err);
	if (rc == 0)
		rc = kernels_add(&found->kernels, text, size, &err);
	if (rc < 0)
		profile_set_problem(found->profile, "%s", err.message);
	else
		found->tables++;
}

/* rocprofv3 makes folders named after the machine, in some versions. */
static void
take_folder(struct rocprof_output *found, const char *path, int depth)
{
	AUTO_DIR DIR *folder = opendir(path);
	const struct dirent *entry;
	while (folder && found->files < MAX_FILES && (entry = readdir(folder))) {
		AUTO_FREE char *name = entry->d_name[0] == '.' ? NULL : path_join(path, entry->d_name);
		if (!name)
			continue;
		found->files++;
		if (ends_in(name, ".pftrace"))
			take_trace(found, name);
		else if (ends_in(name, "kernel_trace.csv"))
			take_table(found, name);
		else if (depth < MAX_DEPTH)
			take_folder(found, name, depth + 1);
	}
}

static int
rocprof_record(struct profile *profile, const char *folder, struct kettle_error *err)
{
	struct child child = {.mark = -1, .variables = {{"KETTLE_PROFILER", "rocprofv3"}}};
	child_add(&child, profile->tool, "--log-level", "fatal", "--hip-trace", "--kernel-trace", "--memory-copy-trace",
		"--marker-trace", "--scratch-memory-trace", "--output-format", "pftrace", "csv", "-d", folder, "-o", "%pid%",
		"--", NULL);
	int rc = profile_under(profile, &child, "rocprofv3", err);
	child_close(&child);
	return rc;
}

static void
read_traces(struct profile *profile, const char *folder)
{
	struct rocprof_output found = {.profile = profile, .trace = -1};
	take_folder(&found, folder, 0);
	if (found.trace >= 0)
		close(found.trace);
	if (found.used == 0)
		(void)unlink(PROFILE_OUT "/" TRACE);
	if (found.kernels.count > 0)
		kernels_text(&found.kernels, &profile->report);
	else if (profile->status == 0) /* else it is the program that says why */
		profile_set_problem(profile, "%s",
			found.tables > 0 || found.used > 0
				? "rocprofv3 saw no launch of a kernel."
				: "rocprofv3 left no trace: it saw no launch of a kernel, or could not write one.");
	kernels_free(&found.kernels);
}

int
rocprof_profile(struct profile *profile, struct kettle_error *err)
{
	AUTO_FREE char *folder = path_join(profile->folder, TRACES);
	if (!profile->tool) {
		profile_set_problem(profile, "This machine has no `rocprofv3`, so there is no trace of the kernels: install it "
									 "there (it comes with ROCm, from 6.2 on), or name it in exec.yml's `tools`.");
		return profile_plain(profile, err);
	}
	int rc = rocprof_record(profile, folder, err);
	if (rc == 0 && profile->trouble.len == 0)
		read_traces(profile, folder);
	return rc;
}
