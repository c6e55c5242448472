/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/impl/checks.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

struct error *token_make(char ret[TOKEN_LEN + 1])
{
	uint8_t bytes[TOKEN_BYTES];
	/* So few come whole, once the kernel has any. */
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return error_errno(ERROR_ENVIRONMENT, errno, "no random numbers for a token");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	return NULL;
}

/* `text` has at least TOKEN_LEN bytes. */
static bool token_differs(const char *text, const char *token)
{
	unsigned differs = 0;
	for (size_t i = 0; i < TOKEN_LEN; i++)
		differs |= (unsigned)(unsigned char)(text[i] ^ token[i]);
	return differs;
}

bool bearer_is(const char *header, const char *token)
{
	static const char scheme[] = "Bearer ";
	return header && strncmp(header, scheme, strlen(scheme)) == 0 &&
	       strlen(header + strlen(scheme)) == TOKEN_LEN &&
	       !token_differs(header + strlen(scheme), token);
}

const char *path_after_token(const char *path, const char *token)
{
	if (strlen(path) < TOKEN_LEN + 2)
		return NULL;
	bool differs = token_differs(path + 1, token);
	return differs || path[0] != '/' || path[TOKEN_LEN + 1] != '/' ? NULL
								       : path + TOKEN_LEN + 2;
}

static bool host_matches(const char *host, const char *name, unsigned port)
{
	char whole[128];
	bool six = strchr(name, ':') != NULL;
	int len = snprintf(
		whole, sizeof(whole), "%s%s%s:%u", six ? "[" : "", name, six ? "]" : "", port);
	if (len < 0 || (size_t)len >= sizeof(whole))
		return false;
	if (strcmp(host, whole) == 0)
		return true;
	/* Browsers leave HTTP's own port out. */
	*strrchr(whole, ':') = '\0';
	return port == 80 && strcmp(host, whole) == 0;
}

bool host_is_own(const char *host, const char *address, unsigned port)
{
	return host &&
	       (host_matches(host, "localhost", port) || host_matches(host, "127.0.0.1", port) ||
		       host_matches(host, "::1", port) || host_matches(host, address, port));
}

bool origin_is_own(const char *origin, const char *host)
{
	static const char scheme[] = "http://";
	return !origin || (strncmp(origin, scheme, strlen(scheme)) == 0 &&
				  strcmp(origin + strlen(scheme), host) == 0);
}

bool fetch_site_is_own(const char *site)
{
	return !site || strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0;
}
