/* SPDX-License-Identifier: MIT */
/* The command table itself: every command with its arguments, right and kind. */
#include <config.h>

#include "commands/command_parts.h"
#include "commands/handlers.h"

const struct command commands[] = {
	{"leaderboard.create", "create a leaderboard from a task", .right = RIGHT_CREATOR, .kind = COMMAND_WRITE,
		ARGUMENTS(
			{POSITIONAL("name", STRING), .meta = "NAME",
				.help = "1 to 64 letters, digits, `.`, `_` and `-`, the first a letter or digit; not case-sensitive"},
			{"task", ARGUMENT_TASK, .required = true, .meta = "PATH",
				.help = "the task: a folder with task.yml, a zip of one, or a single reference file"},
			{"deadline", ARGUMENT_WHEN, .meta = "WHEN",
				.help = "a date (its end in UTC), a date and time, +30d, +12h, +90m, or none; default: none"},
			{"opens", ARGUMENT_WHEN, .meta = "WHEN", .help = OPENS_HELP "; default: none"},
			{DEVICES, .help = "a device to rank on; default: those that the task names, or the only configured one"},
			{"description", ARGUMENT_STRING, .meta = "TEXT",
				.help = "what participants read; default: the task's description"},
			{"visibility", ARGUMENT_CHOICE, .choices = visibilities, .default_value = "public",
				.help = "closed: only for users who have joined it"},
			{"code_visibility", ARGUMENT_CHOICE, .also = "code", .choices = code_settings, .default_value = "owner",
				.help =
					"who may read the code of a submission: its owner (owner), all users once the deadline has passed "
					"(ended), or all users (always)"},
			{"jit_cache", ARGUMENT_CHOICE, .choices = yes_or_no, .default_value = "yes", .help = JIT_CACHE_HELP},
			{"after_deadline", ARGUMENT_CHOICE, .choices = after_deadline, .default_value = "closed",
				.help = AFTER_DEADLINE_HELP}),
		.run = cmd_board_create,
		.example = "kettle leaderboard create vectoradd --task tasks/vectoradd_cpp --deadline +30d --device CPU",
		.view = {.sentence = "Created leaderboard {*name} on {gpu_types:and}; deadline " DEADLINE
							 "{deadline?, {deadline:until}}{opens?; opens {opens:time}}.{tried@@\n{device}: {said}}"},
		.details = "The task is stored with the leaderboard; later changes to its folder have no effect. Each device "
				   "has its own ranking. On the command line, the task's template first runs the tests, once on each "
				   "free device. The template may fail; a task whose own files fail is refused.",
		.answer = "the leaderboard as in `leaderboard.list`, with `remarks`: sentences about the task; on the command "
				  "line also `tried`, as in `task.check`."},
	{"leaderboard.update", "change a leaderboard", .right = RIGHT_CREATOR, .kind = COMMAND_WRITE,
		ARGUMENTS({BOARD_NAME},
			{"deadline", ARGUMENT_WHEN, .meta = "WHEN",
				.help = "a date (its end in UTC), a date and time, or +30d, +12h, +90m; `none` removes it"},
			{"opens", ARGUMENT_WHEN, .meta = "WHEN", .help = OPENS_HELP},
			{DEVICES, .help = "a device to rank on; the devices that you give replace the current ones, and a removed "
							  "device keeps its scores in case it returns"},
			{"visibility", ARGUMENT_CHOICE, .choices = visibilities,
				.help = "closed: only for users who have joined it"},
			{"code_visibility", ARGUMENT_CHOICE, .also = "code", .choices = code_settings,
				.help =
					"who may read the code of a submission: its owner (owner), all users once the deadline has passed "
					"(ended), or all users (always)"},
			{"jit_cache", ARGUMENT_CHOICE, .choices = yes_or_no, .help = JIT_CACHE_HELP},
			{"after_deadline", ARGUMENT_CHOICE, .choices = after_deadline, .help = AFTER_DEADLINE_HELP},
			{"description", ARGUMENT_STRING, .meta = "TEXT", .help = "what participants read"},
			{"task", ARGUMENT_TASK, .meta = "PATH", .help = "the new version of the task"},
			{FLAG("force"), .help = "also if the new task runs differently, so that earlier scores no longer count"}),
		.run = cmd_board_update,
		.example = "kettle leaderboard update vectoradd --deadline +7d --code-visibility ended",
		.view = {.sentence = "{changes?Updated leaderboard {*leaderboard.name}: {changes:words}.|Leaderboard "
							 "{*leaderboard.name} already has these settings.}{changes=task?\n{scores=left?Earlier "
							 "scores no longer count ({ranked} place{ranked#|s}): the rankings start again with "
							 "submission {counts_from}.|Earlier scores still count.}{open?\n{open} job{open# is|s are} "
							 "queued or running, and use{open#s} the previous version.}}{tried@@\n{device}: {said}}"},
		.details =
			"Settings that you do not give stay as they are. Scores stay if only descriptions or templates of the task "
			"change. If its files, configuration, tests or benchmarks change, the rankings start again, which needs "
			"--force. Queued and running jobs use the version of the task for which they were submitted.",
		.answer = "`{\"changes\": [the settings that changed], \"differs\": [files and keys of the task], \"scores\": "
				  "\"kept\" or \"left\", \"ranked\": places in the rankings before, \"open\": jobs, \"counts_from\": "
				  "id, \"leaderboard\", \"remarks\"}`."},
	{"leaderboard.list", "list the leaderboards", .right = RIGHT_ANYBODY, .kind = COMMAND_READ,
		ARGUMENTS({FLAG("all"), .help = "also the ended ones"}), .run = cmd_board_list,
		.view = {COLUMNS(COLUMN_CUT("name", "{name}"), COLUMN_CUT("devices", "{gpu_types}"),
					 SPARE_COLUMN(3, "deadline", DEADLINE), SPARE_COLUMN(2, "", "{deadline:until}"),
					 SPARE_COLUMN(4, "access", "{visibility=closed?closed}"),
					 SPARE_COLUMN_CUT(1, "description", "{description:line}")),
			.empty = "There is no leaderboard; `kettle leaderboard create NAME --task PATH` creates one."},
		.answer = "`[{\"id\", \"name\", \"description\", \"task\", \"deadline\", \"gpu_types\": [device], "
				  "\"visibility\", \"code\", \"jit_cache\", \"after_deadline\", \"creator\", \"created\", \"opens\", "
				  "\"ended\", "
				  "\"version\"}]`, by name. The version grows with every change of what `leaderboard.show` answers."},
	{"leaderboard.show", "show a leaderboard and its rankings", .right = RIGHT_ANYBODY, .kind = COMMAND_READ,
		ARGUMENTS({BOARD_NAME}, {DEVICE, .help = "only the ranking of this device; default: all"},
			{FLAG("mine"), .help = "your own runs instead of each user's best one"},
			{FLAG("practice"), .help = "the practice submissions (after the deadline) instead of the ranking"},
			{"limit", ARGUMENT_INT, .default_value = "100", .min = 1, .max = 1000, .meta = "N",
				.help = "show at most N places"},
			{OFFSET}),
		.run = cmd_board_show,
		.view = {.sentence = "\n{*device}",
			.list = "entries",
			.mark = "user_name",
			COLUMNS(COLUMN_RIGHT("rank", "{close?≈ }{rank}"), COLUMN_CUT("user", "{user_name?{user_name}|{user_id}}"),
				COLUMN_RIGHT("score", "{submission_score:score}"), SPARE_COLUMN(2, "when", "{submission_time:time}"),
				SPARE_COLUMN_RIGHT(3, "id", "{submission_id}"), SPARE_COLUMN_CUT(1, "file", "{submission_name}")),
			.empty =
				"  {args.practice?no practice submissions here|{args.mine?you are not ranked here|no user is ranked "
				"here}}"},
		.details = "The best run of each user counts. Equal scores share a rank, and the next rank is skipped.",
		.answer = "`{\"leaderboard\", \"rankings\": [{\"device\", \"count\", \"entries\": [{\"rank\", \"user_id\", "
				  "\"user_name\", \"submission_id\", \"submission_name\", \"submission_time\", \"submission_score\": "
				  "seconds, \"low\", \"high\", \"close\": whether the gap to the entry above is within the error, "
				  "\"gpu_type\", "
				  "\"leaderboard_name\"}]}], "
				  "\"code_open\", \"version\": grows with every change of this answer}`; on the command "
				  "line with --json all entries in one array."},
	{"leaderboard.trend", "show the best scores over time", .right = RIGHT_ANYBODY, .kind = COMMAND_READ, .slow = true,
		ARGUMENTS({BOARD_NAME}, {DEVICE, .help = "only for this device; default: all"},
			{"user", ARGUMENT_USER, .repeated = true, .meta = "USER",
				.help = "also for this user, who must be ranked there"},
			{FLAG("mine"), .help = "also for yourself"}, {LIMIT("100", 1000)}),
		.run = cmd_board_trend, .hidden = true,
		.answer = "`{\"leaderboard\", \"trends\": [{\"device\", \"series\": [{\"user_id\": null of all users together, "
				  "\"user_name\", \"count\": of improvements, \"points\": [{\"submission_id\", \"user_id\", "
				  "\"user_name\", \"time\": of its submission, \"score\": seconds}]}]}]}`; the last `limit` "
				  "improvements, the "
				  "oldest first. What does not count for the ranking is left out."},
	{"leaderboard.plot", "draw the best scores over time", .right = RIGHT_ANYBODY, .kind = COMMAND_READ, .slow = true,
		ARGUMENTS({BOARD_NAME}, {DEVICE, .help = "only for this device; default: all"},
			{"of", ARGUMENT_USER, .repeated = true, .meta = "USER",
				.help = "also for this user, who must be ranked there"},
			{FLAG("mine"), .help = "also for yourself"},
			{"format", ARGUMENT_CHOICE, .choices = pictures, .default_value = "svg",
				.help = "on the command line, by default: as the extension of the file says"}),
		.run = cmd_board_plot, .finish = finish_board_plot,
		.example = "kettle leaderboard plot vectoradd --of ada --of grace -o vectoradd.svg",
		.details = "There is a line for all users together and one for each user that you name, in a panel for each "
				   "device. The scale is logarithmic if the scores span more than a decade. Only what counts for the "
				   "ranking is drawn.",
		.answer = "`{\"leaderboard\", \"format\", \"base64\": the picture}`; on the command line with -o `{\"file\", "
				  "\"format\", \"bytes\"}`."},
	{"leaderboard.task", "show the task of a leaderboard and how it runs", .right = RIGHT_ANYBODY, .kind = COMMAND_READ,
		ARGUMENTS({BOARD_NAME}, {DEVICE, .help = "only the plans for this device; default: all"},
			{"mode", ARGUMENT_CHOICE, .choices = plan_modes, .help = "only the plans for this mode; default: all"}),
		.run = cmd_board_task, .example = "kettle leaderboard task vectoradd -o vectoradd",
		.details = "The task consists of every file, task.yml, and the plan for each device and mode, with its "
				   "commands, environment and limits. Only the secret seed is hidden; it is drawn for each submission.",
		.answer = "`{\"leaderboard\", \"name\", \"yml\", \"task\", \"submission\": its name in the job's folder, "
				  "\"files\": {name: contents}, \"templates\": {language: {\"file_name\", \"text\"}}, \"hash\", "
				  "\"plans\": [{\"device\", \"mode\", \"plan\" (plan.schema.json, with `{\"task\": name}` and "
				  "`{\"submission\": true}` for contents) or \"error\"}]}`."},
	{"leaderboard.template", "print a file to start from", .right = RIGHT_ANYBODY, .kind = COMMAND_READ,
		ARGUMENTS(
			{BOARD_NAME}, {"lang", ARGUMENT_STRING, .meta = "LANG",
							  .help = "a template by its name (Triton), or a language; required if there are several"}),
		.run = cmd_board_template, .example = "kettle leaderboard template vectoradd -o submission.cpp",
		.details = "This is the task's template, or the skeleton of the language if the task has none, below a header "
				   "that names the leaderboard and its devices; the description and the deadline follow as comments.",
		.answer = "`{\"leaderboard\", \"templates\": [{\"language\", \"file_name\", \"text\", \"source\": \"template\" "
				  "or \"skeleton\"}]}`."},
	{"leaderboard.rate_limits", "list the rate limits of a leaderboard", .right = RIGHT_ANYBODY, .kind = COMMAND_READ,
		ARGUMENTS({BOARD_NAME},
			{"category", ARGUMENT_CHOICE, .choices = rate_categories,
				.help = "leaderboard: of ranked submissions; test: of all others"},
			{DEVICE, .help = "only the limit on this device"}),
		.run = cmd_rate_limits, .hidden = true,
		.answer = "`{\"leaderboard\", \"limits\": [{\"category\", \"device\": name or null for all together, "
				  "\"per_hour\"}]}`."},
	{"leaderboard.rate_limit", "show, set or remove rate limits of a leaderboard", .right = RIGHT_CREATOR,
		.kind = COMMAND_WRITE,
		ARGUMENTS({BOARD_NAME},
			{"category", ARGUMENT_CHOICE, .choices = rate_categories,
				.help = "leaderboard: ranked submissions; test: all others; default: both"},
			{DEVICE,
				.help = "a limit on this device only; default: on all devices together, and with --remove: any limit"},
			{"per_hour", ARGUMENT_INT, .min = 0, .max = RATE_PER_HOUR_MAX, .meta = "N",
				.help = "at most N from each user in any hour; 0: none"},
			{FLAG("remove"), .help = "remove the limit"}),
		.run = cmd_rate_limit, .example = "kettle leaderboard rate-limit vectoradd --category leaderboard --per-hour 6",
		.view = {.list = "limits",
			COLUMNS(COLUMN("category", "{category}"), COLUMN_CUT("device", "{device?{device}|all together}"),
				COLUMN_RIGHT("an hour", "{per_hour}")),
			.empty = "Leaderboard {*leaderboard} {args.remove?no longer has this rate limit|has no rate limit}."},
		.details = "A limit counts the submissions of each user in a rolling hour. Refused submissions and those that "
				   "the engine failed do not count; deleted ones do.",
		.answer = "as `leaderboard.rate_limits`, with what is there then."},
	{"leaderboard.export", "export the submissions of a leaderboard as lines of JSON", .right = RIGHT_ANYBODY,
		.kind = COMMAND_READ,
		ARGUMENTS({BOARD_NAME},
			{FLAG("private"), .help = "also while it is active; the output is not for participants"},
			{"after", ARGUMENT_INT, .default_value = "0", .min = 0, .max = EXPORT_MAX_ID, .meta = "ID",
				.help = "only submissions with higher numbers"}),
		.run = cmd_board_export, .example = "kettle leaderboard export vectoradd -o vectoradd.jsonl",
		.details = "Writes one line for each submission, with code and scores. The leaderboard's creator and admins "
				   "get all submissions; other users get the ranked ones, if the leaderboard shows their code. "
				   "Exporting an active leaderboard needs --private.",
		.answer = "a page: `{\"leaderboard\", \"total\": of the board, with the first page, \"submissions\": [{\"id\", "
				  "\"user_id\", \"user_name\", \"mode\", \"file_name\", \"submission_time\", \"state\", \"flagged\", "
				  "\"counts\", \"task\": hash, \"sha256\", \"code\", \"devices\": [{\"device\", \"state\", \"score\", "
				  "\"low\", \"high\"}]}], \"next\": what `after` gets the next page, or null}`. The command line asks "
				  "for all pages and writes the submissions, each on a line; with --json as one array, and with -o "
				  "`{\"file\", \"leaderboard\", \"submissions\"}`."},
	{"leaderboard.join", "join closed leaderboards with an invite", .right = RIGHT_ANYBODY, .kind = COMMAND_WRITE,
		ARGUMENTS({INVITE_CODE}), .run = cmd_invite_join, .view = {.sentence = "You can now see {leaderboards:and}."},
		.answer = "`{\"status\": \"ok\", \"leaderboards\": [name]}`."},
	{"invite.create", "create invites to leaderboards", .right = RIGHT_CREATOR, .kind = COMMAND_WRITE,
		ARGUMENTS({POSITIONAL("name", BOARD), .repeated = true, .meta = "NAME",
					  .help = "a leaderboard that the invite opens"},
			{"count", ARGUMENT_INT, .default_value = "1", .min = 1, .max = INVITE_MAX_COUNT, .meta = "N",
				.help = "how many codes"}),
		.run = cmd_invite_create, .example = "kettle invite create vectoradd softmax --count 20",
		.view = {.sentence =
					 "{args.quiet?|Each code opens {leaderboards:and} to one user, with `kettle leaderboard join "
					 "CODE`:}",
			.list = "codes",
			.line = "{}"},
		.details = "Each code is for one user, and opens all of these leaderboards.",
		.answer = "`{\"leaderboards\": [name], \"codes\"}`."},
	{"invite.list", "list the invites to a leaderboard", .right = RIGHT_CREATOR, .kind = COMMAND_READ,
		ARGUMENTS({BOARD_NAME}, {LIMIT("1000", 1000)}, {OFFSET}), .run = cmd_invite_list,
		.view = {.list = "invites",
			COLUMNS(COLUMN("code", "{code}"), COLUMN_CUT("claimed by", "{user_name}"),
				SPARE_COLUMN(2, "when", "{claimed_at:time}"), SPARE_COLUMN(1, "created", "{created_at:time}"),
				SPARE_COLUMN_CUT(3, "opens", "{leaderboards?{leaderboards#|{leaderboards:count} leaderboards}}")),
			.empty = "There is no invite; `kettle invite create NAME` creates one."},
		.answer = "`{\"leaderboard\", \"count\", \"invites\": [{\"code\", \"user_id\": text or null, \"user_name\", "
				  "\"claimed_at\", \"created_at\", \"leaderboards\"}]}`, newest first."},
	{"invite.revoke", "revoke an invite", .right = RIGHT_CREATOR, .kind = COMMAND_WRITE, ARGUMENTS({INVITE_CODE}),
		.run = cmd_invite_revoke,
		.view = {.sentence = "Revoked the invite{was_claimed?: {*user_name} no longer sees {leaderboards:and}, "
							 "unless another invite allows it}."},
		.details = "The user who claimed it no longer sees the leaderboards; their submissions stay.",
		.answer = "`{\"code\", \"was_claimed\", \"user_name\", \"leaderboards\"}`."},
	{"harness.show", "show the harness of a language", .also = "eval_code", .right = RIGHT_ANYBODY,
		.kind = COMMAND_ENGINE,
		ARGUMENTS(
			{POSITIONAL("language", STRING), .meta = "LANG", .help = "a loaded language, by its name or an alias"}),
		.engine = cmd_harness_show, .example = "kettle harness show cpp -o harness",
		.details = "These are the harness files that come with Kettle. A task may have a harness of its own, which "
				   "`leaderboard task` shows.",
		.answer = "`{\"language\", \"files\": [{\"name\", \"text\"}]}`."},
	{"leaderboard.delete", "delete a leaderboard and everything on it", .right = RIGHT_CREATOR, .kind = COMMAND_WRITE,
		ARGUMENTS({BOARD_NAME}, {FLAG("force"), .help = "also if it has submissions, which are deleted with it"}),
		.run = cmd_board_delete,
		.view = {.sentence =
					 "Deleted leaderboard {*name}{submissions? and its {submissions} submission{submissions#|s}}."},
		.details = "Running jobs are cancelled. Submissions, runs, artifacts, invites and limits of the leaderboard "
				   "are deleted.",
		.answer = "`{\"name\", \"submissions\": how many went with it}`."},
	{"submit", "submit a file to a leaderboard", .right = RIGHT_ANYBODY, .kind = COMMAND_WRITE, .late_ban = true,
		ARGUMENTS({RUN_MODE}, {POSITIONAL("file", FILE), .meta = "FILE", .help = "the source file"},
			{BOARD, .help = "the leaderboard; default: what the file's header says"},
			{DEVICES,
				.help =
					"a device to run on; default: what the file's header says, or the only device of the leaderboard"},
			{"note", ARGUMENT_STRING, .meta = "TEXT", .help = "a note to yourself, of at most 500 characters"}, CAPTURE,
			{FLAG("late"), .help = "for admins: also after the deadline, in the ranking"}, {NO_WAIT}),
		.run = cmd_submit, .add = add_submit_stays,
		.example = "kettle submit submission.cpp --leaderboard vectoradd --mode ranked",
		.details = "A ranked submission runs the tests, the benchmarks and the ranked benchmarks, then the same again "
				   "with a secret seed; it counts if everything passes.",
		.answer = "`{\"id\", \"leaderboard\", \"mode\", \"devices\", \"jobs\": [{\"job\", \"device\"}], \"seq\": "
				  "number of the event, \"stays\": whether a server goes on with it, \"practice\": whether it is "
				  "outside of the "
				  "ranking, after the deadline or before the leaderboard opens, "
				  "\"remarks\": about directives that were not "
				  "read}`; on the command line, which "
				  "waits, what `submission.show` answers."},
	{"submission.list", "list submissions, newest first", .right = RIGHT_ANYBODY, .kind = COMMAND_READ,
		ARGUMENTS({"leaderboard", ARGUMENT_BOARD, .positional = true, .meta = "NAME",
					  .help = "only those on this leaderboard"},
			{FLAG("all"), .help = "the submissions of all users; for the leaderboard's creator and admins"},
			{LIMIT("50", 100)}, {OFFSET}),
		.run = cmd_submission_list,
		.view = {COLUMNS(COLUMN_RIGHT("id", "{id}"), COLUMN_CUT("leaderboard", "{leaderboard_name}"),
					 SPARE_COLUMN_CUT(5, "user", "{args.all?{user_name}}"), SPARE_COLUMN_CUT(4, "file", "{file_name}"),
					 SPARE_COLUMN(3, "mode", "{practice?practice|{mode}}"),
					 SPARE_COLUMN(2, "when", "{submission_time:time}"),
					 COLUMN_CUT("state", "{flagged?marked as a cheat|{state:word}}"),
					 COLUMN("scores", "{runs@{gpu_type} {score?{score:seconds}|{state:word}}}"),
					 SPARE_COLUMN_CUT(1, "note", "{note:line}")),
			.empty = "There is no submission."},
		.answer =
			"`[{\"id\", \"leaderboard_name\", \"file_name\", \"submission_time\", \"done\", \"mode\", \"state\", "
			"\"practice\", \"note\", \"user_name\", \"flagged\", \"runs\": [{\"gpu_type\", \"score\", \"state\"}]}]`."},
	{"submission.count", "count the submissions to a leaderboard", .right = RIGHT_ANYBODY, .kind = COMMAND_READ,
		ARGUMENTS({POSITIONAL("leaderboard", BOARD), .meta = "NAME", .help = "the leaderboard"},
			{"user", ARGUMENT_USER, .meta = "NAME", .help = "only those of this user: " USER_HELP},
			{"mode", ARGUMENT_CHOICE, .choices = modes, .help = "only those in this mode"},
			{"state", ARGUMENT_CHOICE, .choices = states, .help = "only those in this state"},
			{DEVICE, .help = "only those to this device"}),
		.run = cmd_submission_count, .view = {.sentence = "{count}"},
		.details = "Only the leaderboard's creator and admins may count the submissions of another user.",
		.answer = "`{\"leaderboard\", \"count\"}`."},
	{"submission.show", "show one of your submissions with its report", .right = RIGHT_ANYBODY, .kind = COMMAND_READ,
		ARGUMENTS({SUBMISSION_ID}), .run = cmd_submission_show, .add = add_submission_places,
		.details = "For ranked submissions of other users, it shows code and score if the leaderboard allows that.",
		.answer =
			"`{\"id\", \"leaderboard_name\", \"file_name\", \"source\": its name in the job's folder, \"user_name\", "
			"\"mode\", \"state\", \"done\", "
			"\"practice\", "
			"\"note\", \"capture\": what a profile captures, or null, \"code\", "
			"\"job\": {\"status\", \"error\", \"last_heartbeat\"}, \"runs\": [KernelBot's form], \"rank\": {device: "
			"rank}, \"jobs\": [{\"job\", \"device\", \"state\", \"score\", \"error\", \"waits\": why its device cannot "
			"serve it now, \"place\": jobs before it, \"wait_s\": how long it is likely to wait, \"compilation\", "
			"\"runs\", \"artifacts\", \"rank\"}]}`."},
	{"submission.diff", "compare the code and the times of two submissions", .right = RIGHT_ANYBODY,
		.kind = COMMAND_READ, .slow = true,
		ARGUMENTS({POSITIONAL("a", ID), .meta = "A", .help = "the number of the first submission"},
			{POSITIONAL("b", ID), .meta = "B", .help = "the number of the second submission"}),
		.run = cmd_submission_diff, .example = "kettle submission diff 12 15",
		.details = "You must be allowed to read the code of both. The times of the cases are shown if both submissions "
				   "are yours or on your leaderboard, else the scores. A difference is significant if it exceeds the "
				   "combined error of both measurements (95 %), if both have one.",
		.answer =
			"`{\"a\", \"b\": {\"id\", \"leaderboard_name\", \"file_name\", \"user_name\", \"submission_time\", "
			"\"mode\", \"state\", \"practice\"}, \"diff\": unified, at most 1 MiB, \"added\", \"removed\": lines, "
			"\"truncated\", \"devices\": [{\"device\", \"a\", \"b\": {\"state\", \"score\", \"low\", \"high\"} or "
			"null, \"percent\": change from a to b, \"significant\": null where one has no interval, \"run\": "
			"\"ranked\" or \"benchmark\", \"cases\": [{\"spec\", \"a\", \"b\": {\"mean\", \"low\", \"high\"} or "
			"null, \"percent\", \"significant\"}]}], \"cases_shown\": whether the runs of both may be read}`, times in "
			"seconds; without devices where the leaderboards differ."},
	{"submission.watch", "follow one of your submissions until it ends", .right = RIGHT_ANYBODY, .kind = COMMAND_WRITE,
		ARGUMENTS({SUBMISSION_ID}), .run = cmd_submission_watch, .example = "kettle submission watch 12",
		.details = "It shows the place in the queue, how long the wait is likely to be, and the progress; then the "
				   "report. If no `kettle serve` is running, this process runs the submission itself.",
		.answer = "`{\"id\", \"leaderboard\", \"mode\", \"done\", \"jobs\": [{\"job\", \"device\", "
				  "\"state\"}] that have not ended, \"seq\": number of the last event}`; on the command line, which "
				  "waits, what `submission.show` answers."},
	{"submission.download", "download the files that a submission left", .also = "submission.artifacts",
		.right = RIGHT_ANYBODY, .kind = COMMAND_READ, ARGUMENTS({SUBMISSION_ID}), .run = cmd_submission_download,
		.example = "kettle submission download 12 -o profile",
		.view = {COLUMNS(COLUMN_CUT("device", "{device}"), SPARE_COLUMN_RIGHT(1, "job", "{job}"),
					 SPARE_COLUMN(2, "step", "{step}"), COLUMN_CUT("name", "{name}"),
					 SPARE_COLUMN_RIGHT(3, "size", "{size:bytes}"), COLUMN("", "{expired?not kept}")),
			.empty = "The submission left no files."},
		.details = "These are profiles, traces and other files of its steps. A profile is a zip, which is unpacked; "
				   "the paths are printed, text files first. Existing files are not overwritten. The configuration "
				   "(retention) says how long the files are kept.",
		.answer =
			"the list: `[{\"artifact\": number, \"job\", \"device\", \"step\", \"name\", \"size\", \"sha256\", "
			"\"created\", \"expired\": time or null}]`; on the command line also \"path\": where it was written, and "
			"the files of a profile in the place of its zip."},
	{"submission.artifact", "read a part of a file that a submission left", .right = RIGHT_ANYBODY,
		.kind = COMMAND_READ,
		ARGUMENTS({POSITIONAL("artifact", ID), .meta = "FILE", .help = "the number of the file"},
			{"offset", ARGUMENT_INT, .default_value = "0", .min = 0, .max = INT64_MAX, .meta = "N",
				.help = "where the part begins, in bytes"}),
		.run = cmd_submission_artifact, .hidden = true,
		.answer =
			"`{\"artifact\", \"name\", \"size\", \"sha256\", \"offset\", \"base64\"}`, a part of at most 512 KiB."},
	{"submission.cancel", "cancel a queued or running submission", .right = RIGHT_ANYBODY, .kind = COMMAND_WRITE,
		ARGUMENTS({SUBMISSION_ID}), .run = cmd_submission_cancel,
		.view = {.sentence = "Cancelled submission {args.id}."},
		.answer = "`{\"id\", \"jobs\": [{\"job\", \"device\", \"attempt\"}]}`."},
	{"submission.delete", "delete a submission", .right = RIGHT_ANYBODY, .kind = COMMAND_WRITE,
		ARGUMENTS({SUBMISSION_ID}), .run = cmd_submission_delete, .view = {.sentence = "Deleted submission {args.id}."},
		.details = "It leaves the ranking; your next best run takes its place. It still counts for rate limits.",
		.answer = "`{\"id\", \"status\": \"ok\"}`."},
	{"submission.delete_all", "delete all submissions of a user to a leaderboard", .right = RIGHT_CREATOR,
		.kind = COMMAND_WRITE,
		ARGUMENTS({POSITIONAL("leaderboard", BOARD), .meta = "NAME", .help = "the leaderboard"},
			{POSITIONAL("user", USER), .meta = "USER", .help = USER_HELP}),
		.run = cmd_submission_delete_all, .example = "kettle submission delete-all vectoradd mallory",
		.view = {.sentence = "Deleted {submissions} submission{submissions#|s} of {*user_name} from {*leaderboard}."},
		.details =
			"Running jobs are cancelled, and the rankings follow. Only an admin may delete submissions that were "
			"marked as cheats.",
		.answer = "`{\"leaderboard\", \"user_name\", \"submissions\", \"jobs\", \"runs\"}`: how many went."},
	{"submission.rerun", "run a submission again", .right = RIGHT_CREATOR, .kind = COMMAND_WRITE,
		ARGUMENTS(
			{SUBMISSION_ID}, {DEVICES, .help = "a device to run on; default: all that it was submitted to"}, {NO_WAIT}),
		.run = cmd_submission_rerun, .example = "kettle submission rerun 12 --device H100",
		.details = "For the leaderboard's creator and admins. The old verdict counts until the new one replaces it, "
				   "better or worse. If a machine fails again or the rerun is cancelled, the old verdict stays.",
		.answer = "as `submit`."},
	{"submission.flag", "mark a submission as a cheat", .right = RIGHT_CREATOR, .kind = COMMAND_WRITE,
		ARGUMENTS({SUBMISSION_ID},
			{"reason", ARGUMENT_STRING, .required = true, .meta = "TEXT", .help = "the reason, which the owner reads"}),
		.run = cmd_submission_flag,
		.example = "kettle submission flag 12 --reason \"it returns the reference's cached output\"",
		.view = {.sentence = "Marked submission {args.id} as a cheat; it no longer counts."},
		.details = "For the leaderboard's creator and admins. It leaves the ranking and stays as evidence: its owner "
				   "is informed and cannot delete it.",
		.answer = "`{\"id\", \"status\": \"hacked\", \"reason\"}`."},
	{"submission.unflag", "remove the mark as a cheat", .right = RIGHT_CREATOR, .kind = COMMAND_WRITE,
		ARGUMENTS({SUBMISSION_ID}), .run = cmd_submission_unflag,
		.view = {.sentence = "Submission {args.id} is no longer marked as a cheat and counts again."},
		.details = "It counts again.", .answer = "`{\"id\", \"status\": \"ok\"}`."},
	{"user.list", "list the users", .right = RIGHT_ADMIN, .kind = COMMAND_READ,
		ARGUMENTS({"role", ARGUMENT_CHOICE, .choices = roles, .help = "only users with this role"},
			{FLAG("banned"), .help = "only banned users"}, {LIMIT("100", 1000)}, {OFFSET}),
		.run = cmd_user_list,
		.view = {.mark = "user_name",
			COLUMNS(COLUMN_RIGHT("number", "{user_id}"), COLUMN_CUT("name", "{user_name}"), COLUMN("role", "{role}"),
				COLUMN("", "{banned?banned}"), SPARE_COLUMN_RIGHT(3, "submissions", "{submissions}"),
				SPARE_COLUMN(1, "since", "{created:time}"), SPARE_COLUMN_CUT(2, "known as", IDENTITIES)),
			.empty = "There is no such user."},
		.answer = "`[{\"user_id\": text, \"user_name\", \"role\", \"created\", \"banned\": time or null, "
				  "\"ban_reason\", \"submissions\": how many, \"identities\": [{\"provider\", \"name\"}]}]`, by name."},
	{"user.show", "show a user with identities and ranks", .right = RIGHT_ANYBODY, .kind = COMMAND_READ,
		ARGUMENTS({"name", ARGUMENT_USER, .positional = true, .meta = "NAME", .help = USER_HELP "; default: yourself"}),
		.run = cmd_user_show,
		.view = {.sentence =
					 "{*user_name}  {role}\n  number      {user_id}\n  since       {created:time}\n  known as   "
					 " " IDENTITIES "\n{merged@@  once        {}\n}  submissions {submissions}{banned?\n  banned   "
					 "   {banned:time}: {ban_reason}}",
			.list = "ranks",
			COLUMNS(COLUMN_CUT("leaderboard", "{leaderboard}"), COLUMN_CUT("device", "{device}"),
				COLUMN_RIGHT("rank", "{rank} of {of}"), COLUMN_RIGHT("score", "{score:seconds}"))},
		.details = "Only admins may see other users.",
		.answer = "the same of one, with \"subject\" and \"created\" of each identity, `\"merged\"`: names that lead "
				  "to this user, and `\"ranks\": [{\"leaderboard\", \"device\", \"rank\", \"of\", \"score\"}]`."},
	{"user.ban", "ban a user", .right = RIGHT_ADMIN, .kind = COMMAND_WRITE,
		ARGUMENTS({USER_NAME},
			{"reason", ARGUMENT_STRING, .required = true, .meta = "TEXT", .help = "the reason, which the user reads"}),
		.run = cmd_user_ban, .example = "kettle user ban mallory --reason \"attacks the machine\"",
		.view = {.sentence = "Banned {*user_name}{cancelled?; cancelled {cancelled:count} submission{cancelled#|s}}."},
		.details = "No submission of a banned user counts. Queued and running jobs are cancelled, and every command "
				   "that changes something is refused with the reason.",
		.answer = "`{\"user_id\", \"user_name\", \"cancelled\": [submission]}`."},
	{"user.unban", "lift a ban", .right = RIGHT_ADMIN, .kind = COMMAND_WRITE, ARGUMENTS({USER_NAME}),
		.run = cmd_user_unban, .view = {.sentence = "{*user_name} is no longer banned."},
		.details = "The user's submissions count again; jobs that the ban cancelled stay cancelled.",
		.answer = "`{\"user_id\", \"user_name\"}`."},
	{"user.role", "give a user a role", .right = RIGHT_ADMIN, .kind = COMMAND_WRITE,
		ARGUMENTS({USER_NAME}, {POSITIONAL("role", CHOICE), .choices = roles,
								   .help = "creators may create leaderboards, admins may do everything"}),
		.run = cmd_user_role, .example = "kettle user role ada creator",
		.view = {.sentence = "{*user_name} is now {role}."}, .details = "The last admin cannot lose this role.",
		.answer = "`{\"user_id\", \"user_name\", \"role\", \"was\"}`."},
	{"user.export", "export what is stored about you", .right = RIGHT_ANYBODY, .kind = COMMAND_READ,
		ARGUMENTS({"name", ARGUMENT_USER, .positional = true, .meta = "NAME", .help = USER_HELP "; default: yourself"},
			{"after", ARGUMENT_INT, .default_value = "0", .min = 0, .max = EXPORT_MAX_ID, .meta = "ID",
				.help = "only submissions with higher numbers"}),
		.run = cmd_user_export, .example = "kettle user export -o me.jsonl",
		.details = "Writes a line with the user (identities, names of tokens, leaderboards, ranks), then one for each "
				   "submission, with code, note and scores. Only admins may export other users.",
		.answer =
			"a page: `{\"user_name\", \"user\": as in `user.show`, with \"tokens\", \"created_leaderboards\", "
			"\"joined_leaderboards\", on the first page, \"total\", \"submissions\": [{\"id\", \"leaderboard\", "
			"\"mode\", \"file_name\", \"submission_time\", \"state\", \"practice\", \"note\", \"flag_reason\", "
			"\"sha256\", \"code\", \"devices\"}], \"next\": what `after` gets the next page, or null}`. The command "
			"line asks for all pages, as `leaderboard.export` does."},
	{"user.delete", "remove what says who a user is", .right = RIGHT_ANYBODY, .kind = COMMAND_WRITE,
		ARGUMENTS({"name", ARGUMENT_USER, .positional = true, .meta = "NAME", .help = USER_HELP "; default: yourself"}),
		.run = cmd_user_delete, .view = {.sentence = "Deleted {*was}: what stays belongs to {*user_name}."},
		.details =
			"The name becomes `deleted-NUMBER`. Identities, tokens, memberships of closed leaderboards, notes on "
			"submissions and the role are removed, and open jobs are cancelled. Submissions with their code, "
			"rankings and leaderboards stay under the new name. Events of other users may have the name until they "
			"expire. The same account is a new user afterwards. Only admins may delete other users; this cannot "
			"be undone.",
		.answer = "`{\"user_id\", \"was\": the name, \"user_name\": the new one, \"cancelled\": [submission]}`."},
	{"token.create", "create a token, with which a program acts as you", .right = RIGHT_ANYBODY, .kind = COMMAND_WRITE,
		ARGUMENTS({POSITIONAL("name", STRING), .meta = "NAME", .help = "what it is for"},
			{"expires", ARGUMENT_WHEN, .meta = "WHEN",
				.help = "a date (its end in UTC), a date and time, +30d, +12h, +90m, or none; default: none"}),
		.run = cmd_token_create, .example = "kettle token create laptop --expires +90d",
		.view = {.sentence =
					 "{args.quiet?{token}|The token {*name}{expires?, which expires {expires:time}}:\n{*token}\nIt "
					 "is not shown again. Any program that has it can act as you.}"},
		.details = "For frontends that take tokens, such as the HTTP API. Kettle stores only a hash of it.",
		.answer = "`{\"name\", \"token\", \"expires\": time or null}`."},
	{"token.list", "list your tokens and logins", .right = RIGHT_ANYBODY, .kind = COMMAND_READ,
		ARGUMENTS({"user", ARGUMENT_USER, .meta = "NAME", .help = "for admins: those of this user"}),
		.run = cmd_token_list,
		.view = {COLUMNS(COLUMN_CUT("name", "{name}"), COLUMN("kind", "{kind}"), COLUMN("created", "{created:time}"),
					 SPARE_COLUMN(2, "used", "{used?{used:time}|never}"),
					 SPARE_COLUMN(1, "expires", "{expires?{expires:time}|never}")),
			.empty = "There is no token."},
		.answer = "`[{\"name\", \"kind\": \"token\" or \"session\" (a confirmed login), \"created\", \"used\": to the "
				  "minute, or null, \"expires\"}]`, the oldest first."},
	{"token.revoke", "revoke a token or a login", .right = RIGHT_ANYBODY, .kind = COMMAND_WRITE,
		ARGUMENTS({POSITIONAL("name", STRING), .meta = "NAME", .help = "its name"},
			{"user", ARGUMENT_USER, .meta = "NAME", .help = "for admins: one of this user"}),
		.run = cmd_token_revoke, .view = {.sentence = "Revoked {*name}."}, .details = "Logins of that name end, too.",
		.answer = "`{\"name\", \"revoked\": how many}`."},
	{"token.check", "find the user of a token", .right = RIGHT_ANYBODY, .kind = COMMAND_WRITE, .internal = true,
		ARGUMENTS({POSITIONAL("token", STRING), .help = "as the client sent it"}), .run = cmd_token_check,
		.answer = "`{\"kind\", \"name\", \"user_id\", \"user_name\", \"role\", \"actor\": {\"provider\", \"subject\", "
				  "\"name\"}}`, the actor for further calls."},
	{"login.begin", "begin a login that a user confirms elsewhere", .right = RIGHT_ANYBODY, .kind = COMMAND_WRITE,
		.internal = true,
		ARGUMENTS({POSITIONAL("name", STRING), .help = "what logs in; the user who confirms reads it"},
			{POSITIONAL("address", STRING), .help = "where it comes from: the logins of an address are limited"}),
		.run = cmd_login_begin,
		.answer = "`{\"name\", \"token\": for `token.check`, valid once it is confirmed, \"code\": for "
				  "`login.confirm`, \"expires\"}`."},
	{"login.confirm", "confirm a login with its code", .right = RIGHT_ANYBODY, .kind = COMMAND_WRITE,
		ARGUMENTS({POSITIONAL("code", STRING), .meta = "CODE", .help = "the code that the login shows"},
			{FLAG("confirm"), .help = "confirm without a prompt"}),
		.run = cmd_login_confirm,
		.view = {.sentence =
					 "{confirmed?{*name} is logged in as {*user_name}.|{*name} wants to log in as {*user_name}; it "
					 "began {begun:time}. Add --confirm if that was you.}"},
		.details =
			"A page or program that you log in to shows a code, valid for ten minutes. Enter only codes of logins "
			"that you began yourself: what you confirm acts as you, until `kettle token revoke`.",
		.answer = "`{\"name\", \"begun\", \"confirmed\", \"user_name\"}`; it is confirmed only with `confirm`."},
	{"identity.add", "add an account of another service to a user", .right = RIGHT_ANYBODY, .kind = COMMAND_WRITE,
		.internal = true,
		ARGUMENTS({POSITIONAL("user", USER), .help = USER_HELP},
			{POSITIONAL("provider", STRING), .help = "the service, such as github"},
			{POSITIONAL("subject", STRING), .help = "the account's identifier there"},
			{"name", ARGUMENT_STRING, .help = "the account's name there"}),
		.run = cmd_identity_add, .answer = "`{\"user_id\", \"user_name\", \"added\": whether it is new}`."},
	{"user.link", "merge two of your users into one", .right = RIGHT_ANYBODY, .kind = COMMAND_WRITE,
		ARGUMENTS({"code", ARGUMENT_STRING, .positional = true, .meta = "CODE",
					  .help = "the other user's code; default: create a code"},
			{FLAG("confirm"), .help = "merge without confirmation"}),
		.run = cmd_user_link,
		.view = {.sentence =
					 "{code?{args.quiet?{code}|Your code is {*code}.\nRun `kettle user link {code}` as your other user "
					 "within ten minutes to merge this user into it.\nDo not show the code to anyone else.}|" MERGED
					 "}"},
		.details = "Without CODE, it creates a code, which is valid for ten minutes and works once. When the other "
				   "user enters it, here or in another frontend, the user who created it is merged into that user: "
				   "submissions, leaderboards, access, and the higher role.",
		.answer = "without a code `{\"code\", \"expires\"}`; with one `{\"merged\": whether, \"from\", \"into\"}`, "
				  "both users as in `user.list`: they are merged only with `confirm`."},
	{"user.merge", "merge a user into another", .also = "user.join", .right = RIGHT_ADMIN, .kind = COMMAND_WRITE,
		ARGUMENTS({POSITIONAL("name", USER), .meta = "NAME", .help = "the user to merge, by name or #NUMBER"},
			{POSITIONAL("into", USER), .meta = "INTO", .help = "the user who remains"}),
		.run = cmd_user_merge, .example = "kettle user merge ada-2 ada", .view = {.sentence = MERGED},
		.details = "It has the same effect as `user link` with a code. This cannot be undone.",
		.answer = "`{\"merged\": true, \"from\", \"into\"}`, both as they were."},
	{"admin.resume", "accept submissions again", .also = "admin.start", .right = RIGHT_ADMIN, .kind = COMMAND_WRITE,
		.run = cmd_admin_resume, .view = {.sentence = ACCEPTING},
		.answer = "`{\"status\": \"ok\", \"accepts_jobs\"}`."},
	{"admin.pause", "accept no more submissions", .also = "admin.stop", .right = RIGHT_ADMIN, .kind = COMMAND_WRITE,
		.run = cmd_admin_pause, .view = {.sentence = ACCEPTING},
		.details = "Lasts until `admin resume`, also across restarts. Accepted submissions still run.",
		.answer = "`{\"status\": \"ok\", \"accepts_jobs\"}`."},
	{"admin.stats", "show statistics of use", .right = RIGHT_ADMIN, .kind = COMMAND_READ, .slow = true,
		ARGUMENTS({FLAG("last_day"), .help = "only the last 24 hours"}, {BOARD, .help = "only this leaderboard"}),
		.run = cmd_admin_stats,
		.view = {.sentence = ACCEPTING
				 "\n{stats.num_submissions:count} submission{stats.num_submissions#|s} ({stats.sub_waiting:count} of "
				 "them open) of {stats.num_users:count} user{stats.num_users#|s}, {stats.num_unique_codes:count} "
				 "different file{stats.num_unique_codes#|s}."},
		.answer =
			"`{\"status\": \"ok\", \"accepts_jobs\", \"stats\": {\"num_submissions\", \"sub_waiting\", \"num_users\", "
			"\"num_unique_codes\", and for each device D \"num_run.D\", \"runs_passed.D\", \"runs_scored.D\", "
			"\"runs_secret.D\", \"max_delay.D\", \"avg_delay.D\", \"total_runtime.D\"}}`; times in seconds."},
	{"admin.backup", "copy the database to a file", .right = RIGHT_ADMIN, .kind = COMMAND_LOCAL,
		ARGUMENTS({POSITIONAL("path", PATH), .meta = "FILE", .help = "a file that does not exist yet"}),
		.engine = cmd_admin_backup, .example = "kettle admin backup /var/backups/kettle-2026-07-01.db",
		.view = {.sentence = "Copied the database to {path} ({bytes:bytes}, checked)."},
		.details = "Works while a server runs, without blocking it. The copy is a consistent snapshot, checked and on "
				   "the disk when the command ends. An existing file is not overwritten. The copy contains every "
				   "secret of the database. To restore it, stop Kettle, replace the database by the copy, and remove "
				   "the database's files that end in -wal and -shm.",
		.answer = "`{\"path\", \"bytes\"}`."},
	{"admin.export", "export the database for other programs", .right = RIGHT_ADMIN, .kind = COMMAND_LOCAL,
		ARGUMENTS({POSITIONAL("path", PATH), .meta = "DIR", .help = "a folder, new or empty"},
			{"format", ARGUMENT_CHOICE, .choices = formats, .default_value = "jsonl",
				.help = "one JSON object per line, or comma-separated values"}),
		.engine = cmd_admin_export, .example = "kettle admin export results --format csv",
		.view = {.sentence = "Exported to {path}:",
			.list = "files",
			COLUMNS(COLUMN("file", "{name}"), COLUMN_RIGHT("rows", "{value}"))},
		.details = "Writes leaderboards, users, submissions, jobs and runs, one file each, and the code of submissions "
				   "by its hash. Seeds, tokens, invite codes and identities are left out.",
		.answer = "`{\"path\", \"files\": {name: rows}}`."},
	{"admin.gc", "remove what is no longer needed", .right = RIGHT_ADMIN, .kind = COMMAND_ENGINE,
		.engine = cmd_admin_gc,
		.details = "Removes files that jobs left, logs and events older than the configuration allows (retention), "
				   "expired codes, contents that nothing uses, and free pages of the database and its log. A server "
				   "does this once a day. Nothing of a submission that is marked as a cheat is removed.",
		.answer =
			"`{\"artifacts\", \"artifact_bytes\", \"logs\": jobs, \"events\", \"tokens\", \"blobs\", \"blob_bytes\", "
			"\"folders\", \"folder_bytes\", \"database_bytes\", \"log_bytes\"}`: what was freed."},
	{"queue.place", "show how many jobs are ahead of yours", .right = RIGHT_ANYBODY, .kind = COMMAND_ENGINE,
		ARGUMENTS({POSITIONAL("job", ID), .repeated = true, .meta = "JOB", .help = "the number of a job"}),
		.engine = cmd_queue_place, .hidden = true,
		.answer = "`{\"places\": [{\"job\", \"device\", \"place\": jobs before it, \"length\": of the queue, "
				  "\"waits\": why the device cannot serve it now, \"wait_s\": how long it is likely to wait}]}`; of "
				  "those jobs that are queued."},
	{"device.list", "list the devices, their units and queues", .right = RIGHT_ANYBODY, .kind = COMMAND_ENGINE,
		ARGUMENTS({FLAG("known"), .help = "show what is known of the machines, without waiting for their answer"}),
		.engine = cmd_device_list,
		.answer =
			"`[{\"name\", \"queued\", \"paused\": true while no submissions are accepted, \"waits\": why no job, or "
			"not every job, is served, \"remarks\": what must be "
			"known of "
			"a language to read scores, \"units\": [{\"unit\", \"runner\", \"state\", \"slots\", \"running\", "
			"\"level\", \"machine\", \"tools\", \"protections\", \"gpu\": {\"vendor\", \"index\", \"name\", \"uuid\", "
			"\"memory\": bytes, \"used\", \"driver\", \"compute\" or \"gfx\", \"clocks\", \"temperature\", "
			"\"throttle\", \"processes\"}, \"gpus\": [all of the unit], \"gpu_error\", \"packages\": {tool: {package: "
			"version}}, \"warm\": [{\"tool\", \"modules\", \"recipes\", \"absent\", \"state\", \"memory\": bytes, "
			"\"disk\": bytes, "
			"\"runs\": that began with it}], \"calibration\": {\"names\", \"spreads\", \"at\", \"changed\", "
			"\"missing\": [tasks that were not measured, where it was interrupted]}, \"unreachable\": a sentence, "
			"\"config\": the unit's section of the configuration, \"key\": its name in the database, both for "
			"admins}]}]`."},
	{"device.calibrate", "measure how fast the devices are, once", .right = RIGHT_ADMIN, .kind = COMMAND_ENGINE,
		ARGUMENTS({"device", ARGUMENT_DEVICE, .positional = true, .repeated = true, .meta = "DEVICE",
					  .help = "a device; default: all of them"},
			{FLAG("force"), .help = "also devices and leaderboards that are already calibrated"}),
		.engine = cmd_device_calibrate, .example = "kettle device calibrate CPU",
		.details = "A score is the time of a submission relative to that of a fixed piece of work, the calibrator, "
				   "multiplied by the time that the calibrator takes on the idle device. This command measures and "
				   "stores that time. A task may have a calibrator of its own, so the template of every open "
				   "leaderboard is also run: once, or five times if its task has one. Devices and leaderboards that "
				   "are already calibrated are skipped, unless their machine has changed or --force is given. If the "
				   "command is interrupted, complete tasks and leaderboards are kept, and the next calibration "
				   "continues from there. Earlier scores stay as they are until their submissions are rerun; they "
				   "differ from later ones by as much as the calibration has changed, which the answer shows. A device "
				   "works without a calibration, but its scores then vary with the load of the machine.",
		.answer = "`{\"units\": [{\"device\", \"unit\", \"state\": \"calibrated\", \"already\" or \"failed\", "
				  "\"names\": {calibrator: ns}, \"spreads\": {calibrator: what 95 % of runs are within, as part of the "
				  "score}, \"before\", \"at\", \"boards\": [{\"leaderboard\", \"names\": those of its task}], measured "
				  "now, \"error\", \"remarks\"}]}`."},
	{"device.doctor", "examine the machine of a unit or device", .right = RIGHT_ADMIN, .kind = COMMAND_ENGINE,
		ARGUMENTS({POSITIONAL("name", STRING), .meta = "UNIT",
			.help = "a unit (`H100.1`), or a device: the machines of all its units"}),
		.engine = cmd_device_doctor, .example = "kettle device doctor H100.1",
		.details =
			"Runs `kettle-exec --doctor` where the unit's jobs run, through its runner: what the machine offers, what "
			"is missing and how to install it.",
		.answer = "`{\"machines\": [{\"units\": [unit], \"runner\", \"report\": of kettle-exec --doctor --json, "
				  "\"text\": the "
				  "same for people, \"error\": why there is none}]}`."},
	{"device.disable", "disable units", .right = RIGHT_ADMIN, .kind = COMMAND_ENGINE,
		ARGUMENTS({UNITS}, {"reason", ARGUMENT_STRING, .meta = "TEXT", .help = "the reason, shown to users who wait"}),
		.engine = cmd_device_disable, .example = "kettle device disable H100.1 --reason 'a fan is broken'",
		.view = {.list = "units", .line = CHANGED},
		.details = "Running jobs finish; no new ones start on the unit until it is enabled, also after a restart. "
				   "Kettle disables a unit itself if its GPU is missing or in use by others twice in a row, or if its "
				   "kettle-exec does not answer for 30 s while it has jobs.",
		.answer = "`{\"units\": [{\"device\", \"unit\", \"state\": \"disabled\", \"reason\"}]}`."},
	{"device.enable", "enable units that were disabled", .right = RIGHT_ADMIN, .kind = COMMAND_ENGINE,
		ARGUMENTS({UNITS}, {FLAG("test"), .help = "only if its machine reports that it is available"}),
		.engine = cmd_device_enable, .example = "kettle device enable H100 --test",
		.view = {.list = "units", .line = CHANGED},
		.details = "If Kettle has disabled a unit because of its GPU, it also enables it once the GPU is present and "
				   "free again; it checks that every minute.",
		.answer =
			"`{\"units\": [{\"device\", \"unit\", \"state\": \"ready\" or \"failed\", \"reason\", \"error\"}]}`."},
	{"runner.init", "write what the remote side of a runner needs", .right = RIGHT_ANYBODY, .kind = COMMAND_LOCAL,
		ARGUMENTS({POSITIONAL("name", STRING), .meta = "RUNNER", .help = "a runner of the configuration"},
			{"dir", ARGUMENT_PATH, .positional = true, .default_value = ".", .meta = "DIR",
				.help = "where to write it; default: the current folder"},
			{"option", ARGUMENT_STRING, .repeated = true, .meta = "NAME=TEXT",
				.help = "something that the runner must know, as its manual page says"},
			{FLAG("force"), .help = "also replace files that exist"}),
		.engine = cmd_runner_init, .example = "kettle runner init remote deploy --option queue=gpu",
		.view = {.sentence = "{runner}:{files@@\n  {state:word} {path}}{next@@\n{}}"},
		.details = "For example a workflow file or a job script. A runner that needs nothing on a remote side, such as "
				   "`local`, says so. Needs no database.",
		.answer =
			"`{\"runner\", \"files\": [{\"path\", \"state\": \"created\", \"replaced\" or \"unchanged\"}], \"next\": "
			"[what to do now]}`."},
	{"runner.status", "show the jobs on the remote side of a runner", .right = RIGHT_ADMIN, .kind = COMMAND_ENGINE,
		ARGUMENTS({POSITIONAL("name", STRING), .meta = "RUNNER", .help = "a runner of the configuration"}),
		.engine = cmd_runner_status, .example = "kettle runner status remote",
		.view = {.sentence = "{text}",
			.list = "jobs",
			COLUMNS(COLUMN("job", "{job}"), COLUMN("state", "{state:word}"), SPARE_COLUMN(1, "since", "{since:time}"),
				COLUMN_CUT("where", "{where}")),
			.empty = "Nothing of this engine is in the queue of {*runner}."},
		.details = "A runner without a queue of its own, such as `local`, says so.",
		.answer = "`{\"runner\", \"jobs\": [{\"job\": JOB.ATTEMPT, \"state\": \"waiting\" or \"running\", \"since\", "
				  "\"where\": a name or URL there}], \"text\"}`."},
	{"task.read", "read a task into one document", .right = RIGHT_ANYBODY, .kind = COMMAND_LOCAL,
		ARGUMENTS({POSITIONAL("path", PATH), .meta = "PATH", .help = "a task"}, {TASK_LANG},
			{FLAG("probe"), .help = "fail if a device of this machine lacks what the task needs"},
			{FLAG("try"), .help = "with probe: also run its template"},
			{DEVICES, .help = "a device to probe; default: the task's, otherwise all"}),
		.engine = cmd_task_read, .hidden = true,
		.answer = "the task as a bundle: `{\"name\", \"yml\", \"task\", \"files\", \"submission\", \"templates\", "
				  "\"remarks\", \"hash\", \"tried\": as in `task.check`, \"imported\": on any device}`."},
	{"task.check", "check tasks and competitions", .right = RIGHT_ANYBODY, .kind = COMMAND_LOCAL,
		ARGUMENTS({POSITIONAL("path", PATH), .repeated = true, .meta = "PATH",
					  .help = "a task's folder, a zip of one, a reference file, or a competition"},
			{FLAG("no_try"), .help = "do not run the template"}, {TASK_LANG}),
		.engine = cmd_task_check, .example = "kettle task check tasks/vectoradd_cpp competition.yaml",
		.details = "Needs no database. Errors name the file, the line and the nearest key. If a configured device is "
				   "on this machine, a small build shows what it lacks: cuBLAS, NVRTC, CUTLASS, a library. Then the "
				   "task's template runs the tests, once on each of its devices that "
				   "is free: a template may fail, but a fault of the task's own files is an error.",
		.answer =
			"`{\"tasks\": [{\"path\", \"ok\", \"error\", \"name\", \"lang\", \"tests\", \"benchmarks\", \"files\", "
			"\"remarks\", \"tried\": [{\"device\", \"state\": as of a verdict, or \"skipped\", \"blame\", \"error\", "
			"\"said\": a sentence, \"imported\": [modules, as far as the harness says that], \"log\": what a step "
			"printed that failed by the task's fault}]}], \"ok\"}`; of a "
			"competition first `{\"path\", \"ok\", \"error\", \"competition\", \"file\", "
			"\"deadline\", \"problems\"}`, then each problem as a task with `problem`, its name."},
	{"task.run", "run a file against a task on this machine", .right = RIGHT_ANYBODY, .kind = COMMAND_LOCAL,
		ARGUMENTS(
			{POSITIONAL("path", PATH), .meta = "PATH", .help = "the task: a folder, a zip of one, or a reference file"},
			{POSITIONAL("file", PATH), .meta = "FILE", .help = "the submission"}, {RUN_MODE},
			{DEVICE, .help = "the device to run on; default: the first one configured"}, CAPTURE,
			{FLAG("keep"), .help = "keep the folders of the steps and print where they are"}, {TASK_LANG}),
		.engine = cmd_task_run, .example = "kettle task run tasks/vectoradd_cpp submission.cpp --mode test",
		.details = "For authors of tasks: needs no database and no leaderboard, and stores nothing.",
		.answer = "the verdict: `{\"task\", \"source\": as in `submission.show`, \"device\", \"mode\", \"state\", "
				  "\"score\", \"error\", \"compilation\", "
				  "\"runs\", \"kept\"}`."},
	{"task.verify", "run a task's solutions: correct ones must pass, wrong ones must not", .right = RIGHT_ANYBODY,
		.kind = COMMAND_LOCAL,
		ARGUMENTS({POSITIONAL("path", PATH), .meta = "PATH",
					  .help = "the task, with its solutions in solutions/correct and solutions/wrong"},
			{"mode", ARGUMENT_CHOICE, .choices = modes,
				.help = "the mode to run them in; default: what each solution says, otherwise ranked"},
			{DEVICE, .help = "the device to run on; default: the first one configured"}, {TASK_LANG}),
		.engine = cmd_task_verify, .example = "kettle task verify tasks/vectoradd_cpp --mode test",
		.details = "A comment in the first lines of a wrong solution may say how it must fail: `expect: failed`, "
				   "`expect: timed_out` or `expect: compile`. Without it, any failure will do.",
		.answer =
			"`{\"task\", \"device\", \"solutions\": [{\"name\", \"kind\": \"correct\" or \"wrong\", \"expected\", "
			"\"mode\", \"found\", \"ok\": null where the run cannot tell, \"score\", \"error\"}], \"ok\"}`."},
	{"task.pack", "pack a task and every file that it uses into a zip", .right = RIGHT_ANYBODY, .kind = COMMAND_LOCAL,
		ARGUMENTS({POSITIONAL("path", PATH), .meta = "DIR", .help = "the task"},
			{FLAG("solutions"), .help = "include solutions/correct and solutions/wrong"}, {TASK_LANG}),
		.engine = cmd_task_pack, .example = "kettle task pack tasks/vectoradd_cpp -o vectoradd.zip",
		.details = "Files outside of the task's folder (../) are copied into the zip, and task.yml is changed to name "
				   "them there. The same task always gives the same bytes.",
		.answer = "`{\"name\", \"hash\", \"files\": [path], \"size\", \"base64\": the zip}`; on the command line, "
				  "which writes it, with `path` in place of `base64`."},
	{"task.new", "create a task from a copy of a shipped one", .right = RIGHT_ANYBODY, .kind = COMMAND_LOCAL,
		ARGUMENTS({POSITIONAL("dir", PATH), .meta = "DIR", .help = "the new folder, which must not exist yet"},
			{"from", ARGUMENT_STRING, .required = true, .meta = "NAME", .help = "a task that comes with Kettle"},
			{FLAG("solutions"), .help = "also copy its solutions"}),
		.engine = cmd_task_new, .example = "kettle task new mine --from vectoradd_cpp",
		.details = "The copy is complete, with its harness; a task of a single reference file is that file. An unknown "
				   "name lists the shipped tasks. KETTLE_TASKS sets another folder of tasks.",
		.answer = "`{\"name\", \"hash\", \"files\": {path: contents}, \"reference\": the name of a single reference "
				  "file}`; on the command line, which writes them, `{\"name\", \"path\", \"files\": [path]}`."},
	{"competition.sync", "create and update leaderboards from a competition file", .also = "problems.sync",
		.right = RIGHT_CREATOR, .kind = COMMAND_WRITE,
		ARGUMENTS({POSITIONAL("problems", PROBLEMS), .meta = "PATH",
					  .help = "a competition file, or a folder or zip that holds some"},
			{FLAG("force"), .help = "also changes that drop scores, and leaderboards that belong to another set"},
			{FLAG("dry_run"), .help = "only show what would change"}),
		.run = cmd_competition_sync, .example = "kettle competition sync competition.yaml --dry-run",
		.details = "Creates missing leaderboards, and sets task, deadline and devices of the others as the file says. "
				   "Problems with an error are reported; all others are applied, in one step. Leaderboards that are no "
				   "longer in the file stay as they are.",
		.answer =
			"`{\"created\": [name], \"updated\": [name], \"unchanged\": [name], \"skipped\": [{\"name\", \"reason\"}], "
			"\"errors\": [{\"name\", \"error\"}], \"absent\": [name of a board that the file no longer has], \"plan\": "
			"[{\"name\", \"set\", \"action\", \"changes\", \"scores\", \"devices\", \"deadline\"}], \"dry_run\"}`."},
	{"competition.read", "read a competition and its tasks into one document", .also = "problems.read",
		.right = RIGHT_ANYBODY, .kind = COMMAND_LOCAL,
		ARGUMENTS({POSITIONAL("path", PATH), .meta = "PATH", .help = "a competition"},
			{"set", ARGUMENT_STRING, .meta = "NAME", .help = "only this one"}),
		.engine = cmd_competition_read, .hidden = true,
		.answer = "`{\"sets\": [{\"name\", \"file\", \"description\", \"deadline\", \"problems\": [{\"name\", "
				  "\"directory\", \"deadline\", \"gpus\", \"bundle\" or null, \"error\" or null}]}]}`."},
	{"complete", "list the completions of an argument", .right = RIGHT_ANYBODY, .kind = COMMAND_READ,
		ARGUMENTS({"what", ARGUMENT_CHOICE, .required = true, .choices = completed, .help = "the kind of names"},
			{"prefix", ARGUMENT_STRING, .meta = "TEXT", .help = "the beginning of the names"},
			{BOARD, .help = "only the devices of this leaderboard; default: the configured ones"},
			{FLAG("others"), .help = "also those submissions of others that the actor may moderate"}),
		.run = cmd_complete, .hidden = true,
		.answer =
			"`[{\"value\", \"about\": a few words, or absent}]`, at most 100: leaderboards that the actor may see, "
			"devices, or numbers of submissions, newest first."},
	{"plugin.list", "list the loaded plugins", .right = RIGHT_ANYBODY, .kind = COMMAND_LOCAL, .engine = cmd_plugin_list,
		.view = {.list = "plugins",
			COLUMNS(COLUMN("name", "{name}"), SPARE_COLUMN(3, "kind", "{kind}"),
				SPARE_COLUMN(2, "version", "{version}"), COLUMN_CUT("state", "{error?{error}|{state}}"),
				COLUMN_CUT("summary", "{summary}"), SPARE_COLUMN_CUT(1, "file", "{file}"))},
		.answer = "`{\"plugins\": [{\"name\", \"kind\", \"version\", \"summary\", \"file\"}]}`."},
	{"plugin.info", "show the options of a plugin", .right = RIGHT_ANYBODY, .kind = COMMAND_LOCAL,
		ARGUMENTS({POSITIONAL("name", STRING), .meta = "NAME", .help = "a loaded plugin"}), .engine = cmd_plugin_info,
		.answer = "`{\"name\", \"kind\", \"summary\", \"options\": [{\"key\", \"type\", \"default\", \"min\", \"max\", "
				  "\"help\"}], \"unit_options\": the same of a runner's units}`."},
	{"plugin.test", "check whether a plugin conforms", .right = RIGHT_ANYBODY, .kind = COMMAND_LOCAL,
		ARGUMENTS({POSITIONAL("file", PATH), .meta = "FILE", .help = "a plugin, NAME.so"},
			{"options", ARGUMENT_PATH, .meta = "FILE",
				.help = "a YAML file with its options, as in its section of the configuration"}),
		.engine = cmd_plugin_test, .example = "kettle plugin test ./remote.so --options remote.yml",
		.details =
			"Each check runs in a process of its own, so a plugin that crashes or hangs fails the check. Checks that "
			"start a plugin with required options are skipped without --options. Relative paths in FILE start "
			"at its folder.",
		.answer = "`{\"tests\": [{\"name\", \"passed\", \"skipped\", \"message\"}], \"ok\"}`: a check is passed, "
				  "skipped with its reason, or failed."},
	{"config.check", "check the configuration and show the values in effect", .right = RIGHT_ANYBODY,
		.kind = COMMAND_LOCAL, .engine = cmd_config_check,
		.details =
			"All errors are listed, with file and line. It is also an error if this machine lacks something that the "
			"configuration names, such as cores, an interpreter or a compiler, or if no device is configured. A "
			"missing tool that only a default names is a warning. For each toolkit that a language uses, such as "
			"nvcc's, it lists the parts that a machine has, and those that it lacks with how to get them.",
		.answer = "`{\"ok\", \"file\", \"config\": the values in effect, or null if the file has an error, \"faults\": "
				  "[sentence], \"warnings\", "
				  "\"toolkits\": [{\"runner\", "
				  "\"tool\", \"parts\": [{\"name\", \"present\", \"how\": to get it}]}]}`."},
	{"config.reload", "reload the configuration of the running server", .right = RIGHT_ADMIN, .kind = COMMAND_ENGINE,
		.served = true, .engine = cmd_config_reload,
		.details = "The `kettle serve` of this database reads its own file again, as on SIGHUP, and the answer says "
				   "which keys took effect and which need a restart. If the file has a fault, the server keeps its "
				   "current configuration. The exit status is 1 if a restart is needed, 2 if the file has a fault, and "
				   "3 if no server is running.",
		.answer = "`{\"ok\": whether nothing needs a restart, \"file\", \"reloaded\": [{\"key\", \"change\"}], "
				  "\"restart\": [{\"key\", \"change\"}]}`."},
	{"version", "show the version of Kettle and where its parts are", .right = RIGHT_ANYBODY, .kind = COMMAND_LOCAL,
		.engine = cmd_version,
		.details = "Kettle looks for its parts relative to the program, then where they were installed. The exit "
				   "status is 3 if one is missing.",
		.answer = "`{\"version\", \"ok\", \"parts\": [{\"part\", \"path\", \"found\"}], \"config\", \"database\", "
				  "\"machine\", \"kernel\", \"libc\", \"warnings\"}`."},
	{0},
};
