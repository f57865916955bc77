/* SPDX-License-Identifier: MIT */
/*
 * Measures the start to the end of a static `true` in the sandbox, with every protection that this machine has: from a
 * spare (as kettle-exec does), without one, and beside other sandboxes, where they are installed, and a plain spawn.
 * Interleaved; one JSON object on stdout with the µs of every run, null for what does not work here. usage: sandbox_start STATIC_TRUE [RUNS]
 */
#include <config.h>

#include "sandbox/sandbox.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"

#define BENCH_RUNS 200
#define BENCH_RUNS_MAX 100000
#define BENCH_SPARE_MS 200 /* how long a spare may take until it waits */
#define BENCH_TRUE_MAX (16u << 20)

extern char **environ;

enum kind { KIND_SPARE, KIND_COLD, KIND_BUBBLEWRAP, KIND_ISOLATE, KIND_NSJAIL, KIND_SPAWN, KIND_COUNT };
static const char *const kind_names[KIND_COUNT] = {"spare", "cold", "bubblewrap", "isolate", "nsjail", "spawn"};

struct bench {
	struct sandbox_machine *machine;
	struct sandbox_config config;
	struct sandbox_bind bind;
	struct sandbox_fd fds[3];
	char folder[64], job[80], program[96], mapped[112];
};

static int
run_sandbox(struct bench *bench)
{
	struct kettle_error err = {0};
	struct sandbox *sandbox = NULL;
	struct sandbox_report report;
	if (sandbox_start(&bench->config, &sandbox, &err) || sandbox_wait(sandbox, &report, &err)) {
		fprintf(stderr, "sandbox_start: %s\n", err.message);
		return -1;
	}
	if (!report.started || report.exit_status)
		fprintf(stderr, "sandbox_start: %s\n", report.message);
	int rc = report.started && report.exit_status == 0 ? 0 : -1;
	sandbox_free(sandbox);
	return rc;
}

static int
run_program(const char *const *argv)
{
	pid_t pid = 0;
	int status = 0;
	if (posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)argv, environ) || waitpid(pid, &status, 0) < 0)
		return -1;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

static void
await_spare(struct bench *bench)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	sandbox_machine_prepare(bench->machine);
	for (int i = 0; i < BENCH_SPARE_MS && !sandbox_machine_ready(bench->machine); i++)
		(void)nanosleep(&pause, NULL);
}

/* One run of a kind in ns, 0: it does not work here. */
static uint64_t
measure(struct bench *bench, enum kind kind)
{
	const char *const bubblewrap[] = {"bwrap", "--unshare-all", "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib",
		"/lib", "--symlink", "usr/lib64", "/lib64", "--symlink", "usr/bin", "/bin", "--ro-bind", bench->program,
		"/opt/true", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--die-with-parent", "--", "/opt/true",
		NULL};
	/* Its box stays from run to run: only the run is measured, in its favour. */
	char dir[sizeof(bench->folder) + 16];
	(void)snprintf(dir, sizeof(dir), "--dir=/opt=%s", bench->folder);
	const char *const isolate[] = {"isolate", "--silent", dir, "--run", "--", "/opt/true", NULL};
	const char *const nsjail[] = {"nsjail", "--really_quiet", "--mode", "o", "--bindmount_ro", "/usr", "--bindmount_ro",
		bench->mapped, "--tmpfsmount", "/tmp", "--", "/opt/true", NULL};
	const char *const spawn[] = {bench->program, NULL};
	int rc = 0;
	if (kind == KIND_SPARE)
		await_spare(bench);
	uint64_t start = time_monotonic_ns();
	switch (kind) {
	case KIND_SPARE:
	case KIND_COLD:
		rc = run_sandbox(bench);
		break;
	case KIND_BUBBLEWRAP:
		rc = run_program(bubblewrap);
		break;
	case KIND_ISOLATE:
		rc = run_program(isolate);
		break;
	case KIND_NSJAIL:
		rc = run_program(nsjail);
		break;
	case KIND_SPAWN:
		rc = run_program(spawn);
		break;
	case KIND_COUNT:
		break;
	}
	return rc ? 0 : time_monotonic_ns() - start;
}

