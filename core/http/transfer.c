/* SPDX-License-Identifier: MIT */
/*
 * One request on the thread: its hops, from the first attempt to the answer.
 *
 * Theory of operation. A hop is one exchange of the library. Redirects are followed here, hop by hop, because the
 * library's rule for credentials knows only its own options: the headers that another server may see are listed here.
 * Retries are here as well, so that one deadline bounds everything. Everything that a caller has not asked for is off:
 * cookies, password files, proxies of the environment, other protocols.
 */
#include <config.h>

#include "http/transfer.h"

#if KETTLE_HAVE_HTTP
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/hash.h"
#include "base/times.h"

#define NS_PER_MS UINT64_C(1000000)

/* ---- sentences about transfers that failed: they name the server and what happened, never a header, a query or a body ---- */

/* "HOST", or "HOST:PORT" where the port is not the scheme's. New. */
static char *
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

/* The library's message about TLS, without a full stop. It mentions only certificates and names. */
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

/* The code of a callback's fault; 0: none. */
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

void
transfer_extend(struct transfer *transfer)
{
	if (transfer->request->answer.in_parts && transfer->request->idle_ms)
		transfer->deadline_ns = time_monotonic_ns() + transfer->request->idle_ms * NS_PER_MS;
}

bool
transfer_is_late(struct transfer *transfer)
{
	struct http_request *request = transfer->request;
	if (!request->idle_ms || time_monotonic_ns() < transfer->deadline_ns)
		return false;
	AUTO_FREE char *server = transfer_server(transfer);
	if (request->answer.in_parts)
		(void)kettle_fail(&request->err, KETTLE_EUNAVAIL, "%s has sent nothing for %u ms.", server, request->idle_ms);
	else
		(void)fail_time(transfer, server);
	return true;
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
			err, KETTLE_EUNAVAIL, "%s (http.ca_file) cannot be read, or contains no PEM certificate.", file);
	return kettle_fail(err, KETTLE_EUNAVAIL, "TLS with %s failed: %.200s.", server, tls_text(transfer, code));
}

/* The code of a fault of the connection itself; 0: another fault. */
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

/* Sets the request's err from the library's code and a callback's fault. Returns its code. */
static int
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

/* Whether another attempt may help. */
static bool
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

/* ---- addresses ---- */

static void
free_address(struct transfer *transfer)
{
	const struct curl_library *curl = transfer->context->curl;
	curl->free(STEAL(transfer->scheme));
	curl->free(STEAL(transfer->host));
	curl->free(STEAL(transfer->port));
}

