/* SPDX-License-Identifier: MIT */
/* The plan of one run and its result, in memory that the owner and init share. Private to the library. */
#pragma once

#include <linux/filter.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "sandbox/sandbox_config.h"

#define SANDBOX_ARENA_SIZE (16u << 20)    /* address space; memory is used as it is written to */
#define SANDBOX_OPS_MAX 8192              /* operations that build one root */
#define SANDBOX_STACK_SIZE 65536          /* of the payload between clone and exec */
#define SANDBOX_WATCH_MEMORY (256u << 10) /* for the list of processes in watch.c */
#define SANDBOX_GROUPS_MAX 8              /* groups of device nodes */
#define SANDBOX_FAILED_MAX 160            /* bytes of a failure's text */
/* Bytes that a socket can hold: see init.c, and net.core.wmem_default and rmem_default as kernels have them. */
#define SANDBOX_SOCKET_BYTES (UINT64_C(512) << 10)
/*
 * A shared mapping of this node, opened for writing, is memory that polling does not see: without a memory cgroup
 * Landlock keeps it read-only, and without both the node is missing.
 */
#define SANDBOX_ZERO "/dev/zero"

/* Init's operations to build the root, with their names in messages. Paths are absolute; sources are below the old root. */
#define SANDBOX_OPS(X) \
	X(DIR, "make the folder")                 /* with `mode` */ \
	X(FILE, "make the file")                  /* that holds `text` */ \
	X(LINK, "make the link")                  /* to `source` */ \
	X(BIND, "show")                           /* `source`, recursively */ \
	X(TMPFS, "mount a tmpfs at")              /* with the options `text` */ \
	X(PROC, "mount a process file system at") /* read-only */ \
	X(PROC_OWN, "make writable")              /* the payload's own processes there */ \
	X(COPY, "copy the job's folder to")       /* from the folder `source`; `target` exists */ \
	X(LAYERS, "lay the caches at") /* an overlay with the options `text`, else a copy of `layers` in `source` */ \
	X(MOVE, "move")                /* the mount at the folder `source`, which is removed */ \
	X(OUT, "pass on")              /* opens the output folder, and `source`, and sends them to the owner */ \
	X(DETACH, "detach")            /* with the mounts below it; then removes it */
enum sandbox_op_kind {
#define X(name, text) SANDBOX_OP_##name,
	SANDBOX_OPS(X)
#undef X
};
struct sandbox_op {
	enum sandbox_op_kind kind;
	const char *source, *target, *text;
	unsigned mode, layers;
	bool writable, device, optional;
	bool owned;  /* DIR: belongs to the payload */
	bool hidden; /* BIND: hide the path of `source` from the payload where possible */
	bool apart;  /* BIND: with SANDBOX_LOCKS, locks on it are not those on `source`, where possible */
};

/* Written by init (and by the payload before its exec), read by the owner. */
struct sandbox_result {
	_Atomic uint64_t cpu_ns, memory_peak; /* polled while it runs */
	_Atomic int limit;                    /* enum sandbox_limit */
	atomic_bool killed;                   /* set by the owner: it has killed init */
	_Atomic int begun;                    /* a futex: 1 once a forked payload starts its program */
	uint64_t start_ns, end_ns;
	uint64_t before_ns;  /* CPU time of init and a parked payload before the run, by the cgroup or their clocks */
	uint64_t parked_ns;  /* of that the payload's, by its clock */
	uint64_t opening_ns; /* of processes that a prepared payload started to open its device, as far as it reaped them */
	uint64_t total_cpu_ns; /* at the end, of everything that was reaped */
	uint32_t left_behind;
	uint64_t processes_peak; /* processes and threads at once, as far as polls have seen */
	unsigned hits;
	uint64_t files_max;                   /* of the file system that has no room for more of them */
	int payload;                          /* its process, by its number in the sandbox; 0: none yet */
	int status;                           /* of the payload, as wait reports it */
	bool started, layered;                /* layered: the cache is an overlay */
	bool unlocked;                        /* a file or folder could not be shown apart from the machine's locks */
	_Atomic bool prepared, finished;      /* init waits for the plan; init has reported */
	bool opened;                          /* a prepared payload has opened its device */
	char refused[SANDBOX_FAILED_MAX];     /* why it could not; empty: not known */
	char failed[SANDBOX_FAILED_MAX];      /* the step that failed, such as "mount a tmpfs at"; empty: none */
	char failed_path[SANDBOX_FAILED_MAX]; /* its path, or empty */
	int failed_errno;
};

