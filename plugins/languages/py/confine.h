/* SPDX-License-Identifier: MIT */
/* Gives up an interpreter's rights before it imports anything, so that imports have none of kettle-exec's rights. */
#pragma once

/*
 * For a process of root with one thread: confines the process and executes argv[0]. The process gets mounts of its
 * own, read-only but for an empty HOME, TMPDIR and KETTLE_WARM_CACHE in memory; a network, System V IPC and a host
 * name of its own; and a user id that owns nothing, without capabilities. Returns, with errno, if any of this is
 * impossible, or if that user could not make the namespaces of a sandbox. The process must then exit.
 */
void confine_execute(char *const *argv);
