/* SPDX-License-Identifier: MIT */
/*
 * Fetching the artifact of a run that has ended.
 *
 * Theory of operation. Three requests: the list of the run's artifacts, which says id, size and digest; the zip, whose
 * answer is a link to another host; and the link, which this file follows without GitHub's headers, not the host. A
 * thread of the pool checks and unpacks the zip. If the fetch is cancelled meanwhile, it is freed when the thread is
 * done. A failed request is not repeated here.
 */
#include <config.h>

#include "runners/github/artifact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runners/github/answers.h"
#include "base/cleanup.h"
#include "base/xalloc.h"
#include "runners/common/download.h"

#define LINK_MAX 16384    /* bytes of a link */
#define DOWNLOAD_MS 30000 /* for a download, besides the time for its bytes */
#define DOWNLOAD_RATE 500 /* bytes per ms, the slowest rate that is tolerated */

struct artifact {
	const struct kettle_host *host;
	struct api *api; /* NULL: cancelled while a thread unpacks */
	struct artifact_request request;
	char *repo;
	struct api_call *call;
	uint64_t download; /* of host->http; 0: none */
	struct artifact_facts facts;
	/* The thread's. */
	char *data;
	struct download file;
	struct result_files files;
	struct kettle_error err;
	bool unpacking;
};

/* Removes the file of a download; a thread that reads it can go on. */
static void
remove_download(struct artifact *artifact)
{
	download_remove(&artifact->file);
	free(STEAL(artifact->data));
}

static void
free_artifact(struct artifact *artifact)
{
	remove_download(artifact);
	result_files_free(&artifact->files);
	free(artifact->repo);
	free(artifact);
}

static void
end(struct artifact *artifact, enum artifact_end how, const struct kettle_error *err)
{
	artifact->request.done(artifact->request.arg, how, err, &artifact->files);
	free_artifact(artifact);
}

/* ---- unpacking ---- */

static void
unpack(void *arg)
{
	struct artifact *artifact = arg;
	(void)result_zip_read(artifact->data, (size_t)artifact->facts.size, artifact->file.path, artifact->facts.sha256,
		&artifact->files, &artifact->err);
	remove_download(artifact);
}

static void
on_unpacked(void *arg)
{
	struct artifact *artifact = arg;
	artifact->unpacking = false;
	if (!artifact->api) {
		free_artifact(artifact);
		return;
	}
	/* A second download with the right digest would be no better. */
	bool wrong = artifact->err.code == KETTLE_ECONFLICT || !artifact->facts.sha256[0];
	end(artifact, artifact->err.code == 0 ? ARTIFACT_READ : wrong ? ARTIFACT_WRONG : ARTIFACT_FAILED, &artifact->err);
}

static void
on_download(void *arg, const struct kettle_error *err, const struct kettle_http_answer *answer)
{
	struct artifact *artifact = arg;
	struct kettle_error why = *err;
	artifact->download = 0;
	if (why.code == 0 && answer->status != 200)
		(void)kettle_fail(
			&why, KETTLE_EUNAVAIL, "GitHub's link to the artifact answered with status %d.", answer->status);
	else if (why.code == 0 && answer->body && answer->body_size != artifact->facts.size)
		(void)kettle_fail(&why, KETTLE_EINVAL,
			"The artifact arrived with %llu bytes, but GitHub says that it has %llu.",
			(unsigned long long)answer->body_size, (unsigned long long)artifact->facts.size);
	/* A storage host that fails is treated like an API that fails; an expired link and wrong bytes are not. */
	bool passes = err->code == KETTLE_EUNAVAIL || err->code == KETTLE_EIO || (answer && answer->status >= 500);
	if (passes || why.code < 0) {
		end(artifact, passes ? ARTIFACT_LATER : ARTIFACT_WRONG, &why);
		return;
	}
	artifact->data = answer->body ? xmemdup(answer->body, artifact->facts.size) : NULL;
	artifact->err = (struct kettle_error){0};
	artifact->unpacking = artifact->host->work(artifact->host, unpack, on_unpacked, artifact, &why) == 0;
	if (!artifact->unpacking)
		end(artifact, ARTIFACT_FAILED, &why);
}

/* ---- the three requests ---- */

