/* SPDX-License-Identifier: MIT */
/* The command lines of ssh: its options, and what the other machine's shell gets. [any] */
#ifndef KETTLE_RUNNERS_SSH_SSH_COMMAND_H
#define KETTLE_RUNNERS_SSH_SSH_COMMAND_H

#include <jansson.h>
#include <kettle/error.h>

#include "runners/common/arguments.h"

#define SSH_FLAGS_MAX 64
#define SSH_MISSING 113 /* exit status of the other side: it lacks the kettle-exec of this archive */

/* What a connection is made with. Borrowed. */
struct ssh_setup {
	const char *program;   /* ssh */
	long long connect_s;   /* for the connection itself */
	long long lease_s;     /* of the kettle-exec there */
	const json_t *options; /* of the unit: host, exec, folder, flags */
	const char *digest;    /* of the archive; NULL: `exec` names an installed one */
	const char *settings;  /* of kettle-exec, as JSON */
};

/* Whether the options of a unit can be used. EINVAL. */
int ssh_command_check(const json_t *options, struct kettle_error *err);
/* `kettle-exec --serve` there. Ends with SSH_MISSING where the archive's kettle-exec is not there. */
void ssh_command_serve(const struct ssh_setup *setup, struct arguments *ret_argv);
/* `kettle-exec --doctor --json` there. */
void ssh_command_doctor(const struct ssh_setup *setup, struct arguments *ret_argv);
/* Takes the archive from its input, checks its digest, and unpacks it to where the others look. */
void ssh_command_install(const struct ssh_setup *setup, struct arguments *ret_argv);

/* A word for any shell: in single quotes. New string. */
char *ssh_command_quote(const char *word);

#endif
