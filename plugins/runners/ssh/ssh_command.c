/* SPDX-License-Identifier: MIT */
/* The command lines of ssh: its options, and the command for the other machine's shell. */
/*
 * No shell runs on this machine. On the other machine sshd passes the command to the user's shell, which may be any.
 * So the command is `exec sh -c SCRIPT` with a constant script and its arguments as words in single quotes, which all
 * shells read alike; the scripts themselves contain no single quote, no backslash and no exclamation mark.
 *
 * ssh takes the first value of an option, so its configuration cannot change options of the command line.
 */
#include <config.h>

#include "runners/ssh/ssh.h"

#include <stdarg.h>

#include "base/base.h"
#include "base/buf.h"

#define DEFAULT_FOLDER "~/.cache/kettle"
#define WORD_MAX 4000
#define ALIVE_COUNT 3

/* $1: kettle-exec, or the folder of the unpacked archives; $2: the archive's digest, or empty; then kettle-exec's arguments. */
static const char start_script[] =
	"p=$1 d=$2; shift 2; "
	"case $p in \"~/\"*) p=$HOME/${p#??};; esac; "
	"if [ -n \"$d\" ]; then p=$p/kettle-exec-$d/bin/kettle-exec; [ -x \"$p\" ] || exit 113; fi; "
	"exec \"$p\" \"$@\"";

/*
 * $1: the folder; $2: the digest. If two processes do this at the same time, the first rename wins. The folder is
 * complete as soon as it exists.
 */
static const char install_script[] =
	"set -e; f=$1 d=$2 t=; "
	"case $f in \"~/\"*) f=$HOME/${f#??};; esac; "
	"clean() { [ -z \"$t\" ] || rm -rf \"$t\"; }; trap clean EXIT; trap \"exit 1\" HUP INT TERM PIPE; "
	"umask 022; mkdir -p \"$f\"; t=$(mktemp -d \"$f/.new-XXXXXXXX\"); cat >\"$t/archive\"; "
	"s=$(sha256sum <\"$t/archive\"); "
	"[ \"${s%% *}\" = \"$d\" ] || { echo \"the archive arrived damaged\" >&2; exit 1; }; "
	"mkdir \"$t/x\"; "
	"if command -v xz >/dev/null 2>&1; then tar -xJof \"$t/archive\" -C \"$t/x\"; "
	"else python3 -c \"import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])\" \"$t/archive\" "
	"\"$t/x\"; "
	"fi; "
	"set -- \"$t\"/x/*; "
	"[ -x \"$1/bin/kettle-exec\" ] || { echo \"the archive has no FOLDER/bin/kettle-exec\" >&2; exit 1; }; "
	"mv -T \"$1\" \"$f/kettle-exec-$d\" 2>/dev/null || [ -x \"$f/kettle-exec-$d/bin/kettle-exec\" ]";

/* Quotes a word for any shell, in single quotes. New string. */
static char *
quote(const char *word)
{
	AUTO_BUF struct buf text = {0};
	buf_adds(&text, "'");
	for (; *word; word++)
		buf_add(&text, *word == '\'' ? "'\\''" : word, *word == '\'' ? 4 : 1);
	buf_adds(&text, "'");
	return buf_take(&text);
}

/* ---- options of a unit ---- */

static int
check_word(const json_t *value, const char *what, struct kettle_error *err)
{
	const char *text = json_string_value(value);
	bool plain = text && text[0] && strlen(text) <= WORD_MAX;
	for (const char *at = text; plain && *at; at++)
		plain = (unsigned char)*at >= ' ' && *at != '\x7f';
	return plain ? 0
				 : kettle_fail(err, KETTLE_EINVAL,
					   "`%s` of a unit of the runner ssh must be text of 1 to %d bytes without control characters.",
					   what, WORD_MAX);
}

static int
check_path(const json_t *options, const char *key, struct kettle_error *err)
{
	const json_t *value = json_object_get(options, key);
	return value ? check_word(value, key, err) : 0;
}

