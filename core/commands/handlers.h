/* SPDX-License-Identifier: MIT */
/* The handlers of the command table, a section per file. See command.h for their form, the table for arguments and
 * rights. */
#ifndef KETTLE_COMMANDS_HANDLERS_H
#define KETTLE_COMMANDS_HANDLERS_H

#include "session/command.h"

/* command_table.c: the table; ends with a NULL name. */
extern const struct command commands[];

/* ---- cmd_board.c: leaderboards. Store's threads ---- */

/*
 * leaderboard.create {name, task, deadline?, device?, description?, visibility}. Devices: those given, else the task's, else
 * the only one that is configured. ECONFLICT: the deadline has passed; with force that is a remark, so that an old competition can be kept.
 */
command_run_fn cmd_board_create;
command_run_fn cmd_board_check_name; /* what create would say of it */
/* The same without writing anything: whether it could be created, and on which devices. New reference. */
int cmd_board_create_check(
	struct db *db, const struct command_env *env, const json_t *args, json_t **ret_devices, struct kettle_error *err);
/* leaderboard.list {all}: what GET /leaderboards answers. */
command_run_fn cmd_board_list;
/*
 * leaderboard.show {name, device?, mine, practice, limit, offset}: pages of ranking_page_read; mine: of the actor's own runs
 * (ranking_page_of), also on a board that the actor may not see any more; practice: ranking_page_practice.
 */
command_run_fn cmd_board_show;
/* leaderboard.delete {name, force}. ECONFLICT: it has submissions, and force is not set. */
command_run_fn cmd_board_delete;

/*
 * leaderboard.update {name, deadline?, device?, visibility?, code?, jit_cache?, description?, task?, force}: board_update. Its
 * creator or an admin. EINVAL: there is nothing to change.
 */
command_run_fn cmd_board_update;

/* ---- cmd_board_task.c: what is behind a leaderboard. Store's threads ---- */

#define BOARD_PLANS_BYTES (16u << 20) /* of all plans in one answer, as JSON */

/* The placeholder in a plan for the secret of a submission. */
#define BOARD_SECRET "<drawn for each submission>"

/*
 * leaderboard.task {name, device?, mode?}: everything that decides how a submission runs. Plans are those that jobs get, for
 * each device and mode, with {"task": name} in place of contents that are a file of the task, {"submission": true} for the
 * submission, and BOARD_SECRET for every secret.
 */
command_run_fn cmd_board_task;
/* leaderboard.template {name, lang?}. EINVAL: none has that name; ENOENT: there is nothing to start from. */
command_run_fn cmd_board_template;

/* ---- cmd_rate.c: rate limits of a leaderboard. Store's threads ---- */

#define RATE_PER_HOUR_MAX 1000000

/* leaderboard.rate_limits {name, category?, device?}, for users who may see the board. */
command_run_fn cmd_rate_limits;
/*
 * leaderboard.rate_limit {name, category?, device?, per_hour?, remove}: sets a limit, or removes those that fit; both
 * categories where none is named. Its creator or an admin. Event leaderboard.limited. EINVAL: neither or both of per_hour and
 * remove; ENOENT: there is none to remove.
 */
command_run_fn cmd_rate_limit;

/* ---- cmd_invite.c: invites to closed leaderboards. Store's threads ---- */

#define INVITE_CODE_LENGTH 32 /* letters of 5 bits each: 160 bits */
#define INVITE_MAX_COUNT 1000 /* codes of one command */

/*
 * invite.create {name: [boards], count}: codes, each good for one user and all of these boards. The creator of all of them, or
 * an admin. Event invite.created, which has no code in it.
 */
command_run_fn cmd_invite_create;
/* invite.list {name, limit, offset}. The board's creator or an admin. */
command_run_fn cmd_invite_list;
/*
 * invite.revoke {code}: who claimed it loses the access that it gave, unless another invite gives it too; submissions stay. The
 * creator of its boards, or an admin. Event invite.revoked. ENOENT.
 */
command_run_fn cmd_invite_revoke;
/*
 * leaderboard.join {code}: claims it. Twice by one user is fine. Event leaderboard.joined for each board. EINVAL: no such code,
 * or another user's.
 */
