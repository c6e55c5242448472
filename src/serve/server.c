/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The server: what is let pass, and the loop that waits for all. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "serve/impl/exchange.h"
#include "serve/impl/listen.h"
#include "serve/serve.h"

/* Looks at its connections so often while there are any. */
#define SWEEP_MS 1000
#define PLAIN "text/plain; charset=utf-8"

static const char *header_of(const struct serve_exchange *exchange, const char *name)
{
	return exchange->server->http.MHD_lookup_connection_value(
		exchange->connection, MHD_HEADER_KIND, name);
}

/* What keeps a request from being answered; status 0: nothing. */
struct refusal {
	unsigned status;
	const char *why;
};

static bool request_has_body(const struct serve_exchange *exchange)
{
	const char *length = header_of(exchange, "Content-Length");
	return header_of(exchange, "Transfer-Encoding") || (length && strcmp(length, "0") != 0);
}

/* What is asked for, below the token; NULL: the token is missing. */
static const char *path_below(const struct serve_exchange *exchange, const char *path)
{
	const struct serve_server *server = exchange->server;
	const char *below = path_after_token(path, server->token);
	if (!below && *path == '/' &&
		(server->is_open || bearer_is(header_of(exchange, "Authorization"), server->token)))
		below = path + 1;
	return below;
}

/* All users can see the command line of a browser that is started, so a ticket is this user's. */
static bool ticket_is_good(const struct serve_exchange *exchange, const char *path)
{
	const struct serve_server *server = exchange->server;
	const char *below = server->ticket[0] ? path_after_token(path, server->ticket) : NULL;
	return below && !*below &&
	       clock_ms() - server->opened_ms <
		       (int64_t)server->settings.bounds.ticket_seconds * 1000 &&
	       socket_peer_is_user(exchange->fd, geteuid());
}

/* Leads to the page, and to it alone. */
static void use_ticket(struct serve_exchange *exchange)
{
	struct serve_server *server = exchange->server;
	char place[TOKEN_LEN + 3];
	snprintf(place, sizeof(place), "/%s/", server->token);
	server->ticket[0] = '\0';
	server->http.MHD_add_response_header(exchange->response, "Location", place);
}

static bool post_is_taken(const struct serve_server *server, const char *below)
{
	const char *path = server->settings.post_path;
	return path && (!below || !strcmp(below, path));
}