/* Takes an address, which may be relative to the present one. False: it is invalid, or not of HTTP. */
static bool
set_address(struct transfer *transfer, const char *text)
{
	const struct curl_library *curl = transfer->context->curl;
	const unsigned flags = CURLU_DISALLOW_USER | CURLU_URLENCODE | CURLU_ALLOW_SPACE;
	free_address(transfer);
	return curl->url_set(transfer->url, CURLUPART_URL, text, flags) == CURLUE_OK &&
		   curl->url_set(transfer->url, CURLUPART_FRAGMENT, NULL, 0) == CURLUE_OK &&
		   curl->url_get(transfer->url, CURLUPART_SCHEME, &transfer->scheme, 0) == CURLUE_OK &&
		   curl->url_get(transfer->url, CURLUPART_HOST, &transfer->host, 0) == CURLUE_OK &&
		   curl->url_get(transfer->url, CURLUPART_PORT, &transfer->port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
		   (strcmp(transfer->scheme, "http") == 0 || strcmp(transfer->scheme, "https") == 0);
}

/* ---- one exchange ---- */

static void
set_number(const struct transfer *transfer, CURLoption option, long value)
{
	(void)transfer->context->curl->easy_setopt(transfer->easy, option, value);
}

static void
set_text(const struct transfer *transfer, CURLoption option, const char *value)
{
	(void)transfer->context->curl->easy_setopt(transfer->easy, option, value);
}

/* Children of the engine inherit no connection. */
static curl_socket_t
open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
	(void)arg;
	(void)purpose;
	return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static bool
has_header(const struct http_request *request, const char *name)
{
	for (size_t i = 0; i < request->headers_count; i++)
		if (http_header_is(request->headers[i], name))
			return true;
	return false;
}

/* The headers that another server than the first may see. */
static bool
is_harmless(const char *line)
{
	static const char *const names[] = {"Accept", "Accept-Language", "Content-Type", "Range", "User-Agent"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (http_header_is(line, names[i]))
			return true;
	return false;
}

static void
add_header(struct transfer *transfer, const char *line)
{
	struct curl_slist *list = transfer->context->curl->slist_append(transfer->headers, line);
	if (!list)
		xalloc_fail();
	transfer->headers = list;
}

static void
set_headers(struct transfer *transfer, bool body)
{
	const struct http_request *request = transfer->request;
	transfer->context->curl->slist_free_all(STEAL(transfer->headers));
	for (size_t i = 0; i < request->headers_count; i++) {
		const char *line = request->headers[i], *colon = strchr(line, ':');
		if ((transfer->foreign && !is_harmless(line)) || (transfer->bodiless && http_header_is(line, "Content-Type")))
			continue;
		if (colon[1 + strspn(colon + 1, " \t")]) {
			add_header(transfer, line);
		} else {
			/* The form in which the library sends a header without a value; with a colon it would leave the header out. */
			AUTO_FREE char *empty = xasprintf("%.*s;", (int)(colon - line), line);
			add_header(transfer, empty);
		}
	}
	add_header(transfer, "Expect:");
	if (body && !has_header(request, "Content-Type"))
		add_header(transfer, "Content-Type:");
	(void)transfer->context->curl->easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, transfer->headers);
	if (!has_header(request, "Accept-Encoding") && !has_header(request, "Range") && !request->streams)
		set_text(transfer, CURLOPT_ACCEPT_ENCODING, "gzip");
}

static void
set_method(struct transfer *transfer)
{
	const struct curl_library *curl = transfer->context->curl;
	const struct http_request *request = transfer->request;
	const char *method = request->method;
	bool head = strcmp(method, "HEAD") == 0;
	bool body = !transfer->bodiless && !head &&
				(request->body || request->body_file || strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0 ||
					strcmp(method, "PATCH") == 0);
	set_headers(transfer, body);
	if (head)
		set_number(transfer, CURLOPT_NOBODY, 1);
	else if (body)
		set_number(transfer, CURLOPT_POST, 1);
	if (!transfer->bodiless && !head && strcmp(method, body ? "POST" : "GET") != 0)
		set_text(transfer, CURLOPT_CUSTOMREQUEST, method);
	bool once = !request->retries && !http_method_repeatable(method);
	if (once && transfer->body_size == 0)
		set_number(transfer, CURLOPT_FRESH_CONNECT, 1); /* see transfer_on_seek, which cannot help without a body */
	if (!body)
		return;
	(void)curl->easy_setopt(transfer->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)transfer->body_size);
	if (transfer->body_size == 0)
		set_text(transfer, CURLOPT_POSTFIELDS, "");
	(void)curl->easy_setopt(transfer->easy, CURLOPT_READFUNCTION, transfer_on_read);
	(void)curl->easy_setopt(transfer->easy, CURLOPT_READDATA, transfer);
	(void)curl->easy_setopt(transfer->easy, CURLOPT_SEEKFUNCTION, transfer_on_seek);
	(void)curl->easy_setopt(transfer->easy, CURLOPT_SEEKDATA, transfer);
}

