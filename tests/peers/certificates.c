/* SPDX-License-Identifier: MIT */
/*
 * certificates FOLDER: makes what a test of TLS needs. ca.pem: a certificate that signs the others; tls.pem, wrong.pem and
 * expired.pem: key and certificate of a server, for localhost and 127.0.0.1, for another name, and of yesterday.
 */
#include <config.h>

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>

#define DAY 86400

struct issued {
	EVP_PKEY *key;
	X509 *certificate;
};

static void
must(int good, const char *what)
{
	if (good)
		return;
	(void)fprintf(stderr, "certificates: %s failed\n", what);
	exit(1);
}

static void
add_extension(X509 *certificate, X509 *issuer, int kind, const char *value)
{
	X509V3_CTX context;
	X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
	X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
	must(extension && X509_add_ext(certificate, extension, -1), value);
	X509_EXTENSION_free(extension);
}

/* names NULL: a certificate that signs others, by itself. */
static struct issued
issue(const char *common_name, const char *names, long days_from, long days_to, const struct issued *ca)
{
	static long serial = 1;
	struct issued new = {EVP_EC_gen("P-256"), X509_new()};
	must(new.key &&new.certificate, "the key");
	const struct issued *signer = ca ? ca : &new;
	(void)X509_set_version(new.certificate, 2);
	(void)ASN1_INTEGER_set(X509_get_serialNumber(new.certificate), serial++);
	(void)X509_gmtime_adj(X509_getm_notBefore(new.certificate), days_from * DAY);
	(void)X509_gmtime_adj(X509_getm_notAfter(new.certificate), days_to * DAY);
	(void)X509_set_pubkey(new.certificate, new.key);
	must(X509_NAME_add_entry_by_txt(
			 X509_get_subject_name(new.certificate), "CN", MBSTRING_ASC, (const unsigned char *)common_name, -1, -1, 0),
		"the name");
	(void)X509_set_issuer_name(new.certificate, X509_get_subject_name(signer->certificate));
	add_extension(new.certificate, signer->certificate, NID_basic_constraints, names ? "CA:FALSE" : "critical,CA:TRUE");
	if (names)
		add_extension(new.certificate, signer->certificate, NID_subject_alt_name, names);
	else
		add_extension(new.certificate, signer->certificate, NID_key_usage, "critical,keyCertSign");
	must(X509_sign(new.certificate, signer->key, EVP_sha256()), "the signature");
	return new;
}

static void
write_pem(const char *folder, const char *name, const struct issued *one, int with_key)
{
	char path[4096];
	(void)snprintf(path, sizeof(path), "%s/%s.pem", folder, name);
	FILE *file = fopen(path, "we");
	must(file != NULL, path);
	must(PEM_write_X509(file, one->certificate), path);
	must(!with_key || PEM_write_PrivateKey(file, one->key, NULL, NULL, 0, NULL, NULL), path);
	must(fclose(file) == 0, path);
}

static void
discard(struct issued *one)
{
	EVP_PKEY_free(one->key);
	X509_free(one->certificate);
}

int
main(int argc, char **argv)
{
	must(argc == 2, "reading the arguments: certificates FOLDER");
	struct issued ca = issue("Kettle's tests", NULL, -2, 30, NULL);
	struct issued tls = issue("localhost", "DNS:localhost,DNS:far.test,IP:127.0.0.1", -2, 30, &ca);
	struct issued wrong = issue("elsewhere.example", "DNS:elsewhere.example", -2, 30, &ca);
	struct issued expired = issue("localhost", "DNS:localhost,IP:127.0.0.1", -2, -1, &ca);
	write_pem(argv[1], "ca", &ca, 0);
	write_pem(argv[1], "tls", &tls, 1);
	write_pem(argv[1], "wrong", &wrong, 1);
	write_pem(argv[1], "expired", &expired, 1);
	discard(&expired);
	discard(&wrong);
	discard(&tls);
	discard(&ca);
	return 0;
}
