/* SPDX-License-Identifier: MIT */
/* The certificates that this system trusts. */
#include <config.h>

#include "base/certificates.h"

#include <stddef.h>
#include <unistd.h>

#include "base/cleanup.h"

const char *
certificates_of_system(void)
{
	static const char *const files[] = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
		"/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (access(files[i], R_OK) == 0)
			return files[i];
	return NULL;
}
