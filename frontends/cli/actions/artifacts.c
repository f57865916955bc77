/* SPDX-License-Identifier: MIT */
/*
 * `kettle submission download`: fetches or lists the files that jobs left.
 *
 * Each file that is still kept is fetched part by part and written to DIR/DEVICE/STEP/NAME; a file of an earlier job
 * of the device, which a rerun replaced, to DIR/DEVICE.JOB/…. The zip of a profile is unpacked there. A submission may
 * have chosen the names, so files stay below DIR, no link is followed, and no existing file is overwritten. An
 * incomplete file is removed.
 */
#include <config.h>

#include "cli/actions/actions.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/base.h"
#include "base/contents.h"
#include "base/file.h"
#include "base/io.h"
#include "common/template.h"

const struct args_option artifacts_options[] = {
	{"output", 'o', "DIR", "the folder to write the files to; default: submission-ID"},
	{"list", 0, NULL, "only list the files, by the paths that they would get"},
	{NULL, 0, NULL, NULL},
};

/* The name of the zip into which the core packs a profile (model/profile_pack.h). */
#define PROFILE_ZIP "profile.zip"

/* The list that is being fetched, kept until its end. */
struct artifacts {
	char *dir;
	json_t *list; /* a fetched file also gets "path" and "fetched", its bytes */
	size_t at;    /* index of the file being fetched */
	int64_t size; /* bytes of it that are written */
	char *part;   /* its path below DIR until it is complete; NULL: no file yet */
};

static void fetch_next(struct run *run);

/* Whether a later job of the same device left artifacts as well. */
static bool
is_superseded(const json_t *list, const json_t *artifact)
{
	json_array_each(list, other)
		if (member_is(other, "device", json_text_or_empty(artifact, "device")) &&
			member_int(other, "job") > member_int(artifact, "job"))
			return true;
	return false;
}

/* Makes the path of an artifact below DIR; new string. */
static int
path_below_dir(const json_t *list, const json_t *artifact, char **ret_below, struct kettle_error *err)
{
	const char *device = json_text_or_empty(artifact, "device");
	AUTO_FREE char *folder = is_superseded(list, artifact)
								 ? xasprintf("%s.%lld", device, (long long)member_int(artifact, "job"))
								 : xstrdup(device);
	AUTO_FREE char *below =
		xasprintf("%s/%s/%s", folder, json_text_or_empty(artifact, "step"), json_text_or_empty(artifact, "name"));
	int rc = path_check_inside(below, err);
	if (rc == 0)
		*ret_below = STEAL(below);
	return rc;
}

/* Appends a part to its file; the first part creates the file. */
static int
write_part(struct artifacts *artifacts, const char *dir, const char *below, const json_t *part, size_t *ret_size,
	struct kettle_error *err)
{
	const char *base64 = json_text_or_empty(part, "base64");
	AUTO_FREE void *data = NULL;
	if (base64_decode(base64, strlen(base64), &data, ret_size) < 0)
		return kettle_fail(err, KETTLE_EINTERNAL, "The engine sent data that is not base64.");
	AUTO_FD int fd = save_open_below(dir, below, artifacts->part ? 0 : O_CREAT | O_EXCL);
	if (fd >= 0 && !artifacts->part)
		artifacts->part = xstrdup(below);
	if (fd < 0 && errno == EEXIST) {
		AUTO_FREE char *path = path_join(dir, below);
		return save_fail(path, errno, err);
	}
	if (fd < 0 || lseek(fd, (off_t)artifacts->size, SEEK_SET) < 0 || write_all(fd, data, *ret_size) < 0)
		return kettle_fail(err, errno == ENOTDIR || errno == ELOOP ? KETTLE_ECONFLICT : KETTLE_EIO,
			"`%s/%s` cannot be written: %s.", dir, below, strerror(errno));
	return 0;
}

/* ---- the zip of a profile ---- */

struct unpacking {
	char *dir, *below;
	json_t *files;
	struct kettle_error err;
};

static void
unpacking_work(void *arg)
{
	struct unpacking *unpacking = arg;
	(void)unpack_zip(unpacking->dir, unpacking->below, &unpacking->files, &unpacking->err);
}

static void
unpacking_free(void *arg)
{
	struct unpacking *unpacking = arg;
	free_all(unpacking->dir, unpacking->below);
	json_decref(unpacking->files);
	free(unpacking);
}

/* Replaces the zip in the list by its files; each has the facts of the zip. */
static void
on_unpacked(struct run *run, void *arg)
{
	struct artifacts *artifacts = run->work;
	const struct unpacking *unpacking = arg;
	if (unpacking->err.code < 0) {
		run_fail(run, &unpacking->err);
		return;
	}
	AUTO_JSON json_t *zip = json_incref(json_array_get(artifacts->list, artifacts->at));
	(void)json_array_remove(artifacts->list, artifacts->at);
	json_array_each(unpacking->files, file) {
		(void)json_object_del(zip, "sha256");
		(void)json_object_update_missing(file, zip);
		(void)json_object_set(file, "fetched", json_object_get(file, "size"));
		(void)json_array_insert(artifacts->list, artifacts->at++, file);
	}
	fetch_next(run);
}

static void
unpack_fetched(struct run *run, const char *below)
{
	struct artifacts *artifacts = run->work;
	struct unpacking *unpacking = xcalloc(1, sizeof(*unpacking));
	unpacking->dir = xstrdup(artifacts->dir);
	unpacking->below = xstrdup(below);
	run_work(run, unpacking_work, unpacking_free, unpacking, on_unpacked);
}

/* ---- fetching ---- */

