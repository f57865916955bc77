/* SPDX-License-Identifier: MIT */
/* The command lines of ssh: its options, and the command for the other machine's shell. [any] */
#ifndef KETTLE_RUNNERS_SSH_SSH_COMMAND_H
#define KETTLE_RUNNERS_SSH_SSH_COMMAND_H

#include <jansson.h>
#include <kettle/error.h>

#include "runners/common/arguments.h"

#define SSH_FLAGS_MAX 64
#define SSH_MISSING 113 /* exit status of the scripts: the archive's kettle-exec is missing */

/* The settings of a connection. Borrowed. */
struct ssh_setup {
	const char *program;   /* ssh */
	long long connect_s;   /* limit for making the connection */
	long long lease_s;     /* of the other machine's kettle-exec */
	const json_t *options; /* of the unit: host, exec, folder, flags */
	const char *digest;    /* of the archive; NULL: `exec` names an installed one */
	const char *settings;  /* of kettle-exec, as JSON */
};

/* Checks whether the options of a unit can be used. EINVAL. */
int ssh_command_check(const json_t *options, struct kettle_error *err);
/* `kettle-exec --serve` on the other machine. Ends with SSH_MISSING if the archive's kettle-exec is missing. */
void ssh_command_serve(const struct ssh_setup *setup, struct arguments *ret_argv);
/* `kettle-exec --doctor --json` on the other machine. */
void ssh_command_doctor(const struct ssh_setup *setup, struct arguments *ret_argv);
/* Reads the archive from standard input, checks its digest, and unpacks it where the other commands look. */
void ssh_command_install(const struct ssh_setup *setup, struct arguments *ret_argv);

/* Quotes a word for any shell, in single quotes. New string. */
char *ssh_command_quote(const char *word);

#endif
