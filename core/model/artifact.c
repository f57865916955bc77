/* SPDX-License-Identifier: MIT */
/* Files that jobs leave: taken over, read, removed. */
#include <config.h>

#include "model/artifact.h"

#include "base/base.h"
#include "base/file.h"
#include "base/text.h"
#include "model/blobs.h"
#include "model/download_urls.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define RUN_SUFFIX ".run"
#define PART_SUFFIX RUN_SUFFIX ".part" /* RESULT_PACKAGE_STAGE of a runner that was killed */

char *
artifact_spool(const char *database)
{
	return xasprintf("%s.spool", database);
}

/* ---- taking over ---- */

struct artifact_move {
	const char *spool, *attempt;
	char *from, *to; /* folders */
	int64_t left;    /* bytes */
	bool made;       /* `to` is there */
};

static void
free_taking(struct artifact_move *move)
{
	free_all(move->from, move->to);
}
#define AUTO_TAKING __attribute__((cleanup(free_taking)))

/* Its bytes, where they have the hash that the runner reported. */
static int
take_small(const char *path, json_t *artifact, struct kettle_error *err)
{
	char hash[65];
	AUTO_FREE char *data = NULL;
	size_t size = 0;
	int rc = file_read(path, ARTIFACT_SMALL_MAX, &data, &size, err);
	if (rc < 0)
		return rc;
	sha256_hex(data, size, hash);
	if (strcmp(hash, json_text_or_empty(artifact, "sha256")) != 0)
		return kettle_fail(
			err, KETTLE_EIO, "The file `%s` is not what its runner reported.", json_text_or_empty(artifact, "name"));
	json_object_set_new(artifact, "contents", contents_json(data, size));
	return 0;
}

/* Its name is its number: no part of the path comes from outside. */
static int
take_large(struct artifact_move *move, const char *path, size_t number, json_t *artifact, struct kettle_error *err)
{
	char name[24];
	(void)snprintf(name, sizeof(name), "%zu", number);
	AUTO_FREE char *to = path_join(move->to, name);
	if (!move->made && mkdir(move->to, 0700) != 0 && errno != EEXIST)
		return kettle_fail(err, KETTLE_EIO, "`%s` cannot be made: %s.", move->to, strerror(errno));
	move->made = true;
	if (rename(path, to) != 0)
		return kettle_fail(err, KETTLE_EIO, "`%s` cannot be kept: %s.", path, strerror(errno));
	json_object_set_new(artifact, "path", json_sprintf("%s/%s", move->attempt, name));
	return 0;
}

static int
take_one(struct artifact_move *move, size_t number, json_t *artifact, struct kettle_error *err)
{
	const char *step = json_text_or_empty(artifact, "step"), *name = json_text_or_empty(artifact, "name");
	int64_t size = member_int(artifact, "size");
	struct stat status;
	int rc = path_check_inside(step, err);
	if (rc == 0)
		rc = path_check_inside(name, err);
	if (rc < 0)
		return rc;
	AUTO_FREE char *path = xasprintf("%s/%s/%s", move->from, step, name);
	if (lstat(path, &status) != 0)
		return kettle_fail(err, KETTLE_EIO, "The file `%s` is not there: %s.", name, strerror(errno));
	if (!S_ISREG(status.st_mode) || status.st_size != size)
		return kettle_fail(err, KETTLE_EIO, "The file `%s` is not what its runner reported.", name);
	if (size > move->left)
		return kettle_fail(err, KETTLE_ETOOBIG, "The file `%s` (%lld bytes) exceeds the limit for the files of a job.",
			name, (long long)size);
	rc = size <= ARTIFACT_SMALL_MAX ? take_small(path, artifact, err) : take_large(move, path, number, artifact, err);
	if (rc == 0)
		move->left -= size;
	return rc;
}