static void
set_connection(struct transfer *transfer)
{
	const struct http_settings *settings = transfer->context->settings;
	const struct http_request *request = transfer->request;
	const char *bundle = transfer->context->certificates;
	/* A folder of certificates beside the file would be trusted too, and keep the library from remembering the file. */
	if (bundle) {
		set_text(transfer, CURLOPT_CAINFO, bundle);
		set_text(transfer, CURLOPT_CAPATH, NULL);
		set_text(transfer, CURLOPT_PROXY_CAINFO, bundle);
		set_text(transfer, CURLOPT_PROXY_CAPATH, NULL);
	}
	/* Set explicitly, so that neither is taken from the environment. */
	set_text(transfer, CURLOPT_PROXY, settings->proxy && !request->unix_socket ? settings->proxy : "");
	set_text(transfer, CURLOPT_NOPROXY, "localhost,127.0.0.1,::1");
	if (request->unix_socket)
		set_text(transfer, CURLOPT_UNIX_SOCKET_PATH, request->unix_socket);
	set_number(transfer, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
	set_number(transfer, CURLOPT_NOSIGNAL, 1);
	/* Unknown to libraries before 7.85 and 7.87; is_http has looked at the address already. */
	set_text(transfer, CURLOPT_PROTOCOLS_STR, "http,https");
	set_text(transfer, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
	/* A silent name server would hold the thread. */
	set_number(transfer, CURLOPT_QUICK_EXIT, 1);
	set_number(transfer, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1);
}

static void
set_callbacks(struct transfer *transfer)
{
	const struct curl_library *curl = transfer->context->curl;
	CURL *easy = transfer->easy;
	(void)curl->easy_setopt(easy, CURLOPT_PRIVATE, transfer);
	(void)curl->easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->text);
	(void)curl->easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	(void)curl->easy_setopt(easy, CURLOPT_HEADERFUNCTION, transfer_on_header);
	(void)curl->easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
	(void)curl->easy_setopt(easy, CURLOPT_WRITEFUNCTION, transfer_on_body);
	(void)curl->easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
}

static int
begin_hop(struct transfer *transfer)
{
	const struct curl_library *curl = transfer->context->curl;
	struct http_request *request = transfer->request;
	char *url = NULL;
	transfer_forget_answer(transfer);
	transfer->text[0] = '\0';
	transfer->fault = TRANSFER_FINE;
	transfer->due_ns = transfer->body_at = 0;
	curl->easy_reset(transfer->easy);
	if (curl->url_get(transfer->url, CURLUPART_URL, &url, 0) != CURLUE_OK)
		return kettle_fail(&request->err, KETTLE_EINVAL, "The URL of an HTTP request is not valid.");
	set_text(transfer, CURLOPT_URL, url);
	free(STEAL(request->answer.url));
	request->answer.url = xstrdup(url);
	curl->free(url);
	set_text(transfer, CURLOPT_USERAGENT, "kettle/" PACKAGE_VERSION);
	set_callbacks(transfer);
	set_connection(transfer);
	set_method(transfer);
	/* Milliseconds until the deadline, at least one: 0 would mean no limit. */
	uint64_t now = time_monotonic_ns();
	long left = now + NS_PER_MS >= transfer->deadline_ns ? 1 : (long)((transfer->deadline_ns - now) / NS_PER_MS);
	set_number(transfer, CURLOPT_TIMEOUT_MS, request->idle_ms ? 0 : left); /* see transfer_is_late */
	set_number(
		transfer, CURLOPT_CONNECTTIMEOUT_MS, left < (long)request->connect_ms ? left : (long)request->connect_ms);
	if (curl->multi_add_handle(transfer->context->multi, transfer->easy) != CURLM_OK)
		return kettle_fail(&request->err, KETTLE_EINTERNAL, "libcurl does not take a request.");
	transfer->under_way = true;
	return 0;
}

/* ---- the life of a request ---- */

static int
open_files(struct transfer *transfer)
{
	struct http_request *request = transfer->request;
	struct stat st;
	if (request->body_file) {
		transfer->body_fd = open(request->body_file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (transfer->body_fd < 0 || fstat(transfer->body_fd, &st) != 0)
			return kettle_fail(&request->err,
				errno == ENOENT   ? KETTLE_ENOENT
				: errno == EACCES ? KETTLE_EACCES
								  : KETTLE_EIO,
				"%s cannot be read: %s.", request->body_file, strerror(errno));
		if (!S_ISREG(st.st_mode))
			return kettle_fail(
				&request->err, KETTLE_EINVAL, "%s cannot be sent: it is not a regular file.", request->body_file);
		transfer->body_size = (uint64_t)st.st_size;
	}
	if (!request->answer_file)
		return 0;
	transfer->answer_fd = open(request->answer_file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (transfer->answer_fd < 0)
		return kettle_fail(&request->err,
			errno == EEXIST   ? KETTLE_ECONFLICT
			: errno == ENOENT ? KETTLE_ENOENT
			: errno == EACCES ? KETTLE_EACCES
							  : KETTLE_EIO,
			"%s cannot be created: %s.", request->answer_file, strerror(errno));
	return 0;
}

static CURL *
take_handle(struct transfer_context *context)
{
	CURL *easy = context->spares ? context->spare[--context->spares] : context->curl->easy_init();
	if (!easy)
		xalloc_fail();
	return easy;
}

int
transfer_start(struct transfer_context *context, struct http_request *request)
{
	struct transfer *transfer = xnew(struct transfer, .context = context, .request = request);
	transfer->body_fd = transfer->answer_fd = -1;
	transfer->body_size = request->body_size;
	transfer->deadline_ns = time_monotonic_ns() + request->total_ms * NS_PER_MS;
	transfer->easy = take_handle(context);
	transfer->url = context->curl->url();
	if (!transfer->url)
		xalloc_fail();
	int rc = 0;
	if (!set_address(transfer, request->url))
		rc = kettle_fail(&request->err, KETTLE_EINVAL, "The URL of an HTTP request is not valid.");
	if (rc == 0)
		rc = open_files(transfer);
	if (rc == 0)
		rc = begin_hop(transfer);
	if (rc < 0)
		transfer_free(transfer);
	else
		request->transfer = transfer;
	return rc;
}

static void
remove_handle(struct transfer *transfer)
{
	if (transfer->under_way)
		(void)transfer->context->curl->multi_remove_handle(transfer->context->multi, transfer->easy);
	transfer->under_way = false;
}

void
transfer_free(struct transfer *transfer)
{
	struct transfer_context *context = transfer->context;
	remove_handle(transfer);
	/* The handle keeps nothing of its request: neither pointers nor headers with secrets. */
	context->curl->easy_reset(transfer->easy);
	if (context->spares < ARRAY_SIZE(context->spare))
		context->spare[context->spares++] = transfer->easy;
	else
		context->curl->easy_cleanup(transfer->easy);
	context->curl->slist_free_all(transfer->headers);
	free_address(transfer);
	context->curl->url_cleanup(transfer->url);
	if (transfer->body_fd >= 0)
		(void)close(transfer->body_fd);
	if (transfer->answer_fd >= 0) {
		(void)close(transfer->answer_fd);
		(void)unlink(transfer->request->answer_file);
	}
	free_all(transfer->location, transfer->retry_after);
	transfer->request->transfer = NULL;
	free(transfer);
}

/* ---- redirects ---- */

/* The address that the answer redirects to, or the reason why it may not be followed. */
static int
set_next_address(struct transfer *transfer, const char *server)
{
	struct kettle_error *err = &transfer->request->err;
	const struct curl_library *curl = transfer->context->curl;
	char *scheme = STEAL(transfer->scheme), *host = STEAL(transfer->host), *port = STEAL(transfer->port);
	int rc = 0;
	if (!set_address(transfer, transfer->location)) {
		rc = kettle_fail(err, KETTLE_EIO, "%s redirects to something that is no address of HTTP.", server);
	} else if (strcmp(scheme, "https") == 0 && strcmp(transfer->scheme, "http") == 0) {
		rc = kettle_fail(err, KETTLE_EIO, "%s redirects from https to http, which is not followed.", server);
	} else if (strcmp(scheme, transfer->scheme) != 0 || strcasecmp(host, transfer->host) != 0 ||
			   strcmp(port, transfer->port) != 0) {
		transfer->foreign = true;
		if (transfer->request->unix_socket)
			rc = kettle_fail(err, KETTLE_EIO, "The socket %s redirects to another server, which is not followed.",
				transfer->request->unix_socket);
	}
	curl->free(scheme);
	curl->free(host);
	curl->free(port);
	return rc;
}

/* True: the request has ended. */
static bool
follow(struct transfer *transfer)
{
	struct http_request *request = transfer->request;
	int status = request->answer.status;
	AUTO_FREE char *server = transfer_server(transfer);
	if (++transfer->redirects > request->max_redirects) {
		(void)kettle_fail(&request->err, KETTLE_EIO, "%s redirects more than %u times, which is the limit.", server,
			request->max_redirects);
		return true;
	}
	if (set_next_address(transfer, server) < 0)
		return true;
	if ((status == 303 && strcmp(request->method, "HEAD") != 0) ||
		(status < 303 && strcmp(request->method, "POST") == 0))
		transfer->bodiless = true;
	return begin_hop(transfer) < 0;
}

/* ---- retries ---- */

static bool
is_passing(int status)
{
	return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
}

/* The wait that the server asks for, in ms: from seconds, or a date. -1: it does not say. */
static double
server_wait(const struct transfer *transfer)
{
	const char *text = transfer->retry_after;
	if (!text)
		return -1;
	char *end = NULL;
	double seconds = strtod(text, &end);
	if (end != text && *end == '\0' && text[0] >= '0' && text[0] <= '9')
		return seconds * 1000;
	time_t then = transfer->context->curl->getdate(text, NULL);
	if (then == (time_t)-1)
		return -1;
	double left = (double)then * 1000 - (double)time_now_ms();
	return left > 0 ? left : 0;
}

/* Full jitter: anywhere between now and a bound that doubles. */
static double
own_wait(const struct transfer *transfer)
{
	uint32_t number = 0, most = HTTP_RETRY_MAX_MS;
	random_bytes(&number, sizeof(number));
	if (transfer->attempts < 6 && (HTTP_RETRY_MS << transfer->attempts) < HTTP_RETRY_MAX_MS)
		most = HTTP_RETRY_MS << transfer->attempts;
	return most * ((double)number / UINT32_MAX);
}

/* Whether there will be another attempt, at due_ns. */
static bool
wait_for_retry(struct transfer *transfer, CURLcode code)
{
	const struct http_request *request = transfer->request;
	bool helps = code == CURLE_OK ? is_passing(request->answer.status)
								  : transfer->fault == TRANSFER_FINE && transfer_may_help(code);
	if (!helps || request->answer.in_parts || transfer->attempts >= request->retries)
		return false;
	double wait = code == CURLE_OK ? server_wait(transfer) : -1;
	if (wait < 0)
		wait = own_wait(transfer);
	uint64_t now = time_monotonic_ns();
	if (now >= transfer->deadline_ns || wait * (double)NS_PER_MS >= (double)(transfer->deadline_ns - now))
		return false;
	transfer->attempts++;
	transfer->due_ns = now + (uint64_t)(wait * (double)NS_PER_MS);
	return true;
}

bool
transfer_again(struct transfer *transfer)
{
	struct http_request *request = transfer->request;
	transfer->redirects = 0;
	transfer->foreign = transfer->bodiless = false;
	transfer->header_bytes = transfer->headers_count = 0;
	if (transfer->answer_fd >= 0 &&
		(ftruncate(transfer->answer_fd, 0) != 0 || lseek(transfer->answer_fd, 0, SEEK_SET) != 0)) {
		(void)kettle_fail(
			&request->err, KETTLE_EIO, "%s cannot be emptied: %s.", request->answer_file, strerror(errno));
		return true;
	}
	if (!set_address(transfer, request->url)) {
		(void)kettle_fail(&request->err, KETTLE_EINVAL, "The URL of an HTTP request is not valid.");
		return true;
	}
	return begin_hop(transfer) < 0;
}

/* ---- paused bodies ---- */

bool
transfer_resume(struct transfer *transfer)
{
	transfer_extend(transfer);
	CURLcode code = transfer->context->curl->easy_pause(transfer->easy, CURLPAUSE_CONT);
	return code != CURLE_OK && transfer_ended(transfer, code);
}

/* ---- the end ---- */

static void
finish(struct transfer *transfer)
{
	struct http_request *request = transfer->request;
	if (!request->answer.in_file)
		return;
	/* Some file systems report a full disk only here. */
	if (close(STEAL_FD(transfer->answer_fd)) != 0) {
		(void)kettle_fail(
			&request->err, KETTLE_EIO, "%s cannot be written: %s.", request->answer_file, strerror(errno));
		(void)unlink(request->answer_file);
		return;
	}
	request->answer.kept = true;
}

bool
transfer_ended(struct transfer *transfer, CURLcode code)
{
	bool ended = true;
	if (transfer->fault == TRANSFER_ENOUGH) {
		transfer->fault = TRANSFER_FINE;
		code = CURLE_OK;
	}
	if (code == CURLE_OK && !transfer->redirecting && wait_for_retry(transfer, code)) {
		ended = false;
	} else if (code != CURLE_OK && wait_for_retry(transfer, code)) {
		ended = false;
	} else if (code != CURLE_OK) {
		(void)transfer_fail(transfer, code);
	} else if (!transfer->redirecting) {
		finish(transfer);
	}
	remove_handle(transfer);
	return transfer->redirecting && code == CURLE_OK ? follow(transfer) : ended;
}
#endif
