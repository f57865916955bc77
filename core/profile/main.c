/* SPDX-License-Identifier: MIT */
/* kettle-profile: runs a harness under a profiler, inside its sandbox, and reports the profiler's findings. */
/*
 *     kettle-profile perf|ncu|rocprofv3 TOOL CHANNEL [OPTION]... [--] PROGRAM [ARGUMENT]...
 *     kettle-profile --start MARK PROGRAM [ARGUMENT]...
 *
 * The first form is how kettle-exec starts a step with `profile`. TOOL is the profiler's path ("-": there is none),
 * CHANNEL the number of the result channel, which the harness has as well, and the options (`--kernel=`,
 * `--kernel_base=`, `--launches=`, `--skip=`, `--range=no`) say which launches are looked at. When the harness has ended, the keys
 * profile.tool, profile.version, profile.trouble (a sentence), profile.caught (`none`: no launch of a kernel) and
 * profile.report (base64 with `*` for `/`) are written there, and kettle-profile ends as the harness has. The report can be trusted no more than the harness, since the submission may
 * have written what is read here. kettle-profile starts the second form itself, see child.c.
 */
#include <config.h>

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "base/contents.h"
#include "base/file.h"
#include "base/io.h"
#include "profile/profile.h"

#define EXIT_USAGE 2
#define EXIT_MACHINE 3 /* not even the harness could be started */
#define EXIT_MISSING 127
#define MISSING "-" /* in the place of the tool */
#define ARGUMENTS_MIN 5

/* missing: the sentence where the machine does not have it. files: the artifacts. */
static const struct profiler {
	const char *name, *missing;
	const char *files[PROFILE_FILES + 1];
	int (*run)(struct profile *profile, struct kettle_error *err);
} profilers[] = {
	{"perf",
		"This machine has no `perf`, so there are neither counters nor a flame graph: install it (Debian package "
		"linux-perf), or set its path under `tools` in exec.yml.",
		{"flamegraph.svg", "stacks.txt"}, perf_profile},
	{"ncu",
		"This machine has no Nsight Compute (`ncu`), so there is no report of the kernels: install it (it comes with "
		"the CUDA toolkit), or set its path under `tools` in exec.yml.",
		{"profile.ncu-rep", "ncu-details.txt", "ncu-details.csv"}, ncu_profile},
	{"rocprofv3",
		"This machine has no `rocprofv3`, so there is no trace of the kernels: install it (it comes with ROCm 6.2 and "
		"later), or set its path under `tools` in exec.yml.",
		{"trace.pftrace"}, rocprof_profile},
};

/* Writes a line to the result channel; a channel that is full or gone loses it. */
static void
profile_tell(int channel, const char *key, const char *value)
{
	AUTO_BUF struct buf line = {0};
	buf_printf(&line, "%s: %s\n", key, value);
	if (channel > 0)
		(void)write_all(channel, line.data, line.len);
}

static void
tell_all(const struct profile *profile, const char *name, int channel)
{
	/* A harness that was killed may have left half a line. */
	if (channel > 0 && write(channel, "\n", 1) != 1)
		return;
	AUTO_BUF struct buf version = {0};
	if (strcmp(profile->tool, MISSING) != 0)
		profile_version(profile, &version);
	profile_tell(channel, "profile.tool", name);
	if (version.len > 0)
		profile_tell(channel, "profile.version", version.data);
	if (profile->empty)
		profile_tell(channel, "profile.caught", "none");
	if (profile->trouble.len > 0)
		profile_tell(channel, "profile.trouble", profile->trouble.data);
	if (profile->report.len == 0)
		return;
	size_t size = profile->report.len < REPORT_MAX_BYTES ? profile->report.len : REPORT_MAX_BYTES;
	AUTO_FREE char *coded = base64_encode(profile->report.data, size);
	for (char *slash = coded; (slash = strchr(slash, '/'));)
		*slash = '*';
	profile_tell(channel, "profile.report", coded);
}

