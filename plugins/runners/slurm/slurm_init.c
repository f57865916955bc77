/* SPDX-License-Identifier: MIT */
/* Prepares the shared folder, in the process of the operator, who waits. */
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
#include "sealed/sealed.h"

struct unpacking {
	struct slurm *slurm;
	json_t *result; /* the answer of init */
	char *folder;
	char *target, *fresh; /* where the archive belongs; where it is unpacked */
	kettle_answer done;
	void *arg;
};

/* Writes the key: the section's, else the existing one, else a new one. */
static int
put_key(struct init *init, const char *folder, struct kettle_error *err)
{
	AUTO_FREE char *path = path_join(folder, "key");
	unsigned char key[SEALED_KEY_SIZE];
	const char *own = json_text_or_null(init->section, "key");
	if (!own) {
		int rc = init_key_write(init, path, err);
		if (rc == 0)
			init_say(init, "Set `key_file: %s` in the section of the runner, and keep a copy of the file.", path);
		return rc;
	}
	int rc = sealed_key_parse(own, key, err);
	explicit_bzero(key, sizeof(key));
	if (rc < 0)
		return rc;
	AUTO_FREE char *text = xasprintf("%s\n", own);
	rc = init_file_write(init, "key", text, strlen(text), 0600, err);
	explicit_bzero(text, strlen(text));
	return rc;
}

static int
make_folder(const char *folder, struct kettle_error *err)
{
	if (strpbrk(folder, "%\\\n"))
		return kettle_fail(
			err, KETTLE_EINVAL, "The path %s has a %%, a backslash or a newline, which sbatch would change.", folder);
	int rc = file_mkdirs(folder, 0700, err);
	return rc < 0 ? rc : shared_folder_make(folder, err);
}

static int
write_files(struct init *init, struct kettle_error *err)
{
	static const char *const none[] = {NULL};
	const char *folder = json_text_or_empty(init->args, "folder");
	int rc = init_options_check(init->args, none, err);
	if (rc == 0)
		rc = make_folder(folder, err);
	if (rc == 0)
		rc = init_file_write(init, SHARED_SCRIPT, slurm_job_script, strlen(slurm_job_script), 0700, err);
	if (rc == 0)
		rc = put_key(init, folder, err);
	if (rc < 0)
		return rc;
	if (!member_is(init->section, "folder", folder))
		init_say(
			init, "Set `folder: %s` in the section of the runner: the nodes must see it at the same path.", folder);
	init_say(init, "Check with `kettle device doctor DEVICE` whether the nodes accept jobs.");
	return 0;
}

static void
finish(struct unpacking *unpacking, const struct kettle_error *err)
{
	struct slurm *slurm = unpacking->slurm;
	unpacking->done(unpacking->arg, err, err->code < 0 ? NULL : unpacking->result);
	json_decref(unpacking->result);
	free_all(unpacking->folder, unpacking->target, unpacking->fresh, unpacking);
	slurm_work_done(slurm);
}

static void
add_archive(const struct unpacking *unpacking, const char *state)
{
	init_file_add(json_object_get(unpacking->result, "files"), unpacking->target, state);
}

static void
on_unpacked(void *arg, const struct command_end *end)
{
	struct unpacking *unpacking = arg;
	struct kettle_error err = {0};
	AUTO_FREE char *exec = path_join(unpacking->fresh, "bin/kettle-exec");
	if (!end->worked)
		(void)kettle_fail(&err, KETTLE_EIO, "The archive of kettle-exec cannot be unpacked: %s", end->why);
	else if (access(exec, X_OK) != 0)
		(void)kettle_fail(&err, KETTLE_EINVAL, "The archive of kettle-exec has no bin/kettle-exec.");
	else if (rename(unpacking->fresh, unpacking->target) != 0)
		(void)kettle_fail(&err, KETTLE_EIO, "%s cannot be made: %s.", unpacking->target, strerror(errno));
	else
		add_archive(unpacking, "created");
	if (err.code < 0)
		(void)file_remove_tree(unpacking->fresh, NULL);
	finish(unpacking, &err);
}

/* Returns 1: it is being unpacked, and on_unpacked goes on; 0: it exists. */
static int
unpack(struct unpacking *unpacking, struct kettle_error *err)
{
	struct slurm *slurm = unpacking->slurm;
	AUTO_FREE char *path = exec_archive_path(slurm->section), *data = NULL;
	AUTO_ARGUMENTS struct arguments arguments = {0};
	const struct command_use use = {.on_end = on_unpacked, .arg = unpacking, .max_lines = 1000};
	size_t size;
	char digest[65];
	int rc = exec_archive_read(path, &data, &size, digest, err);
	if (rc < 0)
		return rc;
	unpacking->target = xasprintf("%s/exec/%s", unpacking->folder, digest);
	unpacking->fresh = xasprintf("%s/exec/.%s.%d", unpacking->folder, digest, (int)getpid());
	if (access(unpacking->target, F_OK) == 0) {
		add_archive(unpacking, "unchanged");
		return 0;
	}
	rc = file_mkdirs(unpacking->fresh, 0700, err);
	if (rc < 0)
		return rc;
	const char *const words[] = {"tar", "--extract", "--xz", "--no-same-owner", "--strip-components=1", "--file", path,
		"--directory", unpacking->fresh};
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		arguments_add(&arguments, "%s", words[i]);
	rc = slurm_run(slurm, &arguments, use, err);
	return rc < 0 ? rc : 1;
}

static void
on_written(void *arg, const struct kettle_error *err, json_t *result)
{
	struct unpacking *unpacking = arg;
	struct kettle_error why = *err;
	unpacking->result = json_incref(result);
	if (why.code == 0 && !json_text_or_null(unpacking->slurm->section, "exec") && unpack(unpacking, &why) > 0)
		return;
	finish(unpacking, &why);
}

int
slurm_init(void *self, const json_t *args, kettle_answer done, void *arg, struct kettle_error *err)
{
	struct slurm *slurm = self;
	struct unpacking *unpacking = xnew(struct unpacking, .slurm = slurm,
		.folder = xstrdup(json_text_or_empty(args, "folder")), .done = done, .arg = arg);
	slurm->busy++;
	int rc = init_run(slurm->host, slurm->section, args, write_files, on_written, unpacking, err);
	if (rc == 0)
		return 0;
	free_all(unpacking->folder, unpacking);
	slurm->busy--;
	return rc;
}
