/* SPDX-License-Identifier: MIT */
/*
 * Theory of operation. A program runs in one process with code of a submission, and may not have opened its GPU in another:
 * drivers do not work in a child that is forked afterwards. So the process that starts forks before that. The child opens
 * the GPU and runs the program. The parent, the supervisor, keeps the secret and the result channel, which are never in
 * the child: of a run that was prepared for they come after the fork, to the parent alone; of another they are
 * overwritten before it. The child has a socket in the channel's place, and a token, which every message must begin with.
 * The first message is the token alone, a request for the secret, which is answered once: a harness whose request is
 * answered knows that no code of the submission has the secret. Each further message is a line of results. The supervisor
 * holds the line `check` back until the child has ended with the matching status, and then ends in the same way. A message
 * without the token, before the request, after `check`, or of another form makes the run void.
 */
#define _GNU_SOURCE
#include <config.h>

#include "host/supervisor.h"

#include <errno.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_LINE 8192
#define CHECK "check: "
#define CHECK_MAX 32
#define PASS "check: pass\n"
#define FAILED 112 /* the status of a harness whose submission is wrong */

/* The state of the child's messages. */
struct heard {
	bool requested, spoilt;
	char check[CHECK_MAX];
	size_t check_size;
};

pid_t
supervisor_fork(void)
{
	pid_t self = getpid();
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	pid_t child = fork();
	if (child != 0)
		return child;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != self)
		_exit(EXIT_FAILURE);
	/* CUDA names its threads by files in /proc/self, which a process that is not dumpable may not open. */
	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	return 0;
}

/* ---- what is kept ---- */

/* The value of a variable, if that is what the entry is. */
static volatile char *
value_of(char *entry, const char *name)
{
	volatile char *at = entry;
	while (*name && *at == *name)
		at++, name++;
	return *name == '\0' && *at == '=' ? at + 1 : NULL;
}

/* Takes the variable, if it is there, out of the environment, and overwrites it there. False: it is too long. */
static bool
take_variable(char **envp, const char *name, struct kept *kept)
{
	volatile char *value = NULL;
	while (*envp && !(value = value_of(*envp, name)))
		envp++;
	if (!value)
		return true;
	/* Byte by byte: what copies or compares more at once leaves it in registers, which the linker's loader saves. */
	size_t size = kept->size;
	for (const char *at = *envp; at != value && size < sizeof(kept->secrets); at++)
		kept->secrets[size++] = *at;
	for (bool last = false; !last && size < sizeof(kept->secrets); value++) {
		last = *value == '\0';
		*(volatile char *)&kept->secrets[size++] = *value;
		*value = '\0';
	}
	kept->size = size;
	for (; *envp; envp++)
		envp[0] = envp[1];
	return size < sizeof(kept->secrets);
}

/* The number in the channel's variable; -1: it has none. */
static int
channel_of(char **envp, const char *name)
{
	while (*envp && !value_of(*envp, name))
		envp++;
	const char *digits = *envp ? *envp + strlen(name) + 1 : "";
	size_t len = strspn(digits, "0123456789");
	return len > 0 && len < sizeof("999999999") && digits[len] == '\0' ? atoi(digits) : -1;
}

static char **
refuse(char *ret_why, size_t size, const char *format, const char *name)
{
	(void)snprintf(ret_why, size, format, name);
	return NULL;
}

char **
supervisor_take(char **argv, char **envp, struct kept *ret_kept, int *ret_channel, char *ret_why, size_t why_size)
{
	*ret_kept = (struct kept){.channel = -1};
	*ret_channel = -1;
	for (; argv[0] && argv[1] && strncmp(argv[0], "--", 2) == 0; argv += 2) {
		bool channel = strcmp(argv[0], "--channel") == 0;
		if (channel && (*ret_channel = channel_of(envp, argv[1])) < 0)
			return refuse(ret_why, why_size, "the variable %s must be the number of an open descriptor", argv[1]);
		if (!channel && strcmp(argv[0], "--secret") != 0)
			return refuse(ret_why, why_size, "there is no option %s; " SUPERVISOR_USAGE, argv[0]);
		if (!channel && !take_variable(envp, argv[1], ret_kept))
			return refuse(ret_why, why_size, "the value of the variable %s is too long to be kept", argv[1]);
	}
	if (!argv[0] || strncmp(argv[0], "--", 2) == 0)
		return refuse(ret_why, why_size, "%s", SUPERVISOR_USAGE);
	ret_kept->secrets[ret_kept->size++] = '\0';
	if (*ret_channel >= 0 && getrandom(&ret_kept->token, sizeof(ret_kept->token), 0) != sizeof(ret_kept->token))
		return refuse(ret_why, why_size, "no random number for the token: %s", strerror(errno));
	ret_kept->token |= *ret_channel >= 0;
	return argv;
}

