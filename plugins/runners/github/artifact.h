/* SPDX-License-Identifier: MIT */
/* Fetching the artifact of a run that has ended. All functions and callbacks on the loop thread. */
#ifndef KETTLE_GITHUB_ARTIFACT_H
#define KETTLE_GITHUB_ARTIFACT_H

#include <stdbool.h>
#include <stdint.h>

#include "runners/github/api.h"
#include "runners/github/result_zip.h"

#define ARTIFACT_NAME "kettle-result"
#define ARTIFACT_LOOKS 5       /* at the list, until an artifact counts as missing; between them 0.5, 1, 2 and 4 s */
#define ARTIFACT_LOOK_MS 500   /* after the first look, doubling */
#define ARTIFACT_TRIES 3       /* downloads whose link has expired or whose bytes are wrong */
#define ARTIFACT_SMALL 4194304 /* bytes that are held in memory; larger ones go through a file */

struct artifact; /* opaque; valid until its done is called, or artifact_cancel */

/* The artifact of one run. Strings are copied. */
struct artifact_request {
	const char *repo;
	int64_t run;
	size_t token;
	unsigned looks;      /* at most, instead of ARTIFACT_LOOKS */
	uint64_t give_up_ms; /* for how long faults of the network and of GitHub are met with another try */
	/* err->code is 0 and files is set, which may be stolen from; or ENOENT: there is none; or another error. unreached:
	 * GitHub or the network failed for give_up_ms. */
	void (*done)(void *arg, const struct kettle_error *err, bool unreached, struct result_files *files);
	void *arg;
};

/* Never calls back before it returns. */
struct artifact *artifact_fetch(
	const struct kettle_host *host, struct api *api, const struct artifact_request *request);
/* Ends it, without calling back. NULL is allowed. */
void artifact_cancel(struct artifact *artifact);

#endif
