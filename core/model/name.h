/* SPDX-License-Identifier: MIT */
/* Names that people choose, in one form of Unicode and one script, so that no two look alike; reserved ones. All [any]. */
#pragma once

#include <kettle/error.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * A name from outside in its normal form (NFKC: letters of several forms, such as full-width ones, are one), as
 * sanitize_line makes it. New string, possibly empty.
 */
char *name_normal(const char *text, size_t max_characters);
/*
 * Refuses a name whose letters are of several scripts, by the rules of Unicode TR 39: each character has one script, or
 * none (digits, marks, emoji); Japanese, Korean, and Han with Bopomofo are one script each. EINVAL names two of them;
 * what: "The name of a token", for example.
 */
int name_check_scripts(const char *what, const char *name, struct kettle_error *err);

/*
 * The words that follow the host in the addresses of pages and of KernelBot's API, until NULL: a leaderboard's name
 * follows it, too, so it is none of them. A new word needs a migration that renames leaderboards.
 */
extern const char *const names_reserved[];
/* Whether a name is one of them, without case. */
bool name_is_reserved(const char *name);
