/* SPDX-License-Identifier: MIT */
/* Commands that run in the process that asks, without a database. See command.h for their form. */
#ifndef KETTLE_CMD_LOCAL_H
#define KETTLE_CMD_LOCAL_H

#include "command.h"

/* cmd_task.c */
/* task.read {path}: the bundle of a task folder. */
void cmd_task_read(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg);
/* task.check {path: […]}: {"tasks": [{"path", "ok", "error" or null, "name", "lang", "tests", "benchmarks",
 * "remarks"}], "ok"}. */
void cmd_task_check(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg);
/* task.run {path, file, mode, device?, keep}: runs a file against a task here; the verdict (verdict.h) with "task",
 * "device", "mode", "kept". */
void cmd_task_run(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg);

/* cmd_plugin.c */
/* plugin.list {}: {"plugins": [{"name","kind","version","summary","file"}]}. */
void cmd_plugin_list(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg);
/* plugin.info {name}: the same with "options": [{"key","type","required","default","min","max","choices","help"}], and
 * what its kind offers. */
void cmd_plugin_info(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg);
/* plugin.test {file}: the conformance checks: {"tests": [{"name","passed","message"}], "ok"}. */
void cmd_plugin_test(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg);
/* config.check {}: the configuration as it is in force: {"file", "config"}; a bad one is refused before this is
 * reached. */
void cmd_config_check(
	struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg);

#endif
