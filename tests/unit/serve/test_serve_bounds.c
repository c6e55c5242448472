/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a server does beyond its bounds, with small ones: clients and the server are in one thread,
 * which ends when all connections have. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "cli/serve/serve_answers.h"
#include "lib/tap.h"
#include "serve/impl/exchange.h"
#include "serve/serve.h"

#define CLIENTS_MAX 8
/* More than the buffers of both ends hold. */
#define LARGE ((size_t)64 << 20)

struct client {
	int fd; /* -1: ended */
	bool is_deaf;
	struct buf got;
};

struct story {
	struct serve_server *server;
	struct serve_answers *answers;
	struct serve_work work; /* what each question is for; `type` NULL: a large answer */
	struct client clients[CLIENTS_MAX];
	size_t len;
	volatile sig_atomic_t stop;
};

static void answer_at_once(struct serve_exchange *exchange)
{
	serve_answer(exchange, &(struct serve_answer){.status = 200,
				       .type = "text/plain",
				       .bytes = serve_bytes_create(calloc(1, LARGE), LARGE)});
}

static void story_request(
	void *ctx, const struct serve_request *request, struct serve_exchange *exchange)
{
	struct story *story = ctx;
	(void)request;
	if (story->work.type)
		serve_answers_ask(story->answers, &story->work, exchange);
	else
		answer_at_once(exchange);
}

static void story_gone(void *ctx, struct serve_exchange *exchange)
{
	serve_answers_gone(((struct story *)ctx)->answers, exchange);
}

static size_t story_watch(void *ctx, struct pollfd *ret, size_t most, int *timeout_ms)
{
	struct story *story = ctx;
	size_t count = serve_answers_watch(story->answers, ret, most, timeout_ms);
	for (size_t i = 0; i < story->len && count < most; i++)
		if (story->clients[i].fd >= 0 && !story->clients[i].is_deaf)
			ret[count++] = (struct pollfd){story->clients[i].fd, POLLIN, 0};
	return count;
}

/* Reads what is there; at the end closes it. */
static void client_read(struct client *client)
{
	char data[4096];
	ssize_t len;
	if (client->fd < 0 || client->is_deaf)
		return;
	while ((len = recv(client->fd, data, sizeof(data), 0)) > 0)
		buf_bytes(&client->got, data, (size_t)len);
	if (len < 0 && errno == EAGAIN)
		return;
	close(client->fd);
	client->fd = -1;
}

static void story_ready(void *ctx)
{
	struct story *story = ctx;
	bool waits = false;
	serve_answers_ready(story->answers);
	for (size_t i = 0; i < story->len; i++) {
		client_read(&story->clients[i]);
		waits |= story->clients[i].fd >= 0 && !story->clients[i].is_deaf;
	}
	/* Who doesn't read doesn't see the end: the server has no connection any more. */
	story->stop = !waits && !story->server->connections;
}

static sigset_t no_signals;

static void story_open(struct story *story, const struct serve_bounds *bounds,
	const struct serve_answer_bounds *answer_bounds, const char *listen)
{
	const struct serve_settings settings = {.listen = listen,
		.allow_remote = listen != NULL,
		.policy = "",
		.stop = &story->stop,
		.wait_mask = &no_signals,
		.bounds = *bounds};
	const struct serve_site site = {.ctx = story,
		.request = story_request,
		.gone = story_gone,
		.watch = story_watch,
		.ready = story_ready};
	const struct serve_answers_settings answers = {.bounds = *answer_bounds};
	sigemptyset(&no_signals);
	*story = (struct story){.stop = 0};
	CHECK_OK(serve_answers_create(&answers, &story->answers));
	CHECK_OK(serve_open(&settings, &site, &story->server));
}

static void story_close(struct story *story)
{
	serve_close(story->server);
	serve_answers_destroy(story->answers);
	for (size_t i = 0; i < story->len; i++) {
		buf_deinit(&story->clients[i].got);
		if (story->clients[i].fd >= 0)
			close(story->clients[i].fd);
	}
}

