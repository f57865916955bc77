/* SPDX-License-Identifier: MIT */
/* What tests of runners see of their jobs on the fake host, and how they wait for it. */
#include <config.h>

#include "lib/fake_jobs.h"

#include <string.h>

#include "base/json_access.h"
#include "lib/unit_test.h"

#define PATIENCE_MS 600000

struct waited {
	struct kettle_fake *fake;
	const char *ref;
};

const json_t *
job_reports(struct kettle_fake *fake, const char *ref, const char *what)
{
	return json_object_get(json_object_get(kettle_fake_jobs(fake), ref), what);
}

static int
is_complete(void *arg)
{
	const struct waited *waited = arg;
	return json_array_size(job_reports(waited->fake, waited->ref, "completions")) > 0;
}

const json_t *
job_completion(struct kettle_fake *fake, const char *ref)
{
	if (kettle_fake_run(fake, is_complete, &(struct waited){fake, ref}, PATIENCE_MS) != 0)
		fail_msg("job %s does not end", ref);
	const json_t *all = job_reports(fake, ref, "completions");
	assert_int_equal(json_array_size(all), 1);
	return json_array_get(all, 0);
}

const json_t *
job_ends(struct kettle_fake *fake, const char *ref, const char *status)
{
	const json_t *done = job_completion(fake, ref);
	assert_string_equal(json_text_or_empty(done, "status"), status);
	return done;
}

size_t
log_count(struct kettle_fake *fake, const char *text)
{
	size_t count = 0, i;
	const json_t *line;
	json_array_foreach(kettle_fake_log(fake), i, line)
		count += strstr(json_text_or_empty(line, "message"), text) != NULL;
	return count;
}

size_t
remote_errors(struct kettle_fake *fake, const char *call, size_t from, const char *words)
{
	size_t count = 0, i;
	const json_t *one;
	json_array_foreach(kettle_fake_remote(fake), i, one) {
		const char *error = json_text_or_null(one, "error");
		count += i >= from && error && member_is(one, "call", call) && strstr(error, words);
	}
	return count;
}

static void
on_stopped(void *arg)
{
	*(int *)arg = 1;
}

static int
has_stopped(void *arg)
{
	return *(int *)arg;
}

void
plugin_stop(struct kettle_fake *fake, const struct kettle_plugin *plugin, void *self)
{
	int stopped = 0;
	plugin->stop(self, on_stopped, &stopped);
	assert_int_equal(kettle_fake_run(fake, has_stopped, &stopped, PATIENCE_MS), 0);
}
