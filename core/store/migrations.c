/* SPDX-License-Identifier: MIT */
/* The numbered changes of the schema, forward only. */
#include <config.h>

#include "store/migrations.h"

#include "base/cleanup.h"
#include "base/embedded_text.h"
#include "base/text.h"
#include "store/db.h"

/* Entry n leads from version n to n + 1. A released entry never changes: a change of the schema is a new entry. */
static const char *const steps[] = {schema_0001, schema_0002, schema_0003, schema_0004, schema_0005, schema_0006,
	schema_0007, schema_0008, schema_0009, schema_0010, schema_0011, schema_0012, schema_0013, schema_0014, schema_0015,
	schema_0016, schema_0017, schema_0018, schema_0019, schema_0020, schema_0021, schema_0022, schema_0023, schema_0024,
	schema_0025};

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
