/* SPDX-License-Identifier: MIT */
/* Tokens of GitHub and their rate limits. */
#include <config.h>

#include "runners/github/github.h"

#include "base/base.h"
#include "base/number.h"

#define TOKEN_SIZE_MAX 1024

static int
add_token(struct tokens *tokens, const char *line, size_t size, struct kettle_error *err)
{
	size_t number = tokens->count + 1;
	for (size_t i = 0; i < size; i++)
		if (line[i] <= ' ' || line[i] > '~')
			return kettle_fail(err, KETTLE_EINVAL,
				"Token %zu has a blank or a character that is not ASCII: a token is one word, alone on its line.",
				number);
	if (size > TOKEN_SIZE_MAX)
		return kettle_fail(err, KETTLE_EINVAL, "Token %zu is longer than %d bytes.", number, TOKEN_SIZE_MAX);
	if (tokens->count == TOKENS_MAX)
		return kettle_fail(err, KETTLE_EINVAL, "There are more than %d tokens.", TOKENS_MAX);
	tokens->tokens = xreallocarray(tokens->tokens, number, sizeof(*tokens->tokens));
	tokens->tokens[tokens->count++] = (struct token){.text = xstrndup(line, size)};
	return 0;
}

int
tokens_read(struct tokens *tokens, const char *text, struct kettle_error *err)
{
	struct tokens read = {0};
	int rc = 0;
	while (rc == 0 && *text) {
		size_t line = strcspn(text, "\n"), size = line;
		const char *begin = text;
		while (size > 0 && strchr(" \t\r", begin[0]))
			begin++, size--;
		while (size > 0 && strchr(" \t\r", begin[size - 1]))
			size--;
		if (size > 0)
			rc = add_token(&read, begin, size, err);
		text += line + (text[line] == '\n');
	}
	if (rc == 0 && read.count == 0)
		rc = kettle_fail(err, KETTLE_EINVAL, "There is no token: the file or variable of `token` is empty.");
	if (rc < 0) {
		tokens_free(&read);
		return rc;
	}
	*tokens = read;
	return 0;
}

void
tokens_free(struct tokens *tokens)
{
	for (size_t i = 0; i < tokens->count; i++) {
		explicit_bzero(tokens->tokens[i].text, strlen(tokens->tokens[i].text));
		free(tokens->tokens[i].text);
	}
	free(tokens->tokens);
	*tokens = (struct tokens){0};
}

int
tokens_choose(const struct tokens *tokens, uint64_t now, bool change, size_t first, uint64_t tried, uint64_t *ret_at)
{
	*ret_at = UINT64_MAX;
	for (size_t i = 0; i < tokens->count; i++) {
		size_t number = (first + i) % tokens->count;
		const struct token *token = &tokens->tokens[number];
		uint64_t at = token->blocked_until > token->refused_until ? token->blocked_until : token->refused_until;
		if (change && token->change_at > at)
			at = token->change_at;
		if (tried & UINT64_C(1) << number)
			continue;
		if (at <= now)
			return (int)number;
		if (at < *ret_at)
			*ret_at = at;
	}
	return -1;
}

void
tokens_sent(struct tokens *tokens, size_t number, bool change, uint64_t now)
{
	if (!change)
		return;
	tokens->tokens[number].changed_ms = now;
	tokens->tokens[number].change_at = now + TOKENS_CHANGE_MAX_MS;
}

void
tokens_changed(struct tokens *tokens, size_t number, uint64_t sent_ms, uint64_t now)
{
	struct token *token = &tokens->tokens[number];
	uint64_t at = now + TOKENS_CHANGE_MS;
	if (sent_ms >= token->changed_ms || at > token->change_at)
		token->change_at = at;
}

/* Returns the number in a header; -1: none, or not one. */
static long long
header_number(const struct kettle_http_answer *answer, const char *name)
{
	long long number = -1;
	const char *text = kettle_http_header(answer, name);
	return text && number_parse_integer(text, &number) && number >= 0 ? number : -1;
}

/* Returns for how long the answer limits its token, in ms; 0: it does not say. */
static uint64_t
limit_ms(const struct kettle_http_answer *answer, int64_t wall_ms)
{
	long long after = header_number(answer, "retry-after");
	long long reset = header_number(answer, "x-ratelimit-reset");
	bool used_up = header_number(answer, "x-ratelimit-remaining") == 0;
	if (after >= 0)
		return after < TOKENS_WAIT_MAX_MS / 1000 ? (uint64_t)after * 1000 + 1 : TOKENS_WAIT_MAX_MS;
	if (!used_up || reset < 0 || reset > INT64_MAX / 1000)
		return 0;
	/* One second more, since the time is rounded, and at least one, since the clocks may differ. */
	int64_t left = (int64_t)reset * 1000 - wall_ms + 1000;
	return left < 1000 ? 1000 : left > TOKENS_WAIT_MAX_MS ? TOKENS_WAIT_MAX_MS : (uint64_t)left;
}

static bool
is_limit(const struct kettle_http_answer *answer, const char *message)
{
	return answer->status == 429 ||
		   (answer->status == 403 &&
			   (kettle_http_header(answer, "retry-after") || header_number(answer, "x-ratelimit-remaining") == 0 ||
				   strstr(message, "rate limit") || strstr(message, "abuse detection")));
}

enum tokens_verdict
tokens_answered(struct tokens *tokens, size_t number, const struct kettle_http_answer *answer, const char *message,
	uint64_t now, int64_t wall_ms)
{
	struct token *token = &tokens->tokens[number];
	uint64_t wait = limit_ms(answer, wall_ms);
	token->refused = answer->status == 401;
	if (token->refused) {
		token->refused_until = now + TOKENS_REFUSED_MS;
		return TOKENS_REFUSED;
	}
	if (is_limit(answer, message)) {
		if (wait == 0) {
			wait = (uint64_t)TOKENS_WAIT_MS << token->doublings;
			token->doublings += wait < TOKENS_WAIT_MAX_MS;
		}
		token->blocked_until = now + (wait < TOKENS_WAIT_MAX_MS ? wait : TOKENS_WAIT_MAX_MS);
		return TOKENS_LIMITED;
	}
	if (answer->status < 400)
		token->doublings = 0;
	/* This was the last request of the hour; the next one would be refused. */
	if (header_number(answer, "x-ratelimit-remaining") == 0 && wait > 0)
		token->blocked_until = now + wait;
	return answer->status == 403 || answer->status == 404 ? TOKENS_HIDDEN : TOKENS_TAKEN;
}

size_t
tokens_refused(const struct tokens *tokens)
{
	size_t count = 0;
	for (size_t i = 0; i < tokens->count; i++)
		count += tokens->tokens[i].refused;
	return count;
}
