/* SPDX-License-Identifier: MIT */
/* The jobs that runners have, as a tree by reference. */
#include <config.h>

#include "engine/inflight.h"
#include "base/xalloc.h"

#include <search.h>
#include <string.h>

static int
by_ref(const void *a, const void *b)
{
	const struct inflight_job *x = a, *y = b;
	return strcmp(x->ref, y->ref);
}

int
inflight_add(struct inflight *inflight, struct inflight_job *job)
{
	struct inflight_job *const *found = tsearch(job, &inflight->by_ref, by_ref);
	if (!found)
		xalloc_fail();
	if (*found != job)
		return KETTLE_ECONFLICT;
	inflight->count++;
	return 0;
}

void
inflight_remove(struct inflight *inflight, struct inflight_job *job)
{
	if (inflight_find(inflight, job->ref) != job)
		return;
	(void)tdelete(job, &inflight->by_ref, by_ref);
	inflight->count--;
}

struct inflight_job *
inflight_find(const struct inflight *inflight, const char *ref)
{
	struct inflight_job key = {.ref = ""};
	if (strlen(ref) >= sizeof(key.ref))
		return NULL;
	memcpy(key.ref, ref, strlen(ref));
	struct inflight_job *const *found = tfind(&key, &inflight->by_ref, by_ref);
	return found ? *found : NULL;
}
