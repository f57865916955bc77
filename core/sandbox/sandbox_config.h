/* SPDX-License-Identifier: MIT */
/* The program, files, descriptors and limits of one run. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/protections.h"

/*
 * The reason why a payload was killed, or the limit that it reached without a kill (sandbox_report.hits). NONE: it
 * ended by itself.
 */
#define SANDBOX_LIMITS(X) \
	X(NONE, "none") \
	X(WALL, "wall") /* enforced by the owner */ \
	X(CPU, "cpu") \
	X(MEMORY, "memory") \
	X(PROCESSES, "processes")   /* never kills */ \
	X(DISK, "disk")             /* bytes in out/; never kills */ \
	X(TMP, "tmp")               /* bytes in /tmp; never kills */ \
	X(SHM, "shm")               /* bytes in /dev/shm; never kills */ \
	X(CACHE, "cache")           /* bytes in a cache that is a file system of its own; never kills */ \
	X(FILES, "files")           /* files and folders in one of these; never kills */ \
	X(FILE_SIZE, "file_size")   /* bytes of one file; its signal may kill */ \
	X(OPEN_FILES, "open_files") /* of one process; never kills, and nothing shows that it was reached */ \
	X(SOCKETS, "sockets") \
	X(OUTPUT, "output") /* stdout, stderr; enforced by the owner */ \
	X(RESULT, "result") /* the result channel; enforced by the owner */ \
	X(CANCEL, "cancel") /* requested by the owner */
enum sandbox_limit {
#define X(name, wire) SANDBOX_LIMIT_##name,
	SANDBOX_LIMITS(X)
#undef X
		SANDBOX_LIMIT_COUNT
};

#define SANDBOX_JOB "/job"
#define SANDBOX_HOME "/tmp/home"
#define SANDBOX_ID 1000          /* user and group id of the payload in its namespace */
#define SANDBOX_FDS_MAX 64       /* of sandbox_config.fds, and of keep */
#define SANDBOX_TARGET_MAX 900   /* highest number of a descriptor in the payload */
#define SANDBOX_TEXT_MAX 8388608 /* bytes of all arguments and the environment */
#define SANDBOX_BINDS_MAX 1000
#define SANDBOX_LAYERS_MAX 8 /* of a sandbox_cache */
#define SANDBOX_GROUP_MAX 2  /* runs of a sandbox_group */

/* 0 means the default. Files in /tmp, /dev/shm and out/ are memory too, and count as such. */
struct sandbox_limits {
	uint64_t cpu_ns;     /* CPU time of the whole tree; 0: unlimited */
	uint64_t memory;     /* bytes, of the whole tree; 0: 4 GiB */
	uint64_t processes;  /* processes and threads; 0: 512 */
	uint64_t disk;       /* bytes writable in out/, and again in /tmp; 0: 1 GiB */
	uint64_t inodes;     /* 0: 65536 */
	uint64_t shm;        /* bytes of /dev/shm; 0: 256 MiB */
	uint64_t file_size;  /* RLIMIT_FSIZE; 0: as disk */
	uint64_t open_files; /* RLIMIT_NOFILE; 0: 1024 */
	uint64_t stack;      /* RLIMIT_STACK; 0: 64 MiB */
	/* Where a cgroup offers it; 0: unlimited. */
	uint64_t io_bytes, io_operations; /* a second, read and again written, of each disk that it sees files of */
	unsigned cores;                   /* CPU time of the whole tree in a time, in cores */
};

/*
 * A path of the machine, with all mounts below it, that the payload sees read-only at the same path or at `target`. Links
 * are resolved once, when the run starts. Below /job only where job_writable.
 */
struct sandbox_bind {
	const char *source; /* absolute */
	const char *target; /* NULL: the same */
	bool writable;
	bool optional; /* skipped if it is missing */
	bool device;   /* a device node: usable and writable */
};

/* A descriptor of the owner, and its number in the payload. All others are closed. */
struct sandbox_fd {
	int fd;
	int target;
};

/*
 * A folder in out/ that begins with the files of other folders and keeps its own files apart from them: an overlay, or
 * else a copy. The payload may change the files that it finds there, but never the layers; their folders and files must
 * allow others than their owner to write (0777 and 0666, below a folder that is closed to others), or it cannot change
 * them. A cache with layers is a file system of its own. Level OFF ignores it.
 */
struct sandbox_cache {
	const char *name; /* of the folder; NULL: none */
	const char
		*layers[SANDBOX_LAYERS_MAX]; /* absolute; of files with the same path the first one shows; missing: skipped */
	size_t count;                    /* 0: it begins empty, and is a folder like any other */
	uint64_t bytes, inodes;          /* that may be written with layers */
};

struct sandbox_config {
	enum sandbox_level level; /* the lowest that is accepted; OFF: no sandbox, cwd is job_dir itself */
	const char *file; /* absolute path of the program as the payload sees it; "./x" is relative to the job's folder */
	const char *const *argv; /* NULL-terminated */
	const char *const *envp; /* NULL-terminated, the whole environment; HOME, TMPDIR are added where absent */
	const char *job_dir;     /* a folder of the owner, seen read-only as /job, the working directory; must hold an empty
								folder `out` */
	bool job_writable;       /* prepare steps: /job is a writable copy of job_dir (tmpfs), discarded afterwards */
	bool out_filled;         /* `out` is not empty: the payload gets a copy of its files */
	struct sandbox_cache cache;
	bool counts; /* allow perf_event_open for its own processes; for profilers alone */
	const struct sandbox_bind *binds;
	size_t binds_count;
	const struct sandbox_fd *fds; /* at least the targets 0, 1, 2; each target once */
	size_t fds_count;
	int record;      /* the target among them of a socket (SOCK_SEQPACKET) for record.h's listener; 0: none */
	const int *keep; /* descriptors that init holds until it ends (device locks), closed in the payload */
	size_t keep_count;
	struct sandbox_limits limits;
	const int *cores; /* CPU affinity of the payload, which it cannot change (with seccomp); NULL: the owner's */
	size_t cores_count;
	const int *init_cores; /* CPU affinity of init, off the device; NULL: the owner's */
	size_t init_cores_count;
	int nice; /* 0 to 19, added to the owner's nice value for the payload; and its share as a cgroup or autogroup */
	struct sandbox_machine *machine; /* NULL: this start makes one for itself */
	struct sandbox_warm *warm;       /* start as a copy of this process (needs a machine); NULL: execute `file` */
	struct sandbox_group *group;     /* share a limit of memory with the other runs of this group; or NULL */
	const struct sandbox_cgroup_root *cgroup; /* or NULL; unused if machine is set */
	uid_t uid; /* with root: the user id outside; 0: 700000000 plus the pid modulo 65536 */
};