/* A connection that asks for "/SECRET/PATH"; secret NULL: for nothing. */
static struct client *client_add(struct story *story, const char *secret, const char *path)
{
	struct client *client = &story->clients[story->len++];
	const struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_port = htons((uint16_t)story->server->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	*client = (struct client){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
	buf_init(&client->got);
	CHECK(connect(client->fd, (const struct sockaddr *)&address, sizeof(address)) == 0);
	fcntl(client->fd, F_SETFL, O_NONBLOCK);
	if (secret)
		CHECK(dprintf(client->fd,
			      "GET /%s/%s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: "
			      "close\r\n\r\n",
			      secret, path, story->server->port) > 0);
	return client;
}

static bool client_got(const struct client *client, const char *text)
{
	return client->got.len &&
	       memmem(client->got.data, client->got.len, text, strlen(text)) != NULL;
}

CASE(addresses, "of connections of one other machine those beyond the bound are closed")
{
	struct story story;
	struct serve_bounds bounds = SERVE_BOUNDS;
	bounds.connections_per_address = 2;
	/* Any address is one of other machines. */
	story_open(&story, &bounds, &SERVE_ANSWER_BOUNDS, "0.0.0.0:0");
	for (int i = 0; i < 3; i++)
		client_add(&story, story.server->token, "");
	CHECK_OK(serve_run(story.server));
	CHECK(client_got(&story.clients[0], "200 OK") && client_got(&story.clients[1], "200 OK"));
	CHECK_U64(story.clients[2].got.len, 0);
	/* Once they have ended there is room again. */
	struct client *again = client_add(&story, story.server->token, "");
	story.stop = 0;
	CHECK_OK(serve_run(story.server));
	CHECK(client_got(again, "200 OK"));
	story_close(&story);
}

CASE(tickets, "the URL for a browser works once, and not after its time")
{
	struct story story;
	struct serve_bounds bounds = SERVE_BOUNDS;
	story_open(&story, &bounds, &SERVE_ANSWER_BOUNDS, NULL);
	char ticket[TOKEN_LEN + 1];
	memcpy(ticket, story.server->ticket, sizeof(ticket));
	const struct client *first = client_add(&story, ticket, ""),
			    *second = client_add(&story, ticket, "");
	CHECK_OK(serve_run(story.server));
	CHECK(client_got(first, " 302 ") && client_got(first, story.server->token));
	CHECK(client_got(second, " 403 ") && !client_got(second, story.server->token));
	story_close(&story);
	bounds.ticket_seconds = 0;
	story_open(&story, &bounds, &SERVE_ANSWER_BOUNDS, NULL);
	const struct client *late = client_add(&story, story.server->ticket, "");
	CHECK_OK(serve_run(story.server));
	CHECK(client_got(late, " 403 ") && !client_got(late, story.server->token));
	story_close(&story);
}

CASE(slow_readers, "who doesn't read an answer is closed after its time, and who reads gets it")
{
	struct story story;
	struct serve_bounds bounds = SERVE_BOUNDS;
	bounds.answer_seconds = 1;
	story_open(&story, &bounds, &SERVE_ANSWER_BOUNDS, NULL);
	struct client *deaf = client_add(&story, story.server->token, "");
	deaf->is_deaf = true;
	CHECK_OK(serve_run(story.server));
	deaf->is_deaf = false;
	client_read(deaf);
	CHECK(client_got(deaf, "200 OK") && deaf->got.len < LARGE);
	story_close(&story);
	story_open(&story, &SERVE_BOUNDS, &SERVE_ANSWER_BOUNDS, NULL);
	const struct client *reads = client_add(&story, story.server->token, "");
	CHECK_OK(serve_run(story.server));
	CHECK(reads->got.len > LARGE);
	story_close(&story);
}

CASE(silent, "who sends no request is closed after its time")
{
	struct story story;
	struct serve_bounds bounds = SERVE_BOUNDS;
	bounds.request_seconds = 1;
	story_open(&story, &bounds, &SERVE_ANSWER_BOUNDS, NULL);
	const struct client *silent = client_add(&story, NULL, NULL);
	CHECK_OK(serve_run(story.server));
	CHECK_U64(silent->got.len, 0);
	story_close(&story);
}

/* What one question is answered with. */
static void check_answer(int (*run)(void *ctx), void *ctx,
	const struct serve_answer_bounds *answer_bounds, const char *const expected[2],
	const char *unexpected)
{
	struct story story;
	const struct serve_bounds bounds = SERVE_BOUNDS;
	story_open(&story, &bounds, answer_bounds, NULL);
	story.work = (struct serve_work){
		.key = "", .file = SIZE_MAX, .type = "text/plain", .run = run, .ctx = ctx};
	const struct client *client = client_add(&story, story.server->token, "data");
	CHECK_OK(serve_run(story.server));
	CHECK(client_got(client, expected[0]) && client_got(client, expected[1]));
	CHECK(!client_got(client, unexpected));
	story_close(&story);
}

static int write_answer(void *ctx)
{
	for (size_t i = 0; i < *(size_t *)ctx; i++)
		putchar('x');
	return 0;
}

CASE(answers, "an answer has so many bytes; of a larger one comes an error")
{
	struct serve_answer_bounds bounds = SERVE_ANSWER_BOUNDS;
	bounds.answer_bytes = 10000;
	size_t len = bounds.answer_bytes;
	check_answer(write_answer, &len, &bounds, (const char *const[]){" 200 OK", "xxx"}, "error");
	len++;
	check_answer(write_answer, &len, &bounds,
		(const char *const[]){" 500 ", "\"the answer has more than 9.77 KiB\""}, "xxx");
}

static int compute_forever(void *ctx)
{
	(void)ctx;
	pause();
	return 0;
}

CASE(computing, "an answer that takes too long is an error")
{
	struct serve_answer_bounds bounds = SERVE_ANSWER_BOUNDS;
	bounds.compute_seconds = 1;
	check_answer(compute_forever, NULL, &bounds,
		(const char *const[]){" 500 ", "the answer took more than 1 s"}, "signal");
}

static int write_messages(void *ctx)
{
	fprintf(stderr, "heapwise: %s", (const char *)ctx);
	for (int i = 0; i < 100000; i++)
		fprintf(stderr, "more");
	fprintf(stderr, "END");
	return ERROR_INPUT;
}

CASE(messages, "of long messages the beginning is said")
{
	struct serve_answer_bounds bounds = SERVE_ANSWER_BOUNDS;
	static char first[] = "first words ";
	bounds.message_bytes = strlen("heapwise: first words moremo");
	check_answer(write_messages, first, &bounds,
		(const char *const[]){" 422 ", "\"first words moremo\""}, "END");
	bounds = SERVE_ANSWER_BOUNDS;
	check_answer(write_messages, first, &bounds,
		(const char *const[]){" 422 ", "first words moremoremore"}, "END");
}

TAP_MAIN
