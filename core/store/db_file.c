/* SPDX-License-Identifier: MIT */
/* The database file: opened, or refused with a sentence that says why. */
#include <config.h>

#include "store/db_file.h"

#include "base/base.h"
#include "base/embedded_text.h"
#include "base/file.h"
#include "base/text.h"
#include "store/db.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <sys/file.h>
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
	/* Before quick_check opens the temporary database: after that SQLite would read the schema again. */
	if (result == SQLITE_OK)
		result = sqlite3_exec(handle, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL);
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
		"PRAGMA synchronous = FULL; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; "
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

/* ---- DB.lock: who runs jobs on a database. The lock is the flock, never the file's existence. ---- */

#define SERVES "serve" /* the second word of the file where the process stays; the first is its id */

static int
make_lock_file_folder(const char *path, struct kettle_error *err)
{
	const char *slash = strrchr(path, '/');
	if (!slash || slash == path)
		return 0;
	AUTO_FREE char *folder = xstrndup(path, (size_t)(slash - path));
	struct kettle_error why = {0};
	int rc = file_mkdirs(folder, 0700, &why);
	if (rc < 0)
		return kettle_fail(
			err, rc, "The folder of the database cannot be created: %s Use --db FILE, or set HOME.", why.message);
	return 0;
}

/* The file may still name an earlier holder: only a live process counts. */
static struct lock_holder
read_holder(int fd)
{
	char text[64] = "", word[sizeof(text)] = "";
	long pid = 0;
	(void)!pread(fd, text, sizeof(text) - 1, 0);
	(void)sscanf(text, "%ld %63s", &pid, word);
	struct lock_holder holder = {.pid = (pid_t)pid, .is_server = strcmp(word, SERVES) == 0};
	if (holder.pid <= 0 || (kill(holder.pid, 0) < 0 && errno == ESRCH))
		return (struct lock_holder){0};
	return holder;
}

int
db_lock_share(const char *database, int *ret_fd, struct kettle_error *err)
{
	AUTO_FREE char *path = xasprintf("%s.lock", database);
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 && errno != ENOENT)
		return kettle_fail(
			err, KETTLE_EUNAVAIL, "The lock %s of the database cannot be opened: %s.", path, strerror(errno));
	if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0)
		return kettle_fail(err, KETTLE_ECONFLICT, "The database %s is in use by another process.", database);
	*ret_fd = STEAL_FD(fd);
	return 0;
}

struct lock_holder
db_lock_holder(const char *database)
{
	AUTO_FREE char *path = xasprintf("%s.lock", database);
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	return fd < 0 ? (struct lock_holder){0} : read_holder(fd);
}

int
db_lock_take(
	const char *database, bool is_server, int *ret_fd, struct lock_holder *ret_holder, struct kettle_error *err)
{
	AUTO_FREE char *path = xasprintf("%s.lock", database);
	int rc = make_lock_file_folder(path, err);
	if (rc < 0)
		return rc;
	AUTO_FD int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return kettle_fail(err, KETTLE_EIO,
			"The lock %s of the database cannot be opened: %s. The database and its folder must be writable.", path,
			strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return kettle_fail(
				err, KETTLE_EIO, "The lock %s of the database cannot be taken: %s.", path, strerror(errno));
		struct lock_holder holder = read_holder(fd);
		if (ret_holder)
			*ret_holder = holder;
		return kettle_fail(
			err, KETTLE_ECONFLICT, "The database %s is in use by process %ld.", database, (long)holder.pid);
	}
	char text[64];
	int size = snprintf(text, sizeof(text), "%ld %s\n", (long)getpid(), is_server ? SERVES : "");
	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)size, 0) != size)
		return kettle_fail(
			err, KETTLE_EIO, "The lock %s of the database cannot be written: %s.", path, strerror(errno));
	*ret_fd = STEAL_FD(fd);
	return 0;
}

/* ---- the numbered changes of the schema, forward only ---- */

/* Entry n leads from version n to n + 1. A released entry never changes: a change of the schema is a new entry. */
static const char *const steps[] = {schema_0001, schema_0002, schema_0003, schema_0004, schema_0005, schema_0006,
	schema_0007, schema_0008, schema_0009, schema_0010, schema_0011, schema_0012, schema_0013, schema_0014, schema_0015,
	schema_0016, schema_0017, schema_0018, schema_0019, schema_0020, schema_0021, schema_0022, schema_0023, schema_0024,
	schema_0025, schema_0026, schema_0027, schema_0028};

