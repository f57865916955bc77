/* SPDX-License-Identifier: MIT */
/* The names of jobs on remote sides, and whether a database is a copy of the one that the names belong to. */
#include <config.h>

#include "model/remote_names.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "model/settings.h"

#define EPOCH_FILE_MAX 200 /* bytes: two epochs */

/* DB.mark; NULL: the database is in memory. New string. */
static char *
epoch_path(const struct db *db)
{
	const char *path = sqlite3_db_filename(db->handle, "main");
	return path && *path ? xasprintf("%s.mark", path) : NULL;
}

static void
draw(char *text, size_t words)
{
	for (size_t i = 0; i < words; i++) {
		uint32_t bits;
		random_bytes(&bits, sizeof(bits));
		(void)snprintf(text + 8 * i, 9, "%08x", bits);
	}
}

/* Flushed: if the disk lost the epoch, the database would look like a copy. */
static int
write_epochs(const struct db *db, const char *epoch, const char *before, struct kettle_error *err)
{
	AUTO_FREE char *path = epoch_path(db);
	AUTO_FREE char *text = xasprintf("%s\n%s%s", epoch, before, *before ? "\n" : "");
	int rc = file_write(path, text, strlen(text), 0600, err);
	AUTO_FD int fd = rc == 0 ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
	if (rc == 0 && (fd < 0 || fsync(fd) != 0))
		rc = kettle_fail(err, KETTLE_EIO, "%s cannot be written: %s.", path, strerror(errno));
	return rc;
}

/* Whether the file is where the database says that it was. place: {"device", "inode", "mark", "at"}. */
static bool
is_in_place(const struct db *db, const json_t *place, const struct stat *status)
{
	AUTO_FREE char *path = epoch_path(db), *epochs = NULL;
	const char *epoch = json_text_or_empty(place, "mark");
	size_t size;
	if (member_int(place, "inode") != (json_int_t)status->st_ino)
		return false;
	/* It was moved without its epoch, or could not write one. The number of a device may change when a machine starts. */
	if (!*epoch || file_read(path, EPOCH_FILE_MAX, &epochs, &size, NULL) < 0)
		return member_int(place, "device") == (json_int_t)status->st_dev;
	return strstr(epochs, epoch) != NULL;
}

static int
store_place(struct db *db, const json_t *before, const struct stat *status, struct remote_names *names,
	struct kettle_error *err)
{
	struct kettle_error why = {0};
	draw(names->database_epoch, 4);
	if (write_epochs(db, names->database_epoch, before ? json_text_or_empty(before, "mark") : "", &why) < 0) {
		log_write(KETTLE_LOG_WARNING, "engine", "a copy of the database may not be noticed: %s", why.message);
		names->database_epoch[0] = '\0';
	}
	AUTO_JSON json_t *place = json_pack("{s:I, s:I, s:s, s:I}", "device", (json_int_t)status->st_dev, "inode",
		(json_int_t)status->st_ino, "mark", names->database_epoch, "at", (json_int_t)db->now_ms);
	return setting_put(db, "remote_place", place, err);
}

static int
draw_prefix(struct db *db, struct remote_names *names, struct kettle_error *err)
{
	draw(names->prefix, 1);
	AUTO_JSON json_t *prefix = json_string(names->prefix);
	int rc = setting_put(db, "remote_prefix", prefix, err);
	if (rc == 0)
		rc = db_int(db, &names->released, err,
			"SELECT count(*) FROM jobs WHERE done_at IS NULL AND state = 'running' AND handle IS NOT NULL", NULL);
	return rc < 0 || names->released == 0
			   ? rc
			   : db_exec(db, err,
					 "UPDATE jobs SET handle = NULL, plan_hash = NULL WHERE done_at IS NULL AND state = 'running'",
					 NULL);
}

int
remote_names_load(struct db *db, struct remote_names *ret_names, struct kettle_error *err)
{
	AUTO_JSON json_t *prefix = NULL, *place = NULL;
	AUTO_FREE char *path = epoch_path(db);
	struct remote_names names = {0};
	struct stat status = {0};
	int rc = setting_get(db, "remote_prefix", &prefix, err);
	if (rc == 0)
		rc = setting_get(db, "remote_place", &place, err);
	if (rc < 0)
		return rc;
	bool known = path && stat(sqlite3_db_filename(db->handle, "main"), &status) == 0;
	names.copied = known && json_is_object(place) && !is_in_place(db, place, &status);
	if (names.copied || !json_is_string(prefix))
		rc = draw_prefix(db, &names, err);
	else
		(void)snprintf(names.prefix, sizeof(names.prefix), "%s", json_string_value(prefix));
	int64_t age = db->now_ms - member_int(place, "at");
	if (rc == 0 && known && (names.copied || age < 0 || age >= REMOTE_EPOCH_MS))
		rc = store_place(db, names.copied ? NULL : place, &status, &names, err);
	if (rc == 0)
		*ret_names = names;
	return rc;
}

int
remote_names_renew(struct db *db, struct remote_names *ret_names, struct kettle_error *err)
{
	AUTO_JSON json_t *place = NULL;
	struct remote_names names = {0};
	struct stat status = {0};
	const char *path = sqlite3_db_filename(db->handle, "main");
	int rc = setting_get(db, "remote_place", &place, err);
	if (rc == 0 && path && *path && stat(path, &status) == 0)
		rc = store_place(db, place, &status, &names, err);
	if (rc == 0)
		*ret_names = names;
	return rc;
}

int
remote_names_confirm(struct db *db, const struct remote_names *names, struct kettle_error *err)
{
	return *names->database_epoch ? write_epochs(db, names->database_epoch, "", err) : 0;
}
