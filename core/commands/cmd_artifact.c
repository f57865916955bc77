/* SPDX-License-Identifier: MIT */
/* The files that jobs left, for those who may see the submission. */
#include <config.h>

#include "commands/handlers.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/text.h"
#include "model/artifact.h"

static int
check_access(struct db *db, const struct actor *actor, int64_t submission, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL;
	int rc = db_object(db, &row, err,
		"SELECT s.user, b.creator FROM submissions s JOIN leaderboards b ON b.id = s.leaderboard WHERE s.id = ?", "i",
		submission);
	if (rc == KETTLE_ENOENT)
		return kettle_fail(err, rc, "There is no submission %lld.", (long long)submission);
	bool own = actor->user && (member_int(row, "user") == actor->user || member_int(row, "creator") == actor->user);
	if (rc == 0 && !own && actor->role != RIGHT_ADMIN)
		return kettle_fail(err, KETTLE_EACCES, "Submission %lld belongs to somebody else.", (long long)submission);
	return rc;
}

int
cmd_submission_artifacts(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	int rc = check_access(call->db, call->actor, member_int(call->args, "id"), err);
	return rc < 0 ? rc
				  : db_array(call->db, ret_result, err,
						"SELECT a.id AS artifact, a.job, j.device, a.step, a.name, a.size, a.sha256, a.created_at AS "
						"created_iso, a.expired_at AS expired_iso FROM jobs j JOIN artifacts a ON a.job = j.id WHERE "
						"j.submission = ? ORDER BY a.job, a.id",
						"i", member_int(call->args, "id"));
}

int
cmd_submission_artifact(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	int64_t id = member_int(call->args, "artifact"), offset = member_int(call->args, "offset");
	AUTO_JSON json_t *row = NULL;
	AUTO_FREE char *data = NULL;
	size_t size = 0;
	int rc = db_object(call->db, &row, err,
		"SELECT a.id AS artifact, a.name, a.size, a.sha256, j.submission FROM artifacts a JOIN jobs j ON j.id = a.job "
		"WHERE a.id = ?",
		"i", id);
	if (rc == KETTLE_ENOENT)
		return kettle_fail(err, rc, "There is no file with the number %lld.", (long long)id);
	if (rc == 0)
		rc = check_access(call->db, call->actor, member_int(row, "submission"), err);
	if (rc == 0)
		rc = artifact_read(call->db, call->env->spool, id, offset, &data, &size, err);
	if (rc < 0)
		return rc;
	AUTO_FREE char *base64 = base64_encode(data, size);
	(void)json_object_del(row, "submission");
	(void)json_object_set_new(row, "offset", json_integer(offset));
	(void)json_object_set_new(row, "base64", json_string(base64));
	*ret_result = STEAL(row);
	return 0;
}
