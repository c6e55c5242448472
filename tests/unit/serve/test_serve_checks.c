/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who may ask a server: tokens, hosts, origins; where it listens. */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/tap.h"
#include "serve/impl/checks.h"
#include "serve/impl/listen.h"

CASE(token_random, "tokens have 32 hexadecimal digits, and each is another one")
{
	char first[TOKEN_LEN + 1], second[TOKEN_LEN + 1];
	CHECK_OK(token_make(first));
	CHECK_OK(token_make(second));
	CHECK_U64(strspn(first, "0123456789abcdef"), 32);
	CHECK_U64(strlen(first), 32);
	CHECK(strcmp(first, second) != 0);
}

CASE(token_paths, "a path has the whole token first, between slashes")
{
	static const char token[] = "0123456789abcdef0123456789abcdef";
	CHECK_STR(path_after_token("/0123456789abcdef0123456789abcdef/", token), "");
	CHECK_STR(path_after_token("/0123456789abcdef0123456789abcdef/data", token), "data");
	static const char *const wrong[] = {"", "/", "/data", "/0123456789abcdef0123456789abcdef",
		"/0123456789abcdef0123456789abcdee/", "/1123456789abcdef0123456789abcdef/",
		"/0123456789abcdef0123456789abcdefx", "0123456789abcdef0123456789abcdef//",
		"//0123456789abcdef0123456789abcdef/", "/0123456789ABCDEF0123456789ABCDEF/"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK(path_after_token(wrong[i], token) == NULL);
}

CASE(hosts, "a host is this machine by a name or address of loopback, or of the connection")
{
	CHECK(host_is_own("127.0.0.1:8080", "127.0.0.1", 8080));
	CHECK(host_is_own("localhost:8080", "127.0.0.1", 8080));
	CHECK(host_is_own("[::1]:8080", "::1", 8080));
	CHECK(host_is_own("192.0.2.7:8080", "192.0.2.7", 8080));
	CHECK(host_is_own("[2001:db8::7]:8080", "2001:db8::7", 8080));
	CHECK(host_is_own("localhost", "127.0.0.1", 80));
	static const char *const wrong[] = {"", "127.0.0.1", "127.0.0.1:8081", "127.0.0.1:80800",
		"evil.example:8080", "127.0.0.1.evil.example:8080", "localhost.:8080",
		"localhost:8080.evil.example", "192.0.2.7:8080", "127.0.0.1:8080 ", "0:8080",
		"127.1:8080"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK(!host_is_own(wrong[i], "127.0.0.1", 8080));
	CHECK(!host_is_own(NULL, "127.0.0.1", 8080));
	CHECK(!host_is_own("[]:8080", "127.0.0.1", 8080));
	CHECK(!host_is_own("localhost", "127.0.0.1", 8080));
	char huge[1000];
	memset(huge, 'a', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	CHECK(!host_is_own(huge, huge, 8080));
}

CASE(origins, "other sites, and origins that hide, may not ask")
{
	CHECK(origin_is_own(NULL, "localhost:1"));
	CHECK(origin_is_own("http://localhost:1", "localhost:1"));
	CHECK(!origin_is_own("https://localhost:1", "localhost:1"));
	CHECK(!origin_is_own("http://localhost:2", "localhost:1"));
	CHECK(!origin_is_own("http://localhost:1.evil.example", "localhost:1"));
	CHECK(!origin_is_own("null", "localhost:1"));
	CHECK(!origin_is_own("", "localhost:1"));
	CHECK(fetch_site_is_own(NULL) && fetch_site_is_own("same-origin") &&
		fetch_site_is_own("none"));
	CHECK(!fetch_site_is_own("cross-site") && !fetch_site_is_own("same-site") &&
		!fetch_site_is_own(""));
}

CASE(places, "it listens at numeric addresses, at others than those of loopback only if it may")
{
	struct listen_place place;
	CHECK_OK(listen_open(NULL, false, &place));
	CHECK_STR(place.address, "127.0.0.1");
	CHECK(place.port > 0 && place.is_loopback && !place.is_six);
	close(place.fd);
	CHECK_OK(listen_open("localhost:0", false, &place));
	CHECK_STR(place.address, "127.0.0.1");
	close(place.fd);
	CHECK_OK(listen_open("0", false, &place));
	CHECK_STR(place.address, "127.0.0.1");
	close(place.fd);
	CHECK_OK(listen_open("0.0.0.0:0", true, &place));
	CHECK(!place.is_loopback);
	close(place.fd);
	static const char *const wrong[] = {"", ":", ":80", "x", "80x", "127.0.0.1",
		"127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "::1:80", "[::1]", "[::1", "[]:1",
		"example:80", "127.0.0.1:80 ", "0.0.0.0:0", "[::]:0", "192.0.2.1:1", "*:0", "0:0",
		"127.1:0", "0x7f000001:0", "2130706433:0"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK_ERROR(listen_open(wrong[i], false, &place), ERROR_USAGE, wrong[i]);
}

CASE(peer, "a connection's other end is of the user who has it")
{
	struct listen_place place;
	CHECK_OK(listen_open(NULL, false, &place));
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_port = htons((uint16_t)place.port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(connect(client, (const struct sockaddr *)&address, sizeof(address)) == 0);
	int served = accept(place.fd, NULL, NULL);
	CHECK(served >= 0);
	CHECK(socket_peer_is_user(served, geteuid()));
	CHECK(!socket_peer_is_user(served, geteuid() + 1));
	CHECK(!socket_peer_is_user(place.fd, geteuid()));
	close(served);
	close(client);
	close(place.fd);
}

TAP_MAIN
