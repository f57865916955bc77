/* SPDX-License-Identifier: MIT */
/*
 * The runner `modal`: jobs run in functions of an app on Modal.
 *
 * Theory of operation. Programs that are not in Python reach Modal over HTTPS. So the operator deploys modal_app.py, and this
 * plugin sends it sealed plans and asks for their states (calls.c). The calls outlive the engine: a job is found again
 * by the name of its call, or by its own.
 */
#include <config.h>

#include "runners/modal/modal.h"

#include <ctype.h>
#include <kettle/plugin.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "runners/common/exec_archive.h"
#include "runners/modal/calls.h"
#include "runners/modal/init.h"

#define MAX_FUNCTION 60 /* bytes of a function's name, as in modal_app.py */

static const struct kettle_option options[] = {
	{.key = "url",
		.type = KETTLE_OPTION_STRING,
		.help =
			"The URL of the app's function `web`, as `modal deploy` prints it; https, or http to this machine itself."},
	{.key = "token_id_env",
		.type = KETTLE_OPTION_STRING,
		.help = "The environment variable with the id of a proxy auth token of Modal (wk-…)."},
	{.key = "token_id_file", .type = KETTLE_OPTION_PATH, .help = "The file with it, in place of `token_id_env`."},
	{.key = "token_secret_env",
		.type = KETTLE_OPTION_STRING,
		.help = "The environment variable with the secret of that token (ws-…)."},
	{.key = "token_secret_file",
		.type = KETTLE_OPTION_PATH,
		.help = "The file with it, in place of `token_secret_env`."},
	REMOTE_OPTIONS,
	EXEC_ARCHIVE_OPTION,
	{.key = "answer_s",
		.type = KETTLE_OPTION_INT,
		.default_value = "60",
		.min = 1,
		.max = 600,
		.help = "Seconds that one request may take, with its redirects."},
	{.key = "send_s",
		.type = KETTLE_OPTION_INT,
		.default_value = "60",
		.min = 1,
		.max = 3600,
		.help = "Seconds for which the runner tries again to submit a job before it is lost."},
	{.key = "quiet_s",
		.type = KETTLE_OPTION_INT,
		.default_value = "600",
		.min = 1,
		.max = 86400,
		.help = "Seconds for which nothing may be heard of a submitted job before it is lost."},
};

static const struct kettle_option unit_options[] = {
	{.key = "function",
		.type = KETTLE_OPTION_STRING,
		.required = true,
		.help = "The device of modal_app.py whose function runs the unit's jobs."},
};

static int
create(const struct kettle_host *host, void **ret_self, struct kettle_error *err)
{
	struct modal *modal = xcalloc(1, sizeof(*modal));
	(void)err;
	modal->host = host;
	modal->asked = json_array();
	remote_init(&modal->remote, host, &calls_ops, "Modal", modal);
	modal->remote.pace = calls_pace;
	*ret_self = modal;
	return 0;
}

