/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a request comes from the page that was handed out: it knows the token, it names this
 * machine as its host (a page of elsewhere whose name was made to stand for this address, "DNS
 * rebinding", doesn't), and no other page made the browser send it.
 */
#ifndef SERVE_IMPL_CHECKS_H
#define SERVE_IMPL_CHECKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define TOKEN_BYTES 16u
#define TOKEN_LEN (2 * (size_t)TOKEN_BYTES)

/* Makes a random token of TOKEN_LEN hexadecimal digits, with a NUL. */
struct error *token_make(char ret[TOKEN_LEN + 1]) must_check_;

/* Returns what follows "/TOKEN/" in a path; NULL: it doesn't begin so. Takes the same time wherever
 * the difference is. */
const char *path_after_token(const char *path, const char *token);

/* Returns whether an Authorization header, NULL: none, is "Bearer TOKEN". Takes the same time
 * wherever the difference is. */
bool bearer_is(const char *header, const char *token);

/*
 * Returns whether a Host header means this server: localhost or an address of loopback, or
 * `address` (as inet_ntop() writes it), at which the connection came in, with the port. `host`
 * NULL: none was sent.
 */
bool host_is_own(const char *host, const char *address, unsigned port);

/* Returns whether an Origin header, NULL: none, is the page of this host. */
bool origin_is_own(const char *origin, const char *host);

/* Returns whether Sec-Fetch-Site says that no other site made the request; NULL: it was not sent.
 */
bool fetch_site_is_own(const char *site);

#endif
