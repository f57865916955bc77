/* SPDX-License-Identifier: MIT */
/*
 * Prepares a repository: the workflow, the archive of kettle-exec, a key.
 *
 * The operator's values go into the workflow only after a check that YAML and a shell read them as plain text.
 */
#include <config.h>

#include "runners/github/github.h"

#include "base/base.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/number.h"
#include "runners/common/exec_archive.h"

#define MINUTES_DEFAULT "60"
#define MINUTES_MAX 7200 /* five days, for machines of the operator's own; GitHub's jobs end after 360 */
#define URL_MAX 1000
#define HEX_DIGITS "0123456789abcdef"
#define URL_CHARACTERS GITHUB_NAME_CHARACTERS "/:%?&=+~,@"

static const char *const option_names[] = {"exec_archive", "key_file", "minutes", "sha256", "url", "workflow", NULL};

/* The options, checked. Borrowed. */
struct setup_options {
	const char *minutes, *url, *sha256, *workflow, *key_file;
};

static const char *
option(const json_t *args, const char *name, const char *fallback)
{
	const char *text = init_option(args, name);
	return text ? text : fallback;
}

static int
read_options(const json_t *args, struct setup_options *ret_options, struct kettle_error *err)
{
	struct setup_options options = {.minutes = option(args, "minutes", MINUTES_DEFAULT),
		.url = option(args, "url", ""),
		.sha256 = option(args, "sha256", ""),
		.workflow = option(args, "workflow", "kettle.yml"),
		.key_file = init_option(args, "key_file")};
	long long minutes = 0;
	size_t name = strlen(options.workflow);
	int rc = init_options_check(args, option_names, err);
	if (rc < 0)
		return rc;
	if (!number_parse_integer(options.minutes, &minutes) || minutes < 1 || minutes > MINUTES_MAX)
		return kettle_fail(err, KETTLE_EINVAL, "`minutes` is not a number from 1 to %d.", MINUTES_MAX);
	if (options.url[0] && ((strncmp(options.url, "https://", 8) != 0 && strncmp(options.url, "http://", 7) != 0) ||
							  strlen(options.url) > URL_MAX || options.url[strspn(options.url, URL_CHARACTERS)]))
		return kettle_fail(err, KETTLE_EINVAL,
			"`url` is not a URL that begins with https:// or http://, of at most %d plain characters.", URL_MAX);
	if (options.sha256[0] && (strlen(options.sha256) != 64 || strspn(options.sha256, HEX_DIGITS) != 64))
		return kettle_fail(err, KETTLE_EINVAL, "`sha256` is not 64 hexadecimal digits in lower case.");
	if (options.sha256[0] && !options.url[0])
		return kettle_fail(err, KETTLE_EINVAL, "`sha256` is for an archive that comes from a URL: give `url` too.");
	if (name < 5 || name > 100 || options.workflow[0] == '.' ||
		strspn(options.workflow, GITHUB_NAME_CHARACTERS) != name ||
		(strcmp(options.workflow + name - 4, ".yml") != 0 &&
			(name < 6 || strcmp(options.workflow + name - 5, ".yaml") != 0)))
		return kettle_fail(err, KETTLE_EINVAL, "`workflow` is not the name of a workflow file, such as kettle.yml.");
	*ret_options = options;
	return 0;
}

/* Returns the template with each @WORD@ replaced. New. */
static char *
fill_in(const char *minutes, const char *url, const char *sha256)
{
	const struct {
		const char *word, *value;
	} values[] = {{"@MINUTES@", minutes}, {"@URL@", url}, {"@SHA256@", sha256}};
	struct buf text = {0};
	for (const char *at = github_workflow_text; *at;) {
		size_t i = 0;
		while (i < ARRAY_SIZE(values) && strncmp(at, values[i].word, strlen(values[i].word)) != 0)
			i++;
		if (i < ARRAY_SIZE(values)) {
			buf_adds(&text, values[i].value);
			at += strlen(values[i].word);
		} else {
			buf_add(&text, at++, 1);
		}
	}
	return buf_take(&text);
}

/* Whether a path is in the folder, and would be published with the repository. */
static bool
lies_in(const char *path, const char *folder)
{
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *above = xasprintf("%.*s", slash && slash > path ? (int)(slash - path) : 1, slash ? path : ".");
	AUTO_FREE char *real = realpath(above, NULL), *real_folder = realpath(folder, NULL);
	return path_below(real ? real : above, real_folder ? real_folder : folder) != NULL;
}

/* Lists the operator's next steps. */
static void
say_next(struct init *init, const struct setup_options *options)
{
	if (!options->key_file)
		init_say(
			init, "Make a key in a file that only you can read: `(umask 077; openssl rand -base64 32 >kettle.key)`.");
	init_say(init,
		"Give the key to the repository as the secret KETTLE_KEY: `gh secret set KETTLE_KEY <%s`, or in its settings "
		"under "
		"Secrets and variables, Actions.",
		options->key_file ? options->key_file : "kettle.key");
	init_say(init, "Commit and push .github in %s to the branch that `ref` of the unit names (main).",
		json_text_or_empty(init->args, "folder"));
	init_say(init,
		"Make a fine-grained token for this repository with the permission Actions: read and write, and put it into a "
		"file that only you can read.");
	init_say(init,
		"Name the files of token and key in the configuration: `runners: {github: {token_file: FILE, key_file: "
		"FILE}}`, and the repository "
		"in a unit: `{runner: github, options: {repo: OWNER/NAME}}`; then try it: `kettle device doctor NAME`.");
}

int
setup_write(struct init *init, struct kettle_error *err)
{
	const char *folder = json_text_or_empty(init->args, "folder"), *named = init_option(init->args, "exec_archive");
	struct setup_options options = {0};
	char digest[65] = "";
	AUTO_FREE char *archive = named ? xstrdup(named) : exec_archive_path(init->section), *data = NULL;
	size_t size = 0;
	int rc = read_options(init->args, &options, err);
	/* For an archive behind a URL the options give the digest; otherwise it is that of the archive here. */
	if (rc == 0 && !options.sha256[0])
		rc = exec_archive_read(archive, &data, &size, digest, err);
	if (rc < 0)
		return rc;
	AUTO_FREE char *workflow = fill_in(options.minutes, options.url, options.sha256[0] ? options.sha256 : digest);
	AUTO_FREE char *name = xasprintf(".github/workflows/%s", options.workflow);
	rc = init_file_write(init, name, workflow, strlen(workflow), 0644, err);
	if (rc == 0 && !options.url[0])
		rc = init_file_write(init, SETUP_ARCHIVE, data, size, 0644, err);
	if (rc == 0 && options.key_file && lies_in(options.key_file, folder))
		rc =
			kettle_fail(err, KETTLE_EINVAL, "`key_file` lies in %s: the key must not get into the repository.", folder);
	if (rc == 0 && options.key_file)
		rc = init_key_write(init, options.key_file, err);
	if (rc == 0)
		say_next(init, &options);
	return rc;
}
