/* SPDX-License-Identifier: MIT */
/* What a profile left, as one zip with a manifest. */
#ifndef KETTLE_MODEL_PROFILE_PACK_H
#define KETTLE_MODEL_PROFILE_PACK_H

#include "judge/verdict.h"

#define PROFILE_PACK_NAME "profile.zip"
#define PROFILE_PACK_MANIFEST "manifest.json"

/* Whose profile it is, for the manifest; all borrowed. */
struct profile_pack_job {
	const json_t *task; /* the checked one */
	const char *device;
	int64_t job, submission;
};

/*
 * Packs, for each profile of the verdict that left files in SPOOL/ATTEMPT.run/STEP, these and a manifest into
 * PROFILE_PACK_NAME beside them, and puts it into their place in verdict->artifacts. The files of a step that are more than
 * max_bytes, or that are not what the runner reported, stay as they are; the error says why of the first such step. The
 * manifest (docs/participating.md) names case, options, tool, device and sources. [any, blocks]
 */
int profile_pack(const char *spool, const char *attempt, int64_t max_bytes, const struct profile_pack_job *job,
	struct verdict *verdict, struct kettle_error *err);

#endif
