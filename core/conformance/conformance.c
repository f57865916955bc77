/* SPDX-License-Identifier: MIT */
/*
 * Runs the conformance checks of one plugin.
 *
 * Theory of operation. Every check forks. The child loads the plugin, runs the check and writes one line to a pipe: a
 * digit and a sentence. The parent waits for the end of the pipe with a limit, kills the child's group when it is over,
 * and makes a sentence of the result. The parent never loads a plugin.
 */
#include <config.h>

#include "conformance/conformance.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "base/text.h"
#include "conformance/conformance_internal.h"

/* ---- a frontend that takes connections ---- */

/*
 * It bears clients that send nonsense, half of something or nothing, and stops while they are connected. Its socket is
 * found among the descriptors of this process, which is a child of its own. Nothing is known of its protocol, so no
 * answer is expected.
 */

#define LISTEN_MS 1000 /* for a plugin that begins to listen after its start */
#define SERVE_MS 100   /* for it to look at what the clients sent */

struct listener {
	struct sockaddr_storage address;
	socklen_t size;
	int type; /* 0: none is found */
};

/* Whether the descriptor is a socket that takes connections. */
static bool
read_listener(int fd, struct listener *ret_listener)
{
	int listens = 0;
	struct listener found = {.size = sizeof(found.address)};
	socklen_t size = sizeof(listens);
	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || !listens)
		return false;
	size = sizeof(found.type);
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &found.type, &size) != 0 ||
		getsockname(fd, (struct sockaddr *)&found.address, &found.size) != 0)
		return false;
	*ret_listener = found;
	return true;
}

static int
find_listener(void *arg)
{
	struct listener *listener = arg;
	AUTO_DIR DIR *dir = opendir("/proc/self/fd");
	for (const struct dirent *entry; dir && !listener->type && (entry = readdir(dir));)
		(void)read_listener(atoi(entry->d_name), listener);
	return listener->type != 0;
}

