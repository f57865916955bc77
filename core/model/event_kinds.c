/* SPDX-License-Identifier: MIT */
/* The one list of the kinds of events. */
#include <config.h>

#include "model/event_kinds.h"

#include "base/json_access.h"

#include <stdio.h>
#include <string.h>

#define JOB_END "`state`, `score`, `low`, `high`, `error`, `fault`, `stage`, `retriable`: as in `submission.show`"

const struct event_kind event_kinds[] = {
	{"leaderboard.created", 'p', "`name`, `devices`: names, `deadline`: time or null"},
	{"leaderboard.updated", 'p',
		"`name`, `changes`: the settings that changed, `scores`: kept, or left (the rankings started again), "
		"`deadline`: time or null, `devices`: names, `visibility`"},
	{"leaderboard.renamed", 'u', "`name`, `was`: pages have taken the word that was its name; the user is its creator"},
	{"leaderboard.limited", 'p',
		"`name`, `category` (null: both), `device` (null: all together), `per_hour` (null: the limit is removed)"},
	{"leaderboard.joined", 'u', "`name`"},
	{"leaderboard.opened", 'p', "`name`, `deadline`: time or null; its opening time has come, once"},
	{"leaderboard.ended", 'p',
		"`name`, `deadline`, `devices`: rows of `device` and `podium` (as below); its deadline has passed and its last "
		"ranked submission is done, once"},
	{"leaderboard.podium", 'p',
		"`device`, `came`, `went`, `before`, `podium`: rows of `rank`, `user`, `user_name`, `submission`, `score`; the "
		"first three have changed, or their places"},
	{"leaderboard.fault", 'u',
		"`job`, `device`, `mode`, `error`; a job ended by a fault of the task, the first one since a job passed or the "
		"task changed. The user is the leaderboard's creator, not the submission's owner"},
	{"leaderboard.deleted", 'p',
		"`name`, `submissions`: how many, `jobs`: rows of `job`, `device`, `submission` that were open"},
	{"submission.accepted", 'u',
		"`mode`, `file_name`, `jobs`: rows of `job`, `device`, `request`: the identifier that came with it"},
	{"submission.cancelled", 'u', "`jobs`: rows of `job`, `device`, `attempt` that were open; submission.done follows"},
	{"submission.deleted", 'u', "`mode`, `file_name`, `jobs`: rows of `job`, `device`, `attempt` that were open"},
	{"submission.rerun", 'u',
		"`mode`, `file_name`, `jobs`: rows of `job`, `device` that are new; submission.done follows"},
	{"submission.flagged", 'u', "`mode`, `file_name`, `reason`; marked as a cheat"},
	{"submission.unflagged", 'u', "`mode`, `file_name`"},
	{"submission.done", 'u',
		"`mode`, `state`: the worst of its jobs', `jobs`: rows of `job`, `device` and what job.done says of each"},
	{"job.started", 'u', "`job`, `device`, `unit`, `attempt`"},
	{"job.requeued", 'u',
		"`job`, `device`, `attempt`, `loss`: how it was lost (docs/plugins.md), `spared`: it does not count, `reason`"},
	{"job.done", 'u',
		"`job`, `device`, `mode`; " JOB_END "; where it counts also `rank`, `of`, `rank_before`, `previous_score`, "
		"`best`: it is the user's best now, `first`: of theirs, `better`: another submission is the user's best, with "
		"`submission`, `score`, `rank`, `of`; then `rank` and `of` are null"},
	{"rank.changed", 'p', "`device`, `before`: rank or null, `after`: rank or null, `score`, `previous_score`, `job`"},
	{"invite.created", 'a', "`leaderboards`: names, `count`"},
	{"invite.revoked", 'a', "`leaderboards`: names, `was_claimed`; the user is who had claimed it"},
	{"device.disabled", 'a', "`device`, `unit`, `reason`; an operator has disabled the unit"},
	{"device.ready", 'a', "`device`, `unit`, `reason`; an operator has enabled it"},
	{"device.calibrated", 'a',
		"`device`, `unit`, `names`: nanoseconds by name, `leaderboard`: whose task's own they are, `missing`: tasks "
		"that "
		"are not measured yet"},
	{"unit.quarantined", 'a',
		"`device`, `unit`, `reason`; the engine has disabled it for a fault, or its runner says that no job can run "
		"there"},
	{"unit.returned", 'a', "`device`, `unit`, `reason`; the engine found it in order again"},
	{"storage.full", 'a',
		"`since`: time, `error`; comes at once without `seq`, and is stored together with storage.ok, since nothing "
		"can "
		"be before"},
	{"storage.ok", 'a', "`since`: time; changes can be stored again"},
	{"runner.credential_failed", 'a',
		"`runner`, `error`; its remote side refuses the credential, once until it is taken again"},
	{"user.created", 'a', "`name`, `provider`"},
	{"user.banned", 'u', "`reason`, `cancelled`: submissions"},
	{"user.unbanned", 'u', "none"},
	{"user.role", 'u', "`role`, `was`"},
	{"user.code", 'u', "`expires`; a code was made that merges this user into the one who types it"},
	{"user.deleted", 'a', "none; the identity is removed, and the name is the new one"},
	{"user.token", 'u', "`name`, `expires`: time or null; a token was made"},
	{"user.login", 'u', "`name`: of the program or page that has logged in as the user"},
	{"token.revoked", 'u', "`kind`, `name`; tokens of this name act as the user no more"},
	{"login.revoked", 'u', "`kind`, `name`; logins of this name act as the user no more"},
	{"user.merged", 'u',
		"`name`, `was`: number, `role`: of the user who was merged into this one, whose tokens act as this one now"},
	{"admin.accepting", 'a', "`accepting`: whether submissions are accepted from now on"},
	{"progress", '-',
		"of a job (with `submission`, `user`, `job`, `device`, `event`: what kettle-exec says) for who sees the "
		"submission; of a command (with `task_run`, `device`, `event`, or `solution`, `done`, `of`) for its caller "
		"alone. These members stand in the event itself"},
	{NULL},
};

const char *
event_scope_text(char scope)
{
	switch (scope) {
	case 'p':
		return "who sees the leaderboard";
	case 'u':
		return "the user, admins";
	case 'a':
		return "admins";
	}
	return "as it says; it is not stored";
}

int
event_kind_check(const json_t *event, struct kettle_error *err)
{
	const char *kind = json_text_or_empty(event, "kind"), *scope = json_text_or_empty(event, "scope"), *key;
	const struct event_kind *row = event_kinds;
	json_t *value;
	while (row->kind && strcmp(row->kind, kind) != 0)
		row++;
	if (!row->kind)
		return kettle_fail(err, KETTLE_EINVAL, "There is no event `%s`.", kind);
	if (scope[0] != row->scope)
		return kettle_fail(err, KETTLE_EINVAL, "An event `%s` has the scope `%s`.", kind, scope);
	json_object_foreach(json_object_get(event, "data"), key, value) {
		char quoted[80];
		(void)snprintf(quoted, sizeof(quoted), "`%s`", key);
		if (!strstr(row->data, quoted))
			return kettle_fail(err, KETTLE_EINVAL, "The data of an event `%s` has `%s`.", kind, key);
	}
	return 0;
}
