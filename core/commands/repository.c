/* SPDX-License-Identifier: MIT */
/* Finds the archive of a repository. */
#include <config.h>

#include "commands/repository.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/xalloc.h"

#include <stdbool.h>
#include <string.h>

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
