/* SPDX-License-Identifier: MIT */
/*
 * The handlers of the command table, a section per file; command.h has their form. A row has a command's purpose,
 * arguments, right and answer; this file has the rest: events, errors and dependencies.
 */
#pragma once

#include "session/command.h"

/* command_table.c: the table; ends with a NULL name. */
extern const struct command commands[];

/* ---- cmd_board.c: leaderboards. Store's threads ---- */

/*
 * Devices: those given, else the task's, else the only one that is configured. ECONFLICT: the deadline has passed, or no
 * submission could pass; with force the first is a remark, so that an old competition can be kept, and nothing is tried.
 */
command_run_fn cmd_board_create;
command_run_fn cmd_board_check_name; /* the errors of create on a name and on times */
/* Checks a board like create, without writing anything; *ret_plan: see board_trial_plan. New reference. */
int cmd_board_create_check(
	struct db *db, const struct command_env *env, const json_t *args, json_t **ret_plan, struct kettle_error *err);
command_run_fn cmd_board_list;
command_run_fn cmd_board_show;
command_run_fn cmd_board_renamed;
command_run_fn cmd_board_overview; /* cmd_overview.c */
command_run_fn cmd_board_delete;   /* ECONFLICT: it has submissions, and force is not set */
/* board_update. EINVAL: there is nothing to change; ECONFLICT: no submission to the new task could pass */
command_run_fn cmd_board_update;

/* ---- cmd_board_task.c: the task, plans and templates of a leaderboard. Store's threads ---- */

#define BOARD_PLANS_BYTES (16u << 20) /* of all plans in one answer, as JSON */

/* The placeholder in a plan for the secret of a submission. */
#define BOARD_SECRET "<drawn for each submission>"

/*
 * The plans that jobs get, with {"task": name} in place of contents that are a file of the task, {"submission": true}
 * for the submission, and BOARD_SECRET for every secret.
 */
command_run_fn cmd_board_task;
/* EINVAL: no template has that name; ENOENT: there is nothing to start from. */
command_run_fn cmd_board_template;

#define RATE_PER_HOUR_MAX 1000000

command_run_fn cmd_rate_limits;
/* Sets a limit, or removes matching ones. Event leaderboard.limited. EINVAL: neither or both of per_hour, remove; ENOENT. */
command_run_fn cmd_rate_limit;

/* ---- cmd_invite.c: invites to closed leaderboards. Store's threads ---- */

#define INVITE_CODE_LENGTH 32 /* letters of 5 bits each: 160 bits */
#define INVITE_MAX_COUNT 1000 /* codes of one command */

command_run_fn cmd_invite_create; /* event invite.created, which has no code in it */
command_run_fn cmd_invite_list;
command_run_fn cmd_invite_revoke; /* submissions stay. Event invite.revoked. ENOENT */
/*
 * A second use by the same user is no error. Event leaderboard.joined per board, not with `dry_run`. EINVAL: unknown code,
 * or another user's.
 */
command_run_fn cmd_invite_join;

#define EXPORT_MAX_ID 999999999999999 /* an id that JSON's readers hold exactly */

/*
 * The board's creator and admins get every submission; others only those that show_to_others allows. ECONFLICT: the
 * board is active, and private is not set; EACCES: neither creator nor admin, and private is set, or the code is not
 * open.
 */
command_run_fn cmd_board_export;

/* ---- cmd_competition.c: leaderboards from a competition file. Store's threads ---- */

/*
 * Works in one transaction: an error of the database undoes everything; a problem with an error, or one that may not be
 * changed, is listed, and the others are applied; so is a new one to which no submission could pass. Skipped without
 * force: a board of that name that does not belong to the set, and a task that runs differently while there are scores,
 * which would be left behind. Only a board's creator and admins may change it.
 */
command_run_fn cmd_competition_sync;
/*
 * cmd_fetch.c. Loop thread. ENOENT: the server has no such archive; EUNAVAIL: it cannot be reached; EINVAL, ETOOBIG:
 * the archive cannot be read.
 */
command_engine_fn cmd_competition_fetch;
/*
 * The archive of a repository: for OWNER/NAME or https://github.com/OWNER/NAME the zip that GitHub makes of a branch
 * (NULL: the default one); or the https:// URL of a zip itself, without a branch. New strings: the URL, and the
 * archive's name in messages. EINVAL. [any]
 */
int repository_archive(
	const char *repository, const char *branch, char **ret_url, char **ret_label, struct kettle_error *err);
