/* SPDX-License-Identifier: MIT */
/*
 * The paths that a payload looks up, reported to its owner while it runs.
 *
 * Theory of operation. Before its own filter the payload installs one that announces each call that looks up a path
 * (open, stat, access, readlink, exec) to a listener, and sends the listener over the socket sandbox_config.record. The
 * owner reads the path from the caller's memory, passes it to `look`, and lets the call continue unchanged; failed
 * look-ups are announced too. All processes that the payload starts are followed. This records, and protects from
 * nothing: a hostile payload can change the path after it was read.
 */
#pragma once

#include <stdbool.h>

/* The way in which a path is looked up. */
enum sandbox_look {
	SANDBOX_LOOK_AT,   /* whether it exists, and its type */
	SANDBOX_LOOK_LINK, /* the same for the link itself */
	SANDBOX_LOOK_OPEN, /* its contents; of a folder: its entries */
	SANDBOX_LOOK_RUN,  /* as a program */
};

/* Whether this kernel can do it for a child of this process. Forks. */
bool sandbox_record_works(void);
/* For the payload, after no_new_privs: installs the filter and sends its listener. 0 or -1 with errno. */
int sandbox_record_enter(int socket);
/*
 * Receives the listener, which the caller closes; -1: none came. EPERM: the payload runs, but could not be followed. Blocks
 * until the payload has sent it or ended.
 */
int sandbox_record_accept(int socket);
/*
 * Serves the next call, for which poll has found the listener readable. `look` gets an absolute path as the payload sees it,
 * before the call goes on. 0, also where the caller is gone or has no path; or -1 with errno: its memory cannot be read.
 */
int sandbox_record_serve(int listener, void (*look)(void *arg, enum sandbox_look how, const char *path), void *arg);
