/* SPDX-License-Identifier: MIT */
/* The files of a profile as one zip with a manifest. */
#pragma once

#include "judge/verdict.h"

#define PROFILE_PACK_NAME "profile.zip"
#define PROFILE_PACK_MANIFEST "manifest.json"

/* The job that the profile is of, for the manifest; all borrowed. */
struct profile_pack_job {
	const json_t *task; /* the checked one */
	const char *device;
	int64_t job, submission;
};

/*
 * Packs, for each profile of the verdict that left files in SPOOL/ATTEMPT.run/STEP, these files and a manifest into
 * PROFILE_PACK_NAME beside them, which replaces them in verdict->artifacts. The files of a step stay as they are if
 * they exceed max_bytes or differ from the runner's report; the error describes the first such step. The manifest
 * (docs/participating.md) names case, options, tool, device and sources. [any, blocks]
 */
int profile_pack(const char *spool, const char *attempt, int64_t max_bytes, const struct profile_pack_job *job,
	struct verdict *verdict, struct kettle_error *err);