command_run_fn cmd_competition_list;
command_run_fn cmd_competition_show;

/* ---- cmd_submit.c: accepts a submission. Store's thread ---- */

/*
 * The checks come in the order of KernelBot's API, each with its own sentence:
 * mode; board (ENOENT); access to a closed one (EACCES; KernelBot's comes later, and tells its devices); device (EINVAL,
 * lists them); file not empty, at most env->submission_bytes (ETOOBIG), UTF-8 without NUL; accepting (EUNAVAIL);
 * banned (EACCES); extension; header directives; rate limit (ERATE, retry_s); deadline (EINVAL). Stores submission and jobs
 * with a fresh secret seed; event submission.accepted.
 */
command_run_fn cmd_submit;
command_add_fn add_submit_stays; /* "stays" */
/* The devices of a board, and whether each would take a submission of the actor now. */
command_run_fn cmd_board_devices;

/* ---- cmd_submission.c: submissions. Store's threads ---- */

/*
 * The row of a submission (submission_get); id 0: the actor's last one. ENOENT; EACCES: it is not the actor's own, and
 * the actor is no admin. judge: the board's creator has access as well. New reference.
 */
int submission_find(
	const struct command_call *call, int64_t id, bool judge, json_t **ret_row, struct kettle_error *err);
/*
 * The row of another user's submission, with its `code`, while the board allows that: nothing of its runs may be shown.
 * EACCES, with a sentence that says when, if ever. New reference.
 */
int submission_find_open(const struct command_call *call, int64_t id, json_t **ret_row, struct kettle_error *err);

command_run_fn cmd_submission_list;
command_run_fn cmd_submission_show;   /* for its owner, the board's creator and admins; for others see show_to_others */
command_add_fn add_submission_places; /* of queued jobs, by engine_queue_position */
command_run_fn cmd_submission_watch;  /* writes nothing, but needs an engine as a write does */
command_run_fn cmd_submission_cancel; /* a rerun: only admins. ECONFLICT: it has ended */
command_run_fn cmd_submission_delete; /* one that is marked as a cheat: only admins */
/* Works in one transaction. Events for each. EACCES: one is marked as a cheat. */
command_run_fn cmd_submission_delete_own; /* a part of OWN_DELETED_PART submissions */
command_run_fn cmd_submission_delete_all;
command_run_fn cmd_submission_count;
command_run_fn cmd_submission_download; /* for its owner, the board's creator and admins; of superseded jobs too */
command_run_fn cmd_submission_artifact; /* for the same. ENOENT: there is none, or it is not kept any more */
command_run_fn cmd_artifact_open;       /* likewise; the caller gets the whole file (artifact_lend) */
command_run_fn cmd_submission_feed;

/* ---- cmd_submission_diff.c: two submissions side by side. Store's threads ---- */

command_run_fn cmd_submission_diff; /* for users who may read the code of both. "significant": see interval.h */

/* ---- cmd_trend.c: best scores over time. Store's threads ---- */

#define TREND_USERS_MAX 10

command_run_fn cmd_board_podiums;
command_run_fn cmd_board_trend; /* ENOENT: a user is not ranked there */

/* ---- cmd_plot.c: the same as a picture. Store's threads, then the loop ---- */

command_run_fn cmd_board_plot; /* the request for kettle-plot */
/* EUNAVAIL: kettle-plot or its library is missing (names the package), it took too long, or too many are drawn. */
command_finish_fn finish_board_plot;

/* ---- cmd_moderate.c: judges submissions on a board. Store's thread ---- */

#define FLAG_REASON_MAX 500 /* characters */

/* The submission leaves the ranking at once, even while jobs run. Event submission.flagged. ECONFLICT: it is marked already. */
command_run_fn cmd_submission_flag;
command_run_fn cmd_submission_unflag; /* event submission.unflagged. ECONFLICT: it is not marked */
command_run_fn cmd_submission_rerun;  /* jobs_rerun. EUNAVAIL: a device is not configured */

/* ---- cmd_user.c: users. Store's threads ---- */

#define USER_REASON_MAX 500 /* characters */

command_run_fn cmd_user_list;
/*
 * The user's submissions count no more, open ones are cancelled, and the user can write nothing. Events: of each
 * cancelled submission, rank.changed, user.banned. ECONFLICT: banned already, an admin, oneself.
 */
