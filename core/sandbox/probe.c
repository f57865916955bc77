/* SPDX-License-Identifier: MIT */
/*
 * Finds out which protections this machine offers.
 *
 * Theory of operation. A probe is a sandbox without a payload: init builds a root with a /proc and exits. It tries all
 * namespaces together; if that fails, the ones that all others need, then each of the others with them. The machine's
 * policy (sysctl, AppArmor, container) is not interpreted: only the result counts.
 */
#include <config.h>

#include "sandbox/probe.h"

#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/landlock.h"
#include "sandbox/seccomp.h"
#include "sandbox/spawn.h"

#define PROBE_BASE (SANDBOX_USER | SANDBOX_MOUNT | SANDBOX_PID)

static bool
try(unsigned protections)
{
	const struct sandbox_spawn how = {.protections = protections};
	struct sandbox_child child;
	struct rusage usage;
	if (sandbox_spawn_child(&how, &child, NULL))
		return false;
	bool works = !sandbox_spawn_release(&child, -1, NULL, NULL, -1, NULL);
	if (works) {
		(void)sandbox_spawn_reap(&child, &usage);
		works = child.plan->result.finished && !(protections & SANDBOX_LOCKS && child.plan->result.unlocked);
	}
	sandbox_spawn_end(&child);
	return works;
}

/* Whether its overlays can be mounted as well. */
static unsigned
probe_locks(unsigned found)
{
	return found & SANDBOX_MOUNT && try(found | SANDBOX_LOCKS) ? SANDBOX_LOCKS : 0;
}

static unsigned
probe_namespaces(unsigned more)
{
	if (try(SANDBOX_NAMESPACES | more))
		return SANDBOX_NAMESPACES;
	unsigned found = 0;
	if (try(PROBE_BASE | more))
		found = PROBE_BASE;
	else if (!try(SANDBOX_USER | more))
		return 0;
	else
		return SANDBOX_USER | (try(SANDBOX_USER | SANDBOX_MOUNT | more) ? SANDBOX_MOUNT : 0);
	static const unsigned others[] = {SANDBOX_NET, SANDBOX_IPC, SANDBOX_UTS, SANDBOX_CGROUPNS};
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		found |= try(found | others[i] | more) ? others[i] : 0;
	return found;
}

unsigned
sandbox_probe(void)
{
	unsigned found = 0;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) >= 0)
		found |= SANDBOX_NNP;
	if (sandbox_seccomp_present())
		found |= SANDBOX_SECCOMP;
	if (sandbox_landlock_abi() > 0)
		found |= SANDBOX_LANDLOCK;
	if (geteuid() == 0) {
		unsigned spaces = probe_namespaces(SANDBOX_OWN_UID);
		if (spaces)
			return found | spaces | SANDBOX_OWN_UID | probe_locks(spaces | SANDBOX_OWN_UID);
	}
	unsigned spaces = probe_namespaces(0);
	return found | spaces | probe_locks(spaces);
}
