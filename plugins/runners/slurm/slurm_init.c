/* SPDX-License-Identifier: MIT */
/* The shared folder is prepared, in the process of the operator, who waits. */
#include <config.h>

#include "runners/slurm/slurm_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "runners/common/exec_archive.h"
#include "runners/common/init_files.h"
#include "runners/slurm/shared_folder.h"
#include "sealed/sealed.h"

struct init {
	struct slurm *slurm;
	json_t *files, *next;
	char *folder, *target, *fresh; /* where the archive is unpacked to, and where until then */
	remote_done done;
	void *arg;
};

static void
finish(struct init *init, const struct kettle_error *err)
{
	struct slurm *slurm = init->slurm;
	AUTO_JSON json_t *result = json_pack("{s:O, s:O}", "files", init->files, "next", init->next);
	init->done(init->arg, err, err->code < 0 ? NULL : result);
	json_decref(init->files);
	json_decref(init->next);
	free(init->folder);
	free(init->target);
	free(init->fresh);
	free(init);
	slurm_work_done(slurm);
}

/* The key: that of the section, else the one that is there, else a new one. */
static int
put_key(struct init *init, const json_t *args, struct kettle_error *err)
{
	AUTO_FREE char *path = path_join(init->folder, "key");
	unsigned char key[SEALED_KEY_SIZE];
	const char *own = json_text_or_null(init->slurm->section, "key");
	if (!own) {
		int rc = init_key_write(init->files, path, err);
		if (rc == 0)
			(void)json_array_append_new(init->next,
				json_sprintf("Say `key_file: %s` in the section of the runner, and keep a copy of the file.", path));
		return rc;
	}
	int rc = sealed_key_parse(own, key, err);
	explicit_bzero(key, sizeof(key));
	if (rc < 0)
		return rc;
	AUTO_FREE char *text = xasprintf("%s\n", own);
	rc = init_file_write(init->files, args, "key", text, strlen(text), 0600, err);
	explicit_bzero(text, strlen(text));
	return rc;
}

static int
make_folder(const char *folder, struct kettle_error *err)
{
	if (strpbrk(folder, "%\\\n"))
		return kettle_fail(err, KETTLE_EINVAL,
			"The path %s has a %%, a backslash or a newline, which sbatch would not take as it is.", folder);
	int rc = file_mkdirs(folder, 0700, err);
	return rc < 0 ? rc : shared_folder_make(folder, err);
}

static void
add_file(struct init *init, const char *state)
{
	(void)json_array_append_new(init->files, json_pack("{s:s, s:s}", "path", init->target, "state", state));
}

static void
on_unpacked(void *arg, const struct slurm_end *end)
{
	struct init *init = arg;
	struct kettle_error err = {0};
	AUTO_FREE char *exec = path_join(init->fresh, "bin/kettle-exec");
	if (!end->worked)
		(void)kettle_fail(&err, KETTLE_EIO, "The archive of kettle-exec cannot be unpacked: %s", end->last_stderr);
	else if (access(exec, X_OK) != 0)
		(void)kettle_fail(&err, KETTLE_EINVAL, "The archive of kettle-exec has no bin/kettle-exec.");
	else if (rename(init->fresh, init->target) != 0)
		(void)kettle_fail(&err, KETTLE_EIO, "%s cannot be made: %s.", init->target, strerror(errno));
	else
		add_file(init, "created");
	if (err.code < 0)
		(void)file_remove_tree(init->fresh, NULL);
	finish(init, &err);
}

/* 1: it is being unpacked, and on_unpacked goes on; 0: there is nothing to do. */
static int
unpack(struct init *init, struct kettle_error *err)
{
	struct slurm *slurm = init->slurm;
	AUTO_FREE char *path = exec_archive_path(slurm->section), *data = NULL;
	AUTO_ARGUMENTS struct arguments arguments = {0};
	const struct slurm_use use = {.on_end = on_unpacked, .arg = init, .max_lines = 1000};
	size_t size;
	char digest[65];
	int rc = exec_archive_read(path, &data, &size, digest, err);
	if (rc < 0)
		return rc;
	init->target = xasprintf("%s/exec/%s", init->folder, digest);
	init->fresh = xasprintf("%s/exec/.%s.%d", init->folder, digest, (int)getpid());
	if (access(init->target, F_OK) == 0) {
		add_file(init, "unchanged");
		return 0;
	}
	rc = file_mkdirs(init->fresh, 0700, err);
	if (rc < 0)
		return rc;
	const char *const words[] = {"tar", "--extract", "--xz", "--no-same-owner", "--strip-components=1", "--file", path,
		"--directory", init->fresh};
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		arguments_add(&arguments, "%s", words[i]);
	rc = slurm_command_run(slurm, &arguments, &use, err);
	return rc < 0 ? rc : 1;
}

/* The path as the configuration should say it. */
static void
say_folder(struct init *init)
{
	if (!member_is(init->slurm->section, "folder", init->folder))
		(void)json_array_append_new(init->next,
			json_sprintf("Say `folder: %s` in the section of the runner: the nodes must see it at the same path.",
				init->folder));
	(void)json_array_append_new(
		init->next, json_string("See whether the nodes take jobs with `kettle device doctor DEVICE`."));
}

static void
idle(void *arg)
{
	(void)arg;
}

/* After slurm_init has returned, as callbacks must come. */
static void
on_init(void *arg)
{
	struct init *init = arg;
	finish(init, &(struct kettle_error){0});
}

int
slurm_init(void *self, const json_t *args, remote_done done, void *arg, struct kettle_error *err)
{
	struct slurm *slurm = self;
	static const char *const none[] = {NULL};
	struct init *init = xcalloc(1, sizeof(*init));
	*init = (struct init){.slurm = slurm,
		.files = json_array(),
		.next = json_array(),
		.folder = xstrdup(json_text_or_empty(args, "folder")),
		.done = done,
		.arg = arg};
	slurm->busy++;
	int rc = init_options_check(args, none, err);
	if (rc == 0)
		rc = make_folder(init->folder, err);
	if (rc == 0)
		rc = init_file_write(init->files, args, SHARED_SCRIPT, slurm_job_script, strlen(slurm_job_script), 0700, err);
	if (rc == 0)
		rc = put_key(init, args, err);
	if (rc == 0)
		say_folder(init);
	if (rc == 0 && !json_text_or_null(slurm->section, "exec"))
		rc = unpack(init, err);
	if (rc == 0)
		rc = slurm->host->work(slurm->host, idle, on_init, init, err);
	if (rc >= 0)
		return 0;
	json_decref(init->files);
	json_decref(init->next);
	free(init->folder);
	free(init->target);
	free(init->fresh);
	free(init);
	slurm->busy--;
	return rc;
}
