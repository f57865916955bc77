/* SPDX-License-Identifier: MIT */
/* The jobs that runners have at the moment, as a tree by reference. */
#include <config.h>

#include "engine/inflight.h"

#include <search.h>
#include <string.h>

static int
by_ref(const void *a, const void *b)
{
	const struct live_job *x = a, *y = b;
	return strcmp(x->ref, y->ref);
}

int
live_add(struct live *live, struct live_job *job)
{
	struct live_job *const *found = tsearch(job, &live->by_ref, by_ref);
	if (!found)
		return KETTLE_ENOMEM;
	if (*found != job)
		return KETTLE_ECONFLICT;
	live->count++;
	return 0;
}

void
live_remove(struct live *live, struct live_job *job)
{
	if (live_find(live, job->ref) != job)
		return;
	(void)tdelete(job, &live->by_ref, by_ref);
	live->count--;
}

struct live_job *
live_find(const struct live *live, const char *ref)
{
	struct live_job key = {.ref = ""};
	if (strlen(ref) >= sizeof(key.ref))
		return NULL;
	memcpy(key.ref, ref, strlen(ref));
	struct live_job *const *found = tfind(&key, &live->by_ref, by_ref);
	return found ? *found : NULL;
}
