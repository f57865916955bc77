/* SPDX-License-Identifier: MIT */
/*
 * The commands of Slurm.
 *
 * Theory of operation. Each command is a child with a vector of arguments, without a shell and without input. The
 * number and the length of its output lines are limited, and it is killed when it takes longer than `command_s`: the
 * commands wait for a controller that does not answer. on_end is called once in every case.
 */
#include <config.h>

#include "runners/slurm/slurm_internal.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/xalloc.h"

#define LINE_MAX_BYTES 8192
#define COMPLAINTS_MAX 1000 /* lines of its standard error */

struct slurm_command {
	struct slurm *slurm;
	struct slurm_command *next;
	struct slurm_use use;
	struct kettle_process *process;
	struct kettle_timer *limit;
	size_t lines, complaints;
	bool late, flooded;
	char last_stderr[SLURM_LAST_STDERR_MAX];
	char name[64];
};

/* Whether the command has written more lines than it may; if so, kills it. */
static bool
is_flood(struct slurm_command *command, size_t lines, size_t most)
{
	if (command->flooded || lines <= most)
		return command->flooded;
	command->flooded = true;
	command->slurm->host->process_kill(command->slurm->host, command->process, SIGKILL);
	return true;
}

static void
on_line(void *arg, const char *line, size_t len)
{
	struct slurm_command *command = arg;
	if (is_flood(command, ++command->lines, command->use.max_lines))
		return;
	if (!command->use.on_line || memchr(line, '\0', len))
		return;
	AUTO_FREE char *copy = xmemdup(line, len + 1);
	command->use.on_line(command->use.arg, copy);
}

static void
on_complaint(void *arg, const char *line, size_t len)
{
	struct slurm_command *command = arg;
	size_t used = strlen(command->last_stderr);
	if (is_flood(command, ++command->complaints, COMPLAINTS_MAX))
		return;
	if (used > 0 && used + 1 < SLURM_LAST_STDERR_MAX)
		command->last_stderr[used++] = ' ';
	for (size_t i = 0; i < len && used + 1 < SLURM_LAST_STDERR_MAX; i++)
		command->last_stderr[used++] = line[i] < ' ' || line[i] > '~' ? '?' : line[i];
	command->last_stderr[used] = '\0';
}

static void
on_exit_command(void *arg, int status, int signal_number)
{
	struct slurm_command *command = arg, **link = &command->slurm->commands;
	struct slurm *slurm = command->slurm;
	while (*link != command)
		link = &(*link)->next;
	*link = command->next;
	slurm->host->timer_stop(slurm->host, command->limit);
	AUTO_BUF struct buf text = {0};
	if (command->flooded)
		buf_printf(&text, "%s wrote more than %zu lines.", command->name,
			command->complaints > COMPLAINTS_MAX ? (size_t)COMPLAINTS_MAX : command->use.max_lines);
	else if (command->late)
		buf_printf(&text, "%s did not answer within %d s.", command->name, (int)(slurm->command_ms / 1000));
	else if (command->last_stderr[0])
		buf_adds(&text, command->last_stderr);
	else if (signal_number)
		buf_printf(&text, "%s was terminated by signal %d.", command->name, signal_number);
	else
		buf_printf(&text, "%s exited with status %d.", command->name, status);
	const struct slurm_end end = {status == 0 && !command->late && !command->flooded, text.data};
	slurm->busy++; /* the runner stays until on_end has returned */
	command->use.on_end(command->use.arg, &end);
	free(command);
	slurm->busy--;
	slurm_finish_stop(slurm);
}

static void
on_late(void *arg)
{
	struct slurm_command *command = arg;
	command->limit = NULL;
	command->late = true;
	command->slurm->host->process_kill(command->slurm->host, command->process, SIGKILL);
}

int
slurm_command_run(
	struct slurm *slurm, const struct arguments *arguments, const struct slurm_use *use, struct kettle_error *err)
{
	struct slurm_command *command = xcalloc(1, sizeof(*command));
	command->slurm = slurm;
	command->use = *use;
	const char *slash = strrchr(arguments->list[0], '/');
	(void)snprintf(command->name, sizeof(command->name), "%s", slash ? slash + 1 : arguments->list[0]);
	const struct kettle_spawn spawn = {
		.size = sizeof(spawn),
		.file = arguments->list[0],
		.argv = (const char *const *)arguments->list,
		.env = (const char *const *)slurm->environment,
		.cwd = "/",
		.max_line = LINE_MAX_BYTES,
		.on_stdout = on_line,
		.on_stderr = on_complaint,
		.on_exit = on_exit_command,
		.arg = command,
	};
	int rc = slurm->host->timer_start(slurm->host, slurm->command_ms, 0, on_late, command, &command->limit, err);
	if (rc == 0)
		rc = slurm->host->spawn(slurm->host, &spawn, &command->process, err);
	if (rc < 0) {
		slurm->host->timer_stop(slurm->host, command->limit);
		free(command);
		return rc;
	}
	slurm->host->process_close_stdin(slurm->host, command->process);
	command->next = slurm->commands;
	slurm->commands = command;
	return 0;
}

void
slurm_command_kill_all(struct slurm *slurm)
{
	for (struct slurm_command *command = slurm->commands; command; command = command->next)
		slurm->host->process_kill(slurm->host, command->process, SIGKILL);
}

char **
slurm_command_environment(void)
{
	static const char *const names[] = {"PATH", "HOME", "USER", "LOGNAME", "LD_LIBRARY_PATH", "SLURM_CONF"};
	char **environment = xcalloc(ARRAY_SIZE(names) + 2, sizeof(*environment));
	size_t count = 0;
	environment[count++] = xstrdup("LC_ALL=C");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (getenv(names[i]))
			environment[count++] = xasprintf("%s=%s", names[i], getenv(names[i]));
	return environment;
}

void
slurm_command_environment_free(char **environment)
{
	for (char **one = environment; one && *one; one++)
		free(*one);
	free(environment);
}
