/* SPDX-License-Identifier: MIT */
/* The certificates that this system trusts. */
#pragma once

/*
 * The PEM file with them, at the places of the common distributions; NULL: there is none. A TLS library that was built
 * on another distribution looks elsewhere. Static. [any]
 */
const char *certificates_of_system(void);
