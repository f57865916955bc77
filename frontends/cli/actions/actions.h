/* SPDX-License-Identifier: MIT */
/*
 * Commands that do more than call and print, a section for each file. Functions are members of struct args_ui unless a
 * comment says otherwise: the name ends with the member's, or the comment names it. Loop thread only.
 */
#pragma once

#include "cli/run/invocation.h"

/* ---- artifacts.c: lists or fetches the files that jobs left ---- */
extern const struct args_option artifacts_options[];
void artifacts_answer(struct run *run, const json_t *result);
void artifacts_render(struct run *run, const json_t *result);

/* ---- board_task.c: leaderboard task, leaderboard template and harness show: print, or write with -o ---- */
extern const struct args_option board_task_folder_options[]; /* -o for a new folder */
extern const struct args_option board_task_file_options[];   /* -o for a new file */
void board_task_answer(struct run *run, const json_t *result);
void board_task_render(struct run *run, const json_t *result);
void board_task_template_answer(struct run *run, const json_t *result);
void board_task_template_render(struct run *run, const json_t *result);
void board_task_eval_answer(struct run *run, const json_t *result);
void board_task_eval_render(struct run *run, const json_t *result);

/* ---- completion.c: shell completion; not members ---- */
/* Prints the script of the shell that the only word names. EINVAL: there is none. */
int completion_script(const struct term *term, int argc, const char *const *argv, struct kettle_error *err);
/*
 * Prints the completions of the last word (complete.h) and calls done later; leaves out names that have not come after
 * a second. On an error it prints nothing. The words are borrowed until done is called.
 */
void completion_start(const struct kettle_host *host, const json_t *actor, const struct args_ui *uis, int argc,
	const char *const *argv, void (*done)(void *arg, int status), void *done_arg);

/* ---- confirm.c: prompts on a terminal before commands that cannot be undone, and login at a server ---- */
extern const struct args_option confirm_options[];
extern const struct args_option link_options[];
void confirm_delete(struct run *run);
void confirm_link(struct run *run);  /* with a code: shows the two users first */
void confirm_login(struct run *run); /* shows the login first */
void login_answer(struct run *run, const json_t *result);

/* ---- export.c: leaderboard export, user export and leaderboard plot ---- */
extern const struct args_option export_options[];
/*
 * Writes a line of JSON for each submission (with --json and without -o one array). With -o it writes a temporary file
 * and renames it when it is complete.
 */
void export_start(struct run *run);
extern const struct args_option plot_options[];
void plot_start(struct run *run);
void plot_answer(struct run *run, const json_t *result);

/* ---- submit.c: submits a file: menus on a terminal, progress, a report ---- */
extern const struct args_option submit_options[];
extern const struct args_option task_run_options[];
void submit_start(struct run *run);
/* The answer to submit and submission rerun: follows the submission, or prints its number with --no-wait. */
void submit_accepted(struct run *run, const json_t *result);
/* The answer to submission watch: follows the submission, or shows it if it has ended. */
void submit_watched(struct run *run, const json_t *result);
/*
 * No member: the line typed at the menu ("1 3", "1,H100") as an array of device names. New reference; NULL: a word in it
 * is not a device, or the line is empty.
 */
json_t *submit_choice(const char *line, const json_t *devices);

/* ---- task_commands.c: task check, verify, pack, new, and competition sync ---- */
void task_check_render(struct run *run, const json_t *result);
void task_verify_start(struct run *run);
void task_verify_render(struct run *run, const json_t *result);
extern const struct args_option task_pack_options[];
void task_pack_answer(struct run *run, const json_t *result);
void task_new_answer(struct run *run, const json_t *result);
extern const struct args_option competition_options[];
void competition_render(struct run *run, const json_t *result);
int competition_status(const json_t *result); /* RUN_FAILED if a problem is wrong */

/* ---- task_files.c: no members ---- */
/*
 * Turns the answer of leaderboard.task into the files of a folder. *ret_files is an object of relative path →
 * contents: task.yml, the task's files and templates at the places that its sources name, and the plans below
 * kettle-plans/. If sources leave the task's folder by ../, the task is as deep below the new folder as they need;
 * *ret_task is its folder there ("" for the top). New reference and string. EINVAL.
 */
int task_files(const json_t *answer, json_t **ret_files, char **ret_task, struct kettle_error *err);

/* ---- save.c: no members; writes files: overwrites none, and writes none outside its folder ---- */
#define SAVE_MAX_FILES 2000
/* Writes a new file. ECONFLICT: it exists; EACCES, EINVAL (no such folder), EIO. */
int save_file(const char *path, const void *data, size_t size, struct kettle_error *err);
/* The error for a file that could not be created; number: its errno. Codes as for save_file. */
int save_fail(const char *path, int number, struct kettle_error *err);
/*
 * Makes a new folder and fills it: files is an object of relative path → contents ({"text"} or {"base64"}). On an
 * error it removes the folder. ECONFLICT: the folder exists; EINVAL: a path that leads outside it, two paths that
 * collide, more than SAVE_MAX_FILES.
 */
int save_folder(const char *path, const json_t *files, struct kettle_error *err);
/*
 * Opens a file of a path below dir for writing, makes missing folders and follows no link; flags: O_CREAT | O_EXCL for
 * a new one. -1 with errno. [any, blocks]
 */
int save_open_below(const char *dir, const char *below, int flags);
/* Removes the file of a path below dir. [any, blocks] */
void save_remove_below(const char *dir, const char *below);

/* ---- unpack.c: no member; the files of a zip that the engine sent ---- */
#define UNPACK_MAX_ENTRIES 200
#define UNPACK_MAX_BYTES (INT64_C(1) << 30) /* of all files together */
/*
 * Unpacks the zip at dir/below into its own folder and removes it. *ret_files: [{"name", "size", "path"}]; new
 * reference. Writes no file outside the folder, overwrites none, and follows no link. ETOOBIG: over a limit; EINVAL:
 * damaged, encrypted, or with a name that leaves the folder, a link, a device; ECONFLICT: a file exists; EIO. On an
 * error the files unpacked before stay. [any, blocks]
 */
int unpack_zip(const char *dir, const char *below, json_t **ret_files, struct kettle_error *err);
