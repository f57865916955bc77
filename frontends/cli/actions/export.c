/* SPDX-License-Identifier: MIT */
/* `kettle leaderboard export` and `user export`: pages of submissions, written as they come; `leaderboard plot`: a picture. */
#include <config.h>

#include "cli/actions/actions.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/contents.h"
#include "base/json_text.h"
#include "common/template.h"

const struct args_option export_options[] = {
	{"output", 'o', "FILE", "write the lines to this file, which is replaced if it exists"},
	{NULL, 0, NULL, NULL},
};

struct export
{
	FILE *out;        /* owned if there is a path */
	const char *path; /* of -o, or NULL; borrowed from the run */
	char *beside;     /* the temporary file; NULL: writes to path itself, which is no regular file (/dev/null) */
	json_int_t count, total, lines;
	bool progress; /* shows a line on standard error */
};

static int
fail_write(const char *path, int number, struct kettle_error *err)
{
	return kettle_fail(err,
		number == EACCES   ? KETTLE_EACCES
		: number == ENOENT ? KETTLE_EINVAL
						   : KETTLE_EIO,
		"`%s` cannot be written: %s.", path, strerror(number));
}

/* Gives the file the usual mode of new files, unless its contents are private. */
static void
set_mode(int fd, bool private)
{
	mode_t mask = umask(077);
	(void)umask(mask);
	if (!private)
		(void)fchmod(fd, 0666 & ~mask);
}

static int
open_file(struct export *export, bool private, struct kettle_error *err)
{
	struct stat st;
	if (stat(export->path, &st) == 0 && !S_ISREG(st.st_mode)) {
		export->out = run_open_output(export->path, false);
		return export->out ? 0 : fail_write(export->path, errno, err);
	}
	export->beside = xasprintf("%s.XXXXXX", export->path);
	AUTO_FD int fd = mkostemp(export->beside, O_CLOEXEC);
	if (fd < 0) {
		int number = errno;
		free(STEAL(export->beside));
		return fail_write(export->path, number, err);
	}
	set_mode(fd, private);
	export->out = fdopen(fd, "w");
	if (!export->out)
		return fail_write(export->path, errno, err);
	(void)STEAL_FD(fd);
	return 0;
}

static void
clear_progress(const struct export *export)
{
	if (export->progress && export->count > 0)
		fputs("\r\033[K", stderr);
}

/* Removes an incomplete file. */
static void
export_end(struct run *run)
{
	struct export *export = run->work;
	clear_progress(export);
	if (export->path && export->out)
		fclose(export->out);
	if (export->beside)
		unlink(export->beside);
	free_all(export->beside, export);
}

/* ---- writing ---- */

static void
write_line(const struct run *run, const json_t *line)
{
	struct export *export = run->work;
	bool array = run->json && !export->path, tty = !export->path && run->term.tty;
	if (array)
		fputs(export->lines == 0 ? "[\n" : ",\n", export->out);
	json_print(line, export->out, JSON_COMPACT | (tty ? JSON_ENSURE_ASCII : 0));
	if (!array)
		fputc('\n', export->out);
	export->lines++;
}

/* Writes a page; the user, if there is one, comes before the submissions. */
static void
write_page(struct run *run, const json_t *result)
{
	struct export *export = run->work;
	if (json_is_object(json_object_get(result, "user")))
		write_line(run, json_object_get(result, "user"));
	json_array_each(json_object_get(result, "submissions"), submission) {
		write_line(run, submission);
		export->count++;
	}
	if (!export->progress || export->total < 1 || export->count == 0)
		return;
	fprintf(stderr, "\r\033[K%lld of %lld submissions", (long long)export->count, (long long)export->total);
	fflush(stderr);
}

/* Closes the complete file and gives it its name. */
static int
finish_file(struct export *export, struct kettle_error *err)
{
	int failed = fclose(STEAL(export->out)) != 0 ? errno : 0;
	if (!failed && export->beside && rename(export->beside, export->path) != 0)
		failed = errno;
	if (failed)
		return fail_write(export->path, failed, err);
	free(STEAL(export->beside));
	return 0;
}

static void
export_finish(struct run *run, const json_t *result)
{
	struct export *export = run->work;
	struct kettle_error err = {0};
	clear_progress(export);
	export->progress = false;
	if (!export->path) {
		if (run->json)
			fputs(export->lines == 0 ? "[]\n" : "\n]\n", export->out);
		run_finish(run, RUN_OK);
		return;
	}
	if (finish_file(export, &err) < 0) {
		run_fail(run, &err);
		return;
	}
	run_finish_facts(run,
		json_pack("{s:s, s:O*, s:O*, s:I}", "file", export->path, "leaderboard", json_object_get(result, "leaderboard"),
			"user_name", json_object_get(result, "user_name"), "submissions", export->count),
		"Wrote {submissions} submission{submissions#|s} of {*leaderboard}{*user_name} to {*file}.\n");
}

/* Whether the contents are private: an active leaderboard, or a user's data. */
static bool
exports_private(const struct run *run)
{
	return member_true(run->args.values, "private") ||
		   strcmp(json_text_or_empty(run->command, "name"), "user.export") == 0;
}

static void next_page(struct run *run, json_int_t after);

static void
page_answered(struct run *run, const json_t *result)
{
	struct export *export = run->work;
	struct kettle_error why = {0};
	if (json_is_integer(json_object_get(result, "total")))
		export->total = member_int(result, "total");
	write_page(run, result);
	errno = 0;
	if (fflush(export->out) != 0 || ferror(export->out)) {
		fail_write(export->path ? export->path : "standard output", errno, &why);
		/* run_post_done checks standard output at the end of the run. */
		if (export->path)
			run_fail(run, &why);
		else
			run_finish(run, RUN_OK);
	} else if (json_is_integer(json_object_get(result, "next"))) {
		next_page(run, member_int(result, "next"));
	} else {
		export_finish(run, result);
	}
}

static void
next_page(struct run *run, json_int_t after)
{
	AUTO_JSON json_t *args = json_copy(run->args.values);
	if (after > 0)
		json_object_set_new(args, "after", json_integer(after));
	run_call(run, json_text_or_empty(run->command, "name"), args, page_answered);
}

void
export_start(struct run *run)
{
	struct kettle_error err = {0};
	struct export *export = xcalloc(1, sizeof(*export));
	run->work = export;
	run->ended = export_end;
	export->path = args_text(&run->args, "output");
	export->out = run->term.out;
	export->progress = isatty(STDERR_FILENO) && !run->quiet && (export->path || !run->term.tty);
	if (export->path) {
		export->out = NULL;
		if (open_file(export, exports_private(run), &err) < 0) {
			run_fail(run, &err);
			return;
		}
	}
	next_page(run, 0);
}

/* ---- leaderboard plot ---- */

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
