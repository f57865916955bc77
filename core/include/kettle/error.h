/* SPDX-License-Identifier: MIT */
/* Errors: a code and a sentence. Self-contained: a plugin needs no library for it. */
#ifndef KETTLE_ERROR_H
#define KETTLE_ERROR_H

#include <kettle/abi.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The one list of error codes: name without its E (a macro of the C library would replace the whole), value, name on
 * the wire, status of HTTP, meaning. X is passed on to M.
 * A function returns 0 or one of these. Values never change and are never reused.
 */
#define KETTLE_ERROR_LIST(M, X) \
	M(X, INVAL, -1, "invalid", 400, "the request is malformed") \
	M(X, NOENT, -2, "not-found", 404, "it does not exist") \
	M(X, ACCES, -3, "denied", 403, "the actor has no right to it") \
	M(X, CONFLICT, -4, "conflict", 409, "it contradicts the current state") \
	M(X, TOOBIG, -5, "too-big", 413, "it is over a limit of size") \
	M(X, RATE, -6, "rate-limited", 429, "the actor has used up what is allowed in this time") \
	M(X, UNAVAIL, -7, "unavailable", 503, "the engine or a machine cannot do it now") \
	M(X, CANCELED, -8, "cancelled", 503, "it was cancelled") \
	M(X, VERSION, -9, "version", 426, "the other side is of a version that does not fit") \
	M(X, IO, -10, "io", 503, "reading or writing failed") \
	M(X, NOMEM, -11, "memory", 500, "there is not enough memory") \
	M(X, INTERNAL, -12, "internal", 500, "a fault of Kettle itself")

/* The list without the status: X(name, value, name on the wire, meaning). */
#define KETTLE_ERROR_OF(X, name, value, wire, http, text) X(E##name, value, wire, text)
#define KETTLE_ERRORS(X) KETTLE_ERROR_LIST(KETTLE_ERROR_OF, X)

enum kettle_errno {
#define X(name, value, wire, text) KETTLE_##name = value,
	KETTLE_ERRORS(X)
#undef X
};

#if KETTLE_PLUGIN_ABI_MINOR >= 2
/*
 * Causes, for a caller that needs more than the code to act: name, value, name on the wire, meaning. Values never
 * change.
 */
#define KETTLE_CAUSES(X) \
	X(FULL, 1, "full", "the disk that was written to is full") \
	X(FOLDER, 2, "folder", "with ENOENT: it is the folder itself that does not exist") \
	X(LACKS, 3, "lacks", "the machine lacks `member`, which the task or the submission needs")

enum kettle_cause {
	KETTLE_CAUSE_NONE,
#define X(name, value, wire, text) KETTLE_CAUSE_##name = value,
	KETTLE_CAUSES(X)
#undef X
};
#endif

/*
 * A code and one complete English sentence for the person who gets it. Zero-initialise it. Callers decide by the other
 * members, never by the sentence. The size never changes: the members of ABI 1.2 take the end of the older `message`.
 */
struct kettle_error {
	int code;
	unsigned retry_s; /* with KETTLE_ERATE: seconds until a retry is allowed (an HTTP Retry-After); else 0 */
#if KETTLE_PLUGIN_ABI_MINOR >= 2
	char message[948];
	char member[48]; /* the argument, option or thing that is wrong or missing, as `message` quotes it; "": none */
	int cause;       /* enum kettle_cause */
#else
	char message[1000];
#endif
};

/* Bytes of the first UTF-8 character of a text; 0: invalid, or the end. [any] */
__attribute__((unused)) static size_t
kettle_error_character(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t more = at[0] < 0x80 ? 0 : at[0] < 0xc2 ? 4 : at[0] < 0xe0 ? 1 : at[0] < 0xf0 ? 2 : at[0] < 0xf5 ? 3 : 4;
	if (at[0] == 0 || more == 4)
		return 0;
	for (size_t i = 1; i <= more; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	/* Overlong, a surrogate, above U+10FFFF. */
	int wrong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) || (at[0] == 0xf0 && at[1] < 0x90) ||
				(at[0] == 0xf4 && at[1] > 0x8f);
	return wrong ? 0 : more + 1;
}

