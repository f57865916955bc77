/* SPDX-License-Identifier: MIT */
/* The contents of answers of GitHub's API, checked. */
#include <config.h>

#include "runners/github/github.h"

#include <string.h>
#include <time.h>

#include "base/json_access.h"

#define HEX_DIGITS "0123456789abcdef"

/* Returns a number that identifies something; 0: the member is no such number. */
static int64_t
member_id(const json_t *object, const char *key)
{
	json_int_t id = member_int(object, key);
	return id > 0 ? (int64_t)id : 0;
}

int
answer_dispatched(const json_t *body, int64_t *ret_id, struct kettle_error *err)
{
	int64_t id = member_id(body, "workflow_run_id");
	if (id == 0)
		return kettle_fail(err, KETTLE_EIO, "GitHub took the dispatch, but its answer has no `workflow_run_id`.");
	*ret_id = id;
	return 0;
}

int64_t
answer_time(const char *text)
{
	struct tm tm = {0};
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!end || (*end != 'Z' && *end != '.') || tm.tm_year < 70 || tm.tm_year > 1000)
		return 0;
	return (int64_t)timegm(&tm) * 1000;
}

int
answer_run(const json_t *body, struct run_facts *ret_facts, struct kettle_error *err)
{
	const struct run_facts facts = {.id = member_id(body, "id"),
		.attempt = member_id(body, "run_attempt") > 0 ? (unsigned)member_id(body, "run_attempt") : 1,
		.status = json_text_or_empty(body, "status"),
		.conclusion = json_text_or_empty(body, "conclusion"),
		.title = json_text_or_empty(body, "display_title"),
		.url = json_text_or_empty(body, "html_url"),
		.created = json_text_or_empty(body, "created_at"),
		.created_ms = answer_time(json_text_or_empty(body, "created_at")),
		.dispatched = member_is(body, "event", "workflow_dispatch")};
	if (facts.id == 0 || !facts.status[0])
		return kettle_fail(err, KETTLE_EIO, "GitHub's answer is not a workflow run: it lacks `id` or `status`.");
	if (strcmp(facts.status, "completed") == 0 && !facts.conclusion[0])
		return kettle_fail(err, KETTLE_EIO, "GitHub says that a run is completed, but not how: it lacks `conclusion`.");
	*ret_facts = facts;
	return 0;
}

int
answer_runs(const json_t *body, const json_t **ret_runs, struct kettle_error *err)
{
	const json_t *runs = json_object_get(body, "workflow_runs");
	if (!json_is_array(runs) || json_array_size(runs) > ANSWER_LIST_MAX)
		return kettle_fail(err, KETTLE_EIO,
			"GitHub's answer is not a list of runs: it lacks `workflow_runs`, or has more than the %d that were "
			"requested.",
			ANSWER_LIST_MAX);
	*ret_runs = runs;
	return 0;
}

/* Reads "sha256:HEX"; "" if GitHub gives no digest. */
static bool
read_digest(const json_t *artifact, char ret_sha256[65])
{
	static const char prefix[] = "sha256:";
	const json_t *digest = json_object_get(artifact, "digest");
	const char *text = json_string_value(digest);
	ret_sha256[0] = '\0';
	if (!digest || json_is_null(digest))
		return true;
	if (!text || strncmp(text, prefix, strlen(prefix)) != 0 || strlen(text) != strlen(prefix) + 64 ||
		strspn(text + strlen(prefix), HEX_DIGITS) != 64)
		return false;
	memcpy(ret_sha256, text + strlen(prefix), 65);
	return true;
}

int
answer_artifact(const json_t *body, const char *name, struct artifact_facts *ret_facts, struct kettle_error *err)
{
	const json_t *artifacts = json_object_get(body, "artifacts");
	struct artifact_facts newest = {0};
	if (!json_is_array(artifacts) || json_array_size(artifacts) > ANSWER_LIST_MAX)
		return kettle_fail(
			err, KETTLE_EIO, "GitHub's answer is not a list of artifacts: it lacks `artifacts`, or is too long.");
	json_array_each(artifacts, artifact) {
		struct artifact_facts facts = {.id = member_id(artifact, "id"), .expired = member_true(artifact, "expired")};
		json_int_t size = member_int(artifact, "size_in_bytes");
		if (!member_is(artifact, "name", name) || facts.id <= newest.id)
			continue;
		if (size <= 0 || !read_digest(artifact, facts.sha256))
			return kettle_fail(err, KETTLE_EIO,
				"GitHub's list of artifacts has one without `size_in_bytes`, or with a wrong `digest`.");
		facts.size = (uint64_t)size;
		newest = facts;
	}
	if (newest.id == 0)
		return kettle_fail(err, KETTLE_ENOENT, "The run has no artifact `%s`.", name);
	*ret_facts = newest;
	return 0;
}