static int
download(struct artifact *artifact, const char *link, struct kettle_error *err)
{
	bool small = artifact->facts.size <= ARTIFACT_SMALL;
	bool secure = strncmp(link, "https://", 8) == 0;
	if (strlen(link) > LINK_MAX || (!secure && (api_is_secure(artifact->api) || strncmp(link, "http://", 7) != 0)))
		return kettle_fail(err, KETTLE_EIO, "GitHub's link to the artifact is not a URL of https.");
	int rc = small ? 0 : download_make(&artifact->file, err);
	if (rc < 0)
		return rc;
	uint64_t pause_ms = artifact->request.most_ms < DOWNLOAD_MS ? artifact->request.most_ms : DOWNLOAD_MS;
	const struct kettle_http_request request = {.size = sizeof(request),
		.url = link,
		.answer_file = artifact->file.path,
		.max_body = artifact->facts.size + 1,
		.total_ms = (uint32_t)(pause_ms + artifact->facts.size / DOWNLOAD_RATE),
		.done = on_download,
		.arg = artifact};
	return artifact->host->http(artifact->host, &request, &artifact->download, err);
}

static void
on_link(void *arg, const struct kettle_error *err, const struct api_answer *answer)
{
	struct artifact *artifact = arg;
	struct kettle_error why = *err;
	artifact->call = NULL;
	if (why.code < 0) {
		end(artifact, ARTIFACT_LATER, &why);
	} else if (answer->status == 410) {
		(void)kettle_fail(&why, KETTLE_ENOENT, "GitHub has already removed the run's artifact.");
		end(artifact, ARTIFACT_FAILED, &why);
	} else if (answer->status != 302 || !answer->location) {
		(void)api_fail(answer, "the request for the artifact", &why);
		end(artifact, ARTIFACT_LATER, &why);
	} else if (download(artifact, answer->location, &why) < 0) {
		end(artifact, ARTIFACT_WRONG, &why);
	}
}

static void
request_link(struct artifact *artifact)
{
	AUTO_FREE char *path =
		xasprintf("/repos/%s/actions/artifacts/%lld/zip", artifact->repo, (long long)artifact->facts.id);
	artifact->call = api_send(artifact->api,
		&(struct api_request){.path = path, .token = artifact->request.token, .done = on_link, .arg = artifact});
}

static void
on_list(void *arg, const struct kettle_error *err, const struct api_answer *answer)
{
	struct artifact *artifact = arg;
	struct kettle_error why = *err;
	artifact->call = NULL;
	int rc = why.code;
	if (rc == 0 && answer->status != 200)
		rc = api_fail(answer, "the request for the artifacts", &why);
	else if (rc == 0)
		rc = answer_artifact(answer->body, ARTIFACT_NAME, &artifact->facts, &why);
	enum artifact_end how = rc == KETTLE_ENOENT ? ARTIFACT_UNLISTED : rc < 0 ? ARTIFACT_LATER : ARTIFACT_FAILED;
	if (rc == 0 && artifact->facts.expired)
		rc = kettle_fail(&why, KETTLE_ENOENT, "The run's artifact has expired.");
	else if (rc == 0 && artifact->facts.size > RESULT_ZIP_MAX)
		rc = kettle_fail(&why, KETTLE_ETOOBIG, "The run's artifact has %llu bytes; at most %d are fetched.",
			(unsigned long long)artifact->facts.size, RESULT_ZIP_MAX);
	if (rc < 0) {
		end(artifact, how, &why);
		return;
	}
	artifact->request.token = answer->token;
	request_link(artifact);
}

struct artifact *
artifact_fetch(const struct kettle_host *host, struct api *api, const struct artifact_request *request)
{
	struct artifact *artifact = xcalloc(1, sizeof(*artifact));
	*artifact = (struct artifact){
		.host = host, .api = api, .request = *request, .repo = xstrdup(request->repo), .files = RESULT_FILES_NONE};
	AUTO_FREE char *path = xasprintf("/repos/%s/actions/runs/%lld/artifacts?name=" ARTIFACT_NAME "&per_page=%d",
		artifact->repo, (long long)request->run, ANSWER_LIST_MAX);
	artifact->call =
		api_send(api, &(struct api_request){.path = path, .token = request->token, .done = on_list, .arg = artifact});
	return artifact;
}

void
artifact_cancel(struct artifact *artifact)
{
	if (!artifact)
		return;
	if (artifact->call)
		(void)api_cancel(artifact->call);
	if (artifact->download)
		artifact->host->http_cancel(artifact->host, artifact->download);
	if (artifact->unpacking)
		artifact->api = NULL;
	else
		free_artifact(artifact);
}
