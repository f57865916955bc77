/* SPDX-License-Identifier: MIT */
/* The certificates that this system trusts. */
#pragma once

#include <stddef.h>
#include <unistd.h>

/*
 * The PEM file with them, at the places of the common distributions; NULL: there is none. A TLS library that was built
 * on another distribution looks elsewhere. Static. [any]
 */
static inline const char *
certificates_of_system(void)
{
	static const char *const files[] = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
		"/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (access(files[i], R_OK) == 0)
			return files[i];
	return NULL;
}