/*
 * Sets *err (which may be NULL) and returns code, so that a function can end with
 * `return kettle_fail(err, KETTLE_EINVAL, "…", …)`. The message is always valid UTF-8, as JSON needs it: invalid bytes
 * (of a file's name, of a text cut by "%.64s") become "?", and a long message is cut between characters. [any]
 */
__attribute__((format(printf, 3, 4), unused)) static int
kettle_fail(struct kettle_error *err, int code, const char *format, ...)
{
	if (err) {
		va_list args;
		va_start(args, format);
		err->code = code;
		err->retry_s = 0;
#if KETTLE_PLUGIN_ABI_MINOR >= 2
		err->member[0] = '\0';
		err->cause = KETTLE_CAUSE_NONE;
#endif
		int full = vsnprintf(err->message, sizeof(err->message), format, args);
		va_end(args);
		if (full < 0)
			err->message[0] = '\0';
		for (size_t at = 0, len; err->message[at]; at += len ? len : 1) {
			len = kettle_error_character(err->message + at);
			/* The last three bytes of a message that was cut may begin a character of four. */
			if (len == 0)
				err->message[at] = full >= (int)sizeof(err->message) && at + 4 >= sizeof(err->message) ? '\0' : '?';
		}
	}
	return code;
}

#if KETTLE_PLUGIN_ABI_MINOR >= 2
/*
 * Adds a cause and a member to an error that kettle_fail has set: `return kettle_blame(err, KETTLE_CAUSE_FULL, "",
 * kettle_fail(err, …))`. Returns code. [any]
 */
__attribute__((unused)) static int
kettle_blame(struct kettle_error *err, enum kettle_cause cause, const char *member, int code)
{
	if (err) {
		err->cause = cause;
		(void)snprintf(err->member, sizeof(err->member), "%s", member);
	}
	return code;
}

/* The name of a cause on the wire ("full"); NULL: none, or an unknown one. [any] */
__attribute__((unused)) static const char *
kettle_cause_name(int cause)
{
	switch (cause) {
#define X(name, value, wire, text) \
	case value: \
		return wire;
		KETTLE_CAUSES(X)
#undef X
	}
	return NULL;
}

/* The cause of that name; KETTLE_CAUSE_NONE for NULL and an unknown one. [any] */
__attribute__((unused)) static enum kettle_cause
kettle_cause_find(const char *name)
{
#define X(cause, value, wire, text) \
	if (name && strcmp(name, wire) == 0) \
		return KETTLE_CAUSE_##cause;
	KETTLE_CAUSES(X)
#undef X
	return KETTLE_CAUSE_NONE;
}
#endif

/* The name of a code on the wire ("not-found"); "internal" for an unknown one. [any] */
__attribute__((unused)) static const char *
kettle_error_name(int code)
{
	switch (code) {
#define X(name, value, wire, text) \
	case value: \
		return wire;
		KETTLE_ERRORS(X)
#undef X
	}
	return "internal";
}

#if KETTLE_PLUGIN_ABI_MINOR >= 3
/* The status of an HTTP answer for this code (404); 500 for an unknown one, 200 for 0. [any] */
__attribute__((unused)) static int
kettle_error_http(int code)
{
	switch (code) {
	case 0:
		return 200;
#define X(none, name, value, wire, http, text) \
	case value: \
		return http;
		KETTLE_ERROR_LIST(X, 0)
#undef X
	}
	return 500;
}
#endif

/* The exit status of a command that fails with this code: 2 if the request was wrong, 3 if the engine failed. [any] */
__attribute__((unused)) static int
kettle_error_exit(int code)
{
	switch ((enum kettle_errno)code) {
	case KETTLE_EINVAL:
	case KETTLE_ENOENT:
	case KETTLE_EACCES:
	case KETTLE_ECONFLICT:
	case KETTLE_ETOOBIG:
	case KETTLE_ERATE:
		return 2;
	case KETTLE_EUNAVAIL:
	case KETTLE_ECANCELED:
	case KETTLE_EVERSION:
	case KETTLE_EIO:
	case KETTLE_ENOMEM:
	case KETTLE_EINTERNAL:
		return 3;
	}
	return 3;
}

#ifdef __cplusplus
}
#endif
#endif
