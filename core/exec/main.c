/* SPDX-License-Identifier: MIT */
/* kettle-exec: carries out plans in sandboxes. Its contract is docs/protocol.md. */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/io.h"
#include "base/number.h"
#include "exec/sealed/sealed_run.h"
#include "exec/serve/serve.h"

/* Options: long name, argument for people or NULL, letter, help. */
#define OPTIONS(X) \
	X("serve", NULL, 's', "read requests as JSON lines from standard input") \
	X("lease", "SECONDS", 'n', "with --serve: end after this time without input") \
	X("doctor", NULL, 'd', "check this machine: what it offers, what is missing and how to install it") \
	X("json", NULL, 'j', "with --doctor: print the report as JSON") \
	X("sealed", "FILE", 'S', "run the plan in a sealed envelope (-: standard input) with the key in KETTLE_KEY") \
	X("result", "FILE", 'r', "with --sealed: the file for the sealed result") \
	X("key-file", "FILE", 'k', "with --sealed: the file with the key") \
	X("progress", "FILE", 'p', "with --sealed: the file to which the names of events are appended") \
	X("run", "ID", 'i', "with --sealed: a text to copy into the result") \
	X("config", "FILE", 'c', "configuration file (default: ~/.config/kettle/exec.yml, then the system's)") \
	X("settings", "JSON", 'e', \
		"settings in the format of exec.yml; each key overrides the file's, extra_paths adds to it") \
	X("state", "DIR", 't', "folder for the build cache and the spool") \
	X("level", "LEVEL", 'l', "minimum sandbox level: full, reduced or off") \
	X("version", NULL, 'v', "print the version and exit") \
	X("help", NULL, 'h', "print this help and exit")

static const struct option long_options[] = {
#define X(name, argument, letter, help) {name, argument ? required_argument : no_argument, NULL, letter},
	OPTIONS(X)
#undef X
		{0},
};

static void
print_help(FILE *file)
{
	static const struct {
		const char *name, *argument, *help;
	} lines[] = {
#define X(name, argument, letter, help) {name, argument, help},
		OPTIONS(X)
#undef X
	};
	(void)fprintf(file, "Usage: kettle-exec [OPTION]... PLAN.json | --serve [--lease SECONDS] | --doctor [--json] |\n"
						"                   --sealed FILE --result FILE\n"
						"Runs plans in sandboxes. PLAN.json may be - for standard input.\n\n");
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		(void)fprintf(file, "  --%s%s%-*s %s\n", lines[i].name, lines[i].argument ? " " : "",
			(int)(16 - strlen(lines[i].name) - (lines[i].argument != NULL)), lines[i].argument ? lines[i].argument : "",
			lines[i].help);
	(void)fprintf(file, "\nExit status: 0 if all steps passed, 1 if a step failed, 2 for a usage error, 3 if this "
						"machine could not run the plan.\n"
						"See kettle-exec(1).\n");
}

/* Opens 0, 1 and 2 if they are closed, since the next opened file would take their number. */
static void
open_standard(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY);
}

static int
usage(const char *sentence)
{
	(void)fprintf(stderr, "kettle-exec: %s\nTry `kettle-exec --help`.\n", sentence);
	return EXEC_USAGE;
}

/* The request on the command line. */
struct request {
	struct exec_options options;
	struct sealed_options sealed;
	bool serve, doctor, json;
};

/* Where the argument of an option goes; NULL: the option has none. */
static const char **
argument_of(struct request *request, int letter)
{
	struct sealed_options *sealed = &request->sealed;
	struct exec_options *options = &request->options;
	const struct {
		int letter;
		const char **argument;
	} arguments[] = {{'S', &sealed->envelope}, {'r', &sealed->result}, {'k', &sealed->key_file},
		{'p', &sealed->progress}, {'i', &sealed->run}, {'c', &options->config}, {'e', &options->settings},
		{'t', &options->state}, {'l', &options->level}};
	for (size_t i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++)
		if (arguments[i].letter == letter)
			return arguments[i].argument;
	return NULL;
}

static int
carry_out(const struct request *request, int count, char **plans)
{
	const struct sealed_options *sealed = &request->sealed;
	if (request->serve + request->doctor + (sealed->envelope != NULL) + count != 1)
		return usage("Exactly one of PLAN.json, --serve, --doctor and --sealed is required.");
	if (request->options.lease_s && !request->serve)
		return usage("--lease requires --serve.");
	if (request->json && !request->doctor)
		return usage("--json requires --doctor.");
	if (!sealed->envelope && (sealed->result || sealed->key_file || sealed->progress || sealed->run))
		return usage("--result, --key-file, --progress and --run require --sealed.");
	if (sealed->envelope)
		return sealed_run(&request->options, sealed);
	if (request->doctor)
		return doctor_run(&request->options, request->json);
	return request->serve ? serve_lines(&request->options) : serve_plan(&request->options, plans[0]);
}

int
main(int argc, char **argv)
{
	struct request request = {0};
	long long lease = 0;
	int letter;
	open_standard();
	json_set_alloc_funcs(xmalloc, free);
	(void)umask(022);
	/*
	 * The kernel compares this limit with the descriptors in flight in sockets of all processes of the user, so without
	 * a user id of its own, a run with a lower limit could keep others from starting.
	 */
	open_files_raise();
	(void)signal(SIGPIPE, SIG_IGN);
	while ((letter = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		const char **argument = argument_of(&request, letter);
		if (argument) {
			*argument = optarg;
			continue;
		}
		switch (letter) {
		case 's':
			request.serve = true;
			break;
		case 'n':
			if (!number_parse_integer(optarg, &lease) || lease < 1 || lease > SERVE_MAX_LEASE)
				return usage("--lease requires a number of seconds from 1 to 86400.");
			break;
		case 'd':
			request.doctor = true;
			break;
		case 'j':
			request.json = true;
			break;
		case 'v':
			(void)printf("kettle-exec %s\n", PACKAGE_VERSION);
			return EXEC_PASSED;
		case 'h':
			print_help(stdout);
			return EXEC_PASSED;
		default:
			return usage("Invalid options.");
		}
	}
	request.options.lease_s = (unsigned)lease;
	return carry_out(&request, argc - optind, argv + optind);
}
