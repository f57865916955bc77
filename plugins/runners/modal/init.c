/* SPDX-License-Identifier: MIT */
/*
 * The files that `kettle runner init` writes for Modal: the app with its configuration, and the archive of
 * kettle-exec.
 */
#include <config.h>

#include "runners/modal/modal.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/number.h"
#include "base/xalloc.h"
#include "runners/common/exec_archive.h"

#define MIN_TIMEOUT 60
#define MAX_TIMEOUT 86400

extern const char modal_app_text[]; /* modal_app.py */

bool
modal_is_name(const char *text)
{
	size_t size = 0;
	while (isalnum((unsigned char)text[size]) || text[size] == '_' || text[size] == '-')
		size++;
	return size > 0 && size <= MODAL_MAX_NAME && !text[size];
}

/* Splits "a,b"; new reference. NULL: not given. */
static json_t *
split(const char *text)
{
	json_t *parts = text ? json_array() : NULL;
	for (const char *part = text; part && *part;) {
		size_t size = strcspn(part, ",");
		if (size > 0)
			json_array_append_new(parts, json_stringn(part, size));
		part += size + (part[size] == ',');
	}
	return parts;
}

/* Adds the device "NAME=GPU", or "NAME" for one without a GPU. */
static int
add_device(json_t *devices, const char *text, const json_t *common, struct kettle_error *err)
{
	const char *gpu = strchr(text, '=');
	AUTO_FREE char *name = xasprintf("%.*s", gpu ? (int)(gpu - text) : (int)strlen(text), text);
	if (!modal_is_name(name) || (gpu && !gpu[1]))
		return kettle_fail(err, KETTLE_EINVAL,
			"`%s` in `devices` is not NAME=GPU, or NAME for one without a GPU; a name has up to %d letters, digits, _ "
			"and -.",
			text, MODAL_MAX_NAME);
	json_t *device = json_pack("{s:s, s:s*}", "name", name, "gpu", gpu ? gpu + 1 : NULL);
	json_object_update(device, (json_t *)common);
	json_array_append_new(devices, device);
	return 0;
}

static int
make_devices(const json_t *args, json_t **ret_devices, struct kettle_error *err)
{
	const char *timeout_text = init_option(args, "timeout"), *given = init_option(args, "devices");
	long long timeout = 900;
	if (timeout_text &&
		(!number_parse_integer(timeout_text, &timeout) || timeout < MIN_TIMEOUT || timeout > MAX_TIMEOUT))
		return kettle_fail(err, KETTLE_EINVAL, "`timeout` must be %d to %d seconds, not `%s`.", MIN_TIMEOUT,
			MAX_TIMEOUT, timeout_text);
	AUTO_JSON json_t *apt = split(init_option(args, "apt")), *packages = split(init_option(args, "packages"));
	AUTO_JSON json_t *common = json_pack("{s:I, s:s*, s:s*, s:O*, s:O*}", "timeout", (json_int_t)timeout, "image",
		init_option(args, "image"), "python", init_option(args, "python"), "apt", apt, "packages", packages);
	AUTO_JSON json_t *names = split(given), *devices = json_array();
	json_array_each(names, text) {
		int rc = add_device(devices, json_string_value(text), common, err);
		if (rc < 0)
			return rc;
	}
	if (json_array_size(devices) == 0)
		return kettle_fail(err, KETTLE_EINVAL,
			"Name the devices: `--option devices=H100=H100,big=B200:2`, each with Modal's name of its GPU.");
	*ret_devices = STEAL(devices);
	return 0;
}

/* Returns the app with this configuration; new text. */
static char *
configured(const json_t *configuration)
{
	static const char before[] = "CONFIGURATION = json.loads(r'''\n", after[] = "\n''')\n";
	AUTO_FREE char *text = json_dumps(configuration, JSON_INDENT(1) | JSON_ENSURE_ASCII);
	const char *from = strstr(modal_app_text, before) + strlen(before);
	const char *to = strstr(from, after);
	struct buf out = {0};
	buf_add(&out, modal_app_text, (size_t)(from - modal_app_text));
	/* The text goes into a raw string of Python, which a quote could end. */
	for (const char *at = text; *at; at++)
		if (*at == '\'')
			buf_adds(&out, "\\u0027");
		else
			buf_add(&out, at, 1);
	buf_adds(&out, to);
	return buf_take(&out);
}

static void
say_next(struct init *init, const char *secret)
{
	const char *folder = json_text_or_empty(init->args, "folder");
	init_say(init, "Check the devices at the top of %s/modal_app.py: GPUs, images, packages, timeouts.", folder);
	init_say(init,
		"Make a key, for Kettle (`key_env` or `key_file`) and, as KETTLE_KEY, for Modal: `(umask 077; openssl rand "
		"-base64 32 >modal.key; echo KETTLE_KEY=$(cat modal.key) >modal.env); modal secret create %s --from-dotenv "
		"modal.env; rm modal.env`.",
		secret);
	init_say(init,
		"Deploy: `cd %s && modal deploy modal_app.py`. The URL that it prints for `web` is the runner's `url`.",
		folder);
	init_say(init, "Create a proxy auth token in the workspace's settings on Modal, and name its two parts with "
				   "`token_id_env` and "
				   "`token_secret_env` (or `_file`).");
	init_say(init,
		"Add a device whose unit has `options: {function: NAME}`, and check it with `kettle device doctor NAME`.");
}

int
init_write(struct init *init, struct kettle_error *err)
{
	static const char *const known[] = {
		"app", "secret", "devices", "timeout", "image", "python", "apt", "packages", NULL};
	const char *app = init_option(init->args, "app"), *secret = init_option(init->args, "secret");
	AUTO_FREE char *path = exec_archive_path(init->section), *archive = NULL, *text = NULL;
	AUTO_JSON json_t *devices = NULL;
	char digest[65];
	size_t size;
	int rc = init_options_check(init->args, known, err);
	if (rc == 0)
		rc = make_devices(init->args, &devices, err);
	if (rc == 0 && ((app && !modal_is_name(app)) || (secret && !modal_is_name(secret))))
		rc = kettle_fail(
			err, KETTLE_EINVAL, "`app` and `secret` have up to %d letters, digits, _ and -.", MODAL_MAX_NAME);
	if (rc == 0)
		rc = exec_archive_read(path, &archive, &size, digest, err);
	if (rc < 0)
		return rc;
	secret = secret ? secret : "kettle";
	AUTO_JSON json_t *configuration =
		json_pack("{s:s, s:s, s:{s:s, s:s, s:s}, s:O}", "app", app ? app : "kettle", "secret", secret, "archive",
			"file", EXEC_ARCHIVE_NAME, "sha256", digest, "version", PACKAGE_VERSION, "devices", devices);
	text = configured(configuration);
	rc = init_file_write(init, "modal_app.py", text, strlen(text), 0644, err);
	if (rc == 0)
		rc = init_file_write(init, EXEC_ARCHIVE_NAME, archive, size, 0644, err);
	if (rc == 0)
		say_next(init, secret);
	return rc;
}