command_run_fn cmd_user_ban;
command_run_fn cmd_user_unban; /* cancelled jobs stay cancelled. Event user.unbanned. ECONFLICT */
command_run_fn cmd_user_role;  /* event user.role. ECONFLICT: the last admin, or banned */

/* The stored data of a user: of the actor, for admins of any user. */
command_run_fn cmd_user_show;
command_run_fn cmd_user_export;
command_run_fn cmd_user_update; /* event user.updated */
/* user_page, of any user. ENOENT also for an identity of another user, unless the actor is an admin. */
command_run_fn cmd_user_page;
/* user_delete; open submissions are cancelled. EACCES: another user, or banned; ECONFLICT: the only admin. */
command_run_fn cmd_user_delete;

/* ---- cmd_token.c: tokens and logins. Store's thread ---- */

#define TOKEN_NAME_MAX 100             /* characters */
#define TOKENS_MAX 20                  /* of one user */
#define SESSION_MS INT64_C(7776000000) /* how long a confirmed login holds: 90 days */
#define LOGIN_MS 600000                /* how long a login may wait to be confirmed */
#define LOGINS_OF_ADDRESS 10           /* that wait, from one address */
#define LOGINS_MAX 1000                /* that wait, in all */

command_run_fn cmd_token_create; /* shows the token, the only time. ECONFLICT, ETOOBIG */
command_run_fn cmd_token_list;
command_run_fn cmd_token_revoke;  /* ENOENT */
command_run_fn cmd_token_check;   /* EACCES: not valid; EUNAVAIL: its login is not confirmed yet */
command_run_fn cmd_identity_add;  /* ECONFLICT: another user has it */
command_run_fn cmd_login_begin;   /* ERATE: too many wait */
command_run_fn cmd_login_reset;   /* ENOENT: it is not one that waits */
command_run_fn cmd_login_confirm; /* ENOENT: no such code */

/* ---- cmd_token.c: one-time links that plugins publish. Store's thread ---- */

command_run_fn cmd_link_take; /* ENOENT: used, expired or never made */

/* ---- cmd_account_merge.c: merges two users into one. Store's thread ---- */

#define MERGE_CODE_MS 600000                     /* how long a code holds */
#define MERGE_CODE_LETTERS 10                    /* of 32: 50 bits */
#define MERGE_CODE_TEXT (MERGE_CODE_LETTERS + 2) /* bytes of a code as it is shown, ABCDE-FGHJK */

/* Short codes that one person shows and another, or the same one elsewhere, types. */

/* A new code as it is shown, and the hash that is stored of it. [any] */
void merge_code_draw(char ret_code[MERGE_CODE_TEXT], char ret_hash[65]);
/* The hash of a code as it was typed, without case, blanks and dashes. False: it is none. [any] */
bool merge_code_read(const char *typed, char ret_hash[65]);

/*
 * Codes work once, and a new one ends the user's last. With another user's code and confirm, that user is merged into
 * the actor's (user_merge). Events user.code, user.merged. ENOENT: no such code, or too old; ECONFLICT: one's own.
 */
command_run_fn cmd_user_link;
command_run_fn cmd_user_merge; /* ECONFLICT: both are one already */

/* ---- cmd_admin.c: administration of the engine. Store's threads ---- */

/* Kept over restarts; running jobs go on. Event admin.accepting if it changed. */
command_run_fn cmd_admin_resume;
command_run_fn cmd_admin_pause;
command_run_fn cmd_admin_stats;
command_run_fn cmd_admin_log;
command_run_fn cmd_admin_verify; /* the findings of verify_database (model/verify.h) */

/* ---- cmd_backup.c: copies of a database in files. The caller's process, for admins of the database ---- */

/*
 * Both report progress like a local run: {"kind": "progress", "task_run": true, "device": "backup" or "export",
 * "event": {"event": "copied", "done", "total"}}. ENOENT: there is no database yet; ECANCELED: the process ends.
 */
command_engine_fn cmd_admin_backup; /* see backup.h */
command_engine_fn cmd_admin_export; /* see model/export_files.h */

/* ---- cmd_engine.c: answered by the engine. Loop thread of the database's owner ---- */

/* known: answers at once, with the stored facts of machines; an engine that stays asks the machines then. */
command_engine_fn cmd_device_list;
command_engine_fn cmd_queue_place; /* of the actor's own jobs; an admin's: of all */
command_engine_fn cmd_admin_gc;    /* garbage_collector_run in maintenance.h */

/* ---- cmd_metrics.c: figures and health of a server, for its frontends ---- */