int
artifact_take(const char *spool, const char *attempt, int64_t max_bytes, json_t *artifacts, struct kettle_error *err)
{
	AUTO_TAKING struct artifact_move move = {.spool = spool, .attempt = attempt, .left = max_bytes};
	move.from = xasprintf("%s/%s" RUN_SUFFIX, spool, attempt);
	move.to = xasprintf("%s/%s", spool, attempt);
	struct kettle_error first = {0};
	size_t i;
	json_t *artifact;
	json_array_foreach(artifacts, i, artifact) {
		struct kettle_error one = {0};
		if (take_one(&move, i, artifact, &one) < 0 && first.code == 0)
			first = one;
	}
	(void)file_remove_tree(move.from, NULL);
	return first.code < 0 ? kettle_fail(err, first.code, "%s", first.message) : 0;
}

/* ---- in the database ---- */

static int
store_one(struct db *db, int64_t job, const json_t *artifact, struct kettle_error *err)
{
	AUTO_FREE char *data = NULL;
	size_t bytes = 0;
	int64_t blob = 0, size = member_int(artifact, "size");
	const json_t *contents = json_object_get(artifact, "contents");
	const char *path = json_text_or_null(artifact, "path");
	if (!*json_text_or_empty(artifact, "name") || !*json_text_or_empty(artifact, "sha256") || size < 0)
		return kettle_fail(err, KETTLE_EINVAL, "An artifact of job %lld has no name, size or sha256.", (long long)job);
	int rc = contents ? contents_bytes(contents, &data, &bytes, err) : 0;
	if (rc == 0 && contents)
		rc = blobs_put(db, data, bytes, &blob, err);
	if (rc < 0)
		return rc;
	return db_exec(db, err,
		"INSERT INTO artifacts (job, step, name, size, sha256, path, blob, created_at, expired_at) VALUES (?1, ?2, ?3, "
		"?4, ?5, ?6, nullif(?7, 0), ?8, iif(?6 IS NULL AND NOT ?7, ?8, NULL))",
		"ississii", job, json_text_or_null(artifact, "step"), json_text_or_empty(artifact, "name"), size,
		json_text_or_empty(artifact, "sha256"), path, blob, db->now_ms);
}

int
artifact_store(struct db *db, int64_t job, const json_t *artifacts, struct kettle_error *err)
{
	int rc = 0;
	for (size_t i = 0; i < json_array_size(artifacts) && rc == 0; i++)
		rc = store_one(db, job, json_array_get(artifacts, i), err);
	return rc;
}

int
artifact_list(struct db *db, int64_t submission, json_t **ret_artifacts, struct kettle_error *err)
{
	return db_array(db, ret_artifacts, err,
		"SELECT a.id AS artifact, j.submission, a.job, j.device, a.step, a.name, a.size, a.sha256, a.created_at AS "
		"created_iso, "
		"a.expired_at AS expired_iso FROM jobs j JOIN artifacts a ON a.job = j.id WHERE j.submission = ? ORDER BY "
		"a.job, a.id",
		"i", submission);
}

int
artifact_get(struct db *db, int64_t artifact, json_t **ret_row, struct kettle_error *err)
{
	return db_object(db, ret_row, err,
		"SELECT a.id AS artifact, a.name, a.size, a.sha256, j.submission FROM artifacts a JOIN jobs j ON j.id = a.job "
		"WHERE a.id = ?",
		"i", artifact);
}

int
artifact_trim(struct db *db, int64_t job, int64_t max_bytes, json_t **ret_paths, struct kettle_error *err)
{
	AUTO_JSON json_t *rows = NULL, *paths = json_array();
	int rc = max_bytes == 0
				 ? 0
				 : db_array(db, &rows, err,
					   "SELECT id, path, flagged_at FROM (SELECT a.id, a.path, s.flagged_at, sum(a.size) OVER (ORDER "
					   "BY a.id DESC) AS total FROM artifacts a JOIN jobs j ON j.id = a.job JOIN submissions s ON s.id "
					   "= j.submission WHERE a.expired_at IS NULL AND s.user = (SELECT s.user FROM jobs j JOIN "
					   "submissions s ON s.id = j.submission WHERE j.id = ?1)) WHERE total > ?2 AND flagged_at IS NULL",
					   "ii", job, max_bytes);
	for (size_t i = 0; i < json_array_size(rows) && rc == 0; i++) {
		const json_t *row = json_array_get(rows, i);
		rc = db_exec(db, err, "UPDATE artifacts SET expired_at = ?, path = NULL, blob = NULL WHERE id = ?", "ii",
			db->now_ms, member_int(row, "id"));
		if (rc == 0 && json_text_or_null(row, "path"))
			json_array_append(paths, json_object_get(row, "path"));
	}
	if (rc == 0)
		*ret_paths = json_array_size(paths) > 0 ? STEAL(paths) : NULL;
	return rc;
}

