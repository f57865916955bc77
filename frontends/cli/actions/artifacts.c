/* SPDX-License-Identifier: MIT */
/*
 * `kettle submission artifacts`: the files that jobs left, listed or fetched.
 *
 * With -o each file that is still kept is fetched part by part and written to DIR/DEVICE/STEP/NAME; a file of an earlier
 * job of the device, which a rerun replaced, to DIR/DEVICE.JOB/…. The names come from what a submission did: they stay
 * below DIR, where no link is followed, and no existing file is overwritten. A file that does not become whole is removed.
 */
#include <config.h>

#include "cli/actions/actions.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/contents.h"
#include "base/file.h"
#include "base/io.h"
#include "base/json_access.h"
#include "base/xalloc.h"

const struct args_option artifacts_options[] = {
	{"output", 'o', "DIR", "fetches the files into this folder"},
	{NULL, 0, NULL, NULL},
};

/* Fetching of a list, kept while it lasts. */
struct artifacts {
	json_t *list; /* each gets "path" and "fetched", its bytes, when it is written */
	size_t at;    /* the one that is fetched now */
	int64_t size; /* of its bytes that are written */
	char *part;   /* its path below DIR as long as it is not whole; NULL: there is no file yet */
};

static void fetch_next(struct run *run);

/* Whether a later job of the same device left artifacts as well. */
static bool
is_superseded(const json_t *list, const json_t *artifact)
{
	size_t i;
	json_t *other;
	json_array_foreach(list, i, other)
		if (member_is(other, "device", member_text(artifact, "device")) &&
			member_int(other, "job") > member_int(artifact, "job"))
			return true;
	return false;
}

/* The path of an artifact below DIR; new string. */
static int
path_below_dir(const struct artifacts *artifacts, const json_t *artifact, char **ret_below, struct kettle_error *err)
{
	const char *device = member_text(artifact, "device");
	AUTO_FREE char *folder = is_superseded(artifacts->list, artifact)
								 ? xasprintf("%s.%lld", device, (long long)member_int(artifact, "job"))
								 : xstrdup(device);
	AUTO_FREE char *below = xasprintf("%s/%s/%s", folder, member_text(artifact, "step"), member_text(artifact, "name"));
	int rc = path_check_inside(below, err);
	if (rc == 0)
		*ret_below = STEAL(below);
	return rc;
}

/* Opens the folder of a path below dir; no folder on the way is a link. Cuts the path as save_open_parent. */
static int
open_folder_below(const char *dir, char *below, char **ret_name)
{
	AUTO_FD int top = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return top < 0 ? -1 : save_open_parent(top, below, ret_name);
}

/* Opens the file of a path below dir, for its first part a new one. -1 with errno. */
static int
open_below(const char *dir, const char *below, bool first)
{
	AUTO_FREE char *parts = xstrdup(below);
	char *name = NULL;
	AUTO_FD int parent = open_folder_below(dir, parts, &name);
	if (parent < 0)
		return -1;
	return openat(parent, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | (first ? O_CREAT | O_EXCL : 0), 0644);
}

static void
remove_below(const char *dir, char *below)
{
	char *name = NULL;
	AUTO_FD int parent = open_folder_below(dir, below, &name);
	if (parent >= 0)
		(void)unlinkat(parent, name, 0);
}

/* Writes a part behind the parts before it; the first one creates the file. */
static int
write_part(struct artifacts *artifacts, const char *dir, const char *below, const json_t *part, size_t *ret_size,
	struct kettle_error *err)
{
	const char *base64 = member_text(part, "base64");
	AUTO_FREE void *data = NULL;
	if (base64_decode(base64, strlen(base64), &data, ret_size) < 0)
		return kettle_fail(err, KETTLE_EINTERNAL, "The engine sent data that is not base64.");
	AUTO_FD int fd = open_below(dir, below, !artifacts->part);
	if (fd >= 0 && !artifacts->part)
		artifacts->part = xstrdup(below);
	if (fd < 0 || lseek(fd, (off_t)artifacts->size, SEEK_SET) < 0 || write_all(fd, data, *ret_size) < 0)
		return kettle_fail(err, errno == EEXIST || errno == ENOTDIR || errno == ELOOP ? KETTLE_ECONFLICT : KETTLE_EIO,
			"`%s/%s` cannot be written: %s.", dir, below, strerror(errno));
	return 0;
}

static int
take_part(struct run *run, const json_t *part, struct kettle_error *err)
{
	struct artifacts *artifacts = run->work;
	json_t *artifact = json_array_get(artifacts->list, artifacts->at);
	const char *dir = args_text(&run->args, "output");
	AUTO_FREE char *below = NULL;
	int64_t rest = member_int(artifact, "size") - artifacts->size;
	size_t size = 0;
	int rc = path_below_dir(artifacts, artifact, &below, err);
	if (rc == 0)
		rc = file_mkdirs(dir, 0755, err);
	if (rc == 0)
		rc = write_part(artifacts, dir, below, part, &size, err);
	if (rc < 0)
		return rc;
	AUTO_FREE char *path = path_join(dir, below);
	if ((int64_t)size > rest || (size == 0 && rest > 0))
		return kettle_fail(err, KETTLE_EIO, "The size of `%s` changed while it was fetched.", path);
	artifacts->size += (int64_t)size;
	if ((int64_t)size < rest)
		return 0;
	json_object_set_new(artifact, "fetched", json_integer(artifacts->size));
	json_object_set_new(artifact, "path", json_string(path));
	artifacts->at++;
	artifacts->size = 0;
	free(STEAL(artifacts->part));
	return 0;
}

static void
on_fetched(struct run *run, const json_t *part)
{
	struct kettle_error err = {0};
	if (take_part(run, part, &err) < 0)
		run_fail(run, &err);
	else
		fetch_next(run);
}

/* Calls for the next part; artifacts that are not kept any more are skipped. */
static void
fetch_next(struct run *run)
{
	struct artifacts *artifacts = run->work;
	const json_t *artifact;
	while ((artifact = json_array_get(artifacts->list, artifacts->at)) && member_string(artifact, "expired"))
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
		remove_below(args_text(&run->args, "output"), artifacts->part);
	free(artifacts->part);
	json_decref(artifacts->list);
	free(artifacts);
}

void
artifacts_answer(struct run *run, const json_t *result)
{
	if (!args_text(&run->args, "output")) {
		run_result(run, result);
		return;
	}
	struct artifacts *artifacts = xcalloc(1, sizeof(*artifacts));
	artifacts->list = json_deep_copy(result);
	run->work = artifacts;
	run->ended = artifacts_end;
	fetch_next(run);
}
