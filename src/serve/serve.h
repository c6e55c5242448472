/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An HTTP server for one user: it listens on the loopback interface, wants a random token in each
 * URL or, from programs, as "Authorization: Bearer TOKEN", answers GET and HEAD alone (and POST at
 * one path, if a site wants that), and hands what it lets pass to a site. It knows nothing of what
 * the site answers with. One thread does all: the site must not wait in its functions, it answers
 * later instead, and names the descriptors that it waits for.
 *
 *	error = serve_open(&settings, &site, &server);
 *	…serve_url(server)…
 *	if (!error)
 *		error = serve_run(server); // until a signal
 *	serve_close(server);
 *
 * libmicrohttpd reads and writes HTTP; it is loaded by serve_open().
 */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* More connections wait until one of these ends. */
#define SERVE_CONNECTIONS_MAX 64u
/* Of these, for each address of other machines. */
#define SERVE_CONNECTIONS_PER_ADDRESS_MAX 32u
/* With so many, the one that waits longest without a request is closed for a new one. */
#define SERVE_CONNECTIONS_CROWDED_MAX 48u
/* Memory for the request line and the headers of a connection; more of them are refused. */
#define SERVE_REQUEST_BYTES_MAX ((size_t)32 << 10)
/* Of the body of a POST, which is dropped. */
#define SERVE_BODY_BYTES_MAX ((size_t)16 << 20)
/* Arguments in a URL. */
#define SERVE_ARGUMENTS_MAX 64u
/* A connection is closed that has not sent a whole request after so long… */
#define SERVE_REQUEST_SECONDS_MAX 10u
/* …or has not read its answer. */
#define SERVE_ANSWER_SECONDS_MAX 120u
/* The URL for a browser that is started works so long. */
#define SERVE_TICKET_SECONDS_MAX 60u
/* Descriptors that a site may wait for. */
#define SERVE_WATCHED_MAX 64u

struct serve_server;
/* A request that is to be answered. */
struct serve_exchange;

/* Bytes that several answers may share. */
struct serve_bytes;

/* Takes over `data`, of malloc(), also if it fails; NULL: no memory. */
struct serve_bytes *serve_bytes_create(void *data, size_t len);
/* Adds an owner. */
struct serve_bytes *serve_bytes_share(struct serve_bytes *bytes);
/* Removes one; the last one frees them. NULL: does nothing. */
void serve_bytes_drop(struct serve_bytes *bytes);
size_t serve_bytes_len(const struct serve_bytes *bytes);

struct serve_argument {
	const char *name, *value; /* decoded; "": none was given */
};

/* What is asked for; valid during the call. */
struct serve_request {
	const char *path; /* below the token: "", "data" */
	const struct serve_argument *arguments;
	size_t argument_count;
	bool is_post;
};

struct serve_answer {
	unsigned status;           /* as of HTTP: 200 */
	const char *type;          /* of its contents, with the character set */
	struct serve_bytes *bytes; /* the exchange takes over one ownership; NULL: no memory */
};

/* What answers. */
struct serve_site {
	void *ctx;
	/* Answers the request, or keeps the exchange and answers later. */
	void (*request)(
		void *ctx, const struct serve_request *request, struct serve_exchange *exchange);
	/* Who has asked went away: the exchange, which has no answer yet, is no more. */
	void (*gone)(void *ctx, struct serve_exchange *exchange);
	/* Names descriptors to wait for, at most `most`, and lowers *timeout_ms if it wants to be
	 * called earlier. Returns how many. */
	size_t (*watch)(void *ctx, struct pollfd *ret, size_t most, int *timeout_ms);
	/* Called after each wait: looks whether something is there. */
	void (*ready)(void *ctx);
};

/* How long the server waits, and for how many; for tests. */
struct serve_bounds {
	unsigned connections_per_address; /* of other machines */
	unsigned request_seconds, answer_seconds, ticket_seconds;
};
#define SERVE_BOUNDS                                                                               \
	((struct serve_bounds){                                                                    \
		.connections_per_address = SERVE_CONNECTIONS_PER_ADDRESS_MAX,                      \
		.request_seconds = SERVE_REQUEST_SECONDS_MAX,                                      \
		.answer_seconds = SERVE_ANSWER_SECONDS_MAX,                                        \
		.ticket_seconds = SERVE_TICKET_SECONDS_MAX,                                        \
	})

struct serve_settings {
	const char *listen; /* "127.0.0.1:8080", "[::1]:0", "8080"; NULL: 127.0.0.1, any port */
	bool allow_remote;  /* other addresses than those of loopback */
	/* On addresses of loopback no token is wanted: every user of this machine may ask. */
	bool open_on_loopback;
	/* The one path below the token at which POST is answered, too; its body is dropped. NULL:
	 * none. */
	const char *post_path;
	const char *policy;                /* Content-Security-Policy of all answers */
	const volatile sig_atomic_t *stop; /* not 0: serve_run() ends */
	const sigset_t *wait_mask;         /* blocked signals while it waits */
	struct serve_bounds bounds;        /* SERVE_BOUNDS */
};

/*
 * Listens, with a new token. The settings' pointers and the site must outlive the server.
 * ERROR_USAGE: `listen` is no address, or one of other machines without allow_remote.
 * ERROR_ENVIRONMENT: libmicrohttpd is not there, or the address can't be had.
 */
struct error *serve_open(const struct serve_settings *settings, const struct serve_site *site,
	struct serve_server **ret) must_check_;

/* "http://127.0.0.1:8080/TOKEN/", without the token if none is wanted; as long as the server. */
const char *serve_url(const struct serve_server *server);

/* A URL that leads to that one, once and within SERVE_TICKET_SECONDS_MAX: what starts a browser has
 * it on its command line, which others can see. As long as the server. */
const char *serve_ticket_url(const struct serve_server *server);

/* Serves until settings->stop is set. */
struct error *serve_run(struct serve_server *server) must_check_;

/* Closes all connections, without telling the site; NULL: does nothing. */
void serve_close(struct serve_server *server);

/* Answers a request; the exchange is no more. */
void serve_answer(struct serve_exchange *exchange, const struct serve_answer *answer);
/* Answers with a text, which is copied. */
void serve_answer_text(
	struct serve_exchange *exchange, unsigned status, const char *type, const char *text);

#endif
