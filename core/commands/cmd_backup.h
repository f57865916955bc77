/* SPDX-License-Identifier: MIT */
/* Commands that copy what a database holds into files, beside whoever has the database. See command.h for their form. */
#ifndef KETTLE_CMD_COPY_H
#define KETTLE_CMD_COPY_H

#include "commands/command.h"

/*
 * In the process that asks, for admins of the database. They tell how far they are as progress of a local run: {"kind":
 * "progress", "task_run": true, "device": "backup" or "export", "event": {"event": "copied", "done", "total"}}. ENOENT: there is no database yet;
 * ECANCELED: the process ends.
 */
/* admin.backup {path}: see backup.h; {"path", "bytes"}. */
void cmd_admin_backup(
	struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg);
/* admin.export {path, format}: see export.h; {"path", "files": {name: rows}}. */
void cmd_admin_export(
	struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg);

#endif
