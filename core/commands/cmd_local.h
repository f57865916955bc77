/* SPDX-License-Identifier: MIT */
/* Commands that run in the process that asks, without a database. See command.h for their form. */
#ifndef KETTLE_CMD_LOCAL_H
#define KETTLE_CMD_LOCAL_H

#include "commands/command.h"

/* cmd_task.c */
/*
 * task.read {path, lang?, probe, device?: […]}: the bundle of a task in any of its forms; with `probe` it is refused
 * (EUNAVAIL) where a device at hand lacks what it needs (probe.h).
 */
void cmd_task_read(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg);
/*
 * task.check {path: […], lang?}: {"tasks": [{"path", "ok", "error" or null, "name", "lang", "tests", "benchmarks",
 * "files", "remarks"}], "ok"}. What a device at hand lacks is an error, too (probe.h). A competition has an entry of its
 * own ({"path", "ok", "error", "competition": name, "file", "deadline", "problems": how many}) and then one for each
 * problem, with "problem": its name, the path being its directory.
 */
void cmd_task_check(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg);
/* task.pack {path, lang?, solutions}: {"name", "hash", "files": [path], "size", "base64": a zip (task_pack.h)}. */
void cmd_task_pack(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg);
/* task.new {dir, from, solutions}: the pack (task_pack.h) of a shipped task; whoever asked writes it to dir. */
void cmd_task_new(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg);
/* problems.read {path, set?}: {"sets": competition_read_all's}. */
void cmd_problems_read(
	struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg);

/* cmd_task_run.c */
/* task.run {path, file, mode, device?, keep, lang?}: runs a file against a task here; the verdict (verdict.h) with
 * "task", "device", "mode", "kept". */
void cmd_task_run(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg);
/*
 * task.verify {path, mode?, device?, lang?}: runs what lies in solutions/correct and solutions/wrong beside the task:
 * {"task", "device", "solutions": [{"name": "wrong/nan.cpp", "kind": "correct" or "wrong", "expected", "mode", "found",
 * "ok", "score", "error"}], "ok"}. found: the state of the verdict, "compile" where a build failed, "skipped" where the
 * machine lacks what it imports; expected: the word behind `expect:` in its first lines, else "passed" or, for a wrong
 * one, null: anything but passed and error. It is run as was asked, else as it says (`expect: failed in test`), else
 * ranked. ok is null for one that was skipped, or that passes in a weaker mode than it says. Each result comes as an
 * event, too: {"kind": "progress", "task_run": true, "solution": result, "done", "of"}.
 */
void cmd_task_verify(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg);

/* cmd_plugin.c */
/* plugin.list {}: {"plugins": [{"name","kind","version","summary","file"}]}. */
void cmd_plugin_list(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg);
/* plugin.info {name}: the same with "options": [{"key","type","required","default","min","max","choices","help"}], and
 * what its kind offers. */
void cmd_plugin_info(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg);
/* plugin.test {file}: the conformance checks: {"tests": [{"name","passed","message"}], "ok"}. */
void cmd_plugin_test(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg);
/* cmd_config.c */
/* config.check {}: the configuration as it is in force: {"file", "config", "warnings", "toolkits": [{"runner", "tool",
 * "parts"}]}: what each machine has of the toolkits that the languages' plans start. A bad one is refused before this is
 * reached. */
void cmd_config_check(
	struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg);

/* cmd_version.c */
/*
 * version {}: {"version", "ok", "parts": [{"part", "path" or null, "found"}], "config": its file or null, "database",
 * "machine", "kernel", "libc", "warnings": [sentence]}. ok: every part is there.
 */
void cmd_version(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg);

#endif
