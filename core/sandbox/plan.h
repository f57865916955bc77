/* SPDX-License-Identifier: MIT */
/* The plan of one run and its result, in memory that the owner and init share. The library's own. */
#ifndef KETTLE_SANDBOX_PLAN_H
#define KETTLE_SANDBOX_PLAN_H

#include <linux/filter.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "sandbox/sandbox_config.h"

#define SANDBOX_ARENA_SIZE (16u << 20)    /* reserved; only what is touched costs */
#define SANDBOX_OPS_MAX 8192              /* to build one root */
#define SANDBOX_STACK_SIZE 65536          /* of the payload between clone and exec */
#define SANDBOX_WATCH_MEMORY (256u << 10) /* for the list of processes */
#define SANDBOX_GROUPS_MAX 8              /* groups of device nodes */
#define SANDBOX_FAILED_MAX 160            /* of a failure's text */

/* One thing that init does to build the root, in order. Paths are absolute: sources below the old root. */
enum sandbox_op_kind {
	SANDBOX_OP_DIR,      /* make a folder with `mode` */
	SANDBOX_OP_FILE,     /* make a file that holds `text` */
	SANDBOX_OP_LINK,     /* make a link to `source` */
	SANDBOX_OP_BIND,     /* bind `source`, with what is below it */
	SANDBOX_OP_TMPFS,    /* mount a tmpfs with the options `text` */
	SANDBOX_OP_PROC,     /* mount a /proc, read-only */
	SANDBOX_OP_PROC_OWN, /* let the payload write there to what is its own */
	SANDBOX_OP_COPY,     /* copy the folder `source` into the existing folder `target` */
	SANDBOX_OP_OUT,      /* open the output folder and send it to the owner */
};
struct sandbox_op {
	enum sandbox_op_kind kind;
	const char *source, *target, *text;
	unsigned mode;
	bool writable, device, optional;
	bool owned;  /* DIR: belongs to the payload */
	bool hidden; /* BIND: the payload should not learn where it lies on the machine */
};

/* Written by init (and by the payload before its exec), read by the owner. */
struct sandbox_result {
	_Atomic uint64_t cpu_ns, memory_peak; /* as polled, while it runs */
	_Atomic int limit;                    /* enum sandbox_limit */
	_Atomic int begun;                    /* of a forked payload: 0 not yet, 1 it goes on; for a futex */
	uint64_t start_ns, end_ns;
	/* CPU time when the run came: init's and a parked payload's, as the cgroup or clocks count it */
	uint64_t before_ns;
	uint64_t parked_ns;    /* ... of that the payload's, by its clock */
	uint64_t total_cpu_ns; /* at the end, of everything that was reaped */
	uint32_t left_behind;
	unsigned hits;
	int status; /* of the payload, as wait reports it */
	bool started;
	_Atomic bool prepared, finished;      /* waits for the plan; all is over and reported */
	char failed[SANDBOX_FAILED_MAX];      /* what could not be done; empty: nothing failed */
	char failed_path[SANDBOX_FAILED_MAX]; /* with what, or empty */
	int failed_errno;
};

struct sandbox_plan {
	/* The arena: this struct is at its start. */
	size_t used;
	/* Set before the clone. */
	unsigned protections; /* those to be in force; without USER there are no namespaces */
	bool root_owner;      /* two ids are mapped: init is 0, the payload SANDBOX_ID */
	int cgroup_cpu;       /* descriptors that init inherits, or -1; see struct sandbox_cgroup */
	int cgroup_oom;
	bool cgroup_unified, cgroup_memory;
	atomic_bool wanted; /* by the owner, at any time: a run waits for this init */
	/* Set before it is told to go on. */
	const char *file; /* NULL: a probe, which ends after the root was built */
	char **argv, **envp;
	const char *directory;     /* working directory */
	const char *out_directory; /* without a root of its own */
	struct sandbox_op *ops;    /* room for one more than SANDBOX_OPS_MAX; a count above that: overfull */
	size_t ops_count;
	size_t ops_base;              /* of them: known before the clone, the same for all runs */
	struct sandbox_limits limits; /* defaults filled in */
	int fd_targets[SANDBOX_FDS_MAX];
	size_t fds_count, keep_count;
	bool has_cores, has_init_cores;
	cpu_set_t cores, init_cores;
	int nice;
	gid_t groups[SANDBOX_GROUPS_MAX];
	size_t groups_count;
	struct sock_fprog filter; /* len 0: none */
	char *payload_stack;
	void *watch_memory;     /* SANDBOX_WATCH_MEMORY bytes */
	uint64_t watch_highest; /* sum of resident memory for which the peak was last looked at */
	unsigned machine_cores;
	struct sandbox_result result;
};

/*
 * A mapping with an empty plan in it; NULL: no memory. Free with sandbox_plan_unmap. Where `ret_memory` is not NULL it
 * gets a descriptor that another process can map the same plan with, at the same address: all its pointers lead into
 * it. The caller closes it.
 */
struct sandbox_plan *sandbox_plan_map(int *ret_memory);
/* In that other process: maps it. NULL with errno: the place is taken there. */
struct sandbox_plan *sandbox_plan_map_at(uint64_t address, int memory);
void sandbox_plan_unmap(struct sandbox_plan *plan);
/* Bytes of the arena, aligned and zero; NULL when it is full. They live as long as the plan. */
void *sandbox_plan_alloc(struct sandbox_plan *plan, size_t size);
char *sandbox_plan_text(struct sandbox_plan *plan, const char *text);
/* The same, or the text itself if it is in the arena already. NULL stays NULL. */
const char *sandbox_plan_own(struct sandbox_plan *plan, const char *text);
char *sandbox_plan_printf(struct sandbox_plan *plan, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Checks a config and copies it into a plan: everything but the root's operations and the filter. */
int sandbox_plan_fill(struct sandbox_plan *plan, const struct sandbox_config *config, struct kettle_error *err);

/* Of a counter that was at `before` when the run came: what it has counted since; never less than nothing. */
uint64_t sandbox_plan_since(uint64_t count, uint64_t before);
/* For init and the payload: notes what failed with the present errno; returns -1. */
int sandbox_plan_failed(struct sandbox_plan *plan, const char *what, const char *path);

#endif
