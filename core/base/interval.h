/* SPDX-License-Identifier: MIT */
/* The error of a measured number, as far as it is known. All [any]. */
#pragma once

#include <math.h>
#include <stdbool.h>

/* A number and how far the truth may be below and above it, with a probability of 95 %. Of any unit. */
struct interval {
	bool known;
	double value, below, above;
};

/*
 * Whether the gap between two numbers, the smaller one first, is within the combined error of both, so that it may be
 * chance. The errors of independent measurements add up in squares; to test whether the intervals overlap would find
 * too few differences significant (Schenker and Gentleman, "On Judging the Significance of Differences by Examining the
 * Overlap Between Confidence Intervals", The American Statistician 55, 2001). False where one of the errors is not
 * known.
 */
static inline bool
interval_is_close(const struct interval *smaller, const struct interval *larger)
{
	return smaller->known && larger->known &&
		   larger->value - smaller->value <= sqrt(smaller->above * smaller->above + larger->below * larger->below);
}