struct sandbox_plan {
	/* The arena: this struct is at its start. */
	size_t used;
	/* Set before the clone. */
	unsigned protections; /* to apply; without USER there are no namespaces */
	bool root_owner;      /* two ids are mapped: 0 for init, SANDBOX_ID for the payload */
	int cgroup_cpu;       /* descriptors that init inherits, or -1; see struct sandbox_cgroup */
	int cgroup_oom;
	int alive; /* kept open by init as long as it lives, for an owner without pidfds; or -1 */
	bool cgroup_unified, cgroup_memory;
	atomic_bool wanted; /* a run waits for this init; set by the owner at any time */
	/* Set before SANDBOX_GO. */
	const char *file; /* NULL: a probe, which ends after building the base of the root */
	char **argv, **envp;
	const char *directory;              /* working directory */
	const char *out_directory;          /* without a root of its own */
	const char *cache_directory;        /* the cache, if it is a file system of its own; else NULL */
	uint64_t cache_bytes, cache_inodes; /* of it */
	struct sandbox_op *ops;             /* room for SANDBOX_OPS_MAX + 1 */
	size_t ops_count;                   /* above SANDBOX_OPS_MAX: too many */
	size_t ops_base;                    /* of them known before the clone, the same for all runs */
	size_t ops_done;                    /* set by init: the number of those that are carried out */
	bool ahead;                         /* the sandbox is prepared: operations for the device come before the job's */
	char *mounts; /* the owner's, while it plans: mount points, each after a sign and with its NUL, and an empty one */
	struct sandbox_limits limits; /* defaults filled in */
	int fd_targets[SANDBOX_FDS_MAX];
	size_t fds_count, keep_count;
	int record; /* see sandbox_config */
	/* Of a run in a group without a memory cgroup: a last descriptor comes, the file of all their usages. */
	bool grouped;
	unsigned group_index;
	uint64_t group_memory; /* the limit of all together */
	int group_usage;       /* set by init; -1: none */
	bool has_cores, has_init_cores;
	cpu_set_t cores, init_cores;
	int nice;
	bool autogroup; /* it has a share of CPU time by its session: all are one session, with that nice value */
	gid_t groups[SANDBOX_GROUPS_MAX];
	size_t groups_count;
	struct sock_fprog filter; /* len 0: none */
	char *payload_stack;
	void *watch_memory;        /* SANDBOX_WATCH_MEMORY bytes */
	uint64_t watch_highest;    /* sum of resident memory at the last exact count */
	uint64_t watch_exact;      /* the last exact count; 0: none */
	uint64_t watch_counted_ns; /* the time of the last count of processes */
	unsigned machine_cores;
	uint64_t sockets_max; /* more end the run */
	struct sandbox_result result;
};

/* The memory of a run of a group, in their file at its index: the plain sum, and the last exact count, but not more than that. */
struct sandbox_usage {
	uint64_t sum, exact;
};

/*
 * Maps an empty plan; NULL with errno. Free it with sandbox_plan_unmap. *ret_memory (if not NULL) is a descriptor with
 * which another process can map the plan at the same address, since its pointers point into it; the caller closes it.
 */
struct sandbox_plan *sandbox_plan_map(int *ret_memory);
/* Maps the plan in that other process. NULL with errno, EEXIST if the address is in use. */
struct sandbox_plan *sandbox_plan_map_at(uint64_t address, int memory);
void sandbox_plan_unmap(struct sandbox_plan *plan);
/* Bytes of the arena, aligned and zero; NULL if it is full. Valid as long as the plan. */
void *sandbox_plan_alloc(struct sandbox_plan *plan, size_t size);
char *sandbox_plan_text(struct sandbox_plan *plan, const char *text);
/* As sandbox_plan_text, but returns a text that is already in the arena, and NULL, unchanged. */
const char *sandbox_plan_own(struct sandbox_plan *plan, const char *text);
char *sandbox_plan_printf(struct sandbox_plan *plan, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Checks the program and the descriptors of a config and copies them into a plan. */
int sandbox_plan_fill_run(struct sandbox_plan *plan, const struct sandbox_config *config, struct kettle_error *err);
/* The program alone, of a sandbox that is prepared with it. */
int sandbox_plan_fill_text(struct sandbox_plan *plan, const struct sandbox_config *config, struct kettle_error *err);
/* The same with limits, cores and the rest, except the root's operations and the filter. */
int sandbox_plan_fill_limits(struct sandbox_plan *plan, const struct sandbox_config *config, struct kettle_error *err);

/* CLOCK_MONOTONIC, and the user and system time of a usage, in ns. */
uint64_t sandbox_plan_now(void);
uint64_t sandbox_plan_used(const struct rusage *usage);
/* count - before, or 0 if that is negative. */
uint64_t sandbox_plan_since(uint64_t count, uint64_t before);
/* For init: this many processes and threads lived at once. */
void sandbox_plan_note_processes(struct sandbox_plan *plan, uint64_t count);
/* For init and the payload: stores the failed step with the current errno. Returns -1. */
int sandbox_plan_failed(struct sandbox_plan *plan, const char *what, const char *path);
