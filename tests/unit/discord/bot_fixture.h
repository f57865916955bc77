/* SPDX-License-Identifier: MIT */
/* A bot without a gateway: the real REST with a server of the test, and an engine whose answers the test writes down. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <kettle/testing.h>

#include "discord/interaction/bot.h"
#include "unit/discord/rest_server.h"

#define FIXTURE_WAIT_MS 15000
#define FIXTURE_ADA "77"
#define FIXTURE_BOB "78"

struct bot_fixture {
	struct kettle_fake *fake;
	struct server server;
	char *base;
	struct bot bot;
	struct kettle_error err;
	/* Asks an engine, as kettle_fake_call_fn; NULL: the answers are those of `answers`. */
	int (*engine)(
		const json_t *actor, const char *command, const json_t *args, json_t **ret_result, struct kettle_error *err);
	json_t *answers;  /* command → what it answers, or {"fails": code, "message"} */
	json_t *calls;    /* [{"command", "args", "actor"}] so far */
	json_t *messages; /* that Discord got, see fixture_messages */
	const char *user, *permissions, *role;
	uint64_t next; /* id of an interaction */
};

/* For cmocka; *state is the fixture. The end checks that nothing is left. */
int fixture_setup(void **state);
int fixture_teardown(void **state);
/* The bot of a new process: its state in memory is gone, what it stored is there. */
void fixture_restart(struct bot_fixture *f);

/* What a command answers from now on. answer is stolen. */
void fixture_answer(struct bot_fixture *f, const char *command, json_t *answer_take);
void fixture_fail(struct bot_fixture *f, const char *command, int code, const char *message);

/* A command with these options (stolen, or NULL); an attachment is an object with "filename" and "url". */
void fixture_command(struct bot_fixture *f, const char *path, json_t *options_take);
/* A pressed button, or with values (stolen) a menu. */
void fixture_press(struct bot_fixture *f, const char *custom_id, json_t *values_take);
/* A form that is sent: {"name": text}. */
void fixture_form(struct bot_fixture *f, const char *custom_id, json_t *fields_take);

/*
 * The message that is number `at` of all that Discord got since the fixture began, forms too; waits for it. It has further
 * members: "_form", whether it is a form, "_follow_up", "_update" (of the message of the component) and "_request", the
 * number of the request at the server. Borrowed until the next call.
 */
const json_t *fixture_message(struct bot_fixture *f, size_t at);
/* How many there are so far. */
size_t fixture_count(struct bot_fixture *f);
/* The message that follows those that there are when a command is run with these options. */
const json_t *fixture_run(struct bot_fixture *f, const char *path, json_t *options_take);
/* The one that a pressed button is answered with. */
const json_t *fixture_pressed(struct bot_fixture *f, const char *custom_id, json_t *values_take);

/* Fails the test unless the content is this, or has it. */
void fixture_says(const json_t *message, const char *content);
void fixture_has(const json_t *message, const char *part);
/* Fails the test unless the call that is this far from the last one (0: it) was of this command with these arguments. */
void fixture_called(const struct bot_fixture *f, size_t back, const char *command, json_t *args_take);
/* Fails the test unless the message has a file of that name and these bytes. */
void fixture_has_file(const struct bot_fixture *f, const json_t *message, const char *name, const char *text);
/* The custom id of a button or menu by the number of its row and place; "": there is none. */
const char *fixture_button(const json_t *message, size_t row, size_t at);
