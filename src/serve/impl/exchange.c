/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/impl/exchange.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

/* Turns of libmicrohttpd after which it has nothing left to read in its buffer. */
#define IDLE_TURNS 3

struct serve_bytes {
	void *data;
	size_t len;
	unsigned owners;
};

struct serve_bytes *serve_bytes_create(void *data, size_t len)
{
	struct serve_bytes *bytes = data ? malloc(sizeof(*bytes)) : NULL;
	if (bytes)
		*bytes = (struct serve_bytes){.data = data, .len = len, .owners = 1};
	else
		free(data);
	return bytes;
}

struct serve_bytes *serve_bytes_share(struct serve_bytes *bytes)
{
	bytes->owners++;
	return bytes;
}

void serve_bytes_drop(struct serve_bytes *bytes)
{
	if (!bytes || --bytes->owners)
		return;
	free(bytes->data);
	free(bytes);
}

size_t serve_bytes_len(const struct serve_bytes *bytes)
{
	return bytes->len;
}

int64_t clock_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void exchange_enter(struct serve_exchange *exchange, enum exchange_phase phase)
{
	exchange->phase = phase;
	exchange->since_ms = clock_ms();
	exchange->since_turn = exchange->server->turns;
}

/* libmicrohttpd sees the end of the connection, and closes it. */
static void exchange_shut(struct serve_exchange *exchange)
{
	exchange->closing = true;
	shutdown(exchange->fd, SHUT_RDWR);
}

/* Of those that only wait, the one that does so longest makes room: who opens connections and sends
 * nothing must not keep others out. */
static void exchanges_make_room(struct serve_server *server)
{
	struct serve_exchange *longest = NULL;
	if (server->connections < SERVE_CONNECTIONS_CROWDED_MAX)
		return;
	for (struct serve_exchange *one = server->oldest; one; one = one->newer)
		if (one->phase == EXCHANGE_WAITING && !one->closing &&
			(!longest || one->since_ms < longest->since_ms))
			longest = one;
	if (longest)
		exchange_shut(longest);
}

struct serve_exchange *exchange_add(
	struct serve_server *server, struct MHD_Connection *connection, int fd)
{
	struct serve_exchange *made = calloc(1, sizeof(*made));
	exchanges_make_room(server);
	if (!made)
		return NULL;
	made->server = server;
	made->connection = connection;
	made->fd = fd;
	made->older = server->newest;
	if (server->newest)
		server->newest->newer = made;
	else
		server->oldest = made;
	server->newest = made;
	server->connections++;
	exchange_enter(made, EXCHANGE_WAITING);
	return made;
}

void exchange_remove(struct serve_exchange *exchange)
{
	struct serve_server *server = exchange->server;
	if (exchange->older)
		exchange->older->newer = exchange->newer;
	else
		server->oldest = exchange->newer;
	if (exchange->newer)
		exchange->newer->older = exchange->older;
	else
		server->newest = exchange->older;
	server->connections--;
	if (exchange->response)
		server->http.MHD_destroy_response(exchange->response);
	free(exchange);
}

void exchange_resume(struct serve_exchange *exchange)
{
	if (!exchange->suspended)
		return;
	exchange->suspended = false;
	exchange->server->resumed = true;
	exchange->server->http.MHD_resume_connection(exchange->connection);
}

void exchange_let_go(struct serve_exchange *exchange, bool quietly)
{
	struct serve_server *server = exchange->server;
	exchange->gone = true;
	if (!quietly)
		server->site.gone(server->site.ctx, exchange);
	exchange_resume(exchange);
}

/* Sends what every client of HTTP/1.1 skips: the kernel of one that is gone refuses it, and the
 * connection has failed when it is looked at next. Returns whether that could be sent. */
static bool ask_other_end(const struct serve_exchange *exchange)
{
	static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\n";
	size_t len = strlen(interim);
	return exchange->no_interim ||
	       send(exchange->fd, interim, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len;
}

static bool other_end_left(struct serve_exchange *exchange)
{
	struct pollfd look = {.fd = exchange->fd, .events = POLLRDHUP};
	if (poll(&look, 1, 0) <= 0)
		return false;
	if (look.revents & (POLLERR | POLLHUP))
		return true;
	bool asks = !exchange->half_closed;
	exchange->half_closed = true;
	return asks && !ask_other_end(exchange);
}

/* Whether it has its answers and nothing can come any more: libmicrohttpd doesn't see the end of a
 * connection of which it has read the last byte. Requests may still be in its buffer, of which it
 * takes up one a turn, so it gets turns in which nothing comes. */
static bool exchange_has_ended(const struct serve_exchange *exchange)
{
	struct serve_server *server = exchange->server;
	char next;
	if (exchange->phase != EXCHANGE_WAITING || !exchange->answered || exchange->seen ||
		recv(exchange->fd, &next, 1, MSG_PEEK | MSG_DONTWAIT) != 0)
		return false;
	bool idle = server->turns - exchange->since_turn >= IDLE_TURNS;
	server->resumed = server->resumed || !idle;
	return idle;
}

void exchanges_sweep(struct serve_server *server)
{
	const int64_t most_ms[] = {
		[EXCHANGE_WAITING] = (int64_t)server->settings.bounds.request_seconds * 1000,
		[EXCHANGE_ASKED] = INT64_MAX,
		[EXCHANGE_SENDING] = (int64_t)server->settings.bounds.answer_seconds * 1000,
	};
	int64_t now = clock_ms();
	for (struct serve_exchange *one = server->oldest; one; one = one->newer) {
		if (one->suspended && other_end_left(one))
			exchange_let_go(one, false);
		else if (!one->closing &&
			 (now - one->since_ms > most_ms[one->phase] || exchange_has_ended(one)))
			exchange_shut(one);
	}
}

static void response_add_headers(
	const struct serve_server *server, const char *type, struct MHD_Response *response)
{
	const struct {
		const char *name, *value;
	} headers[] = {
		{"Content-Type", type},
		{"Content-Security-Policy", server->settings.policy},
		{"Cache-Control", "no-store"},
		{"Referrer-Policy", "no-referrer"},
		{"X-Content-Type-Options", "nosniff"},
		{"X-Frame-Options", "DENY"},
		{"Cross-Origin-Resource-Policy", "same-origin"},
		{"Cross-Origin-Opener-Policy", "same-origin"},
	};
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		server->http.MHD_add_response_header(response, headers[i].name, headers[i].value);
}

static void bytes_unused(void *cls)
{
	serve_bytes_drop(cls);
}

void exchange_respond(struct serve_exchange *exchange, const struct serve_answer *answer)
{
	struct serve_server *server = exchange->server;
	struct serve_bytes *bytes = answer->bytes;
	exchange->status = answer->status;
	if (!bytes)
		return;
	exchange->response = server->http.MHD_create_response_from_buffer_with_free_callback_cls(
		bytes->len, bytes->data, bytes_unused, bytes);
	if (exchange->response)
		response_add_headers(server, answer->type, exchange->response);
	else
		serve_bytes_drop(bytes);
}

void serve_answer(struct serve_exchange *exchange, const struct serve_answer *answer)
{
	exchange_respond(exchange, answer);
	/* Without memory for the answer the connection ends. */
	exchange->gone = !exchange->response;
	exchange_resume(exchange);
}

void serve_answer_text(
	struct serve_exchange *exchange, unsigned status, const char *type, const char *text)
{
	char *copy = strdup(text);
	serve_answer(exchange, &(struct serve_answer){.status = status,
				       .type = type,
				       .bytes = serve_bytes_create(copy, strlen(text))});
}
