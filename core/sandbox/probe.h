/* SPDX-License-Identifier: MIT */
/* What this machine offers. */
#ifndef KETTLE_SANDBOX_PROBE_H
#define KETTLE_SANDBOX_PROBE_H

/*
 * What this machine offers, found by trying (a clone or two, about 5 ms; more where something is missing). Bit set of
 * enum sandbox_protection without the cgroups, which depend on the root: see sandbox_cgroup_protections. [any]
 */
unsigned sandbox_probe(void);

#endif
