/* SPDX-License-Identifier: MIT */
/*
 * competition.fetch: the tasks of a repository, or of a folder below the configured one.
 *
 * Theory of operation. The archive is downloaded into a file by the host's HTTP, which bounds its bytes and the time; then a
 * thread of the pool unpacks it in memory and reads it as competition.read does. Nothing of it is executed, nor written
 * anywhere. The file is in the folder of one-time links, whose sweep removes what a crash left. A timer ends
 * the download when the engine stops or the caller has gone.
 */
#include <config.h>

#include "commands/handlers.h"

#include "base/base.h"
#include "base/file.h"
#include "base/hash.h"
#include "config/configuration.h"
#include "session/core.h"
#include "task/competition.h"

#include <errno.h>
#include <kettle/error.h>
#include <sys/stat.h>

/* ---- archives of repositories ---- */

#define GITHUB "https://github.com/"
#define OWNER_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
#define BRANCH_CHARS OWNER_CHARS "/+@"

/* OWNER/NAME of a repository, without further parts of its URL; NULL: it is none. New string. */
static char *
github_name(const char *text)
{
	size_t owner = strspn(text, OWNER_CHARS);
	if (owner == 0 || text[owner] != '/')
		return NULL;
	size_t name = strspn(text + owner + 1, OWNER_CHARS), len = owner + 1 + name;
	if (name == 0 || (text[len] && strcmp(text + len, "/") != 0))
		return NULL;
	if (name > 4 && strncmp(text + len - 4, ".git", 4) == 0)
		len -= 4;
	char *found = xstrndup(text, len);
	if (path_check_inside(found, NULL) == 0)
		return found;
	free(found);
	return NULL;
}

static int
of_github(const char *name, const char *branch, char **ret_url, char **ret_label, struct kettle_error *err)
{
	if (branch && (branch[strspn(branch, BRANCH_CHARS)] || path_check_inside(branch, NULL) < 0))
		return kettle_fail(err, KETTLE_EINVAL, "`%.100s` cannot be the name of a branch.", branch);
	*ret_url = branch ? xasprintf(GITHUB "%s/archive/refs/heads/%s.zip", name, branch)
					  : xasprintf(GITHUB "%s/archive/HEAD.zip", name);
	*ret_label = branch ? xasprintf("%s (%s)", name, branch) : xstrdup(name);
	return 0;
}

int
repository_archive(
	const char *repository, const char *branch, char **ret_url, char **ret_label, struct kettle_error *err)
{
	bool secure = strncmp(repository, "https://", 8) == 0, github = strncmp(repository, GITHUB, strlen(GITHUB)) == 0;
	AUTO_FREE char *name = github ? github_name(repository + strlen(GITHUB)) : secure ? NULL : github_name(repository);
	if (name)
		return of_github(name, branch, ret_url, ret_label, err);
	if (!secure)
		return kettle_fail(err, KETTLE_EINVAL,
			"`%.100s` is neither OWNER/NAME of a repository on GitHub nor the https:// URL of a zip.", repository);
	if (branch)
		return kettle_fail(err, KETTLE_EINVAL,
			"A branch can be chosen only for repositories on GitHub; for other repositories, give the URL of the "
			"branch's zip.");
	/* Messages omit the query, which may hold a key. */
	*ret_url = xstrdup(repository);
	*ret_label = xstrndup(repository, strcspn(repository, "?#"));
	return 0;
}

#define FETCH_TOTAL_MS 120000
#define FETCH_REDIRECTS 5
#define FETCH_RETRIES 2
#define FETCH_WATCH_MS 200
#define FETCH_AT_ONCE 4 /* each takes up to 64 MiB packed and 128 MiB unpacked */

struct fetch {
	struct core *core;
	const struct languages *languages; /* as they were when it began */
	struct waiter waiter;
	uint64_t request;
	struct kettle_timer *watch;
	char *url, *label; /* of the archive */
	char *file;        /* the archive; NULL: the folder below root is read */
	char *root;
	json_t *args, *sets;
	struct kettle_error err;
	kettle_answer answer;
	void *arg;
};

/* Answers and frees. */
static void
end_fetch(void *arg)
{
	struct fetch *fetch = arg;
	struct core *core = fetch->core;
	bool failed = fetch->err.code < 0;
	AUTO_JSON json_t *result = failed ? NULL
									  : json_pack("{s:O, s:s}", "sets", fetch->sets, "source",
											fetch->url ? fetch->url : json_text_or_empty(fetch->args, "folder"));
	loop_timer_stop(core->setup.io, STEAL(fetch->watch));
	core->fetches--;
	fetch->answer(fetch->arg, &fetch->err, result);
	json_decref_all(fetch->args, fetch->sets);
	free_all(fetch->url, fetch->label, fetch->file, fetch->root, fetch);
	core_release(core);
}

/* ---- in the pool ---- */

static void
read_archive(struct fetch *fetch)
{
	struct task_archive *archive = NULL;
	AUTO_FREE char *data = NULL;
	size_t size = 0;
	int rc = file_read(fetch->file, TASK_ARCHIVE_MAX_PACKED, &data, &size, &fetch->err);
	(void)unlink(fetch->file);
	if (rc == 0)
		rc = task_archive_read_repository(fetch->label, data, size, &archive, &fetch->err);
	if (rc == 0)
		(void)competition_read_repository(fetch->languages, archive, json_text_or_null(fetch->args, "folder"),
			json_text_or_null(fetch->args, "set"), &fetch->sets, &fetch->err);
	task_archive_free(archive);
}

