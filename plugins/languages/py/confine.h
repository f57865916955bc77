/* SPDX-License-Identifier: MIT */
/* What an interpreter gives up before it imports, so that imports have none of kettle-exec's rights. */
#ifndef KETTLE_PY_CONFINE_H
#define KETTLE_PY_CONFINE_H

/*
 * For a process of root with one thread: gives it mounts of its own, which it cannot write to but for an empty HOME and
 * TMPDIR in memory, a network, System V IPC and a host name of its own, and a user id that owns nothing, without
 * capabilities; then executes argv[0]. KETTLE_WARM_TMPDIR keeps what TMPDIR was. Returns, with errno, if any of it is not
 * possible, or if that user could not make the namespaces of a sandbox: the process is of no use then.
 */
void confine_execute(char *const *argv);

#endif
