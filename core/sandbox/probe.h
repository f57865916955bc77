/* SPDX-License-Identifier: MIT */
/* Finds out which protections this machine offers. */
#pragma once

/*
 * Tries protections with one or two clones (about 5 ms; longer if something is missing). Returns a bit set of enum
 * sandbox_protection without the cgroups, for which see sandbox_cgroup_protections. [any]
 */
unsigned sandbox_probe(void);