struct chunk {
	int64_t offset, size;
	char path[64];
	char *data;
	size_t length;
};

/* path, size, then the bytes of a small one. */
static int
read_chunk(void *arg, sqlite3_stmt *row)
{
	struct chunk *chunk = arg;
	const char *path = (const char *)sqlite3_column_text(row, 0), *data = sqlite3_column_blob(row, 2);
	int64_t have = sqlite3_column_bytes(row, 2);
	(void)snprintf(chunk->path, sizeof(chunk->path), "%s", path ? path : "");
	chunk->size = sqlite3_column_int64(row, 1);
	int64_t length = have - chunk->offset < ARTIFACT_CHUNK_MAX ? have - chunk->offset : ARTIFACT_CHUNK_MAX;
	chunk->length = length > 0 ? (size_t)length : 0;
	chunk->data = xmalloc(chunk->length + 1);
	if (chunk->length > 0)
		memcpy(chunk->data, data + chunk->offset, chunk->length);
	return 1;
}

static int
read_spooled(const char *spool, struct chunk *chunk, struct kettle_error *err)
{
	AUTO_FREE char *path = path_join(spool, chunk->path);
	chunk->data = xreallocarray(chunk->data, ARTIFACT_CHUNK_MAX + 1, 1);
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t got = fd < 0 ? -1 : pread(fd, chunk->data, ARTIFACT_CHUNK_MAX, chunk->offset);
	if (got < 0)
		return kettle_fail(
			err, errno == ENOENT ? KETTLE_ENOENT : KETTLE_EIO, "The file cannot be read: %s.", strerror(errno));
	chunk->length = (size_t)got;
	return 0;
}

static int
fail_not_kept(struct kettle_error *err)
{
	return kettle_fail(err, KETTLE_ENOENT, "There is no such file, or it is no longer kept.");
}

/* The path of a large one, or the bytes of a small one from its offset on. */
static int
find_chunk(struct db *db, int64_t artifact, struct chunk *chunk, struct kettle_error *err)
{
	int rc = db_query(db, err, read_chunk, chunk,
		"SELECT a.path, a.size, b.data FROM artifacts a LEFT JOIN blobs b ON b.id = a.blob WHERE a.id = ? AND "
		"a.expired_at IS NULL",
		"i", artifact);
	if (rc == 0)
		return fail_not_kept(err);
	return rc < 0 ? rc : 0;
}

int
artifact_lend(
	struct db *db, const char *spool, const char *folder, int64_t artifact, char **ret_path, struct kettle_error *err)
{
	char name[65];
	struct chunk chunk = {0};
	int rc = find_chunk(db, artifact, &chunk, err);
	AUTO_FREE char *data = chunk.data, *from = path_join(spool, chunk.path), *token = random_token("", name);
	if (rc == 0)
		rc = *chunk.path ? download_url_lend(folder, name, from, db->now_ms, err)
						 : download_url_write(folder, name, data, chunk.length, NULL, db->now_ms, err);
	if (rc == KETTLE_ENOENT)
		return fail_not_kept(err);
	if (rc == 0)
		*ret_path = path_join(folder, name);
	return rc;
}

int
artifact_read(struct db *db, const char *spool, int64_t artifact, int64_t offset, char **ret_data, size_t *ret_size,
	struct kettle_error *err)
{
	struct chunk chunk = {.offset = offset};
	int rc = find_chunk(db, artifact, &chunk, err);
	if (rc == 0 && *chunk.path)
		rc = read_spooled(spool, &chunk, err);
	if (rc < 0) {
		free(chunk.data);
		return rc;
	}
	*ret_data = chunk.data;
	*ret_size = chunk.length;
	return 0;
}