command_run_fn cmd_invite_join;

/* ---- cmd_export.c: a leaderboard's submissions. Store's reader ---- */

#define EXPORT_PAGE 500               /* submissions of one answer */
#define EXPORT_PAGE_BYTES (4u << 20)  /* of code in one answer; the submission that goes beyond is its last */
#define EXPORT_MAX_ID 999999999999999 /* an id that JSON's readers hold exactly */

/*
 * leaderboard.export {name, private, after}: a page of submissions with numbers over `after`, in order. The board's creator
 * and admins get every submission; others only those that show_to_others opens. ECONFLICT: the board is active, and private
 * is not set; EACCES: neither creator nor admin, and private is set, or the code is not open.
 */
command_run_fn cmd_board_export;

/* ---- cmd_competition.c: leaderboards from a competition file. Store's threads ---- */

/*
 * competition.sync {problems: {"sets": competition.h's}, visibility, force, dry_run}: makes every problem's leaderboard, or changes
 * its task, deadline and devices (board_update.h) to what the file says, all in one transaction: an error of the
 * database undoes everything, while a problem with an error, or that may not be changed, is listed and the others are applied.
 * Skipped without force: a board of that name that does not belong to the set, and a task that runs differently while
 * there are scores, which would be left behind. Who may: of a board its creator and admins. dry_run: nothing is written.
 */
command_run_fn cmd_competition_sync;
/*
 * competition.fetch {repository?, branch?, folder?, set?}: sets as in competition.h. ENGINE; loop thread. ENOENT: the
 * server has no such archive; EUNAVAIL: it cannot be reached; EINVAL, ETOOBIG: what is there cannot be read.
 */
command_engine_fn cmd_competition_fetch;
/* competition.list {}: standings_competitions. */
command_run_fn cmd_competition_list;
/* competition.show {name, limit, offset}: standings_boards, and a page of standings_page. */
command_run_fn cmd_competition_show;

/* ---- cmd_submit.c: accepts a submission. Store's thread ---- */

/*
 * submit {file, leaderboard?, device?, mode}: the checks come in the order of KernelBot's API, each with its own sentence:
 * mode; board (ENOENT); access to a closed one (EACCES; KernelBot's comes later, and tells its devices); device (EINVAL,
 * lists them); file not empty, at most env->submission_bytes (ETOOBIG), UTF-8 without NUL, extension; accepting
 * (EUNAVAIL); banned (EACCES); header directives; rate limit (ERATE, retry_s); deadline (EINVAL). Stores submission and jobs with a fresh secret seed; event
 * submission.accepted. Store's thread.
 */
command_run_fn cmd_submit;
/* Adds "stays". */
command_add_fn add_submit_stays;

/* ---- cmd_submission.c: submissions. Store's threads ---- */

/* submission.list {leaderboard?, all, limit, offset}: the actor's own, newest first; all: everybody's, for the board's
 * creator and admins. */
command_run_fn cmd_submission_list;
/* submission.show {id}, for its owner, the board's creator and admins; for others as show_to_others says. */
command_run_fn cmd_submission_show;
/* Adds to queued jobs what engine_queue_position says of them. */
command_add_fn add_submission_places;
/* submission.watch {id}, by its owner and admins. It writes nothing, but wants an engine as a write does. */
command_run_fn cmd_submission_watch;
/* submission.cancel {id}, by its owner and admins (a rerun: by admins). ECONFLICT: it has ended. */
command_run_fn cmd_submission_cancel;
/* submission.delete {id}, by its owner and admins (one that is marked as a cheat: by admins). */
command_run_fn cmd_submission_delete;
/* submission.delete_all {leaderboard, user}, for the board's creator and admins: in one transaction. Events as of each.
 * EACCES: one is marked as a cheat. */
command_run_fn cmd_submission_delete_all;
/* submission.count {leaderboard, of?, mode?, state?, device?}. EACCES: another user's. */
command_run_fn cmd_submission_count;

/* submission.download {id}, for its owner, the board's creator and admins: of superseded jobs too, in their order. */
command_run_fn cmd_submission_download;
/* submission.artifact {artifact, offset}, for the same: at most ARTIFACT_CHUNK_MAX bytes. ENOENT: there is none, or it is
 * not kept any more. */
