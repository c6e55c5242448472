/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A connection and the request that it has sent last. A request goes through these phases:
 *
 *	WAITING ──headers──▶ ASKED ──answer──▶ SENDING ──sent──▶ WAITING
 *
 * It may stay long in ASKED alone, where the site computes: libmicrohttpd looks at a suspended
 * connection no more, so the server watches whether its other end is still there. A client that
 * has closed one direction looks like one that is gone, until something is sent to it.
 */
#ifndef SERVE_IMPL_EXCHANGE_H
#define SERVE_IMPL_EXCHANGE_H

#include <netinet/in.h>
#include <stdint.h>

#include "serve/impl/checks.h"
#include "serve/impl/http_library.h"
#include "serve/serve.h"

enum exchange_phase { EXCHANGE_WAITING, EXCHANGE_ASKED, EXCHANGE_SENDING };

struct serve_exchange {
	struct serve_server *server;
	struct serve_exchange *older, *newer; /* connection */
	struct MHD_Connection *connection;
	int fd; /* libmicrohttpd's */
	enum exchange_phase phase;
	int64_t since_ms;    /* monotonic: when the phase began */
	uint64_t since_turn; /* of the server */
	bool seen;           /* the headers of the request */
	bool answered;       /* a request before */
	bool is_post;
	size_t body_bytes; /* of a POST, so far */
	bool suspended, gone;
	bool closing;                  /* its socket was shut down */
	bool no_interim;               /* the client speaks HTTP/1.0 */
	bool half_closed;              /* the client sends no more, and may wait for its answer */
	struct MHD_Response *response; /* to be queued; NULL: none yet */
	unsigned status;
};

struct serve_server {
	struct serve_settings settings;
	struct serve_site site;
	struct http_library http;
	struct MHD_Daemon *daemon;
	int listen_fd, epoll_fd;
	unsigned port;
	bool is_open; /* no token is wanted */
	char token[TOKEN_LEN + 1];
	char ticket[TOKEN_LEN + 1]; /* as good as the token, once; "": used */
	int64_t opened_ms;
	char *url, *ticket_url;
	struct serve_exchange *oldest, *newest;
	size_t connections;
	bool resumed;   /* the daemon has to run before anything is waited for */
	uint64_t turns; /* of the daemon */
};

/* Milliseconds of a clock that never goes back. */
int64_t clock_ms(void);

/* Takes up a new connection. Makes room if there are too many that only wait. */
struct serve_exchange *exchange_add(
	struct serve_server *server, struct MHD_Connection *connection, int fd);
/* Removes one that has ended. */
void exchange_remove(struct serve_exchange *exchange);

void exchange_enter(struct serve_exchange *exchange, enum exchange_phase phase);

/* Closes what takes too long or has its last answer, and lets go of requests whose clients are no
 * more. */
void exchanges_sweep(struct serve_server *server);
/* Lets go of one request that has no answer: the site is told, unless `quietly`. */
void exchange_let_go(struct serve_exchange *exchange, bool quietly);

/* Has libmicrohttpd go on with a suspended one. */
void exchange_resume(struct serve_exchange *exchange);

/* Makes the response to be queued of an answer; it stays NULL if there is no memory. */
void exchange_respond(struct serve_exchange *exchange, const struct serve_answer *answer);

#endif