int
ssh_command_check(const json_t *options, struct kettle_error *err)
{
	const char *host = json_text_or_empty(options, "host");
	const json_t *flags = json_object_get(options, "flags");
	int rc = check_word(json_object_get(options, "host"), "host", err);
	if (rc == 0 && (host[0] == '-' || strchr(host, ' ')))
		rc = kettle_fail(
			err, KETTLE_EINVAL, "`host` of a unit of the runner ssh is `%s`, which is no name of a host.", host);
	if (rc == 0)
		rc = check_path(options, "exec", err);
	if (rc == 0)
		rc = check_path(options, "folder", err);
	if (rc == 0 && json_array_size(flags) > SSH_FLAGS_MAX)
		rc = kettle_fail(
			err, KETTLE_EINVAL, "`flags` of a unit of the runner ssh has more than %d words.", SSH_FLAGS_MAX);
	json_array_each(flags, flag)
		if (rc == 0)
			rc = check_word(flag, "flags", err);
	return rc;
}

/* ---- command lines ---- */

static void
add_ssh(struct arguments *argv, const struct ssh_setup *setup)
{
	/*
	 * A connection of its own that never prompts, forwards nothing, runs only its command, and notices when it is
	 * dead.
	 */
	static const char *const settings[] = {"BatchMode=yes", "ConnectionAttempts=1", "TCPKeepAlive=yes",
		"ControlMaster=no", "ControlPath=none", "RemoteCommand=none", "PermitLocalCommand=no",
		"ClearAllForwardings=yes", "LogLevel=ERROR"};
	long long interval = setup->lease_s / ALIVE_COUNT;
	arguments_add(argv, "%s", setup->program);
	arguments_add(argv, "-Tax");
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		arguments_add(argv, "-o%s", settings[i]);
	arguments_add(argv, "-oConnectTimeout=%lld", setup->connect_s);
	arguments_add(argv, "-oServerAliveInterval=%lld", interval > 1 ? interval : 1);
	arguments_add(argv, "-oServerAliveCountMax=%d", ALIVE_COUNT);
	json_array_each(json_object_get(setup->options, "flags"), flag)
		arguments_add(argv, "%s", json_string_value(flag));
	arguments_add(argv, "--");
	arguments_add(argv, "%s", json_text_or_empty(setup->options, "host"));
}

/* Appends the script and its arguments, up to NULL. */
static void
add_command(struct arguments *argv, const char *script, ...)
{
	AUTO_BUF struct buf command = {0};
	AUTO_FREE char *quoted = quote(script);
	va_list args;
	buf_printf(&command, "exec sh -c %s kettle", quoted);
	va_start(args, script);
	for (const char *word; (word = va_arg(args, const char *));) {
		AUTO_FREE char *one = quote(word);
		buf_printf(&command, " %s", one);
	}
	va_end(args);
	arguments_add(argv, "%s", command.data);
}

static const char *
place(const struct ssh_setup *setup)
{
	const char *named = json_text_or_null(setup->options, setup->digest ? "folder" : "exec");
	return named ? named : DEFAULT_FOLDER;
}

void
ssh_command(const struct ssh_setup *setup, enum ssh_command command, struct arguments *ret_argv)
{
	AUTO_FREE char *lease = xasprintf("%lld", setup->lease_s);
	const char *digest = setup->digest ? setup->digest : "";
	add_ssh(ret_argv, setup);
	if (command == SSH_INSTALL)
		add_command(ret_argv, install_script, place(setup), digest, NULL);
	else if (command == SSH_DOCTOR)
		add_command(
			ret_argv, start_script, place(setup), digest, "--doctor", "--json", "--settings", setup->settings, NULL);
	else
		add_command(ret_argv, start_script, place(setup), digest, "--serve", "--lease", lease, "--settings",
			setup->settings, NULL);
}
