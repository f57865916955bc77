/* SPDX-License-Identifier: MIT */
/* Discord's identifiers, and the nonces by which it recognises a message that is sent again. All [any]. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SNOWFLAKE_SIZE 21 /* of an identifier as text */
#define NONCE_SIZE 26

/*
 * Parses an identifier: 1 to 20 digits, more than 0, less than 2^64. false for anything else and for NULL; *ret_id is
 * then unchanged.
 */
bool snowflake_parse(const char *text, uint64_t *ret_id);
/* Copies an identifier; false if it is not one, and ret_text is then empty. */
bool snowflake_copy(char ret_text[SNOWFLAKE_SIZE], const char *text);
/* When the identifier was made, in ms since 1970. */
int64_t snowflake_time(uint64_t id);
/* The nonce of a message: the same for the same event (or other subject) in the same channel. */
void snowflake_nonce(const char *event, const char *channel, char ret_nonce[NONCE_SIZE]);