/* A client that says this. -1: it is not let in. */
static int
connect_client(const struct listener *listener, const char *text, size_t size)
{
	const struct timeval limit = {.tv_sec = 2};
	AUTO_FD int fd = socket(listener->address.ss_family, listener->type | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (connect(fd, (const struct sockaddr *)&listener->address, listener->size) != 0)
		return -1;
	(void)!send(fd, text, size, MSG_NOSIGNAL);
	return STEAL_FD(fd);
}

static int
try_clients(struct subject *subject, struct kettle_fake *fake, struct instance *instance, struct kettle_error *err)
{
	static const struct {
		const char *text;
		size_t size;
	} said[] = {{"", 0}, {"\0\xff\x80{[\"\n\r\n\r\n", 11}, {"{\"half\": ", 9}, {"GET / HTTP/1.1\r\nHost:", 21}};
	int clients[ARRAY_SIZE(said)];
	struct listener listener = {0};
	bool listens = kettle_fake_run(fake, find_listener, &listener, LISTEN_MS) == 0;
	for (size_t i = 0; i < ARRAY_SIZE(said); i++)
		clients[i] = listens ? connect_client(&listener, said[i].text, said[i].size) : -1;
	/* One comes and goes. */
	int gone = listens ? connect_client(&listener, "\n", 1) : -1;
	if (gone >= 0)
		close(gone);
	(void)kettle_fake_run(fake, NULL, NULL, listens ? SERVE_MS : 1);
	int rc = conformance_fall(subject, fake, instance, err);
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
		if (clients[i] >= 0)
			close(clients[i]);
	if (rc == 0 && !listens)
		return kettle_fail(err, CONFORMANCE_SKIP, "The frontend takes no connections.");
	return rc;
}

static int
conformance_listens(struct subject *subject, struct kettle_error *err)
{
	struct kettle_fake *fake = NULL;
	struct instance instance;
	if (subject->loaded->plugin.kind != KETTLE_FRONTEND)
		return kettle_fail(err, CONFORMANCE_SKIP, "It is no frontend.");
	int rc = conformance_skip_without_options(subject, err);
	if (rc == 0)
		rc = kettle_fake_new(subject->loaded->plugin.name, &fake, err);
	if (rc == 0)
		rc = conformance_rise(subject, fake, &instance, err);
	if (rc == 0)
		rc = try_clients(subject, fake, &instance, err);
	return conformance_end(fake, rc, err);
}

#define REPORT_MAX 4000 /* bytes of a child's sentence */

static int
check_loads(struct subject *subject, struct kettle_error *err)
{
	(void)subject;
	(void)err;
	return 0;
}

static const struct {
	const char *name;
	conformance_check check;
} checks[] = {
	{"it loads", check_loads},
	{"it exports kettle_plugin and nothing else", conformance_symbols},
	{"it describes itself", conformance_facts},
	{"its options have help; invalid and unknown ones are refused", conformance_options},
	{"destroy accepts NULL and an unconfigured instance", conformance_create_only},
	{"it runs three times: create, configure, start, stop, destroy", conformance_life},
	{"two instances run at once", conformance_two_instances},
	{"it leaves no descriptor, thread, child or timer behind", conformance_leaks},
	{"a frontend that takes connections stops while clients are connected", conformance_listens},
	{"a language's names are valid", conformance_texts},
	{"a language plans each of its skeletons", conformance_skeletons},
};

/* ---- in the child ---- */

static int
run_check(const struct conformance_setup *setup, conformance_check check, struct kettle_error *err)
{
	struct loader *loader = loader_new(NULL, NULL);
	struct subject subject = {.setup = setup};
	int rc = loader_open(loader, 0, NULL, setup->file, &subject.loaded, err);
	if (rc == 0) {
		const struct option_table table = loader_options(&subject.loaded->plugin);
		const struct option_section where = {
			.name = setup->options_file, .places = setup->options_places, .pointer = "", .base = setup->options_base};
		(void)option_table_read(&table, setup->options, &where, &subject.options, &subject.why_not);
		rc = check(&subject, err);
	}
	json_decref(subject.options);
	loader_free(loader);
	return rc;
}

__attribute__((noreturn)) static void
be_child(const struct conformance_setup *setup, conformance_check check, int report)
{
	struct kettle_error err = {0};
	(void)setpgid(0, 0);
	/* stdout is reserved for the results. */
	(void)dup2(STDERR_FILENO, STDOUT_FILENO);
	int rc = run_check(setup, check, &err);
	char line[REPORT_MAX];
	int len = snprintf(line, sizeof(line), "%c%s", rc == 0 ? 'p' : rc == CONFORMANCE_SKIP ? 's' : 'f', err.message);
	_exit(write(report, line, (size_t)len) == len ? 0 : 1);
}

/* ---- in the parent ---- */

/* Reads the report until its end or the limit. False: the limit. */
static bool
read_report(int fd, char *report, size_t cap)
{
	uint64_t end = time_monotonic_ns() + CONFORMANCE_CHECK_MS * UINT64_C(1000000);
	size_t len = 0;
	for (;;) {
		uint64_t now = time_monotonic_ns();
		struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
		if (now >= end)
			return false;
		int ready = poll(&poll_fd, 1, (int)((end - now) / 1000000) + 1);
		if (ready <= 0)
			continue;
		ssize_t got = read(fd, report + len, cap - 1 - len);
		if (got <= 0 && !(got < 0 && errno == EINTR)) {
			report[len] = '\0';
			return true;
		}
		len += got > 0 ? (size_t)got : 0;
	}
}

/* The sentence for the end of a child without a report. */
static void
describe_end(int status, bool in_time, char *message, size_t cap)
{
	if (!in_time)
		(void)snprintf(message, cap, "It hangs: the check did not finish within %d s.", CONFORMANCE_CHECK_MS / 1000);
	else if (WIFSIGNALED(status))
		(void)snprintf(message, cap, "It crashes: signal %d (%s).", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		(void)snprintf(message, cap, "It exits the process that loaded it, with status %d.", WEXITSTATUS(status));
}

static json_t *
result_of(const char *name, const char *report)
{
	bool failed = report[0] == 'f', skipped = report[0] == 's';
	AUTO_BUF struct buf clean = {0};
	(void)utf8_sanitize(report + 1, strlen(report + 1), &clean);
	return json_pack("{s:s, s:b, s:b, s:s?}", "name", name, "passed", !failed && !skipped, "skipped", skipped,
		"message", failed || skipped ? clean.data : NULL);
}

static int
fork_check(const struct conformance_setup *setup, size_t i, json_t **ret_result, struct kettle_error *err)
{
	int ends[2], status = 0;
	char report[REPORT_MAX] = "";
	if (pipe2(ends, O_CLOEXEC) != 0)
		return kettle_fail(err, KETTLE_EIO, "Could not create a pipe: %s.", strerror(errno));
	pid_t child = fork();
	if (child == 0)
		be_child(setup, checks[i].check, ends[1]);
	close(ends[1]);
	if (child < 0) {
		close(ends[0]);
		return kettle_fail(err, KETTLE_EIO, "Could not create a process: %s.", strerror(errno));
	}
	(void)setpgid(child, child);
	bool in_time = read_report(ends[0], report, sizeof(report));
	close(ends[0]);
	/* Also ends every process that the child started. */
	(void)kill(-child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (!in_time || report[0] == '\0') {
		report[0] = 'f';
		describe_end(status, in_time, report + 1, sizeof(report) - 1);
	}
	*ret_result = result_of(checks[i].name, report);
	return 0;
}

int
conformance_run(const struct conformance_setup *setup, json_t **ret_results, struct kettle_error *err)
{
	AUTO_JSON json_t *tests = json_array();
	bool ok = true, loads = true;
	for (size_t i = 0; i < ARRAY_SIZE(checks) && loads; i++) {
		json_t *result = NULL;
		int rc = fork_check(setup, i, &result, err);
		if (rc)
			return rc;
		bool passed = member_true(result, "passed");
		ok = ok && (passed || member_true(result, "skipped"));
		/* Every other check would fail in the same way. */
		loads = i > 0 || passed;
		json_array_append_new(tests, result);
	}
	*ret_results = json_pack("{s:O, s:b}", "tests", tests, "ok", ok);
	return 0;
}