static void
read_folder(struct fetch *fetch)
{
	const char *folder = json_text_or_null(fetch->args, "folder");
	AUTO_SOURCE_DIR struct source_dir root = {0}, below = {0};
	int rc = path_check_inside(folder, &fetch->err);
	if (rc == 0)
		rc = source_dir_folder(fetch->root, &root, &fetch->err);
	if (rc < 0)
		return;
	/* Messages name the folder as it was given: the caller does not need the place of the root. */
	free(root.shown);
	root.shown = xstrdup(".");
	rc = source_dir_below(&root, folder, &below, &fetch->err);
	if (rc == 0)
		(void)competition_read_folder(
			fetch->languages, &below, json_text_or_null(fetch->args, "set"), &fetch->sets, &fetch->err);
}

static void
read_fetched(void *arg)
{
	struct fetch *fetch = arg;
	if (fetch->file)
		read_archive(fetch);
	else
		read_folder(fetch);
}

static void
start_reading(struct fetch *fetch)
{
	struct kettle_error err = {0};
	loop_timer_stop(fetch->core->setup.io, STEAL(fetch->watch));
	/* A local error: once the work has begun, fetch->err belongs to the other thread. */
	if (core_work(fetch->core, read_fetched, end_fetch, fetch, &err) == 0)
		return;
	fetch->err = err;
	end_fetch(fetch);
}

/* ---- the download ---- */

static void
on_archive(void *arg, const struct kettle_error *err, const struct kettle_http_answer *answer)
{
	struct fetch *fetch = arg;
	if (err->code < 0)
		fetch->err = *err;
	else if (answer->status == 404)
		(void)kettle_fail(&fetch->err, KETTLE_ENOENT,
			"There is no archive at %s: correct the repository or the branch; private repositories cannot be fetched.",
			fetch->url);
	else if (answer->body)
		(void)kettle_fail(
			&fetch->err, KETTLE_EUNAVAIL, "%s returned status %d instead of an archive.", fetch->url, answer->status);
	if (fetch->err.code < 0)
		end_fetch(fetch);
	else
		start_reading(fetch);
}

static void
on_watch(void *arg)
{
	struct fetch *fetch = arg;
	struct core *core = fetch->core;
	if (!core->closing && !__atomic_load_n(&core->leaving, __ATOMIC_RELAXED) && core_is_awaited(core, &fetch->waiter))
		return;
	http_cancel(core->setup.http, core, fetch->request);
	(void)kettle_fail(&fetch->err, KETTLE_ECANCELED, "The command ended before the archive had arrived.");
	end_fetch(fetch);
}

static int
start_download(struct fetch *fetch, struct kettle_error *err)
{
	struct core *core = fetch->core;
	const struct kettle_http_request request = {
		.size = sizeof(request),
		.url = fetch->url,
		.answer_file = fetch->file,
		.max_body = TASK_ARCHIVE_MAX_PACKED,
		.total_ms = FETCH_TOTAL_MS,
		.max_redirects = FETCH_REDIRECTS,
		.retries = FETCH_RETRIES,
		.done = on_archive,
		.arg = fetch,
	};
	if (!core->setup.http)
		return kettle_fail(err, KETTLE_ECANCELED, "The engine is stopping.");
	if (mkdir(core->links.folder, 0700) != 0 && errno != EEXIST)
		return kettle_fail(
			err, KETTLE_EIO, "The folder `%s` cannot be created: %s.", core->links.folder, strerror(errno));
	int rc = http_send(core->setup.http, core, &request, &fetch->request, err);
	if (rc < 0)
		return rc;
	/* Without the timer the download ends by itself, within its time. */
	(void)loop_timer_start(core->setup.io, FETCH_WATCH_MS, FETCH_WATCH_MS, on_watch, fetch, &fetch->watch, NULL);
	return 0;
}

/* ---- the command ---- */

/* Sets what is read: an archive with its file, or a folder. */
static int
choose_source(struct fetch *fetch, struct kettle_error *err)
{
	const char *repository = json_text_or_null(fetch->args, "repository"),
			   *branch = json_text_or_null(fetch->args, "branch");
	const struct config *config = fetch->core->config;
	const char *root = config ? json_text_or_null(json_object_get(config->root, "competitions"), "root") : NULL;
	char hash[65];
	if (repository) {
		AUTO_FREE char *token = random_token("", hash);
		fetch->file = xasprintf("%s/%s", fetch->core->links.folder, hash);
		return repository_archive(repository, branch, &fetch->url, &fetch->label, err);
	}
	if (!json_text_or_null(fetch->args, "folder"))
		return kettle_fail(err, KETTLE_EINVAL, "Name a repository, or a folder below `competitions.root`.");
	if (branch)
		return kettle_fail(err, KETTLE_EINVAL, "A folder has no branch: leave it out, or name a repository.");
	if (!root)
		return kettle_fail(err, KETTLE_EACCES,
			"No folder of the engine's machine may be read: the configuration has no `competitions.root`.");
	fetch->root = xstrdup(root);
	return 0;
}

void
cmd_competition_fetch(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	struct fetch *fetch = xnew(struct fetch, .core = core, .languages = core->languages, .waiter = actor->waiter,
		.args = json_deep_copy(args), .answer = answer, .arg = arg);
	core_hold(core);
	core->fetches++;
	int rc = core->fetches <= FETCH_AT_ONCE
				 ? choose_source(fetch, &fetch->err)
				 : kettle_fail(&fetch->err, KETTLE_EUNAVAIL, "%d competitions are being fetched already; try again.",
					   FETCH_AT_ONCE);
	if (rc == 0 && fetch->file)
		rc = start_download(fetch, &fetch->err);
	if (rc < 0)
		end_fetch(fetch);
	else if (!fetch->file)
		start_reading(fetch);
}
