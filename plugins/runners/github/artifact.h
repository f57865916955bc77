/* SPDX-License-Identifier: MIT */
/* Fetching the artifact of a run that has ended. All functions and callbacks on the loop thread. */
#ifndef KETTLE_GITHUB_ARTIFACT_H
#define KETTLE_GITHUB_ARTIFACT_H

#include <stdbool.h>
#include <stdint.h>

#include "runners/github/api.h"
#include "runners/github/result_zip.h"

#define ARTIFACT_NAME "kettle-result"
#define ARTIFACT_LOOKS 5 /* looks at the list, until an artifact counts as missing; between them 0.5, 1, 2 and 4 s */
#define ARTIFACT_LOOK_MS 500   /* after the first look, doubling */
#define ARTIFACT_TRIES 3       /* downloads whose link has expired or whose bytes are wrong */
#define ARTIFACT_SMALL 4194304 /* bytes that are held in memory; larger ones go through a file */

struct artifact; /* opaque; valid until its done is called, or artifact_cancel */

enum artifact_end {
	ARTIFACT_READ,     /* files is set, which may be stolen from */
	ARTIFACT_UNLISTED, /* there is no artifact, or not yet */
	ARTIFACT_LATER,    /* GitHub or the network failed, perhaps only now */
	ARTIFACT_WRONG,    /* the download failed or its bytes are wrong: worth a few more tries */
	ARTIFACT_FAILED,   /* every further try would fail */
};

/* The artifact of one run. Strings are copied. */
struct artifact_request {
	const char *repo;
	int64_t run;
	size_t token;
	uint64_t most_ms; /* for a download, besides the time for its bytes, if less than usual */
	/* err: why `how` is not READ. */
	void (*done)(void *arg, enum artifact_end how, const struct kettle_error *err, struct result_files *files);
	void *arg;
};

/* Fetches the artifact; calls done, never before this returns. */
struct artifact *artifact_fetch(
	const struct kettle_host *host, struct api *api, const struct artifact_request *request);
/* Ends the fetch without calling back. NULL is allowed. */
void artifact_cancel(struct artifact *artifact);

#endif