static int
end_as(int status)
{
	if (WIFSIGNALED(status)) {
		(void)signal(WTERMSIG(status), SIG_DFL);
		(void)raise(WTERMSIG(status));
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_MISSING;
}

static int
start_marked(char *const *arguments)
{
	int mark = atoi(arguments[0]);
	if (write(mark, "+", 1) != 1)
		return EXIT_MACHINE;
	close(mark);
	(void)execvp(arguments[1], arguments + 1);
	(void)dprintf(2, "%s cannot be started: %s\n", arguments[1], strerror(errno));
	return EXIT_MISSING;
}

/* Takes the options off the command line; the first other word begins the program. */
static void
read_options(struct profile *profile)
{
	struct profile_capture *capture = &profile->capture;
	const struct {
		const char *name, **to;
	} options[] = {{"--kernel=", &capture->kernel}, {"--kernel_base=", &capture->kernel_base},
		{"--launches=", &capture->launches}, {"--skip=", &capture->skip}, {"--range=", &capture->range}};
	for (bool more = true; more && profile->program[0];) {
		more = false;
		for (size_t i = 0; !more && i < ARRAY_SIZE(options); i++)
			if (strncmp(profile->program[0], options[i].name, strlen(options[i].name)) == 0) {
				*options[i].to = profile->program[0] + strlen(options[i].name);
				more = true;
			}
		profile->program += more;
	}
	if (profile->program[0] && profile->program[1] && strcmp(profile->program[0], "--") == 0)
		profile->program++;
}

static int
profile_run(const struct profiler *profiler, char *const *arguments)
{
	struct kettle_error err = {0};
	const char *above = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
	char self[PATH_MAX] = "";
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	AUTO_FREE char *folder = path_join(above, "kettle-profile.XXXXXX");
	if (len <= 0 || !mkdtemp(folder)) {
		(void)dprintf(2, "kettle-profile: %s\n", len <= 0 ? "/proc is missing" : "TMPDIR cannot be written to");
		return EXIT_MACHINE;
	}
	struct profile profile = {
		.tool = arguments[0], .self = self, .folder = folder, .channel = atoi(arguments[1]), .program = arguments + 2};
	read_options(&profile);
	bool missing = strcmp(profile.tool, MISSING) == 0;
	if (missing)
		profile_set_problem(&profile, "%s", profiler->missing);
	int rc = missing ? profile_plain(&profile, &err) : profiler->run(&profile, &err);
	profile_drop_planted(&profile, profiler->files);
	if (rc == 0)
		tell_all(&profile, profiler->name, profile.channel);
	else
		(void)dprintf(2, "kettle-profile: %s\n", err.message);
	buf_free(&profile.report);
	buf_free(&profile.trouble);
	(void)file_remove_tree(folder, NULL);
	return rc == 0 ? end_as(profile.status) : EXIT_MACHINE;
}

int
main(int argc, char **argv)
{
	/* Channel, controls and pipes may be closed at their other ends. */
	(void)signal(SIGPIPE, SIG_IGN);
	if (argc >= 4 && strcmp(argv[1], "--start") == 0) {
		(void)signal(SIGPIPE, SIG_DFL);
		return start_marked(argv + 2);
	}
	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return printf("kettle-profile %s\n", PACKAGE_VERSION) < 0;
	for (size_t i = 0; argc >= ARGUMENTS_MIN && i < ARRAY_SIZE(profilers); i++)
		/* No handler of exit is needed, and a checker for leaks could not work in the sandbox. */
		if (strcmp(argv[1], profilers[i].name) == 0)
			_exit(profile_run(&profilers[i], argv + 2));
	(void)dprintf(2, "Usage: kettle-profile perf|ncu|rocprofv3 TOOL CHANNEL [OPTION]... [--] PROGRAM [ARGUMENT]...\n");
	return EXIT_USAGE;
}