command_run_fn cmd_submission_artifact;

/* ---- cmd_submission_diff.c: two submissions side by side. Store's threads ---- */

/* submission.diff {a, b}, for who may read the code of both (submission.show). "significant": see interval.h. */
command_run_fn cmd_submission_diff;

/* ---- cmd_trend.c: best scores over time. Store's threads ---- */

#define TREND_USERS_MAX 10

/*
 * leaderboard.trend {name, device?, user: [name…], mine, limit}, for who may see the board. ENOENT: a user is not ranked
 * there.
 */
command_run_fn cmd_board_trend;

/* ---- cmd_plot.c: the same as a picture. Store's threads, then the loop ---- */

/*
 * leaderboard.plot {name, device?, of: [name…], mine, format}, for who may see the board. EUNAVAIL: kettle-plot or its
 * library is missing (names the package), it took too long, or too many are drawn.
 */
command_run_fn cmd_board_plot; /* the request for kettle-plot */
command_finish_fn finish_board_plot;

/* ---- cmd_moderate.c: judges submissions on a board. Store's thread ---- */

#define FLAG_REASON_MAX 500 /* characters */

/*
 * submission.flag {id, reason}, by the board's creator and admins: marks it as a cheat. It leaves the ranking at once,
 * whatever still runs of it; code, runs and artifacts stay, and its owner cannot delete them. Event submission.flagged.
 * ECONFLICT: it is marked already.
 */
command_run_fn cmd_submission_flag;
/* submission.unflag {id}: takes the mark back, and it counts again. Event submission.unflagged. ECONFLICT: it is not marked. */
command_run_fn cmd_submission_unflag;
/*
 * submission.rerun {id, device: [name…]}, by the board's creator and admins: see jobs_rerun; no device: all that it was
 * submitted to. EUNAVAIL: a device is not configured.
 */
command_run_fn cmd_submission_rerun;

/* ---- cmd_user.c: users. Store's threads ---- */

#define USER_REASON_MAX 500 /* characters */

/* user.list {role?, banned, limit, offset}: those that were not merged into others. */
command_run_fn cmd_user_list;
/*
 * user.ban {name, reason}: nothing of theirs counts any more, what they have open is cancelled, and they write nothing.
 * Events: of each cancelled submission, rank.changed, user.banned. ECONFLICT: banned already, an admin, oneself.
 */
command_run_fn cmd_user_ban;
/* user.unban {name}: what they have counts again; what was cancelled stays so. Event user.unbanned. ECONFLICT. */
command_run_fn cmd_user_unban;
/* user.role {name, role}. Event user.role. ECONFLICT: the last admin, or banned. */
command_run_fn cmd_user_role;

/* ---- cmd_user_data.c: what is stored about a user ---- */

/* user.show {name?}: oneself, for admins everybody. */
command_run_fn cmd_user_show;
/* user.export {name?, after}: oneself, for admins everybody; pages as those of leaderboard.export. */
command_run_fn cmd_user_export;
/*
 * user.delete {name?}: user_delete; what they have open is cancelled. EACCES: another user, or banned; ECONFLICT: the only
 * admin.
 */
command_run_fn cmd_user_delete;

/* ---- cmd_token.c: tokens and logins. Store's thread ---- */

#define TOKEN_NAME_MAX 100             /* characters */
#define TOKENS_MAX 20                  /* of one user */
#define SESSION_MS INT64_C(7776000000) /* how long a confirmed login holds: 90 days */
#define LOGIN_MS 600000                /* how long a login may wait to be confirmed */
#define LOGINS_OF_ADDRESS 10           /* that wait, from one address */
#define LOGINS_MAX 1000                /* that wait, in all */

/* token.create {name, expires?}: the token is shown here alone. ECONFLICT, ETOOBIG. */
command_run_fn cmd_token_create;
/* token.list {of?} */
command_run_fn cmd_token_list;
/* token.revoke {name, of?}. ENOENT. */
command_run_fn cmd_token_revoke;
/* token.check {token}. EACCES: not valid; EUNAVAIL: its login is not confirmed yet. */
command_run_fn cmd_token_check;
/* identity.add {user, provider, subject, name?}. ECONFLICT: it is another user's. */
command_run_fn cmd_identity_add;
/* login.begin {name, address}. ERATE: too many wait. */
command_run_fn cmd_login_begin;
/* login.confirm {code, confirm}. ENOENT: no such code. */
command_run_fn cmd_login_confirm;

