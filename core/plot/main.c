/* SPDX-License-Identifier: MIT */
/* kettle-plot: draws best scores over time. */
/*
 * Reads one JSON document of at most PLOT_REQUEST_MAX bytes from standard input,
 *
 *     {"format": "svg" or "png", "title": text, "until": ms since 1970, where the times end,
 *      "panels": [{"name": device, "series": [{"name": text, "points": [[ms since 1970, seconds], …]}]}]}
 *
 * and writes the picture in base64, as one line, to standard output. Names and numbers come from users. It opens no file
 * but fonts and their configuration. Exit status: 0 it was drawn, 2 the request is wrong, 3 it could not be drawn; the
 * reason is on standard error. kettle-plot is started by the command leaderboard.plot.
 */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/contents.h"
#include "base/xalloc.h"
#include "plot/plot.h"

enum { EXIT_DRAWN = 0, EXIT_USAGE = 2, EXIT_UNABLE = 3 };

#define CPU_SECONDS 20 /* no request takes one */

static int
fail(int status, const char *message)
{
	(void)fprintf(stderr, "kettle-plot: %s\n", message);
	return status;
}

/* The request, parsed; NULL with *ret_reason. */
static json_t *
read_request(const char **ret_reason)
{
	AUTO_FREE char *text = xmalloc(PLOT_REQUEST_MAX + 1);
	json_error_t error;
	size_t size = fread(text, 1, PLOT_REQUEST_MAX + 1, stdin);
	*ret_reason = ferror(stdin) ? strerror(errno) : "The request is too large.";
	if (ferror(stdin) || size > PLOT_REQUEST_MAX)
		return NULL;
	json_t *request = json_loadb(text, size, 0, &error);
	*ret_reason = "The request is not JSON.";
	return request;
}

static int
draw(const json_t *request)
{
	struct kettle_error err = {0};
	struct plot plot = {0};
	AUTO_BUF struct buf picture = {0};
	int rc = plot_read(request, &plot, &err), status = rc == 0 ? EXIT_UNABLE : EXIT_USAGE;
	if (rc == 0)
		rc = plot_draw(&plot, &picture, &err);
	plot_free(&plot);
	if (rc < 0)
		return fail(status, err.message);
	AUTO_FREE char *coded = base64_encode(picture.data, picture.len);
	if (puts(coded) == EOF || fflush(stdout) != 0)
		return fail(EXIT_UNABLE, strerror(errno));
	return EXIT_DRAWN;
}

int
main(int argc, char **argv)
{
	const struct rlimit cpu = {CPU_SECONDS, CPU_SECONDS};
	const char *reason;
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		(void)printf("kettle-plot %s\n", PACKAGE_VERSION);
		return EXIT_DRAWN;
	}
	if (argc != 1)
		return fail(EXIT_USAGE, "No arguments are allowed; a request is read from standard input.");
	(void)setrlimit(RLIMIT_CPU, &cpu);
	json_t *request = read_request(&reason);
	if (!request)
		return fail(EXIT_USAGE, reason);
	int status = draw(request);
	json_decref(request);
	/* Fonts that cairo and fontconfig keep until the end of the process are no leak that a sanitizer should report. */
	_exit(status);
}
