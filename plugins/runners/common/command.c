/* SPDX-License-Identifier: MIT */
/* Programs that runners start for one answer: their arguments, limits and end. */
#include <config.h>

#include "runners/common/command.h"

#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

#include "base/base.h"
#include "base/list.h"

#define LINE_MAX_BYTES 8192
#define STDERR_MAX_LINES 1000
#define STDERR_KEPT 600 /* bytes of its standard error */

struct command {
	struct commands *commands;
	struct command *next;
	struct command_use use;
	struct kettle_process *process; /* NULL: it has ended */
	struct kettle_timer *limit;
	size_t lines, stderr_lines;
	bool late, flooded, refused;
	char last_stderr[STDERR_KEPT];
	char name[64];
};

void
arguments_add(struct arguments *arguments, const char *format, ...)
{
	char *text;
	va_list args;
	va_start(args, format);
	int length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0)
		xalloc_fail();
	arguments->list = xreallocarray(arguments->list, arguments->count + 2, sizeof(*arguments->list));
	arguments->list[arguments->count++] = text;
	arguments->list[arguments->count] = NULL;
}

void
arguments_free(struct arguments *arguments)
{
	for (size_t i = 0; i < arguments->count; i++)
		free(arguments->list[i]);
	free(arguments->list);
	*arguments = (struct arguments){0};
}

static void
kill_command(const struct command *command)
{
	if (command->process)
		command->commands->host->process_kill(command->commands->host, command->process, SIGKILL);
}

/* Whether the command has written more lines than it may; if so, kills it. */
static bool
is_flood(struct command *command, size_t lines, size_t most)
{
	if (!command->flooded && lines > most) {
		command->flooded = true;
		kill_command(command);
	}
	return command->flooded;
}

static void
on_stdout(void *arg, const char *line, size_t len)
{
	struct command *command = arg;
	if (command->refused || is_flood(command, ++command->lines, command->use.max_lines) || !command->use.on_line ||
		memchr(line, '\0', len))
		return;
	AUTO_FREE char *copy = xmemdup(line, len + 1);
	command->refused = !command->use.on_line(command->use.arg, copy);
	if (command->refused)
		kill_command(command);
}

static void
on_stderr(void *arg, const char *line, size_t len)
{
	struct command *command = arg;
	size_t used = strlen(command->last_stderr);
	if (command->use.on_stderr)
		command->use.on_stderr(command->use.arg, line, len);
	if (command->use.on_stderr || is_flood(command, ++command->stderr_lines, STDERR_MAX_LINES))
		return;
	if (used > 0 && used + 1 < STDERR_KEPT)
		command->last_stderr[used++] = ' ';
	for (size_t i = 0; i < len && used + 1 < STDERR_KEPT; i++)
		command->last_stderr[used++] = line[i] < ' ' || line[i] > '~' ? '?' : line[i];
	command->last_stderr[used] = '\0';
}

/* Says why the command failed, if it did not say so itself. New string. */
static char *
explain(const struct command *command, int status, int signal_number)
{
	if (command->flooded)
		return xasprintf("%s wrote more than %zu lines.", command->name,
			command->stderr_lines > STDERR_MAX_LINES ? (size_t)STDERR_MAX_LINES : command->use.max_lines);
	if (command->late)
		return xasprintf("%s did not answer within %d s.", command->name, (int)(command->use.limit_ms / 1000));
	if (command->last_stderr[0])
		return xstrdup(command->last_stderr);
	return signal_number ? xasprintf("%s was terminated by signal %d.", command->name, signal_number)
						 : xasprintf("%s exited with status %d.", command->name, status);
}

/* The command stays in the list until on_end has returned, so that its owner does not go away meanwhile. */
static void
on_exit_command(void *arg, int status, int signal_number)
{
	struct command *command = arg;
	struct commands *commands = command->commands;
	AUTO_FREE char *why = explain(command, status, signal_number);
	const struct command_end end = {
		status == 0 && !command->late && !command->flooded, why, status, signal_number, command->late};
	command->process = NULL;
	commands->host->timer_stop(commands->host, STEAL(command->limit));
	command->use.on_end(command->use.arg, &end);
	LIST_REMOVE(commands->list, command);
	free(command);
	if (!commands->list && commands->idle)
		commands->idle(commands->arg);
}

static void
on_late(void *arg)
{
	struct command *command = arg;
	command->limit = NULL;
	command->late = true;
	kill_command(command);
}

int
command_run(struct commands *commands, const struct arguments *arguments, const struct command_use *use,
	struct kettle_error *err)
{
	const struct kettle_host *host = commands->host;
	struct command *command = xnew(struct command, .commands = commands, .use = *use, .next = commands->list);
	const char *slash = strrchr(arguments->list[0], '/');
	(void)snprintf(command->name, sizeof(command->name), "%s", slash ? slash + 1 : arguments->list[0]);
	const struct kettle_spawn spawn = {
		.size = sizeof(spawn),
		.file = arguments->list[0],
		.argv = (const char *const *)arguments->list,
		.env = (const char *const *)commands->environment.list,
		.cwd = commands->environment.list ? "/" : NULL,
		.max_line = use->max_line ? use->max_line : LINE_MAX_BYTES,
		.on_stdout = on_stdout,
		.on_stderr = on_stderr,
		.on_exit = on_exit_command,
		.arg = command,
	};
	int rc = host->timer_start(host, use->limit_ms, 0, on_late, command, &command->limit, err);
	if (rc == 0)
		rc = host->spawn(host, &spawn, &command->process, err);
	if (rc < 0) {
		host->timer_stop(host, command->limit);
		free(command);
		return rc;
	}
	commands->list = command;
	if (use->input && host->process_write(host, command->process, use->input, use->input_size, err) < 0)
		kill_command(command);
	else
		host->process_close_stdin(host, command->process);
	return 0;
}

void
commands_kill(const struct commands *commands)
{
	for (const struct command *command = commands->list; command; command = command->next)
		kill_command(command);
}

bool
command_exists(const char *name)
{
	if (strchr(name, '/'))
		return access(name, X_OK) == 0;
	const char *folder = getenv("PATH");
	for (size_t length; folder && *folder; folder += length + (folder[length] == ':')) {
		length = strcspn(folder, ":");
		AUTO_FREE char *path = xasprintf("%.*s/%s", (int)length, folder, name);
		if (access(path, X_OK) == 0)
			return true;
	}
	return false;
}
