/* SPDX-License-Identifier: MIT */
/* The report of a sandbox that has ended: its end, what it used, and the limits that it reached. */
#include <config.h>

#include "sandbox/report.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/times.h"

#define PROCESSES_FORKING_PART 8 /* of the limit of processes */

static uint64_t
largest(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void
report_end(const struct sandbox_result *result, struct sandbox_report *report)
{
	report->exit_status = -1;
	report->start_ns = result->start_ns;
	report->end_ns = result->end_ns ? result->end_ns : time_monotonic_ns();
	report->left_behind = result->left_behind;
	if (!result->end_ns)
		report->signal = SIGKILL;
	else if (WIFEXITED(result->status))
		report->exit_status = WEXITSTATUS(result->status);
	else
		report->signal = WTERMSIG(result->status);
}

static void
report_most(const struct sandbox_plan *plan, struct sandbox_report *report)
{
	const struct sandbox_limits *limits = &plan->limits;
	uint64_t *most = report->most;
	most[SANDBOX_LIMIT_CPU] = limits->cpu_ns;
	most[SANDBOX_LIMIT_MEMORY] = limits->memory;
	most[SANDBOX_LIMIT_PROCESSES] = limits->processes;
	most[SANDBOX_LIMIT_DISK] = most[SANDBOX_LIMIT_TMP] = limits->disk;
	most[SANDBOX_LIMIT_SHM] = limits->shm;
	most[SANDBOX_LIMIT_CACHE] = plan->cache_bytes;
	most[SANDBOX_LIMIT_FILES] = plan->result.files_max ? plan->result.files_max : limits->inodes;
	most[SANDBOX_LIMIT_FILE_SIZE] = limits->file_size;
	most[SANDBOX_LIMIT_OPEN_FILES] = limits->open_files;
	most[SANDBOX_LIMIT_SOCKETS] = plan->sockets_max;
}

/*
 * Whether a run without a cgroup for processes has reached its limit: the kernel counts no refusals. While hundreds of
 * processes fork, those that are refused in a moment count as well, and the others stay below the limit.
 */
static bool
reached_processes(const struct sandbox_plan *plan, enum sandbox_limit killed_by)
{
	bool by_user = plan->protections & SANDBOX_USER && !(plan->protections & SANDBOX_PIDS_CGROUP);
	uint64_t most = plan->limits.processes;
	bool late = killed_by == SANDBOX_LIMIT_WALL || killed_by == SANDBOX_LIMIT_CPU;
	return by_user && most && plan->result.processes_peak >= (late ? most - most / PROCESSES_FORKING_PART : most);
}

static void
report_usage(const struct sandbox_child *child, const struct rusage *usage, struct sandbox_report *report)
{
	const struct sandbox_result *result = &child->plan->result;
	const struct sandbox_cgroup *cgroup = &child->cgroup;
	report->cpu_ns = largest(
		largest(result->total_cpu_ns, result->cpu_ns), sandbox_plan_since(sandbox_plan_used(usage), result->before_ns));
	report->memory_peak = largest(result->memory_peak, result->finished ? 0 : (uint64_t)usage->ru_maxrss * 1024);
	report->hits = result->hits | (report->signal == SIGXFSZ ? 1u << SANDBOX_LIMIT_FILE_SIZE : 0);
	if (child->has_cgroup && cgroup->cpu >= 0)
		report->cpu_ns = sandbox_plan_since(sandbox_cgroup_cpu_ns(cgroup->cpu, cgroup->unified), result->before_ns);
	/* It may have ended, or reached RLIMIT_CPU, before the next poll. */
	uint64_t cpu_limit = child->plan->limits.cpu_ns;
	if (report->limit == SANDBOX_LIMIT_NONE && cpu_limit && report->cpu_ns >= cpu_limit)
		report->limit = SANDBOX_LIMIT_CPU;
	if (reached_processes(child->plan, report->limit))
		report->hits |= 1u << SANDBOX_LIMIT_PROCESSES;
	if (!child->has_cgroup)
		return;
	uint64_t peak = sandbox_cgroup_memory_peak(cgroup);
	report->memory_peak = peak ? peak : report->memory_peak;
	if (report->limit == SANDBOX_LIMIT_NONE && sandbox_cgroup_oom_kills(cgroup))
		report->limit = SANDBOX_LIMIT_MEMORY;
	if (sandbox_cgroup_forks_refused(cgroup))
		report->hits |= 1u << SANDBOX_LIMIT_PROCESSES;
}

static void
report_message(const struct sandbox_child *child, int status, struct sandbox_report *report)
{
	const struct sandbox_result *result = &child->plan->result;
	if (result->finished || report->limit != SANDBOX_LIMIT_NONE || status < 0)
		return;
	bool path = result->failed_path[0];
	if (result->failed[0])
		(void)snprintf(report->message, sizeof(report->message), "The sandbox could not %.60s%s%.120s%s: %s.",
			result->failed, path ? " `" : "", result->failed_path, path ? "`" : "", strerror(result->failed_errno));
	else
		(void)snprintf(report->message, sizeof(report->message),
			"The sandbox's init ended before its report, with %s %d.", WIFSIGNALED(status) ? "signal" : "status",
			WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

void
sandbox_report_make(
	const struct sandbox_child *child, int status, const struct rusage *usage, struct sandbox_report *ret_report)
{
	const struct sandbox_result *result = &child->plan->result;
	struct sandbox_report report = {
		.started = result->started,
		.limit = (enum sandbox_limit)result->limit,
		.protections = child->plan->protections & ~(result->unlocked ? SANDBOX_LOCKS : 0u),
		.warm = result->begun,
		.prepared = result->started && result->opened,
		.layered = result->layered,
	};
	report_end(result, &report);
	report_most(child->plan, &report);
	report_usage(child, usage, &report);
	report.lost = report.started && !result->finished && report.limit == SANDBOX_LIMIT_NONE && WIFSIGNALED(status) &&
				  (child->plan->protections & SANDBOX_PID);
	report_message(child, status, &report);
	*ret_report = report;
}
