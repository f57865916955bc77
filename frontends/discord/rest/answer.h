/* SPDX-License-Identifier: MIT */
/* What an answer means for its request: the end of it, or another try. */
#ifndef KETTLE_DISCORD_REST_ANSWER_H
#define KETTLE_DISCORD_REST_ANSWER_H

#include "discord/rest/call.h"

/* The end of a try. Answers the request and frees it, or leaves it in its lane for another try. It is not under way. */
void answer_take(struct call *call, const struct kettle_error *err, const struct kettle_http_answer *answer);
/* Ends a request with an error, and frees it. */
void answer_error(struct call *call, const struct kettle_error *err);
/* Ends all requests with an error, also those under way. None may be added by the callbacks. */
void answer_all(struct rest *rest, const struct kettle_error *err);

#endif
