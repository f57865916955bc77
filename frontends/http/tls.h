/* SPDX-License-Identifier: MIT */
/* The certificate of a server, by GnuTLS. */
#pragma once

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <kettle/error.h>
#include <stdbool.h>

/* Those of GnuTLS for connections: TLS 1.2 and newer. */
#define TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

/* A certificate with chain and key, counted: a handshake uses the one with which it began. */
struct tls_identity;

/*
 * Reads the PEM files; private_key NULL: it is in `certificate`. title names the server in errors. EUNAVAIL (member:
 * certificate or private_key).
 */
int tls_read(const char *title, const char *certificate, const char *private_key, struct tls_identity **ret_identity,
	struct kettle_error *err);
struct tls_identity *tls_ref(struct tls_identity *identity);
void tls_unref(struct tls_identity *identity); /* NULL is allowed */
/* Gives GnuTLS what the identity holds. */
void tls_give(
	const struct tls_identity *identity, gnutls_pcert_st **ret_chain, unsigned *ret_length, gnutls_privkey_t *ret_key);