char **
supervisor_block(char **argv, char **envp, unsigned long long token, char ***ret_envp)
{
	static char variable[sizeof(SUPERVISOR_TOKEN) + sizeof("=18446744073709551615")];
	size_t argc = 0, envc = 0, at = 0;
	while (argv[argc])
		argc++;
	while (envp[envc])
		envc++;
	ElfW(auxv_t) aux[] = {{.a_type = AT_SYSINFO_EHDR, .a_un.a_val = getauxval(AT_SYSINFO_EHDR)}, {.a_type = AT_NULL}};
	uintptr_t *block = calloc(argc + envc + 4 + sizeof(aux) / (sizeof(uintptr_t)), sizeof(*block));
	if (!block)
		return NULL;
	block[at++] = argc;
	for (size_t i = 0; i < argc; i++)
		block[at++] = (uintptr_t)argv[i];
	*ret_envp = (char **)&block[++at];
	for (size_t i = 0; i < envc; i++)
		block[at++] = (uintptr_t)envp[i];
	if (token) {
		(void)snprintf(variable, sizeof(variable), SUPERVISOR_TOKEN "=%llu", token);
		block[at++] = (uintptr_t)variable;
	}
	memcpy(&block[at + 1], aux, sizeof(aux));
	return (char **)&block[1];
}

/* ---- the supervisor ---- */

static void
write_line(const struct kept *kept, const char *line, size_t size)
{
	while (size > 0) {
		ssize_t written = write(kept->channel, line, size);
		if (written < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (written <= 0)
			return; /* the run has no `check` then */
		line += written;
		size -= (size_t)written;
	}
}

static void
hear(const struct kept *kept, struct heard *heard, int socket, const char *line, size_t size)
{
	const size_t token_size = sizeof(kept->token);
	bool known = size >= token_size && memcmp(line, &kept->token, token_size) == 0;
	line += token_size;
	size -= token_size;
	if (!known) {
		heard->spoilt = true;
	} else if (!heard->requested) {
		heard->requested = size == 0;
		heard->spoilt = !heard->requested || send(socket, kept->secrets, kept->size, MSG_NOSIGNAL) < 0;
	} else if (size < 1 || size > MAX_LINE || memchr(line, '\n', size) != line + size - 1 || heard->check_size) {
		heard->spoilt = true; /* one line, and `check` is the last one */
	} else if (size > strlen(CHECK) && memcmp(line, CHECK, strlen(CHECK)) == 0) {
		heard->check_size = size < sizeof(heard->check) ? size : 0;
		heard->spoilt = heard->check_size == 0;
		memcpy(heard->check, line, heard->check_size);
	} else {
		write_line(kept, line, size);
	}
}

/* Whether all copies of the other end are closed: otherwise a read of 0 bytes is an empty message. */
static bool
is_over(int socket)
{
	struct pollfd other = {.fd = socket};
	(void)poll(&other, 1, 0);
	return other.revents & POLLHUP;
}

/* Hears messages until there is none. Returns whether more may come. */
static bool
hear_all(const struct kept *kept, struct heard *heard, int socket)
{
	char line[MAX_LINE + sizeof(kept->token) + 1];
	while (socket >= 0 && !heard->spoilt) {
		ssize_t size = recv(socket, line, sizeof(line), MSG_DONTWAIT);
		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0 && errno == EAGAIN)
			return true;
		if (size <= 0) {
			heard->spoilt = size == 0 && !is_over(socket);
			return false;
		}
		hear(kept, heard, socket, line, (size_t)size);
	}
	return false;
}

static bool
has_ended(int end)
{
	struct pollfd ended = {.fd = end, .events = POLLIN};
	return end >= 0 && poll(&ended, 1, 0) > 0;
}

/* Returns if no signal of this number ends a process. What starts this one may have had it ignored or blocked. */
static void
die_of(int number)
{
	sigset_t set;
	(void)signal(number, SIG_DFL);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, number);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
	(void)raise(number);
}

/* Ends as the child did. */
static void __attribute__((noreturn)) end_like(const struct kept *kept, const struct heard *heard, int status)
{
	bool passes = heard->check_size == strlen(PASS) && memcmp(heard->check, PASS, strlen(PASS)) == 0;
	int code = WIFEXITED(status) && !heard->spoilt ? WEXITSTATUS(status) : FAILED;
	if (kept->channel >= 0 && code == 0 && !passes)
		code = FAILED;
	else if (WIFEXITED(status) && !heard->spoilt && passes == (code == 0))
		write_line(kept, heard->check, heard->check_size);
	if (WIFSIGNALED(status) && !heard->spoilt)
		die_of(WTERMSIG(status));
	_exit(code);
}

void
supervisor_run(struct kept *kept, pid_t child, int socket)
{
	struct heard heard = {0};
	int status = 0, end = (int)syscall(SYS_pidfd_open, child, 0);
	/* Where there is no pidfd, the child has ended when all copies of its end of the socket are closed. */
	while (hear_all(kept, &heard, socket) && !has_ended(end)) {
		struct pollfd both[] = {{.fd = socket, .events = POLLIN}, {.fd = end, .events = POLLIN}};
		(void)poll(both, 2, -1);
	}
	if (heard.spoilt)
		(void)kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	(void)hear_all(kept, &heard, socket);
	end_like(kept, &heard, status);
}
