/* SPDX-License-Identifier: MIT */
/* Addresses, networks, forwarded addresses, and what `listen` refuses. */
#include <config.h>

#include "http/address.h"

#include <string.h>

#include "base/cleanup.h"
#include "lib/unit_test.h"

static void
reads_addresses(void **state)
{
	static const struct {
		const char *text, *plain;
	} cases[] = {{"192.0.2.1", "192.0.2.1"}, {"192.0.2.1:80", "192.0.2.1"}, {"::ffff:192.0.2.1", "192.0.2.1"},
		{"2001:db8::1", "2001:db8::1"}, {"[2001:db8::1]", "2001:db8::1"}, {"[2001:db8::1]:80", "2001:db8::1"}};
	static const char *const wrong[] = {"", "x", "1.2.3", "1.2.3.4.5", "[::1", "[]", "unknown", "_hidden", "::1%lo"};
	struct address address;
	char text[ADDRESS_TEXT];
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_true(address_parse(cases[i].text, strlen(cases[i].text), &address));
		address_text(&address, text);
		assert_string_equal(text, cases[i].plain);
	}
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_false(address_parse(wrong[i], strlen(wrong[i]), &address));
	assert_false(address_parse("1.2.3.4\0", 8, &address));
}

static void
knows_networks(void **state)
{
	static const struct {
		const char *network, *in, *out;
	} cases[] = {{"10.0.0.0/8", "10.255.0.1", "11.0.0.0"}, {"192.0.2.1", "192.0.2.1", "192.0.2.2"},
		{"192.0.2.128/25", "192.0.2.129", "192.0.2.127"}, {"0.0.0.0/0", "255.1.2.3", "2001:db8::1"},
		{"2001:db8::/33", "2001:db8:7fff::1", "2001:db8:8000::1"}, {"::1", "::1", "::2"}};
	static const char *const wrong[] = {
		"", "x", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/+8", "::/129", "/8"};
	struct network network;
	struct address address;
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_true(network_parse(cases[i].network, &network));
		assert_true(address_parse(cases[i].in, strlen(cases[i].in), &address));
		assert_true(network_has(&network, 1, &address));
		assert_true(address_parse(cases[i].out, strlen(cases[i].out), &address));
		assert_false(network_has(&network, 1, &address));
	}
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_false(network_parse(wrong[i], &network));
}

static void
follows_proxies(void **state)
{
	static const struct {
		const char *forwarded, *client;
	} cases[] = {{"192.0.2.7", "192.0.2.7"}, {"192.0.2.7, 10.0.0.2", "192.0.2.7"}, {"6.6.6.6, 192.0.2.7", "192.0.2.7"},
		{"6.6.6.6,192.0.2.7 ,10.0.0.3,\t10.0.0.2", "192.0.2.7"}, {"10.0.0.2", "10.0.0.2"}, {"", "10.0.0.1"},
		{"unknown", "10.0.0.1"}, {"192.0.2.7, unknown, 10.0.0.2", "10.0.0.2"}, {"192.0.2.7,", "10.0.0.1"},
		{"[2001:db8::7]:1234", "2001:db8::7"}};
	struct network trusted;
	char text[ADDRESS_TEXT];
	(void)state;
	assert_true(network_parse("10.0.0.0/8", &trusted));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct address address;
		assert_true(address_parse("10.0.0.1", 8, &address));
		address_forwarded(cases[i].forwarded, &trusted, 1, &address);
		address_text(&address, text);
		assert_string_equal(text, cases[i].client);
	}
}

static void
refuses_listening(void **state)
{
	static const char *const wrong[] = {"", "127.0.0.1", ":80", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000",
		"::1:80", "[::1]", "[::1:80", "[]:80", "localhost:0", "unix:"};
	struct listener listener = {.fd = -1}, second = {.fd = -1};
	struct kettle_error err = {0};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		assert_int_equal(listener_open("A server", wrong[i], 0, &listener, &err), KETTLE_EINVAL);
		assert_string_equal(err.member, "listen");
	}
	assert_int_equal(listener_open("A server", "192.0.2.1:80", 0, &listener, &err), KETTLE_EUNAVAIL);
	assert_string_equal(err.member, "listen");
	assert_int_equal(listener_open("A server", "127.0.0.1:0", 0, &listener, &err), 0);
	assert_true(listener.port > 0);
	char same[40];
	(void)snprintf(same, sizeof(same), "127.0.0.1:%d", listener.port);
	assert_int_equal(listener_open("A server", same, 0, &second, &err), KETTLE_EUNAVAIL);
	listener_close(&listener);
	assert_int_equal(listener_open("A server", same, 0, &second, &err), 0);
	listener_close(&second);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(reads_addresses),
	cmocka_unit_test(knows_networks),
	cmocka_unit_test(follows_proxies),
	cmocka_unit_test(refuses_listening),
};

UNIT_TESTS(test_address);
