/* SPDX-License-Identifier: MIT */
/* leaderboard plot: writes a picture to a file or to standard output. */
#include <config.h>

#include "cli/actions/actions.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/contents.h"
#include "base/json_access.h"

const struct args_option plot_options[] = {
	{"output", 'o', "FILE", "write to this file, NAME.svg or NAME.png, which must not exist"},
	{NULL, 0, NULL, NULL},
};

/* The ending of the file's name determines the format, unless --format does. */
void
plot_start(struct run *run)
{
	const char *path = args_text(&run->args, "output"), *dot = path ? strrchr(path, '.') : NULL;
	struct kettle_error err = {0};
	bool given = json_object_get(run->args.values, "format"), png = dot && strcasecmp(dot, ".png") == 0;
	if (path && !given && !png && !(dot && strcasecmp(dot, ".svg") == 0)) {
		(void)kettle_fail(
			&err, KETTLE_EINVAL, "The name of the file must end with .svg or .png, unless --format says what it is.");
		run_fail(run, &err);
		return;
	}
	if (!path && run->term.tty && !run->json) {
		(void)kettle_fail(&err, KETTLE_EINVAL, "A picture is not written to a terminal: name a file with -o.");
		run_fail(run, &err);
		return;
	}
	if (path && !given)
		(void)json_object_set_new(run->args.values, "format", json_string(png ? "png" : "svg"));
	run_command(run);
}

void
plot_answer(struct run *run, const json_t *result)
{
	const char *path = args_text(&run->args, "output"), *coded = json_text_or_empty(result, "base64");
	struct kettle_error err = {0};
	AUTO_FREE void *picture = NULL;
	size_t size = 0;
	if (!path && run->json) {
		run_result(run, result);
		return;
	}
	if (base64_decode(coded, strlen(coded), &picture, &size) < 0 ||
		(!path && fwrite(picture, 1, size, run->term.out) != size))
		(void)kettle_fail(&err, KETTLE_EIO, "The picture cannot be written.");
	else if (path)
		(void)save_file(path, picture, size, &err);
	if (err.code < 0)
		run_fail(run, &err);
	else if (path)
		run_finish_facts(run,
			json_pack("{s:s, s:s, s:I}", "file", path, "format", json_text_or_empty(result, "format"), "bytes",
				(json_int_t)size),
			"Wrote the plot to {*file}.\n");
	else
		run_finish(run, RUN_OK);
}