/* ---- what is left over ---- */

/* "12.1", "12.1.run" and "12.1.run.part"; anything else in the folder is not ours. */
static bool
parse_name(const char *name, int64_t *ret_job, int64_t *ret_attempt, bool *ret_running)
{
	char *end;
	errno = 0;
	long long job = strtoll(name, &end, 10);
	if (job < 1 || *end != '.' || end[1] < '0' || end[1] > '9')
		return false;
	long long attempt = strtoll(end + 1, &end, 10);
	*ret_job = job;
	*ret_attempt = attempt;
	*ret_running = strcmp(end, RUN_SUFFIX) == 0 || strcmp(end, PART_SUFFIX) == 0;
	return errno == 0 && (*ret_running || !*end);
}

int
artifact_folders(const char *spool, json_t **ret_names, struct kettle_error *err)
{
	AUTO_DIR DIR *folder = opendir(spool);
	AUTO_JSON json_t *names = json_array();
	int64_t job, attempt;
	bool running;
	const struct dirent *entry;
	if (!folder && errno != ENOENT)
		return kettle_fail(err, KETTLE_EIO, "`%s` cannot be read: %s.", spool, strerror(errno));
	while (folder && json_array_size(names) < ARTIFACT_FOLDERS_MAX && (entry = readdir(folder)))
		if (parse_name(entry->d_name, &job, &attempt, &running))
			json_array_append_new(names, json_string(entry->d_name));
	*ret_names = STEAL(names);
	return 0;
}

/* A running attempt has both folders: files it leaves, and files already taken over from it. */
static int
is_artifact_known(struct db *db, const char *name, bool *ret_known, struct kettle_error *err)
{
	int64_t job = 0, attempt = 0, known = 0;
	bool running = false;
	if (!parse_name(name, &job, &attempt, &running)) {
		*ret_known = true;
		return 0;
	}
	int rc = db_int(db, &known, err,
		"SELECT EXISTS (SELECT 1 FROM jobs WHERE id = ?1 AND state = 'running' AND attempt = ?2) OR NOT ?3 AND EXISTS "
		"(SELECT 1 FROM artifacts WHERE job = ?1 AND substr(path, 1, length(?4) + 1) = ?4 || '/' AND expired_at IS "
		"NULL)",
		"iiis", job, attempt, (int64_t)running, name);
	*ret_known = known;
	return rc;
}

int
artifact_unknown(struct db *db, const json_t *names, json_t **ret_unknown, struct kettle_error *err)
{
	AUTO_JSON json_t *unknown = json_array();
	int rc = 0;
	for (size_t i = 0; i < json_array_size(names) && rc == 0; i++) {
		bool known = true;
		json_t *name = json_array_get(names, i);
		rc = is_artifact_known(db, json_string_value(name), &known, err);
		if (rc == 0 && !known)
			json_array_append(unknown, name);
	}
	if (rc == 0)
		*ret_unknown = STEAL(unknown);
	return rc;
}

/* Bytes of the files in a folder and `depth` levels below. The sizes of the folders themselves are not counted. */
static int64_t
bytes_below(const char *path, int depth)
{
	AUTO_DIR DIR *folder = opendir(path);
	int64_t bytes = 0;
	const struct dirent *entry;
	while (folder && (entry = readdir(folder))) {
		struct stat status;
		AUTO_FREE char *name = path_join(path, entry->d_name);
		if (entry->d_name[0] == '.' || !name || lstat(name, &status) != 0)
			continue;
		if (S_ISDIR(status.st_mode))
			bytes += depth > 0 ? bytes_below(name, depth - 1) : 0;
		else
			bytes += status.st_size;
	}
	return bytes;
}

int64_t
artifact_remove(const char *spool, const json_t *names)
{
	int64_t bytes = 0;
	json_array_each(names, name) {
		AUTO_FREE char *path = path_join(spool, json_string_value(name));
		bytes += bytes_below(path, 2);
		(void)file_remove_tree(path, NULL);
	}
	return bytes;
}
