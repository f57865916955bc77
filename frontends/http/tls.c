/* SPDX-License-Identifier: MIT */
/* The certificate of a server, by GnuTLS. */
#include <config.h>

#include "http/tls.h"

#include <stdlib.h>

#include "base/xalloc.h"

#define CHAIN_MAX 16

struct tls_identity {
	unsigned refs; /* atomic */
	gnutls_pcert_st chain[CHAIN_MAX];
	unsigned length;
	gnutls_privkey_t key;
};

static int
read_chain(const char *file, struct tls_identity *identity)
{
	gnutls_datum_t pem;
	unsigned length = CHAIN_MAX;
	int result = gnutls_load_file(file, &pem);
	if (result < 0)
		return result;
	result = gnutls_pcert_list_import_x509_raw(
		identity->chain, &length, &pem, GNUTLS_X509_FMT_PEM, GNUTLS_X509_CRT_LIST_FAIL_IF_UNSORTED);
	identity->length = result < 0 ? 0 : length;
	gnutls_free(pem.data);
	return result;
}

/* Also whether the key is that of the certificate. */
static int
read_key(const char *file, struct tls_identity *identity)
{
	gnutls_datum_t pem;
	gnutls_pubkey_t public_key = NULL;
	unsigned char given[64], wanted[64];
	size_t given_size = sizeof(given), wanted_size = sizeof(wanted);
	int result = gnutls_load_file(file, &pem);
	if (result < 0)
		return result;
	result = gnutls_privkey_import_x509_raw(identity->key, &pem, GNUTLS_X509_FMT_PEM, NULL, 0);
	gnutls_memset(pem.data, 0, pem.size);
	gnutls_free(pem.data);
	if (result < 0 || (result = gnutls_pubkey_init(&public_key)) < 0)
		return result;
	if ((result = gnutls_pubkey_import_privkey(public_key, identity->key, 0, 0)) == 0 &&
		(result = gnutls_pubkey_get_key_id(public_key, GNUTLS_KEYID_USE_SHA256, given, &given_size)) == 0 &&
		(result = gnutls_pubkey_get_key_id(identity->chain[0].pubkey, GNUTLS_KEYID_USE_SHA256, wanted, &wanted_size)) ==
			0 &&
		(given_size != wanted_size || gnutls_memcmp(given, wanted, given_size) != 0))
		result = GNUTLS_E_CERTIFICATE_KEY_MISMATCH;
	gnutls_pubkey_deinit(public_key);
	return result;
}

int
tls_read(const char *title, const char *certificate, const char *private_key, struct tls_identity **ret_identity,
	struct kettle_error *err)
{
	struct tls_identity *identity = xcalloc(1, sizeof(*identity));
	const char *key = private_key ? private_key : certificate;
	identity->refs = 1;
	if (gnutls_privkey_init(&identity->key) < 0)
		xalloc_fail();
	int chain = read_chain(certificate, identity), result = chain < 0 ? chain : read_key(key, identity);
	if (result < 0) {
		tls_unref(identity);
		const char *member = chain < 0 || !private_key ? "certificate" : "private_key";
		return kettle_blame(err, KETTLE_CAUSE_NONE, member,
			kettle_fail(err, KETTLE_EUNAVAIL,
				"%s cannot use %s (%s): the file is missing, or is not a PEM file of this kind: %s", title,
				chain < 0 ? certificate : key, member, gnutls_strerror(result)));
	}
	*ret_identity = identity;
	return 0;
}

struct tls_identity *
tls_ref(struct tls_identity *identity)
{
	(void)__atomic_add_fetch(&identity->refs, 1, __ATOMIC_RELAXED);
	return identity;
}

void
tls_unref(struct tls_identity *identity)
{
	if (!identity || __atomic_sub_fetch(&identity->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	for (unsigned i = 0; i < identity->length; i++)
		gnutls_pcert_deinit(&identity->chain[i]);
	gnutls_privkey_deinit(identity->key);
	free(identity);
}

void
tls_give(
	const struct tls_identity *identity, gnutls_pcert_st **ret_chain, unsigned *ret_length, gnutls_privkey_t *ret_key)
{
	*ret_chain = (gnutls_pcert_st *)identity->chain;
	*ret_length = identity->length;
	*ret_key = identity->key;
}
