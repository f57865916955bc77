/* SPDX-License-Identifier: MIT */
/* Decides by an answer whether its request ends or is tried again. */
#ifndef KETTLE_DISCORD_REST_ANSWER_H
#define KETTLE_DISCORD_REST_ANSWER_H

#include "discord/rest/call.h"

/*
 * Takes the end of a try: answers the request and frees it, or leaves it in its lane for another try. The call is not
 * under way any more.
 */
void answer_take(struct call *call, const struct kettle_error *err, const struct kettle_http_answer *answer);
/* Ends a request with an error, and frees it. */
void answer_error(struct call *call, const struct kettle_error *err);
/* Ends all requests with an error, even those under way. The callbacks must not add any. */
void answer_all(struct rest *rest, const struct kettle_error *err);

#endif
