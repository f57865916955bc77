/* SPDX-License-Identifier: MIT */
/* Histograms of durations: counts in fixed buckets, for monitoring. */
#include <config.h>

#include "base/histogram.h"

static const double bounds[HISTOGRAM_BOUNDS] = {
	0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800};

void
histogram_add(struct histogram *histogram, double seconds)
{
	size_t i = 0;
	if (seconds < 0)
		seconds = 0;
	while (i < HISTOGRAM_BOUNDS && seconds > bounds[i])
		i++;
	histogram->counts[i]++;
	histogram->sum += seconds;
}

json_t *
histogram_json(const struct histogram *histogram)
{
	json_t *buckets = json_array();
	json_int_t count = 0;
	for (size_t i = 0; i <= HISTOGRAM_BOUNDS; i++) {
		count += (json_int_t)histogram->counts[i];
		json_t *le = i < HISTOGRAM_BOUNDS ? json_real(bounds[i]) : json_null();
		(void)json_array_append_new(buckets, json_pack("{s:o, s:I}", "le", le, "count", count));
	}
	return json_pack("{s:o, s:f, s:I}", "buckets", buckets, "sum", histogram->sum, "count", count);
}