static struct refusal request_check(
	const struct serve_exchange *exchange, const char *path, const char *method)
{
	const struct serve_server *server = exchange->server;
	const char *host = header_of(exchange, "Host");
	char address[INET6_ADDRSTRLEN];
	socket_own_address(exchange->fd, address);
	const char *below = path_below(exchange, path);
	if (!exchange->is_post && strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return (struct refusal){405, "Only GET and HEAD are answered.\n"};
	if (exchange->is_post && !post_is_taken(server, below))
		return (struct refusal){405, "POST is not answered here.\n"};
	if (!exchange->is_post && request_has_body(exchange))
		return (struct refusal){413, "Requests have no body.\n"};
	if (!host_is_own(host, address, server->port))
		return (struct refusal){403, "This host is not served here.\n"};
	if (!below && ticket_is_good(exchange, path))
		return (struct refusal){302, "See the page.\n"};
	if (!below)
		return (struct refusal){
			403, "The URL lacks the token that heapwise has printed.\n"};
	/* The page itself may be opened by a link; it has no data. */
	if (*below && (!origin_is_own(header_of(exchange, "Origin"), host) ||
			      !fetch_site_is_own(header_of(exchange, "Sec-Fetch-Site"))))
		return (struct refusal){403, "Other pages may not ask for this.\n"};
	return (struct refusal){0, NULL};
}

struct argument_list {
	struct serve_argument data[SERVE_ARGUMENTS_MAX];
	size_t len;
	bool wrong; /* there are too many, or one has a NUL in it */
};

static enum MHD_Result add_argument(void *ctx, enum MHD_ValueKind kind, const char *name,
	size_t name_len, const char *value, size_t value_len)
{
	struct argument_list *list = ctx;
	(void)kind;
	value = value ? value : "";
	list->wrong = list->wrong || list->len == SERVE_ARGUMENTS_MAX || strlen(name) != name_len ||
		      strlen(value) != value_len;
	if (list->wrong)
		return MHD_NO;
	list->data[list->len++] = (struct serve_argument){name, value};
	return MHD_YES;
}

static void hand_to_site(struct serve_exchange *exchange, const char *url)
{
	struct serve_server *server = exchange->server;
	struct argument_list arguments = {.len = 0};
	server->http.MHD_get_connection_values_n(
		exchange->connection, MHD_GET_ARGUMENT_KIND, add_argument, &arguments);
	if (arguments.wrong) {
		serve_answer_text(exchange, 400, PLAIN, "These arguments can't be taken.\n");
		return;
	}
	const struct serve_request request = {.path = path_below(exchange, url),
		.arguments = arguments.data,
		.argument_count = arguments.len,
		.is_post = exchange->is_post};
	server->site.request(server->site.ctx, &request, exchange);
}

static enum MHD_Result exchange_send(struct serve_exchange *exchange)
{
	struct serve_server *server = exchange->server;
	if (!exchange->response)
		return MHD_NO;
	exchange_enter(exchange, EXCHANGE_SENDING);
	enum MHD_Result done = server->http.MHD_queue_response(
		exchange->connection, exchange->status, exchange->response);
	server->http.MHD_destroy_response(exchange->response);
	exchange->response = NULL;
	return done;
}

static enum MHD_Result on_headers(
	struct serve_exchange *exchange, const char *url, const char *method)
{
	exchange->seen = true;
	exchange->is_post = strcmp(method, "POST") == 0;
	struct refusal refusal = request_check(exchange, url, method);
	if (!refusal.status)
		return MHD_YES;
	serve_answer_text(exchange, refusal.status, PLAIN, refusal.why);
	if (exchange->response && refusal.status == 302)
		use_ticket(exchange);
	if (exchange->response)
		exchange->server->http.MHD_add_response_header(
			exchange->response, "Connection", "close");
	return exchange_send(exchange);
}

static struct serve_exchange *exchange_of(
	struct serve_server *server, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = server->http.MHD_get_connection_info(
		connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	return info ? info->socket_context : NULL;
}

/* Drops a part of the body. Returns false if that is more than one may have. */
static bool body_drop(struct serve_exchange *exchange, size_t *len)
{
	exchange->body_bytes += *len;
	*len = 0;
	return exchange->is_post && exchange->body_bytes <= SERVE_BODY_BYTES_MAX;
}

/* Called when the headers are there, for each part of a body, when all of the request is, and when
 * it was resumed. */
static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url,
	const char *method, const char *version, const char *body, size_t *body_len, void **request)
{
	struct serve_exchange *exchange = exchange_of(ctx, connection);
	(void)body;
	(void)request;
	if (!exchange || exchange->gone)
		return MHD_NO;
	if (*body_len)
		return body_drop(exchange, body_len) ? MHD_YES : MHD_NO;
	if (!exchange->seen) {
		exchange->no_interim = strcmp(version, "HTTP/1.1") != 0;
		return on_headers(exchange, url, method);
	}
	if (exchange->phase == EXCHANGE_WAITING) {
		exchange_enter(exchange, EXCHANGE_ASKED);
		hand_to_site(exchange, url);
		if (!exchange->response && !exchange->gone) {
			exchange->suspended = true;
			exchange->server->http.MHD_suspend_connection(connection);
			return MHD_YES;
		}
	}
	return exchange_send(exchange);
}

static void on_completed(void *ctx, struct MHD_Connection *connection, void **request,
	enum MHD_RequestTerminationCode how)
{
	struct serve_exchange *exchange = exchange_of(ctx, connection);
	(void)request;
	(void)how;
	if (!exchange)
		return;
	exchange->seen = false;
	exchange->body_bytes = 0;
	exchange_enter(exchange, EXCHANGE_WAITING);
	exchange->answered = true;
}

static void on_connection(void *ctx, struct MHD_Connection *connection, void **socket_context,
	enum MHD_ConnectionNotificationCode what)
{
	struct serve_server *server = ctx;
	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		const union MHD_ConnectionInfo *info = server->http.MHD_get_connection_info(
			connection, MHD_CONNECTION_INFO_CONNECTION_FD);
		*socket_context = info ? exchange_add(server, connection, info->connect_fd) : NULL;
	} else if (*socket_context) {
		exchange_remove(*socket_context);
		*socket_context = NULL;
	}
}

/* What it has to say is of clients that went away. */
static void drop_log(void *ctx, const char *format, va_list args)
{
	(void)ctx;
	(void)format;
	(void)args;
}

static struct error *start_daemon(struct serve_server *server, bool is_remote)
{
	const struct serve_bounds *bounds = &server->settings.bounds;
	unsigned per_address = is_remote ? bounds->connections_per_address : SERVE_CONNECTIONS_MAX;
	server->daemon = server->http.MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL,
		on_request, server, MHD_OPTION_EXTERNAL_LOGGER, drop_log, NULL,
		MHD_OPTION_LISTEN_SOCKET, server->listen_fd, MHD_OPTION_CONNECTION_LIMIT,
		SERVE_CONNECTIONS_MAX, MHD_OPTION_PER_IP_CONNECTION_LIMIT, per_address,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, SERVE_REQUEST_BYTES_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, bounds->request_seconds,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_NOTIFY_COMPLETED,
		on_completed, server, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
	const union MHD_DaemonInfo *info =
		server->daemon
			? server->http.MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD)
			: NULL;
	if (!info)
		return error_create(ERROR_ENVIRONMENT, "libmicrohttpd cannot be started");
	server->listen_fd = -1; /* closed by the daemon */
	server->epoll_fd = info->epoll_fd;
	return NULL;
}