command_engine_fn cmd_engine_metrics; /* Loop thread of the database's owner */
command_engine_fn cmd_engine_ready;   /* may write to the database. Loop thread of any process */

/* ---- cmd_device.c: disables and enables units. Loop thread of the owner ---- */

command_engine_fn cmd_device_disable; /* ENOENT: there is none of that name */
command_engine_fn cmd_device_enable;  /* test: only units whose machine passes */

/* ---- cmd_calibrate.c: measures how fast a unit is. Loop thread of the owner ---- */

/*
 * Writes device.calibrated for the unit, its parts and each board's task. Its progress: {"event": "measuring", "what",
 * "name", "index", "count", "run", "runs"}, and {"event": "kept", "text": what stays if it is interrupted now}. Ends
 * with ECANCELED when its caller goes away.
 */
command_engine_fn cmd_device_calibrate;
command_run_fn cmd_device_calibrations;

/* ---- cmd_device_verify.c: whether units run known submissions. Loop thread of the owner ---- */

command_engine_fn cmd_device_verify; /* progress and end as those of device.calibrate */

/* ---- cmd_runner.c: runners' answers about their machines and remote sides ---- */

command_engine_fn cmd_device_doctor; /* ENOENT; ETOOBIG: too many machines. Loop thread of the owner */
command_engine_fn cmd_runner_init; /* ENOENT: no such runner; EUNAVAIL: it has nothing to write. The caller's process */
command_engine_fn cmd_runner_status; /* ENOENT, EUNAVAIL. Loop thread of the owner */

/* ---- cmd_task.c: harnesses of languages ---- */

#define HARNESS_MAX_FILE (1u << 20) /* bytes */

/* EINVAL: no such language; ENOENT: it has none; EIO: its files are missing. */
command_engine_fn cmd_harness_show;

/* ---- cmd_task.c: tasks in all their forms. The caller's process ---- */

command_engine_fn cmd_task_read;   /* the bundle */
command_engine_fn cmd_task_unpack; /* the same for a file that was sent. The owner's process */
/*
 * A device's lack is an error, too, and with strict every remark. A competition has an entry of its own, and then one
 * for each problem.
 */
command_engine_fn cmd_task_check;
command_engine_fn cmd_task_pack;        /* task/pack.h */
command_engine_fn cmd_task_list;        /* the shipped tasks */
command_engine_fn cmd_task_new;         /* the pack of a shipped task; the caller writes it to dir */
command_engine_fn cmd_competition_read; /* competition_read_all */

/* ---- cmd_task_run.c: runs a task here, without a database. The caller's process ---- */

command_engine_fn cmd_task_run; /* the verdict (verdict.h), and more */
/*
 * Runs the solutions in solutions/correct and solutions/wrong beside the task. A wrong one without a result in
 * `expect:` may end in all but passed and error. It is run in the mode of the arguments, else in its own (`expect:
 * failed in test`), else ranked. Each result is also an event: {"kind": "progress", "task_run": true, "solution":
 * result, "done", "of"}.
 */
command_engine_fn cmd_task_verify;

/* ---- cmd_complete.c: completions for a shell. Store's threads ---- */

command_run_fn cmd_complete;

/* ---- cmd_plugin.c: plugins, and the parts of this installation. The caller's process ---- */

command_engine_fn cmd_plugin_list; /* those of this process, and the loadable ones in plugin_path */
command_engine_fn cmd_plugin_info; /* with its options (option_table_json), and the facts of its kind */
command_engine_fn cmd_plugin_test; /* the conformance checks (conformance.h) */
command_engine_fn cmd_version;

/* ---- cmd_config.c: the configuration. The caller's process, but for config.reload ---- */

/*
 * The configuration in force: its faults, including those of this machine (cores, tools that a language's section
 * names, no device), and each machine's parts of the toolkits that the languages' plans start.
 */
command_engine_fn cmd_config_check;
command_engine_fn cmd_config_reload; /* as on SIGHUP. A fault is the error, and the old configuration goes on */

/* ---- cmd_login.c: logs in and out at the server of --server. The caller's process ---- */

#define LOGIN_WAIT_MS 600000 /* how long a login may wait to be confirmed */

command_engine_fn cmd_login;      /* begins a login */
command_engine_fn cmd_login_wait; /* waits until it is confirmed, and keeps the token (server_token_keep) */
command_engine_fn cmd_logout;     /* revokes the token, and forgets it */
