/* SPDX-License-Identifier: MIT */
/* The shapes of the commands' answers, in the order of the command table. */
#include <config.h>

#include "commands/command.h"

#include <string.h>

static const struct {
	const char *command, *answer;
} answers[] = {
	{"leaderboard.create", "the leaderboard as in `leaderboard.list`, with `remarks`: sentences about the task."},
	{"leaderboard.update", "`{\"changes\": [what became another], \"differs\": [files and keys of the task], "
						   "\"scores\": \"kept\" or \"left\", \"ranked\": places in the rankings before, \"open\": "
						   "jobs, \"counts_from\": id, \"leaderboard\", \"remarks\"}`."},
	{"leaderboard.list", "`[{\"id\", \"name\", \"description\", \"task\", \"deadline\", \"gpu_types\": [device], "
						 "\"visibility\", \"code\", \"creator\", \"created\", \"ended\"}]`, by name."},
	{"leaderboard.show",
		"`{\"leaderboard\", \"rankings\": [{\"device\", \"count\", \"entries\": [{\"rank\", "
		"\"user_id\", \"user_name\", \"submission_id\", \"submission_name\", \"submission_time\", "
		"\"submission_score\": seconds, \"low\", \"high\", \"gpu_type\", \"leaderboard_name\"}]}], \"code_open\"}`; "
		"on the command line with --json all entries in one array."},
	{"leaderboard.task",
		"`{\"leaderboard\", \"name\", \"yml\", \"task\", \"submission\": its name in the job's folder, \"files\": "
		"{name: "
		"contents}, \"templates\": {language: {\"file_name\", \"text\"}}, \"hash\", \"plans\": [{\"device\", \"mode\", "
		"\"plan\" (plan.schema.json, with `{\"task\": name}` and `{\"submission\": true}` for contents) or "
		"\"error\"}]}`."},
	{"leaderboard.template", "`{\"leaderboard\", \"templates\": [{\"language\", \"file_name\", \"text\", \"source\": "
							 "\"template\" or \"skeleton\"}]}`."},
	{"leaderboard.rate_limits",
		"`{\"leaderboard\", \"limits\": [{\"category\", \"device\": name or null for all together, \"per_hour\"}]}`."},
	{"leaderboard.rate_limit", "as `leaderboard.rate_limits`, with what is there then."},
	{"leaderboard.export",
		"a page: `{\"leaderboard\", \"total\": of the board, with the first page, \"submissions\": [{\"id\", "
		"\"user_id\", "
		"\"user_name\", \"mode\", \"file_name\", \"submission_time\", \"state\", \"flagged\", \"counts\", \"task\": "
		"hash, "
		"\"sha256\", \"code\", \"devices\": [{\"device\", \"state\", \"score\", \"low\", \"high\"}]}], \"next\": what "
		"`after` gets the next page, or null}`. The command line asks for all pages and writes the submissions, each "
		"on a "
		"line; with --json as one array, and with -o `{\"file\", \"leaderboard\", \"submissions\"}`."},
	{"leaderboard.join", "`{\"status\": \"ok\", \"leaderboards\": [name]}`."},
	{"invite.create", "`{\"leaderboards\": [name], \"codes\"}`."},
	{"invite.list", "`{\"leaderboard\", \"count\", \"invites\": [{\"code\", \"user_id\": text or null, \"user_name\", "
					"\"claimed_at\", \"created_at\", \"leaderboards\"}]}`, newest first."},
	{"invite.revoke", "`{\"code\", \"was_claimed\", \"user_name\", \"leaderboards\"}`."},
	{"eval_code", "`{\"language\", \"files\": [{\"name\", \"text\"}]}`."},
	{"leaderboard.delete", "`{\"name\", \"submissions\": how many went with it}`."},
	{"submit", "`{\"id\", \"leaderboard\", \"mode\", \"devices\", \"jobs\": [{\"job\", \"device\"}], \"seq\": number "
			   "of the event}`; on the command line, which waits, what `submission.show` answers."},
	{"submission.list", "`[{\"id\", \"leaderboard_name\", \"file_name\", \"submission_time\", \"done\", \"mode\", "
						"\"state\", \"flagged\", \"runs\": [{\"gpu_type\", \"score\", \"state\"}]}]`."},
	{"submission.show", "`{\"id\", \"leaderboard_name\", \"file_name\", \"user_name\", \"mode\", \"state\", \"done\", "
						"\"code\", \"job\": {\"status\", \"error\", \"last_heartbeat\"}, \"runs\": [field's form], "
						"\"rank\": {device: rank}, \"jobs\": [{\"job\", \"device\", \"state\", \"score\", \"error\", "
						"\"waits\": why its device cannot serve it now, \"compilation\", \"runs\", \"artifacts\", "
						"\"rank\"}]}`."},
	{"submission.artifacts",
		"`[{\"artifact\": number, \"job\", \"device\", \"step\", \"name\", \"size\", \"sha256\", "
		"\"created\", \"expired\": time or null}]`; on the command line with -o also \"path\": where "
		"it was written."},
	{"submission.artifact",
		"`{\"artifact\", \"name\", \"size\", \"sha256\", \"offset\", \"base64\"}`, a part of at most "
		"512 KiB."},
	{"submission.cancel", "`{\"id\", \"jobs\": [{\"job\", \"device\", \"attempt\"}]}`."},
	{"submission.delete", "`{\"id\", \"status\": \"ok\"}`."},
	{"submission.rerun", "as `submit`."},
	{"submission.flag", "`{\"id\", \"status\": \"hacked\", \"reason\"}`."},
	{"submission.unflag", "`{\"id\", \"status\": \"ok\"}`."},
	{"user.list", "`[{\"user_id\": text, \"user_name\", \"role\", \"created\", \"banned\": time or null, "
				  "\"ban_reason\", \"submissions\": how many, \"identities\": [{\"provider\", \"name\"}]}]`, by name."},
	{"user.show",
		"the same of one, with \"subject\" and \"created\" of each identity, `\"joined\"`: names that lead to "
		"this user, and `\"ranks\": [{\"leaderboard\", \"device\", \"rank\", \"of\", \"score\"}]`."},
	{"user.ban", "`{\"user_id\", \"user_name\", \"cancelled\": [submission]}`."},
	{"user.unban", "`{\"user_id\", \"user_name\"}`."},
	{"user.role", "`{\"user_id\", \"user_name\", \"role\", \"was\"}`."},
	{"user.link",
		"without a code `{\"code\", \"expires\"}`; with one `{\"joined\": whether, \"from\", \"into\"}`, both "
		"users as in `user.list`: only with `confirm` they are joined."},
	{"user.join", "`{\"joined\": true, \"from\", \"into\"}`, both as they were."},
	{"admin.start", "`{\"status\": \"ok\", \"accepts_jobs\"}`."},
	{"admin.stop", "`{\"status\": \"ok\", \"accepts_jobs\"}`."},
	{"admin.stats", "`{\"status\": \"ok\", \"accepts_jobs\", \"stats\": {\"num_submissions\", \"sub_waiting\", "
					"\"num_users\", \"num_unique_codes\", and for each device D \"num_run.D\", \"runs_passed.D\", "
					"\"runs_scored.D\", \"runs_secret.D\", \"max_delay.D\", \"avg_delay.D\", \"total_runtime.D\"}}`; "
					"times in seconds."},
	{"admin.backup", "`{\"path\", \"bytes\"}`."},
	{"admin.export", "`{\"path\", \"files\": {name: rows}}`."},
	{"admin.gc",
		"`{\"artifacts\", \"artifact_bytes\", \"logs\": jobs, \"events\", \"tokens\", \"blobs\", \"blob_bytes\", "
		"\"folders\", \"folder_bytes\", \"database_bytes\", \"log_bytes\"}`: what was freed."},
	{"queue.place", "`{\"places\": [{\"job\", \"device\", \"place\": jobs before it, \"length\": of the queue, "
					"\"waits\": why the device cannot serve it now}]}`; of those jobs that are queued."},
	{"device.list", "`[{\"name\", \"queued\", \"waits\": why nobody or not all are served, \"remarks\": what must be "
					"known of a language to read scores, \"units\": [{\"unit\", "
					"\"runner\", \"state\", \"slots\", \"running\", "
					"\"level\", \"machine\", \"tools\", \"protections\", \"gpu\": {\"vendor\", \"index\", \"name\", "
					"\"uuid\", \"memory\": bytes, \"used\", \"driver\", \"compute\" or \"gfx\", \"clocks\", "
					"\"temperature\", \"throttle\", \"processes\"}, \"gpus\": [all of the unit], \"gpu_error\", "
					"\"packages\": {tool: {package: version}}, \"calibration\": {\"names\", \"spreads\", \"at\", "
					"\"changed\"}, \"unreachable\": a sentence, \"config\": the unit's section of the configuration, "
					"for admins}]}]`."},
	{"device.calibrate",
		"`{\"units\": [{\"device\", \"unit\", \"state\": \"calibrated\", \"already\" or \"failed\", \"names\": "
		"{calibrator: ns}, \"spreads\": {calibrator: what 95 % of runs are within, as part of the score}, \"before\", "
		"\"at\", \"boards\": [{\"leaderboard\", \"names\": those of its task}], measured now, \"error\", "
		"\"remarks\"}]}`."},
	{"device.disable", "`{\"units\": [{\"device\", \"unit\", \"state\": \"aside\", \"reason\"}]}`."},
	{"device.enable",
		"`{\"units\": [{\"device\", \"unit\", \"state\": \"ready\" or \"failed\", \"reason\", \"error\"}]}`."},
	{"task.read", "the task as a bundle: `{\"name\", \"yml\", \"task\", \"files\", \"submission\", \"templates\", "
				  "\"remarks\", \"hash\"}`."},
	{"task.check", "`{\"tasks\": [{\"path\", \"ok\", \"error\", \"name\", \"lang\", \"tests\", \"benchmarks\", "
				   "\"files\", \"remarks\"}], \"ok\"}`; of a competition first `{\"path\", \"ok\", \"error\", "
				   "\"competition\", \"file\", \"deadline\", \"problems\"}`, then each problem as a task with "
				   "`problem`, its name."},
	{"task.run", "the verdict: `{\"task\", \"device\", \"mode\", \"state\", \"score\", \"error\", \"compilation\", "
				 "\"runs\", \"kept\"}`."},
	{"task.verify",
		"`{\"task\", \"device\", \"solutions\": [{\"name\", \"kind\": \"correct\" or \"wrong\", \"expected\", "
		"\"mode\", \"found\", \"ok\": null where the run cannot tell, \"score\", \"error\"}], \"ok\"}`."},
	{"task.pack", "`{\"name\", \"hash\", \"files\": [path], \"size\", \"base64\": the zip}`; on the command line, "
				  "which writes it, with `path` in place of `base64`."},
	{"task.new", "`{\"name\", \"hash\", \"files\": {path: contents}, \"reference\": the name of a single reference "
				 "file}`; on the command line, which writes them, `{\"name\", \"path\", \"files\": [path]}`."},
	{"problems.sync",
		"`{\"created\": [name], \"updated\": [name], \"unchanged\": [name], \"skipped\": [{\"name\", \"reason\"}], "
		"\"errors\": [{\"name\", \"error\"}], \"absent\": [name of a board that the file no longer has], \"plan\": "
		"[{\"name\", \"set\", \"action\", \"changes\", \"scores\", \"devices\", \"deadline\"}], \"dry_run\"}`."},
	{"problems.read", "`{\"sets\": [{\"name\", \"file\", \"description\", \"deadline\", \"problems\": [{\"name\", "
					  "\"directory\", \"deadline\", \"gpus\", \"bundle\" or null, \"error\" or null}]}]}`."},
	{"plugin.list", "`{\"plugins\": [{\"name\", \"kind\", \"version\", \"summary\", \"file\"}]}`."},
	{"plugin.info", "`{\"name\", \"kind\", \"summary\", \"options\": [{\"key\", \"type\", \"default\", \"min\", "
					"\"max\", \"help\"}]}`."},
	{"plugin.test", "`{\"tests\": [{\"name\", \"passed\", \"message\"}], \"ok\"}`."},
	{"config.check",
		"`{\"ok\", \"file\", \"config\": what is in force, \"warnings\", \"toolkits\": [{\"runner\", \"tool\", "
		"\"parts\": [{\"name\", \"present\", \"how\": to get it}]}]}`."},
	{"version",
		"`{\"version\", \"ok\", \"parts\": [{\"part\", \"path\", \"found\"}], \"config\", \"database\", \"machine\", "
		"\"kernel\", \"libc\", \"warnings\"}`."},
};

const char *
command_answer(const char *name)
{
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		if (strcmp(answers[i].command, name) == 0)
			return answers[i].answer;
	return NULL;
}