/* A URL with a new secret in it. */
static struct error *url_make(
	const struct listen_place *place, bool is_open, char secret[TOKEN_LEN + 1], char **ret)
{
	struct error *error = token_make(secret);
	if (error)
		return error;
	if (asprintf(ret, "http://%s%s%s:%u/%s%s", place->is_six ? "[" : "", place->address,
		    place->is_six ? "]" : "", place->port, is_open ? "" : secret,
		    is_open ? "" : "/") >= 0)
		return NULL;
	*ret = NULL;
	return error_no_memory();
}

static struct error *server_start(struct serve_server *server)
{
	struct error *error = http_library_load(&server->http);
	if (error)
		return error_prefix(error, "this needs libmicrohttpd");
	struct listen_place place;
	error = listen_open(server->settings.listen, server->settings.allow_remote, &place);
	if (error)
		return error;
	server->listen_fd = place.fd;
	server->port = place.port;
	server->opened_ms = clock_ms();
	server->is_open = server->settings.open_on_loopback && place.is_loopback;
	error = url_make(&place, server->is_open, server->token, &server->url);
	if (!error)
		error = url_make(&place, false, server->ticket, &server->ticket_url);
	return error ? error : start_daemon(server, !place.is_loopback);
}

struct error *serve_open(const struct serve_settings *settings, const struct serve_site *site,
	struct serve_server **ret)
{
	struct serve_server *server = calloc(1, sizeof(*server));
	if (!server)
		return error_no_memory();
	server->settings = *settings;
	server->site = *site;
	server->listen_fd = -1;
	struct error *error = server_start(server);
	if (error)
		serve_close(server);
	else
		*ret = server;
	return error;
}

const char *serve_url(const struct serve_server *server)
{
	return server->url;
}

const char *serve_ticket_url(const struct serve_server *server)
{
	return server->ticket_url;
}

void serve_close(struct serve_server *server)
{
	if (!server)
		return;
	for (struct serve_exchange *one = server->oldest; one; one = one->newer)
		if (one->suspended)
			exchange_let_go(one, true);
	if (server->daemon) {
		server->http.MHD_run(server->daemon);
		server->http.MHD_stop_daemon(server->daemon);
	}
	if (server->listen_fd >= 0)
		close(server->listen_fd);
	free(server->url);
	free(server->ticket_url);
	free(server);
}

/* Until something is to be done; -1: nothing will be by itself. */
static int server_timeout(struct serve_server *server)
{
	unsigned long long most;
	int timeout = server->connections ? SWEEP_MS : -1;
	if (server->resumed)
		return 0;
	if (server->http.MHD_get_timeout(server->daemon, &most) == MHD_YES &&
		(timeout < 0 || most < SWEEP_MS))
		timeout = most > SWEEP_MS ? SWEEP_MS : (int)most;
	return timeout;
}

/* The descriptors of the server, of the site, and of clients that wait for the site. */
static size_t server_watch(struct serve_server *server, struct pollfd *ret, int *timeout)
{
	size_t count = 0;
	ret[count++] = (struct pollfd){.fd = server->epoll_fd, .events = POLLIN};
	count += server->site.watch(server->site.ctx, ret + count, SERVE_WATCHED_MAX, timeout);
	for (struct serve_exchange *one = server->oldest; one; one = one->newer)
		if (one->suspended)
			ret[count++] = (struct pollfd){
				.fd = one->fd, .events = one->half_closed ? 0 : POLLRDHUP};
	return count;
}

struct error *serve_run(struct serve_server *server)
{
	struct pollfd fds[1 + SERVE_WATCHED_MAX + SERVE_CONNECTIONS_MAX];
	while (!*server->settings.stop) {
		int timeout = server_timeout(server);
		size_t count = server_watch(server, fds, &timeout);
		struct timespec time = {timeout / 1000, timeout % 1000 * 1000000L};
		if (ppoll(fds, count, timeout < 0 ? NULL : &time, server->settings.wait_mask) < 0 &&
			errno != EINTR)
			return error_errno(ERROR_INTERNAL, errno, "cannot wait for requests");
		server->resumed = false;
		server->turns++;
		if (server->http.MHD_run(server->daemon) != MHD_YES)
			return error_create(ERROR_INTERNAL, "libmicrohttpd has failed");
		server->site.ready(server->site.ctx);
		exchanges_sweep(server);
	}
	return NULL;
}
