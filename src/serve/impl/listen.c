/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/impl/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Connections that wait to be accepted. */
#define BACKLOG 128

union place_address {
	struct sockaddr any;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
};

static const void *bytes_of(const union place_address *address)
{
	return address->any.sa_family == AF_INET6 ? (const void *)&address->six.sin6_addr
						  : (const void *)&address->four.sin_addr;
}

static bool address_is_loopback(const union place_address *address)
{
	if (address->any.sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&address->six.sin6_addr);
	return ntohl(address->four.sin_addr.s_addr) >> 24 == 127;
}

static struct error *refuse_text(const char *text)
{
	return error_create(ERROR_USAGE,
		"invalid address '%s': expected ADDRESS:PORT with a whole numeric address, "
		"like 127.0.0.1:8080, [::1]:8080 or 0.0.0.0:8080 (all, with --allow-remote)",
		text);
}

/* "[::1]:80" and "80" into their parts; the host is the caller's. */
static struct error *split_text(const char *text, char **ret_host, const char **ret_port)
{
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;
	*ret_port = colon ? colon + 1 : text;
	if (len > 2 && text[0] == '[' && text[len - 1] == ']')
		*ret_host = strndup(text + 1, len - 2);
	else if (!colon || (len == strlen("localhost") && !strncmp(text, "localhost", len)))
		*ret_host = strdup("127.0.0.1");
	else if (memchr(text, ':', len))
		return refuse_text(text);
	else
		*ret_host = strndup(text, len);
	return *ret_host ? NULL : error_no_memory();
}

/* getaddrinfo() takes more for an address: "*" and "" are loopback to it, 0 is any address. */
static bool host_is_whole(const char *host)
{
	struct in_addr four;
	return strchr(host, ':') || inet_pton(AF_INET, host, &four) == 1;
}

static struct error *parse_place(const char *text, union place_address *ret, socklen_t *ret_len)
{
	_cleanup_free_ char *host = NULL;
	const char *port;
	struct error *error = split_text(text, &host, &port);
	if (error)
		return error;
	struct addrinfo *found,
		wanted = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
	char *end;
	unsigned long number = strtoul(port, &end, 10);
	if (!host_is_whole(host) || *port < '0' || *port > '9' || *end || number > 65535 ||
		getaddrinfo(host, port, &wanted, &found))
		return refuse_text(text);
	memcpy(ret, found->ai_addr, found->ai_addrlen);
	*ret_len = found->ai_addrlen;
	freeaddrinfo(found);
	return NULL;
}

static struct error *open_socket(
	const char *text, union place_address *address, socklen_t len, int *ret_fd)
{
	static const int yes = 1;
	_cleanup_close_ int fd =
		socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
		if (address->any.sa_family == AF_INET6)
			setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes));
	}
	if (fd < 0 || bind(fd, &address->any, len) || listen(fd, BACKLOG) ||
		getsockname(fd, &address->any, &len))
		return error_errno(ERROR_ENVIRONMENT, errno, "cannot listen at %s", text);
	*ret_fd = fd;
	fd = -1;
	return NULL;
}

static bool is_any_address(const union place_address *address)
{
	return address->any.sa_family == AF_INET6
		       ? IN6_IS_ADDR_UNSPECIFIED(&address->six.sin6_addr)
		       : address->four.sin_addr.s_addr == htonl(INADDR_ANY);
}

/* Instead of any address one of this machine that others know, or if there is none, loopback. */
static void choose_address(union place_address *address)
{
	struct ifaddrs *all = NULL;
	bool six = address->any.sa_family == AF_INET6;
	if (six)
		address->six.sin6_addr = in6addr_loopback;
	else
		address->four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (getifaddrs(&all))
		return;
	for (const struct ifaddrs *one = all; one; one = one->ifa_next) {
		union place_address found;
		if (!one->ifa_addr || one->ifa_addr->sa_family != address->any.sa_family)
			continue;
		memcpy(&found, one->ifa_addr, six ? sizeof(found.six) : sizeof(found.four));
		if (address_is_loopback(&found) || (six && found.six.sin6_scope_id))
			continue;
		if (six)
			address->six.sin6_addr = found.six.sin6_addr;
		else
			address->four.sin_addr = found.four.sin_addr;
		break;
	}
	freeifaddrs(all);
}

struct error *listen_open(const char *text, bool allow_remote, struct listen_place *ret)
{
	union place_address address = {.any = {0}};
	socklen_t len = sizeof(address);
	text = text ? text : "127.0.0.1:0";
	struct error *error = parse_place(text, &address, &len);
	if (error)
		return error;
	ret->is_loopback = address_is_loopback(&address);
	if (!ret->is_loopback && !allow_remote)
		return error_create(ERROR_USAGE,
			"%s lets other machines connect, which can read all that is sent; "
			"add --allow-remote if you want that",
			text);
	error = open_socket(text, &address, len, &ret->fd);
	if (error)
		return error;
	ret->is_six = address.any.sa_family == AF_INET6;
	ret->port = ntohs(ret->is_six ? address.six.sin6_port : address.four.sin_port);
	if (is_any_address(&address))
		choose_address(&address);
	inet_ntop(address.any.sa_family, bytes_of(&address), ret->address, sizeof(ret->address));
	return NULL;
}

void socket_own_address(int fd, char ret[INET6_ADDRSTRLEN])
{
	union place_address address;
	socklen_t len = sizeof(address);
	ret[0] = '\0';
	if (getsockname(fd, &address.any, &len) == 0)
		inet_ntop(address.any.sa_family, bytes_of(&address), ret, INET6_ADDRSTRLEN);
}

static unsigned port_of(const union place_address *address)
{
	return ntohs(address->any.sa_family == AF_INET6 ? address->six.sin6_port
							: address->four.sin_port);
}

/* Whether a line of /proc/net/tcp is the other end of a connection between two ports, and its user
 * is that one. */
static bool line_is_of_user(const char *line, unsigned from, unsigned to, uid_t user)
{
	unsigned local, remote, owner;
	return sscanf(line, " %*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%x %*x %*s %*s %*s %u", &local,
		       &remote, &owner) == 3 &&
	       local == from && remote == to && owner == user;
}

bool socket_peer_is_user(int fd, uid_t user)
{
	union place_address peer, own;
	socklen_t peer_len = sizeof(peer), own_len = sizeof(own);
	if (getpeername(fd, &peer.any, &peer_len) || getsockname(fd, &own.any, &own_len) ||
		!address_is_loopback(&peer))
		return false;
	bool six = peer.any.sa_family == AF_INET6, found = false;
	FILE *table = fopen(six ? "/proc/net/tcp6" : "/proc/net/tcp", "re");
	char line[512];
	while (table && !found && fgets(line, sizeof(line), table))
		found = line_is_of_user(line, port_of(&peer), port_of(&own), user);
	if (table)
		fclose(table);
	return found;
}
