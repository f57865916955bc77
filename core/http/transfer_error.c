/* SPDX-License-Identifier: MIT */
/* Sentences about transfers that failed: they name the server and what happened, never a header, a query or a body. */
#include <config.h>

#include "http/transfer.h"

#if KETTLE_HAVE_HTTP
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/times.h"
#include "base/xalloc.h"

char *
transfer_server(const struct transfer *transfer)
{
	const char *usual = strcmp(transfer->scheme, "https") == 0 ? "443" : "80";
	if (strcmp(transfer->port, usual) == 0)
		return xstrdup(transfer->host);
	return xasprintf("%s:%s", transfer->host, transfer->port);
}

static long
info_long(const struct transfer *transfer, CURLINFO which)
{
	long value = 0;
	(void)transfer->context->curl->easy_getinfo(transfer->easy, which, &value);
	return value;
}

static curl_off_t
info_offset(const struct transfer *transfer, CURLINFO which)
{
	curl_off_t value = 0;
	(void)transfer->context->curl->easy_getinfo(transfer->easy, which, &value);
	return value;
}

static const char *
errno_text(const struct transfer *transfer, const char *other)
{
	long number = info_long(transfer, CURLINFO_OS_ERRNO);
	return number ? strerror((int)number) : other;
}

/* What the library says of TLS, without a full stop. It speaks of certificates and names alone. */
static const char *
tls_text(struct transfer *transfer, CURLcode code)
{
	size_t length = strlen(transfer->text);
	while (length && strchr(". \n", transfer->text[length - 1]))
		transfer->text[--length] = '\0';
	return length ? transfer->text : transfer->context->curl->easy_strerror(code);
}

static int
fail_file(const struct transfer *transfer, const char *file, const char *what)
{
	struct kettle_error *err = &transfer->request->err;
	if (transfer->fault_errno == 0)
		return kettle_fail(err, KETTLE_EIO, "%s became shorter while it was sent.", file);
	return kettle_fail(err, KETTLE_EIO, "%s cannot be %s: %s.", file, what, strerror(transfer->fault_errno));
}

/* What a callback found. 0: nothing. */
static int
fail_fault(const struct transfer *transfer, const char *server)
{
	const struct http_request *request = transfer->request;
	struct kettle_error *err = &transfer->request->err;
	switch (transfer->fault) {
	case TRANSFER_HEADERS:
		return kettle_fail(err, KETTLE_ETOOBIG,
			"The response from %s has more than %zu bytes of headers, or more than %d headers.", server,
			request->max_headers, HTTP_HEADERS_MAX);
	case TRANSFER_BODY:
		return kettle_fail(err, KETTLE_ETOOBIG, "The response from %s is larger than %llu bytes.", server,
			(unsigned long long)transfer->limit);
	case TRANSFER_WRITE:
		return fail_file(transfer, request->answer_file, "written");
	case TRANSFER_READ:
		return fail_file(transfer, request->body_file, "read");
	case TRANSFER_CANCELLED:
		return kettle_fail(err, KETTLE_ECANCELED, "The request to %s was cancelled.", server);
	case TRANSFER_FINE:
	case TRANSFER_ENOUGH:
		break;
	}
	return 0;
}

static int
fail_time(const struct transfer *transfer, const char *server)
{
	const struct http_request *request = transfer->request;
	struct kettle_error *err = &transfer->request->err;
	bool over = time_monotonic_ns() + UINT64_C(1000000) >= transfer->deadline_ns;
	/* CONNECT_TIME comes only after TLS where the library tries several addresses at once. */
	const char *phase = info_offset(transfer, CURLINFO_PRETRANSFER_TIME_T) ? "answer completely"
						: info_long(transfer, CURLINFO_PRIMARY_PORT)       ? "agree on TLS"
																		   : "accept a connection";
	return kettle_fail(err, KETTLE_EUNAVAIL, "%s did not %s within %u ms.", server, phase,
		over ? request->total_ms : request->connect_ms);
}