/* ---- cmd_publish.c: one-time links that plugins publish. Store's thread ---- */

/* link.take {token}. ENOENT: used, expired or never made. */
command_run_fn cmd_link_take;

/* ---- cmd_link.c: merges two users into one. Store's thread ---- */

#define LINK_CODE_MS 600000 /* how long a code holds */

/*
 * user.link {code?, confirm}. Without a code it makes one; codes are stored as hashes, work once, and a new one ends the
 * user's last. With another user's code, only with confirm their user is merged into the actor's (user_merge), else it is
 * shown what that would be.
 * Events user.code, user.merged. ENOENT: no such code, or too old; ECONFLICT: one's own.
 */
command_run_fn cmd_user_link;
/* user.merge {name, into}: the same by an admin, at once. ECONFLICT: both are one already. */
command_run_fn cmd_user_merge;

/* ---- cmd_admin.c: administration of the engine. Store's threads ---- */

/* admin.resume {}, admin.pause {}: whether submissions are accepted, kept over restarts; what runs goes on. Event
 * admin.accepting where it changed. */
command_run_fn cmd_admin_resume;
command_run_fn cmd_admin_pause;
/*
 * admin.stats {last_day, leaderboard?}: of submissions that are there and the runs of each job's last attempt; a delay is
 * from queued to the beginning of a run.
 */
command_run_fn cmd_admin_stats;
/* admin.verify {}: what verify_database (model/verify.h) finds. */
command_run_fn cmd_admin_verify;

/* ---- cmd_backup.c: copies of a database in files. The caller's process ---- */

/*
 * In the process that asks, for admins of the database. They tell how far they are as progress of a local run: {"kind":
 * "progress", "task_run": true, "device": "backup" or "export", "event": {"event": "copied", "done", "total"}}. ENOENT: there is no database yet;
 * ECANCELED: the process ends.
 */
/* admin.backup {path}: see backup.h. */
command_engine_fn cmd_admin_backup;
/* admin.export {path, format}: see model/export_files.h. */
command_engine_fn cmd_admin_export;

/* ---- cmd_engine.c: answered by the engine. Loop thread of the database's owner ---- */

/*
 * device.list {known}: every device with its units. known: at once, with what is stored of the machines; an engine that
 * stays asks them then.
 */
command_engine_fn cmd_device_list;
/* queue.place {job: [id…]}: what engine_queue_position says of those that are the actor's own; an admin's: of all. */
command_engine_fn cmd_queue_place;
/* admin.gc {}: see garbage_collector_run in maintenance.h. */
command_engine_fn cmd_admin_gc;

/* ---- cmd_device.c: disables and enables units. Loop thread of the owner ---- */

/*
 * device.disable {unit: [name…], reason}: a name is a unit's or that of a device, which means all its units. ENOENT: there
 * is none of that name.
 */
command_engine_fn cmd_device_disable;
/* device.enable {unit: [name…], test}: test: only those whose machine says that they are in order. */
command_engine_fn cmd_device_enable;

/* ---- cmd_calibrate.c: measures how fast a unit is. Loop thread of the owner ---- */

/*
 * device.calibrate {device?: [name…], force}. Writes device.calibrated, of the unit, its parts and each board's task. Its
 * progress: {"event": "measuring", "what", "name", "index", "count", "run", "runs"}, and {"event": "kept", "text": what
 * stays if it is interrupted now}. It ends with ECANCELED when its caller goes away.
 */
command_engine_fn cmd_device_calibrate;

/* ---- cmd_device_verify.c: whether units run known submissions. Loop thread of the owner ---- */

/*
 * device.verify {device?: [name…]}. Its progress is {"event": "measuring", …}, as device.calibrate's. It ends with ECANCELED
 * when its caller goes away.
 */
command_engine_fn cmd_device_verify;

/* ---- cmd_runner.c: what runners say of their machines and remote sides ---- */

