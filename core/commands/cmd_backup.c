/* SPDX-License-Identifier: MIT */
/*
 * Backup and export: copies of a database that may be in use.
 *
 * Theory of operation. A thread of the pool opens a connection of its own, which only reads, and copies one snapshot;
 * the database's owner, this process or another, takes no part and does not wait. Progress is posted to the loop, a few
 * times a second. When the process is about to end, the thread sees it at its next check and gives up.
 */
#include <config.h>

#include "commands/handlers.h"

#include "base/base.h"
#include "base/text.h"
#include "model/export_files.h"
#include "commands/local_job.h"
#include "session/core.h"
#include "store/backup.h"
#include "store/db_file.h"

#include <errno.h>

#define COPY_REPORT_NS UINT64_C(200000000) /* between two reports */

struct copy {
	struct core *core;
	const struct command *command;
	json_t *args, *actor, *result;
	struct kettle_error err;
	uint64_t reported_ns;
	struct waiter waiter;
	kettle_answer answer;
	void *arg;
};

static void
free_copy(struct copy *copy)
{
	json_decref_all(copy->args, copy->actor, copy->result);
	free(copy);
}

/* ---- progress ---- */

struct report {
	struct core *core;
	uint64_t caller;
	const char *what; /* its name, in place of a device */
	int64_t done, total;
};

static void
publish_report(void *arg)
{
	struct report *report = arg;
	local_job_progress(report->core, report->caller, report->what,
		json_pack("{s:s, s:I, s:I}", "event", "copied", "done", (json_int_t)report->done, "total",
			(json_int_t)report->total));
	free(report);
}

static bool
progress(void *arg, int64_t done, int64_t total)
{
	struct copy *copy = arg;
	uint64_t now = clock_ns(loop_clock(copy->core->setup.io));
	if (__atomic_load_n(&copy->core->leaving, __ATOMIC_RELAXED))
		return false;
	if (now - copy->reported_ns < COPY_REPORT_NS)
		return true;
	copy->reported_ns = now;
	struct report *report =
		xnew(struct report, copy->core, copy->waiter.caller, copy->command->name + strlen("admin."), done, total);
	if (loop_post(copy->core->setup.io, publish_report, report) < 0)
		free(report);
	return true;
}

/* ---- the copy, in the pool ---- */

static int
make(struct copy *copy, struct db *db)
{
	const char *path = json_text_or_null(copy->args, "path");
	const char *format = json_text_or_null(copy->args, "format");
	int64_t bytes = 0;
	AUTO_JSON json_t *files = NULL;
	if (strcmp(copy->command->name, "admin.backup") == 0) {
		if (backup_make(db->handle, path, progress, copy, &bytes, &copy->err) == 0)
			copy->result = json_pack("{s:s, s:I}", "path", path, "bytes", (json_int_t)bytes);
	} else if (export_make(db, path, strcmp(format, "csv") == 0, progress, copy, &files, &copy->err) == 0) {
		copy->result = json_pack("{s:s, s:O}", "path", path, "files", files);
	}
	return copy->err.code;
}

static void
work(void *arg)
{
	struct copy *copy = arg;
	const char *database = copy->core->setup.database;
	struct actor actor = {0};
	struct db db = {.now_ms = clock_utc_ms(loop_clock(copy->core->setup.io))};
	if (access(database, F_OK) != 0)
		(void)kettle_fail(&copy->err, KETTLE_ENOENT, "There is no database %s: %s.", database, strerror(errno));
	else if (db_file_open_reader(database, &db.handle, &copy->err) == 0 &&
			 command_actor(copy->command, &db, copy->actor, &actor, &copy->err) == 0)
		(void)make(copy, &db);
	db_close(&db);
}

static void
copy_after(void *arg)
{
	struct copy *copy = arg;
	copy->answer(copy->arg, &copy->err, copy->err.code < 0 ? NULL : copy->result);
	free_copy(copy);
}

static void
copy_begin(const char *command, struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer,
	void *arg)
{
	struct kettle_error err = {0};
	struct copy *copy = xnew(struct copy, .core = core, .command = command_find(core->setup.commands, command),
		.waiter = actor->waiter, .args = json_deep_copy(args),
		.actor = json_pack("{s:s, s:s, s:s}", "provider", "cli", "subject", actor->name, "name", actor->name),
		.answer = answer, .arg = arg);
	if (core_work(core, work, copy_after, copy, &err) == 0)
		return;
	answer(arg, &err, NULL);
	free_copy(copy);
}

void
cmd_admin_backup(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	copy_begin("admin.backup", core, actor, args, answer, arg);
}

void
cmd_admin_export(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	copy_begin("admin.export", core, actor, args, answer, arg);
}