static int
fail_tls(struct transfer *transfer, const char *server, CURLcode code)
{
	struct kettle_error *err = &transfer->request->err;
	const char *file = transfer->context->settings->ca_file;
	if (code == CURLE_PEER_FAILED_VERIFICATION)
		return kettle_fail(
			err, KETTLE_EUNAVAIL, "The certificate of %s is not accepted: %.200s.", server, tls_text(transfer, code));
	if (code == CURLE_SSL_CACERT_BADFILE && file)
		return kettle_fail(
			err, KETTLE_EUNAVAIL, "%s (http.ca_file) cannot be read, or holds no certificate in PEM.", file);
	return kettle_fail(err, KETTLE_EUNAVAIL, "TLS with %s failed: %.200s.", server, tls_text(transfer, code));
}

/* The connection itself. 0: it is something else. */
static int
fail_connection(struct transfer *transfer, const char *server, CURLcode code)
{
	struct kettle_error *err = &transfer->request->err;
	long proxy = info_long(transfer, CURLINFO_HTTP_CONNECTCODE);
	const char *socket = transfer->request->unix_socket;
	if (proxy && (proxy < 200 || proxy > 299))
		return kettle_fail(
			err, KETTLE_EUNAVAIL, "The proxy refused the connection to %s with status %ld.", server, proxy);
	switch ((int)code) {
	case CURLE_COULDNT_RESOLVE_HOST:
		return kettle_fail(err, KETTLE_EUNAVAIL, "The name %s cannot be resolved.", transfer->host);
	case CURLE_COULDNT_RESOLVE_PROXY:
		return kettle_fail(err, KETTLE_EUNAVAIL, "The name of the proxy (http.proxy) cannot be resolved.");
	case CURLE_COULDNT_CONNECT:
		return kettle_fail(err, KETTLE_EUNAVAIL, "%s%s cannot be reached%s: %s.", socket ? "The socket " : "",
			socket ? socket : server, transfer->context->settings->proxy && !socket ? " (through http.proxy)" : "",
			errno_text(transfer, "no connection"));
	case CURLE_GOT_NOTHING:
	case CURLE_SEND_FAIL_REWIND:
		return kettle_fail(err, KETTLE_EUNAVAIL, "%s closed the connection without a response.", server);
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
		return kettle_fail(err, transfer->in_body ? KETTLE_EIO : KETTLE_EUNAVAIL, "The connection to %s was lost: %s.",
			server, errno_text(transfer, transfer->context->curl->easy_strerror(code)));
	}
	return 0;
}

int
transfer_fail(struct transfer *transfer, CURLcode code)
{
	struct kettle_error *err = &transfer->request->err;
	AUTO_FREE char *server = transfer_server(transfer);
	int rc = fail_fault(transfer, server);
	if (rc == 0)
		rc = fail_connection(transfer, server, code);
	if (rc < 0)
		return rc;
	switch ((int)code) {
	case CURLE_OPERATION_TIMEDOUT:
		return fail_time(transfer, server);
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CONNECT_ERROR:
		return fail_tls(transfer, server, code);
	case CURLE_PARTIAL_FILE:
		return kettle_fail(err, KETTLE_EIO, "The response from %s ended before it was complete.", server);
	case CURLE_BAD_CONTENT_ENCODING:
		return kettle_fail(err, KETTLE_EIO, "The compressed response from %s is damaged.", server);
	case CURLE_WEIRD_SERVER_REPLY:
	case CURLE_UNSUPPORTED_PROTOCOL:
		return kettle_fail(err, KETTLE_EIO, "The response from %s is not HTTP.", server);
	}
	return kettle_fail(
		err, KETTLE_EIO, "The request to %s failed: %s.", server, transfer->context->curl->easy_strerror(code));
}

bool
transfer_may_help(CURLcode code)
{
	switch ((int)code) {
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_CONNECT:
	case CURLE_GOT_NOTHING:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_SEND_FAIL_REWIND:
	case CURLE_OPERATION_TIMEDOUT:
	case CURLE_PARTIAL_FILE:
		return true;
	}
	return false;
}
#endif
