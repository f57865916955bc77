/* SPDX-License-Identifier: MIT */
/* A bot with a fake engine and a fake Discord, for tests of what it tells by itself. */
#pragma once

#include <jansson.h>
#include <kettle/testing.h>
#include <stdbool.h>

#include "discord/interaction/bot.h"
#include "unit/discord/rest_server.h"

#define NEWS "700" /* channels */
#define FORUM "800"
#define OPERATORS "900"
#define BOT "42"
#define ROLE "55"
#define AT "2026-11-25T10:00:00.000Z" /* of all events */
#define AT_MS 1795600800000
#define POST_NEWS "POST /api/channels/" NEWS "/messages"
#define POST_FORUM "POST /api/channels/" FORUM "/threads"
#define POST_OPERATORS "POST /api/channels/" OPERATORS "/messages"

/* What fixture_podium becomes. */
#define PODIUM \
	"🏆 **vec\\_add**: the podium on **H100** has changed.\n🥇 **\\@everyone \\*\\*x\\*\\*** 1.000 ms, new on " \
	"the " \
	"podium\n🥈 **bob** 2.000 ms, was 🥇\n🥉 **c\\_c** 2.500 ms, was 🥈 at 3.000 ms\nNo longer on " \
	"it: **dave** " \
	"4.000 ms"

struct fixture {
	struct kettle_fake *fake;
	struct server server;
	struct kettle_error err;
	char *base;
	struct bot bot;
	json_t *board; /* what leaderboard.show answers; NULL: there is none */
	json_t *user;  /* what user.show answers */
	json_t *calls; /* "command name" of each */
};

int announce_fixture_setup(void **state);
int announce_fixture_teardown(void **state);
void fixture_start(struct fixture *f);
/* As the plugin ends. */
void announce_fixture_stop(struct fixture *f);

/* An event of the board 7, not stored where seq is 0; data is stolen and may be NULL. New reference. */
json_t *announce_fixture_event(int seq, const char *kind, json_t *data_take);
/* leaderboard.podium of it. New reference. */
json_t *fixture_podium(int seq);
/* A row of a podium. New reference. */
json_t *fixture_row(int rank, int user, const char *name, double score);
/* The bot gets an event. */
void fixture_tell(struct fixture *f, json_t *event_take);
/* The board has its post already, and nothing about it changes. */
void fixture_has_post(struct fixture *f);

/* The outbox keeps this of the board's post, after a restart. */
void fixture_keeps_post(struct fixture *f, json_t *post_take);

/* Until so many events in all are dealt with, and no more are. */
void fixture_done(struct fixture *f, size_t count);
/* Until so many requests began so. */
void fixture_seen(struct fixture *f, const char *line, size_t count);

/* The body of a request. New reference. */
json_t *fixture_body(const struct fixture *f, size_t number);
void fixture_assert_request(const struct fixture *f, size_t number, const char *line);
/* A request with this body. */
void fixture_assert_json(const struct fixture *f, size_t number, const char *line, const char *expected);
/* A message without pings. */
void fixture_assert_message(const struct fixture *f, size_t number, const char *line, const char *content);
/* Whether a line of that level has that part. */
bool fixture_logged(const struct fixture *f, const char *level, const char *part);