/* device.doctor {name: a unit's or a device's}. ENOENT; ETOOBIG: too many machines. Loop thread of the owner. */
command_engine_fn cmd_device_doctor;
/*
 * runner.init {name, dir, option: ["NAME=TEXT"…], force}. ENOENT: no such runner; EUNAVAIL: it has nothing to write. The
 * caller's process.
 */
command_engine_fn cmd_runner_init;
/* runner.status {name}. ENOENT, EUNAVAIL. Loop thread of the owner. */
command_engine_fn cmd_runner_status;

/* ---- cmd_harness.c: harnesses of languages ---- */

#define HARNESS_MAX_FILE (1u << 20) /* bytes */

/*
 * harness.show {language}: the harness files of a language, by its name or an alias. EINVAL: no such language; ENOENT: it has
 * none; EIO: they are not where they should be.
 */
command_engine_fn cmd_harness_show;

/* ---- cmd_task.c: tasks in all their forms. The caller's process ---- */

/*
 * task.read {path, lang?, probe, device?: […]}: the bundle of a task in any of its forms; with `probe` it is refused
 * (EUNAVAIL) where a device at hand lacks what it needs.
 */
command_engine_fn cmd_task_read;
/* task.unpack {file, lang?}: the same of a file that was sent. The owner's process. */
command_engine_fn cmd_task_unpack;
/*
 * task.check {path: […], strict?, lang?}: an entry for each task. What a device at hand lacks is an error, too, and with
 * strict every remark. A competition has an entry of its own, and then one for each problem.
 */
command_engine_fn cmd_task_check;
/* task.pack {path, lang?, solutions}: a zip (task/pack.h). */
command_engine_fn cmd_task_pack;
/* task.new {dir, from, solutions}: the pack (task/pack.h) of a shipped task; the caller writes it to dir. */
command_engine_fn cmd_task_new;
/* competition.read {path, set?}: competition_read_all. */
command_engine_fn cmd_competition_read;

/* ---- cmd_task_run.c: runs a task here, without a database. The caller's process ---- */

/* task.run {path, file, mode, device?, keep, lang?}: runs a file against a task here; the verdict (verdict.h), and more. */
command_engine_fn cmd_task_run;
/*
 * task.verify {path, mode?, device?, lang?}: runs what lies in solutions/correct and solutions/wrong beside the task. A wrong
 * one that says nothing behind `expect:` may end in all but passed and error. It is run in the mode of the arguments, else in
 * its own (`expect: failed in test`), else ranked. Each result comes as an event, too: {"kind": "progress", "task_run": true,
 * "solution": result, "done", "of"}.
 */
command_engine_fn cmd_task_verify;

/* ---- cmd_complete.c: what a shell offers behind a command. Store's threads ---- */

/*
 * complete {what: board, device or submission, prefix?, leaderboard?, others}: a bounded number of those that the actor
 * may see and that begin with the prefix. leaderboard: only its devices; others: not only the
 * actor's own submissions, but all that it may moderate.
 */
command_run_fn cmd_complete;

/* ---- cmd_plugin.c: plugins. The caller's process ---- */

/* plugin.list {}: those of this process, and of those in plugin_path what loads them. */
command_engine_fn cmd_plugin_list;
/* plugin.info {name}: one of them with its options (option_table_json), and what its kind offers. */
command_engine_fn cmd_plugin_info;
/* plugin.test {file, options}: the conformance checks (conformance.h). */
command_engine_fn cmd_plugin_test;

/* ---- cmd_config.c: the configuration. The caller's process, but for config.reload ---- */

/*
 * config.check {}: the configuration as it is in force: its faults, among them what this machine cannot do as it is configured
 * (cores, tools that a language's section names, no device), and what each machine has of the toolkits that the languages'
 * plans start.
 */
command_engine_fn cmd_config_check;
/*
 * config.reload {}: the server loads its configuration again, as on SIGHUP. A fault is the error, and the old configuration
 * goes on.
 */
command_engine_fn cmd_config_reload;

/* ---- cmd_version.c: the parts of this installation. The caller's process ---- */

/* version {}: this installation, and where it looks for its parts. */
command_engine_fn cmd_version;

#endif