/* Writes a part. *ret_whole: the path below the folder if the part completes its file; new string. */
static int
take_part(struct artifacts *artifacts, const json_t *part, char **ret_whole, struct kettle_error *err)
{
	json_t *artifact = json_array_get(artifacts->list, artifacts->at);
	AUTO_FREE char *below = NULL;
	int64_t rest = member_int(artifact, "size") - artifacts->size;
	size_t size = 0;
	int rc = path_below_dir(artifacts->list, artifact, &below, err);
	if (rc == 0)
		rc = file_mkdirs(artifacts->dir, 0755, err);
	if (rc == 0)
		rc = write_part(artifacts, artifacts->dir, below, part, &size, err);
	if (rc < 0)
		return rc;
	AUTO_FREE char *path = path_join(artifacts->dir, below);
	if ((int64_t)size > rest || (size == 0 && rest > 0))
		return kettle_fail(err, KETTLE_EIO, "The size of `%s` changed while it was fetched.", path);
	artifacts->size += (int64_t)size;
	if ((int64_t)size < rest)
		return 0;
	json_object_set_new(artifact, "fetched", json_integer(artifacts->size));
	json_object_set_new(artifact, "path", json_string(path));
	artifacts->size = 0;
	free(STEAL(artifacts->part));
	*ret_whole = STEAL(below);
	return 0;
}

static void
on_fetched(struct run *run, const json_t *part)
{
	struct artifacts *artifacts = run->work;
	AUTO_FREE char *whole = NULL;
	struct kettle_error err = {0};
	if (take_part(artifacts, part, &whole, &err) < 0) {
		run_fail(run, &err);
		return;
	}
	if (whole && member_is(json_array_get(artifacts->list, artifacts->at), "name", PROFILE_ZIP)) {
		unpack_fetched(run, whole);
		return;
	}
	artifacts->at += whole != NULL;
	fetch_next(run);
}

/* Calls for the next part; skips artifacts that are not kept any more. */
static void
fetch_next(struct run *run)
{
	struct artifacts *artifacts = run->work;
	const json_t *artifact;
	while ((artifact = json_array_get(artifacts->list, artifacts->at)) && json_text_or_null(artifact, "expired"))
		artifacts->at++;
	if (!artifact) {
		AUTO_JSON json_t *list = json_incref(artifacts->list);
		run_result(run, list);
		return;
	}
	AUTO_JSON json_t *args =
		json_pack("{s:I, s:I}", "artifact", member_int(artifact, "artifact"), "offset", (json_int_t)artifacts->size);
	run_call(run, "submission.artifact", args, on_fetched);
}

static void
artifacts_end(struct run *run)
{
	struct artifacts *artifacts = run->work;
	if (artifacts->part)
		save_remove_below(artifacts->dir, artifacts->part);
	free_all(artifacts->part, artifacts->dir);
	json_decref(artifacts->list);
	free(artifacts);
}

/* Fetches the files of a list into a folder. */
static void
fetch(struct run *run, const json_t *list, char *dir_take)
{
	struct artifacts *artifacts = xcalloc(1, sizeof(*artifacts));
	artifacts->list = json_deep_copy(list);
	artifacts->dir = dir_take;
	run->work = artifacts;
	run->ended = artifacts_end;
	fetch_next(run);
}

/* Prints the list with the paths that a download writes; for the zip of a profile, the folder that it becomes. */
static void
list_paths(struct run *run, const json_t *result, const char *dir)
{
	AUTO_JSON json_t *list = json_deep_copy(result);
	json_array_each(list, artifact) {
		AUTO_FREE char *below = NULL;
		if (path_below_dir(list, artifact, &below, NULL) < 0)
			continue;
		if (member_is(artifact, "name", PROFILE_ZIP))
			strrchr(below, '/')[1] = '\0';
		json_object_set_new(artifact, "path", json_sprintf("%s/%s", dir, below));
	}
	run_result(run, list);
}

void
artifacts_answer(struct run *run, const json_t *result)
{
	const char *named = args_text(&run->args, "output");
	int64_t id = member_int(json_array_get(result, 0), "submission");
	AUTO_FREE char *dir = named ? xstrdup(named) : xasprintf("submission-%lld", (long long)id);
	if (json_object_get(run->args.own, "list"))
		list_paths(run, result, dir);
	else
		fetch(run, result, STEAL(dir));
}

/* ---- printing ---- */

/* Sorts files for people before files that only programs read. */
static int
path_rank(const char *path)
{
	static const char *const endings[] = {".txt", ".csv", ".json", ".svg"};
	size_t rank = 0, len = strlen(path);
	while (rank < ARRAY_SIZE(endings) &&
		   (len < strlen(endings[rank]) || strcmp(path + len - strlen(endings[rank]), endings[rank]) != 0))
		rank++;
	return (int)rank;
}

void
artifacts_render(struct run *run, const json_t *result)
{
	FILE *out = run->term.out;
	bool fetched = false;
	json_array_each(result, file)
		fetched = fetched || json_object_get(file, "fetched");
	if (!fetched) {
		run_view(run, result);
		return;
	}
	for (int rank = 0; rank <= path_rank(""); rank++)
		json_array_each(result, file)
			if (json_text_or_null(file, "path") && path_rank(json_text_or_empty(file, "path")) == rank) {
				term_sanitize(out, json_text_or_empty(file, "path"), 0);
				fputc('\n', out);
			}
	json_array_each(result, file)
		if (!json_text_or_null(file, "path"))
			template_put(&run->term, "{device} {step} {name}: not kept\n", file, NULL);
}
