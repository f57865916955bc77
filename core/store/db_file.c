/* SPDX-License-Identifier: MIT */
/* The database file: opened, or refused with a sentence that says why. */
#include <config.h>

#include "store/db_file.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/xalloc.h"
#include "store/db.h"
#include "store/migrations.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define HEADER_SIZE 100 /* bytes of SQLite's file header */

const char *
db_file_network_name(uint32_t magic)
{
	/* From linux/magic.h and, for those it lacks, their sources: WAL needs memory that all users of the file share. */
	static const struct {
		uint32_t magic;
		const char *name;
	} known[] = {
		{0x6969, "NFS"},
		{0x517b, "SMB"},
		{0xff534d42, "CIFS"},
		{0xfe534d42, "SMB2"},
		{0x01021997, "9p"},
		{0x5346414f, "AFS"},
		{0x6b414653, "AFS"},
		{0x73757245, "Coda"},
		{0x564c, "NCP"},
		{0x00c36400, "Ceph"},
		{0x0bd00bd0, "Lustre"},
		{0x01161970, "GFS2"},
		{0x7461636f, "OCFS2"},
		{0x19830326, "BeeGFS"},
		{0x47504653, "GPFS"},
		{0xaad7aaea, "PanFS"},
		{0xbacbacbc, "VMware's shared folders"},
		{0x786f4256, "VirtualBox's shared folders"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i].magic == magic)
			return known[i].name;
	return NULL;
}

/* The sentence for a file that open(2) refused. */
static int
fail_open(const char *path, int number, struct kettle_error *err)
{
	switch (number) {
	case EACCES:
	case EPERM:
	case EROFS:
		return kettle_fail(err, KETTLE_EIO,
			"The database %s cannot be written (%s): make it and its folder writable, or name another file.", path,
			strerror(number));
	case EISDIR:
		return kettle_fail(err, KETTLE_EINVAL, "%s is a folder, not a database file.", path);
	case ENOSPC:
	case EDQUOT:
		return kettle_fail(
			err, KETTLE_EIO, "The disk that should hold the database %s is full: free some space.", path);
	}
	return kettle_fail(err, KETTLE_EIO, "The database %s cannot be opened: %s.", path, strerror(number));
}

static int
prepare_folder(const char *path, struct kettle_error *err)
{
	AUTO_FREE char *copy = xstrdup(path);
	const char *folder = dirname(copy);
	struct kettle_error why = {0};
	int rc = file_mkdirs(folder, 0700, &why);
	if (rc < 0)
		return kettle_fail(
			err, rc, "The folder of the database cannot be created: %s Use --db FILE, or set HOME.", why.message);
	struct statfs fs;
	if (statfs(folder, &fs) != 0)
		return fail_open(path, errno, err);
	const char *network = db_file_network_name((uint32_t)fs.f_type);
	if (network)
		return kettle_fail(err, KETTLE_EINVAL,
			"The database %s would be on %s, where several programs cannot share it safely: put it on a disk of this "
			"machine.",
			path, network);
	/* WAL makes two files beside the database. */
	if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) != 0)
		return fail_open(path, errno, err);
	return 0;
}

static bool
header_sound(const unsigned char *header, const struct stat *status)
{
	size_t page = (size_t)header[16] << 8 | header[17];
	if (page == 1)
		page = 65536;
	bool power_of_two = page >= 512 && (page & (page - 1)) == 0;
	return power_of_two && header[18] >= 1 && header[18] <= 2 && header[19] >= 1 && header[19] <= 2 &&
		   header[21] == 64 && header[22] == 32 && header[23] == 32 && (uint64_t)status->st_size >= page;
}

/* Creates an empty file, or checks the header of the one that is there; SQLite's own errors would be less exact. */
static int
prepare_file(const char *path, bool *ret_created, uint64_t *ret_size, struct kettle_error *err)
{
	bool created = true;
	AUTO_FD int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 && errno == EEXIST) {
		created = false;
		fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	}
	if (fd < 0)
		return fail_open(path, errno, err);
	struct stat status;
	unsigned char header[HEADER_SIZE];
	if (fstat(fd, &status) != 0)
		return fail_open(path, errno, err);
	if (!S_ISREG(status.st_mode))
		return kettle_fail(err, KETTLE_EINVAL, "%s is not a regular file, so it is not a database.", path);
	if (status.st_size > 0) {
		ssize_t got = pread(fd, header, sizeof(header), 0);
		if (got < 0)
			return fail_open(path, errno, err);
		if (got < HEADER_SIZE || memcmp(header, "SQLite format 3", 16) != 0)
			return kettle_fail(err, KETTLE_EINVAL, "%s is not a database: name another file.", path);
		if (!header_sound(header, &status))
			return kettle_fail(
				err, KETTLE_EIO, "The database %s is damaged (its header is invalid): restore a backup.", path);
	}
	*ret_created = created;
	*ret_size = (uint64_t)status.st_size;
	return 0;
}

