/* SPDX-License-Identifier: MIT */
/* The protections that a sandbox can have, and the levels made of them. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>

#define SANDBOX_HOW_NAMESPACES \
	"a machine or container that allows namespaces: no chroot, nothing mounted over parts of /proc, no 0 in " \
	"/proc/sys/user; and sysctl kernel.unprivileged_userns_clone=1, or the AppArmor profile that is installed with " \
	"Kettle, or run as root"
#define SANDBOX_HOW_CGROUP \
	"run as root, or under the systemd unit with Delegate=yes, where the kernel has cgroups for memory and pids"

/* Bit, name on the wire, meaning, how to get it. */
#define SANDBOX_PROTECTIONS(X) \
	X(USER, "user", "a user namespace: no privileges outside", SANDBOX_HOW_NAMESPACES) \
	X(MOUNT, "mount", "a root of its own", SANDBOX_HOW_NAMESPACES) \
	X(PID, "pid", "a process tree and a /proc of its own", SANDBOX_HOW_NAMESPACES) \
	X(NET, "net", "no network but its own loopback", SANDBOX_HOW_NAMESPACES) \
	X(IPC, "ipc", "System V IPC and message queues of its own", SANDBOX_HOW_NAMESPACES) \
	X(UTS, "uts", "a host name of its own", SANDBOX_HOW_NAMESPACES) \
	X(CGROUPNS, "cgroupns", "a view of cgroups of its own", "user namespaces, and a kernel from 4.6 on") \
	X(NNP, "no_new_privs", "no setuid programs", "a kernel from 3.5 on") \
	X(SECCOMP, "seccomp", "an allow-list of system calls", "a kernel with CONFIG_SECCOMP_FILTER") \
	X(LANDLOCK, "landlock", "a second lock on files and /proc", \
		"a kernel from 5.13 on with landlock in its lsm= list") \
	X(MEMORY_CGROUP, "memory_cgroup", "memory limited by a cgroup (else by polling, which runs on a GPU can evade)", \
		SANDBOX_HOW_CGROUP) \
	X(PIDS_CGROUP, "pids_cgroup", "processes limited by a cgroup (else by RLIMIT_NPROC)", SANDBOX_HOW_CGROUP) \
	X(CPU_CGROUP, "cpu_cgroup", "CPU time counted by a cgroup (else by polling)", SANDBOX_HOW_CGROUP) \
	X(OWN_UID, "own_uid", \
		"a user id that owns nothing on this machine (else what the kernel counts for a user is shared with " \
		"kettle-exec)", \
		"run as root where user namespaces are allowed") \
	X(LOCKS, "locks", "locks on files and folders of the machine that nothing outside the run sees", \
		"a kernel from 5.11 on, where user namespaces can mount overlays, and nothing mounted in a folder of files " \
		"that runs see, as container runtimes do, and no network file system in another one")

enum sandbox_protection_index {
#define X(name, wire, meaning, how) SANDBOX_INDEX_##name,
	SANDBOX_PROTECTIONS(X)
#undef X
		SANDBOX_PROTECTION_COUNT
};
enum sandbox_protection {
#define X(name, wire, meaning, how) SANDBOX_##name = 1 << SANDBOX_INDEX_##name,
	SANDBOX_PROTECTIONS(X)
#undef X
};

/* Landlock, cgroups, own_uid and locks belong to no level; they are reported. */
#define SANDBOX_NAMESPACES \
	(SANDBOX_USER | SANDBOX_MOUNT | SANDBOX_PID | SANDBOX_NET | SANDBOX_IPC | SANDBOX_UTS | SANDBOX_CGROUPNS)
#define SANDBOX_NEED_REDUCED (SANDBOX_USER | SANDBOX_MOUNT | SANDBOX_PID | SANDBOX_NNP)
#define SANDBOX_NEED_FULL (SANDBOX_NAMESPACES | SANDBOX_NNP | SANDBOX_SECCOMP)

enum sandbox_level { SANDBOX_LEVEL_OFF, SANDBOX_LEVEL_REDUCED, SANDBOX_LEVEL_FULL };

/* [{"name", "meaning", "present", "how"}] for people and for the greeting; "how" is null where present. New reference.
 * [any] */
json_t *sandbox_describe(unsigned protections);
/* ["user", "mount", …], for an outcome. New reference. [any] */
json_t *sandbox_names(unsigned protections);
/* The highest level that these protections reach. [any] */
enum sandbox_level sandbox_level_of(unsigned protections);
int sandbox_level_parse(const char *text, enum sandbox_level *ret_level, struct kettle_error *err);
const char *sandbox_level_name(enum sandbox_level level);
/* 0, or KETTLE_EUNAVAIL with a sentence that says what is missing and how to get it. [any] */
int sandbox_level_check(unsigned protections, enum sandbox_level least, struct kettle_error *err);