int
migrations_newest(void)
{
	return ARRAY_SIZE(steps);
}

static int
migrations_run(sqlite3 *handle, const char *sql, struct kettle_error *err)
{
	int rc = sqlite3_exec(handle, sql, NULL, NULL, NULL);
	return rc == SQLITE_OK ? 0 : db_error_fail(handle, rc, "updating its schema", err);
}

static int
version_of(sqlite3 *handle, int *ret_version, struct kettle_error *err)
{
	sqlite3_stmt *statement = NULL;
	int rc = sqlite3_prepare_v2(handle, "PRAGMA user_version", -1, &statement, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(statement);
	if (rc == SQLITE_ROW)
		*ret_version = sqlite3_column_int(statement, 0);
	sqlite3_finalize(statement);
	return rc == SQLITE_ROW ? 0 : db_error_fail(handle, rc, "reading its version", err);
}

static int
make_owner(sqlite3 *handle, const char *owner, struct kettle_error *err)
{
	static const char *const sql[] = {
		"INSERT INTO users (name, role, created_at) VALUES (coalesce(nullif(trim(ltrim(substr(replace(?1, ':', '-'), "
		"1, 64), '# ')), ''), "
		"'owner'), 'admin', ?2)",
		"INSERT INTO identities (provider, subject, user, name, created_at) VALUES ('cli', ?1, last_insert_rowid(), "
		"?1, ?2)",
	};
	for (size_t i = 0; i < ARRAY_SIZE(sql); i++) {
		sqlite3_stmt *statement = NULL;
		int rc = sqlite3_prepare_v2(handle, sql[i], -1, &statement, NULL);
		if (rc == SQLITE_OK) {
			sqlite3_bind_text(statement, 1, owner, -1, SQLITE_STATIC);
			sqlite3_bind_int64(statement, 2, time_now_ms());
			rc = sqlite3_step(statement);
		}
		sqlite3_finalize(statement);
		if (rc != SQLITE_DONE)
			return db_error_fail(handle, rc, "writing its owner", err);
	}
	return 0;
}

static int
step(sqlite3 *handle, int version, const char *owner, struct kettle_error *err)
{
	char pragmas[96];
	(void)snprintf(pragmas, sizeof(pragmas), "PRAGMA application_id = %d; PRAGMA user_version = %d",
		MIGRATIONS_APPLICATION_ID, version + 1);
	int rc = migrations_run(handle, steps[version], err);
	if (rc == 0 && version == 0 && owner && *owner)
		rc = make_owner(handle, owner, err);
	return rc < 0 ? rc : migrations_run(handle, pragmas, err);
}

/* One step, unless another process made it meanwhile; *ret_version is the version after it. */
static int
advance(sqlite3 *handle, const char *owner, int *ret_version, struct kettle_error *err)
{
	int version = 0;
	int rc = migrations_run(handle, "BEGIN IMMEDIATE", err);
	if (rc < 0)
		return rc;
	rc = version_of(handle, &version, err);
	if (rc == 0 && version < migrations_newest())
		rc = step(handle, version, owner, err);
	if (rc == 0)
		rc = migrations_run(handle, "COMMIT", err);
	if (rc < 0) {
		(void)sqlite3_exec(handle, "ROLLBACK", NULL, NULL, NULL);
		return rc;
	}
	*ret_version = version < migrations_newest() ? version + 1 : version;
	return 0;
}

int
migrations_apply(sqlite3 *handle, const char *owner, struct kettle_error *err)
{
	int version = 0;
	int rc = version_of(handle, &version, err);
	while (rc == 0 && version < migrations_newest())
		rc = advance(handle, owner, &version, err);
	if (rc == 0 && version > migrations_newest())
		return kettle_fail(err, KETTLE_EVERSION,
			"The database %s has schema %d, but this Kettle knows only up to %d: use the Kettle that made it, or a "
			"newer one.",
			db_error_path(handle), version, migrations_newest());
	return rc;
}

int
migrations_check(sqlite3 *handle, struct kettle_error *err)
{
	int version = 0;
	int rc = version_of(handle, &version, err);
	if (rc < 0 || version == migrations_newest())
		return rc;
	return kettle_fail(err, KETTLE_EVERSION,
		"The database %s has schema %d, and this Kettle reads %d where it cannot write: make the database and its "
		"folder "
		"writable.",
		db_error_path(handle), version, migrations_newest());
}