static int
pragma_int(sqlite3 *handle, const char *sql, int64_t *ret_value, struct kettle_error *err)
{
	sqlite3_stmt *statement = NULL;
	int rc = sqlite3_prepare_v2(handle, sql, -1, &statement, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(statement);
	if (rc == SQLITE_ROW)
		*ret_value = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return rc == SQLITE_ROW ? 0 : db_error_fail(handle, rc, "opening it", err);
}

/* Ours, or empty. */
static int
check_owner(sqlite3 *handle, struct kettle_error *err)
{
	int64_t application = 0, things = 0;
	int rc = pragma_int(handle, "PRAGMA application_id", &application, err);
	if (rc == 0)
		rc = pragma_int(handle, "SELECT count(*) FROM sqlite_schema", &things, err);
	if (rc < 0 || application == MIGRATIONS_APPLICATION_ID || (application == 0 && things == 0))
		return rc;
	return kettle_fail(
		err, KETTLE_EINVAL, "%s is a database of another program: name another file.", db_error_path(handle));
}

static int
check_pages(sqlite3 *handle, uint64_t size, struct kettle_error *err)
{
	sqlite3_stmt *statement = NULL;
	/* A large database is checked only where every start reads it: a full check would take minutes. */
	const char *sql = size <= DBFILE_FULL_CHECK_BYTES ? "PRAGMA quick_check(1)" : "PRAGMA quick_check('settings')";
	int result = sqlite3_prepare_v2(handle, sql, -1, &statement, NULL);
	if (result == SQLITE_OK)
		result = sqlite3_step(statement);
	const char *report = result == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
	int rc = 0;
	if (result != SQLITE_ROW)
		rc = db_error_fail(handle, result, "checking it", err);
	else if (!report || strcmp(report, "ok") != 0) {
		/* The report on a page follows a line with the database's name. */
		const char *line = report ? strchr(report, '\n') : NULL;
		report = line ? line + 1 : report;
		rc = kettle_fail(err, KETTLE_EIO, "The database %s is damaged (%s): restore a backup.", db_error_path(handle),
			report ? report : "no result");
	}
	sqlite3_finalize(statement);
	return rc;
}

static int
set_wal(sqlite3 *handle, struct kettle_error *err)
{
	sqlite3_stmt *statement = NULL;
	int rc = sqlite3_prepare_v2(handle, "PRAGMA journal_mode = WAL", -1, &statement, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(statement);
	bool wal = rc == SQLITE_ROW && strcmp((const char *)sqlite3_column_text(statement, 0), "wal") == 0;
	sqlite3_finalize(statement);
	if (rc != SQLITE_ROW)
		return db_error_fail(handle, rc, "opening it", err);
	return wal ? 0
			   : kettle_fail(err, KETTLE_EINVAL,
					 "The file system of %s does not support a write-ahead log: put the database on another disk.",
					 db_error_path(handle));
}

/* how: SQLITE_OPEN_READWRITE, or another way of SQLite's. */
static int
connect(const char *path, int how, sqlite3 **ret_handle, struct kettle_error *err)
{
	sqlite3 *handle = NULL;
	int result = sqlite3_open_v2(path, &handle, how | SQLITE_OPEN_NOMUTEX, NULL);
	if (result != SQLITE_OK) {
		int rc = db_error_fail(handle, result, "opening it", err);
		sqlite3_close(handle);
		return rc;
	}
	sqlite3_extended_result_codes(handle, 1);
	sqlite3_busy_timeout(handle, DBFILE_BUSY_MS);
	sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
	sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
	*ret_handle = handle;
	return 0;
}

static int
set_pragmas(sqlite3 *handle, struct kettle_error *err)
{
	char sql[200];
	/* No memory mapping: a file cut short under us is an error, not a signal. */
	(void)snprintf(sql, sizeof(sql),
		"PRAGMA synchronous = FULL; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY; "
		"PRAGMA cache_size = -%d",
		DBFILE_CACHE_KIB);
	int rc = sqlite3_exec(handle, sql, NULL, NULL, NULL);
	return rc == SQLITE_OK ? 0 : db_error_fail(handle, rc, "opening it", err);
}

static int
db_file_set_up(sqlite3 *handle, const char *owner, uint64_t size, struct kettle_error *err)
{
	if (sqlite3_db_readonly(handle, "main") == 1)
		return fail_open(db_error_path(handle), EACCES, err);
	int rc = check_owner(handle, err);
	if (rc == 0 && size > 0)
		rc = check_pages(handle, size, err);
	/* SQLite accepts this only for a file without pages; pages that are freed later can then be given back. */
	if (rc == 0 && size == 0 && sqlite3_exec(handle, "PRAGMA auto_vacuum = INCREMENTAL", NULL, NULL, NULL))
		rc = db_error_fail(handle, sqlite3_errcode(handle), "opening it", err);
	if (rc == 0)
		rc = set_wal(handle, err);
	if (rc == 0)
		rc = set_pragmas(handle, err);
	return rc < 0 ? rc : migrations_apply(handle, owner, err);
}

static void
remove_created(const char *path)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		char name[4096];
		if (snprintf(name, sizeof(name), "%s%s", path, suffixes[i]) < (int)sizeof(name))
			(void)unlink(name);
	}
}