/* NULL where any run failed: what works sometimes is not compared. */
static json_t *
times_of(const uint64_t *times, size_t runs)
{
	json_t *list = json_array();
	for (size_t i = 0; i < runs; i++) {
		if (times[i] == 0) {
			json_decref(list);
			return json_null();
		}
		(void)json_array_append_new(list, json_real((double)times[i] / 1000));
	}
	return list;
}

static int
set_up(struct bench *bench, const char *program, const struct sandbox_cgroup_root *cgroup, struct kettle_error *err)
{
	static const char *const argv[] = {"true", NULL}, *const envp[] = {"PATH=/usr/bin:/bin", NULL};
	AUTO_FREE char *data = NULL;
	size_t size = 0;
	char out[96];
	(void)snprintf(bench->folder, sizeof(bench->folder), "/tmp/kettle-bench-XXXXXX");
	if (!mkdtemp(bench->folder) || chmod(bench->folder, 0755))
		return kettle_fail(err, KETTLE_EIO, "There is no place in /tmp.");
	(void)snprintf(bench->job, sizeof(bench->job), "%s/job", bench->folder);
	(void)snprintf(bench->program, sizeof(bench->program), "%s/true", bench->folder);
	(void)snprintf(bench->mapped, sizeof(bench->mapped), "%s:/opt/true", bench->program);
	(void)snprintf(out, sizeof(out), "%s/out", bench->job);
	int rc = file_read(program, BENCH_TRUE_MAX, &data, &size, err);
	if (!rc)
		rc = file_write(bench->program, data, size, 0755, err);
	if (!rc)
		rc = file_mkdirs(out, 0755, err);
	if (!rc)
		rc = sandbox_machine_new(cgroup, &bench->machine, err);
	if (rc)
		return rc;
	for (int i = 0; i < 3; i++)
		bench->fds[i] = (struct sandbox_fd){i, i};
	bench->bind = (struct sandbox_bind){.source = bench->program, .target = "/opt/true"};
	bench->config = (struct sandbox_config){.level = sandbox_level_of(sandbox_machine_protections(bench->machine)),
		.file = "/opt/true",
		.argv = argv,
		.envp = envp,
		.job_dir = bench->job,
		.binds = &bench->bind,
		.binds_count = 1,
		.fds = bench->fds,
		.fds_count = 3,
		.machine = bench->machine};
	return 0;
}

static int
report(struct bench *bench, size_t runs)
{
	AUTO_JSON json_t *result =
		json_pack("{s:o}", "protections", sandbox_names(sandbox_machine_protections(bench->machine)));
	uint64_t *times[KIND_COUNT];
	bool works[KIND_COUNT];
	for (int kind = 0; kind < KIND_COUNT; kind++) {
		times[kind] = calloc(runs, sizeof(**times));
		works[kind] = measure(bench, (enum kind)kind) > 0;
	}
	for (size_t run = 0; run < runs; run++)
		for (int kind = 0; kind < KIND_COUNT; kind++)
			if (works[kind])
				times[kind][run] = measure(bench, (enum kind)kind);
	for (int kind = 0; kind < KIND_COUNT; kind++) {
		(void)json_object_set_new(result, kind_names[kind], times_of(times[kind], runs));
		free(times[kind]);
	}
	(void)json_dumpf(result, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
	putchar('\n');
	return json_is_array(json_object_get(result, kind_names[KIND_SPARE])) ? 0 : 1;
}

int
main(int argc, char **argv)
{
	struct bench bench = {0};
	struct kettle_error err = {0};
	long runs = argc > 2 ? strtol(argv[2], NULL, 10) : BENCH_RUNS;
	if (argc < 2 || runs < 1 || runs > BENCH_RUNS_MAX) {
		fprintf(stderr, "usage: sandbox_start STATIC_TRUE [RUNS]\n");
		return 2;
	}
	struct sandbox_cgroup_root *cgroup = sandbox_cgroup_root(NULL);
	int rc = set_up(&bench, argv[1], cgroup, &err);
	if (rc)
		fprintf(stderr, "sandbox_start: %s\n", err.message);
	else
		rc = report(&bench, (size_t)runs);
	sandbox_machine_free(bench.machine);
	sandbox_cgroup_leave(cgroup);
	(void)file_remove_tree(bench.folder, NULL);
	return rc ? 1 : 0;
}