static void
free_secret(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

static void
destroy(void *self)
{
	struct modal *modal = self;
	if (!modal)
		return;
	remote_close(&modal->remote);
	json_decref(modal->options);
	json_decref(modal->asked);
	free(modal->url);
	free_secret(modal->key);
	free_secret(modal->secret);
	free(modal);
}

/* Makes a header with one part of the token; NULL: the section has none. New string. */
static int
make_header(const json_t *section, const char *option, const char *name, char **ret_header, struct kettle_error *err)
{
	const char *value = json_text_or_null(section, option);
	for (const char *at = value; at && *at; at++)
		if (*at <= ' ' || *at > '~')
			return kettle_blame(err, KETTLE_CAUSE_NONE, option,
				kettle_fail(err, KETTLE_EINVAL, "The secret `%s` is not part of a token of Modal: it must be one word.",
					option));
	*ret_header = value ? xasprintf("%s: %s", name, value) : NULL;
	return 0;
}

static int
configure(void *self, const json_t *section, struct kettle_error *err)
{
	struct modal *modal = self;
	const char *text = json_text_or_null(section, "url");
	AUTO_FREE char *url = text ? remote_url(text) : NULL;
	if (text && !url)
		return kettle_blame(err, KETTLE_CAUSE_NONE, "url",
			kettle_fail(err, KETTLE_EINVAL,
				"`url` must be that of the app, such as https://NAME.modal.run (http for this machine itself), without "
				"user, query and fragment, not `%.200s`.",
				text));
	free_secret(STEAL(modal->key));
	free_secret(STEAL(modal->secret));
	int rc = make_header(section, "token_id", "Modal-Key", &modal->key, err);
	if (rc == 0)
		rc = make_header(section, "token_secret", "Modal-Secret", &modal->secret, err);
	if (rc == 0)
		rc = remote_configure(&modal->remote, section, err);
	if (rc < 0)
		return rc;
	free(modal->url);
	modal->url = STEAL(url);
	modal->answer_ms = (uint64_t)member_int(section, "answer_s") * 1000;
	modal->remote.pace.send_ms = (uint64_t)member_int(section, "send_s") * 1000;
	modal->remote.pace.quiet_ms = (uint64_t)member_int(section, "quiet_s") * 1000;
	json_decref(modal->options);
	modal->options = json_pack("{s:O*}", "exec_archive", json_object_get(section, "exec_archive"));
	return 0;
}

int
calls_check_unit(struct remote *remote, const json_t *unit, struct kettle_error *err)
{
	const char *name = json_text_or_empty(json_object_get(unit, "options"), "function");
	size_t plain = 0;
	(void)remote;
	while (isalnum((unsigned char)name[plain]) || name[plain] == '_' || name[plain] == '-')
		plain++;
	if (plain > 0 && plain <= MAX_FUNCTION && !name[plain])
		return 0;
	return kettle_fail(err, KETTLE_EINVAL,
		"A unit of the runner for Modal needs `options: {function: NAME}`, a name of up to %d letters, digits, _ and "
		"-.",
		MAX_FUNCTION);
}

/* `init` works without these settings. */
int
calls_check(struct remote *remote, struct kettle_error *err)
{
	const struct modal *modal = remote->self;
	bool token = modal->key && modal->secret;
	if (modal->url && token)
		return 0;
	return kettle_fail(err, KETTLE_EUNAVAIL, "%s%s%s",
		modal->url ? "" : "The runner for Modal has no `url`: deploy modal_app.py, and give the URL of its app.",
		modal->url || token ? "" : " ",
		token ? "" : "The runner for Modal has no token: name its parts with `token_id_env` and `token_secret_env`.");
}

static int
init(void *self, const json_t *args, remote_done done, void *arg, struct kettle_error *err)
{
	const struct modal *modal = self;
	return init_run(modal->remote.host, modal->options, args, init_write, done, arg, err);
}

static void
stop(void *self, kettle_fn done, void *arg)
{
	struct modal *modal = self;
	calls_stop(modal);
	remote_stop(&modal->remote, done, arg);
}

static const struct kettle_runner runner = {
	.size = sizeof(runner),
	.capacity = remote_capacity,
	.submit = remote_submit,
	.cancel = remote_cancel,
	.recover = remote_recover,
	.detach = remote_detach,
	KETTLE_UNIT_OPTIONS(unit_options),
	.doctor = remote_doctor,
	.init = init,
	.status = calls_status,
	.check = remote_check,
};

KETTLE_EXPORT const struct kettle_plugin kettle_plugin = {
	KETTLE_PLUGIN_HEAD(KETTLE_RUNNER),
	.name = "modal",
	.version = PACKAGE_VERSION,
	.summary = "runs jobs on Modal, in functions of an app that the operator deploys",
	KETTLE_PLUGIN_OPTIONS(options),
	.create = create,
	.configure = configure,
	.start = remote_start,
	.stop = stop,
	.destroy = destroy,
	.runner = &runner,
};