int
db_file_open(const char *path, const char *owner, sqlite3 **ret_handle, struct kettle_error *err)
{
	bool created = false;
	uint64_t size = 0;
	sqlite3 *handle = NULL;
	int rc = prepare_folder(path, err);
	if (rc == 0)
		rc = prepare_file(path, &created, &size, err);
	if (rc < 0)
		return rc;
	rc = connect(path, SQLITE_OPEN_READWRITE, &handle, err);
	if (rc == 0)
		rc = db_file_set_up(handle, owner, size, err);
	if (rc < 0) {
		sqlite3_close(handle);
		if (created)
			remove_created(path);
		return rc;
	}
	*ret_handle = handle;
	return 0;
}

int
db_file_check_place(sqlite3 *handle, struct kettle_error *err)
{
	int moved = 0;
	if (sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved) != SQLITE_OK || !moved)
		return 0;
	return kettle_fail(err, KETTLE_EIO,
		"The database %s was moved, replaced or removed while it is in use: nothing was stored; put it back, or stop "
		"Kettle before another one takes its place.",
		db_error_path(handle));
}

static int
set_up_reader(sqlite3 *handle, struct kettle_error *err)
{
	int rc = set_pragmas(handle, err);
	int result = rc == 0 ? sqlite3_exec(handle, "PRAGMA query_only = ON", NULL, NULL, NULL) : SQLITE_OK;
	return result == SQLITE_OK ? rc : db_error_fail(handle, result, "opening it for reading", err);
}

int
db_file_open_reader(const char *path, sqlite3 **ret_handle, struct kettle_error *err)
{
	sqlite3 *handle = NULL;
	int rc = connect(path, SQLITE_OPEN_READWRITE, &handle, err);
	if (rc < 0)
		return rc;
	rc = set_up_reader(handle, err);
	if (rc < 0) {
		sqlite3_close(handle);
		return rc;
	}
	*ret_handle = handle;
	return 0;
}

/* SQLite then looks for no log and takes no locks: safe if the file is complete and no process writes it. New string. */
static char *
fixed_uri(const char *path)
{
	AUTO_BUF struct buf uri = {0};
	buf_adds(&uri, "file:");
	for (; *path; path++)
		if (strchr("%?#", *path))
			buf_printf(&uri, "%%%02x", (unsigned char)*path);
		else
			buf_add(&uri, path, 1);
	buf_adds(&uri, "?immutable=1");
	return buf_take(&uri);
}

/* Whether the log beside the database holds something. */
static bool
has_log(const char *path)
{
	AUTO_FREE char *log = xasprintf("%s-wal", path);
	struct stat status;
	return stat(log, &status) == 0 && status.st_size > 0;
}

int
db_file_open_fixed(const char *path, bool alone, sqlite3 **ret_handle, struct kettle_error *err)
{
	struct stat status;
	sqlite3 *handle = NULL;
	if (stat(path, &status) != 0)
		return fail_open(path, errno, err);
	if (!S_ISREG(status.st_mode) || status.st_size == 0)
		return kettle_fail(err, KETTLE_EINVAL, "%s is not a database: name another file.", path);
	bool whole = alone && !has_log(path);
	AUTO_FREE char *uri = whole ? fixed_uri(path) : xstrdup(path);
	int rc = connect(uri, SQLITE_OPEN_READONLY | (whole ? SQLITE_OPEN_URI : 0), &handle, err);
	if (rc == 0)
		rc = check_owner(handle, err);
	if (rc == 0)
		rc = check_pages(handle, (uint64_t)status.st_size, err);
	if (rc == 0)
		rc = migrations_check(handle, err);
	if (rc == 0)
		rc = set_up_reader(handle, err);
	if (rc < 0) {
		sqlite3_close(handle);
		return rc;
	}
	*ret_handle = handle;
	return 0;
}
