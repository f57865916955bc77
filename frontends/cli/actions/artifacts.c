/* SPDX-License-Identifier: MIT */
/*
 * `kettle submission artifacts`: the files that jobs left, listed or fetched.
 *
 * With -o each file that is still kept is asked for part by part and written to DIR/DEVICE/STEP/NAME; one of an earlier
 * job of the device, which a rerun took the place of, to DIR/DEVICE.JOB/…. Names came from what a submission did: they
 * stay below DIR, and nothing that is there is overwritten.
 */
#include <config.h>

#include "cli/actions/actions.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json_access.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "cli/text/format.h"
#include "cli/text/table.h"

const struct args_option artifacts_options[] = {
	{"output", 'o', "DIR", "fetches the files into this folder"},
	{NULL, 0, NULL, NULL},
};

static void artifacts_next(struct run *run);

static json_t *
list_of(struct run *run)
{
	return json_object_get(run->args.own, "list");
}

/* The one that is fetched; what is not kept any more is passed over. NULL: all are there. */
static json_t *
current(struct run *run)
{
	json_t *artifact = NULL;
	size_t i;
	json_array_foreach(list_of(run), i, artifact) {
		if (!json_is_string(json_object_get(artifact, "expired")) && !json_object_get(artifact, "path"))
			return artifact;
	}
	return NULL;
}

/* Whether another job of the device comes after this one. */
static bool
is_superseded(struct run *run, const json_t *artifact)
{
	size_t i;
	json_t *other;
	json_array_foreach(list_of(run), i, other) {
		if (strcmp(member_text(other, "device"), member_text(artifact, "device")) == 0 &&
			member_int(other, "job") > member_int(artifact, "job"))
			return true;
	}
	return false;
}

/* Where it goes; its folders are made. */
static int
make_target(struct run *run, const json_t *artifact, char **ret_path, struct kettle_error *err)
{
	AUTO_FREE char *job =
		is_superseded(run, artifact) ? xasprintf(".%lld", (long long)member_int(artifact, "job")) : NULL;
	AUTO_FREE char *below = xasprintf("%s%s/%s/%s", member_text(artifact, "device"), job ? job : "",
		member_text(artifact, "step"), member_text(artifact, "name"));
	AUTO_FREE char *path = path_join(args_text(&run->args, "output"), below);
	AUTO_FREE char *folder = xstrndup(path, (size_t)(strrchr(path, '/') - path));
	int rc = path_check_inside(below, err);
	if (rc == 0)
		rc = file_mkdirs(folder, 0755, err);
	if (rc == 0)
		*ret_path = STEAL(path);
	return rc;
}

/* Appends a part; the first one makes the file. */
static int
write_part(const char *path, int64_t offset, const json_t *part, size_t *ret_size, struct kettle_error *err)
{
	const char *base64 = member_text(part, "base64");
	AUTO_FREE void *data = NULL;
	if (base64_decode(base64, strlen(base64), &data, ret_size) < 0)
		return kettle_fail(err, KETTLE_EINTERNAL, "The engine sent something that is no file.");
	AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | (offset ? 0 : O_CREAT | O_EXCL), 0644);
	if (fd < 0)
		return kettle_fail(
			err, errno == EEXIST ? KETTLE_ECONFLICT : KETTLE_EIO, "`%s` cannot be written: %s.", path, strerror(errno));
	for (size_t at = 0; at < *ret_size;) {
		ssize_t n = pwrite(fd, (char *)data + at, *ret_size - at, (off_t)offset + (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return kettle_fail(err, KETTLE_EIO, "`%s` cannot be written: %s.", path, strerror(n ? errno : ENOSPC));
		at += (size_t)n;
	}
	return 0;
}

static int
take_part(struct run *run, json_t *artifact, const json_t *part, struct kettle_error *err)
{
	AUTO_FREE char *path = NULL;
	int64_t offset = member_int(artifact, "fetched"), whole = member_int(artifact, "size");
	size_t size = 0;
	int rc = make_target(run, artifact, &path, err);
	if (rc == 0)
		rc = write_part(path, offset, part, &size, err);
	if (rc < 0)
		return rc;
	if ((int64_t)size > whole - offset || (size == 0 && offset < whole))
		return kettle_fail(err, KETTLE_EIO, "`%s` is not as long as it was.", path);
	offset += (int64_t)size;
	(void)json_object_set_new(artifact, "fetched", json_integer(offset));
	if (offset == whole)
		(void)json_object_set_new(artifact, "path", json_string(path));
	return 0;
}

static void
on_fetched(struct run *run, const json_t *part)
{
	struct kettle_error err = {0};
	if (take_part(run, current(run), part, &err) < 0)
		run_fail(run, &err);
	else
		artifacts_next(run);
}

static void
artifacts_next(struct run *run)
{
	json_t *artifact = current(run);
	if (!artifact) {
		run_result(run, list_of(run));
		return;
	}
	AUTO_JSON json_t *args = json_pack(
		"{s:I, s:I}", "artifact", member_int(artifact, "artifact"), "offset", member_int(artifact, "fetched"));
	run_call(run, "submission.artifact", args, on_fetched);
}

void
artifacts_answer(struct run *run, const json_t *result)
{
	if (!args_text(&run->args, "output")) {
		run_result(run, result);
		return;
	}
	(void)json_object_set_new(run->args.own, "list", json_deep_copy(result));
	artifacts_next(run);
}
