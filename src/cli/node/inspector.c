/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/node/inspector.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

#define HEAD_BYTES_MAX 16384u
#define MESSAGE_BYTES_MAX ((size_t)1 << 30)
#define CONNECT_WAIT_S 10u
#define SLICE_MS 200u

/* RFC 6455, 4.2.2: the base64 of the SHA-1 of our key and of the number of WebSockets. The key is
 * always the same, so its answer is. */
#define KEY "aGVhcHdpc2UtLWhlYXB3aQ=="
#define KEY_ANSWER "yljg6KLlWemU8LN8UdLQJrbFae8="

enum { FRAME_MORE = 0, FRAME_TEXT = 1, FRAME_CLOSE = 8, FRAME_PING = 9, FRAME_PONG = 10 };

static struct error *inspector_failed(int err, const char *what)
{
	return error_errno(ERROR_ENVIRONMENT, err, "the inspector of the process: %s", what);
}

static struct error *inspector_odd(const char *what)
{
	return error_create(ERROR_ENVIRONMENT, "the inspector of the process: %s", what);
}

static struct error *bytes_send(int fd, const void *data, size_t len)
{
	const char *at = data;
	while (len) {
		ssize_t sent = send(fd, at, len, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return inspector_failed(errno, "can't send to it");
		at += sent;
		len -= (size_t)sent;
	}
	return NULL;
}

/* A signal that the caller blocks for as long as the inspector is open has come. */
static bool is_interrupted(void)
{
	sigset_t pending;
	return !sigpending(&pending) &&
	       (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
		       sigismember(&pending, SIGHUP) == 1);
}

/* Receives some bytes, at least one. */
static struct error *bytes_some(int fd, void *data, size_t room, unsigned wait_s, size_t *ret)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};
	int ready = 0;
	for (unsigned waited_ms = 0; !ready && waited_ms < wait_s * 1000; waited_ms += SLICE_MS) {
		do {
			ready = poll(&one, 1, SLICE_MS);
		} while (ready < 0 && errno == EINTR);
		if (is_interrupted())
			return inspector_odd("was left, as a signal asked for the end");
	}
	if (!ready)
		return inspector_odd("gives no answer: the event loop of the process may be busy");
	ssize_t got = recv(fd, data, room, 0);
	if (got < 0)
		return inspector_failed(errno, "can't receive from it");
	if (!got)
		return inspector_odd("closed the connection: the process may have ended");
	*ret = (size_t)got;
	return NULL;
}

static struct error *bytes_receive(int fd, void *data, size_t len, unsigned wait_s)
{
	char *at = data;
	while (len) {
		size_t got;
		struct error *error = bytes_some(fd, at, len, wait_s, &got);
		if (error)
			return error;
		at += got;
		len -= got;
	}
	return NULL;
}

static struct error *port_connect(uint16_t port, int *ret)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return inspector_failed(errno, "no socket");
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address))) {
		int failed = errno;
		close(fd);
		return error_errno(ERROR_ENVIRONMENT, failed,
			"can't connect to the inspector at 127.0.0.1:%u", port);
	}
	*ret = fd;
	return NULL;
}

/* The head of an answer of HTTP, up to its empty line, byte by byte: what follows stays. */
static struct error *head_receive(int fd, struct text *ret)
{
	while (ret->len < 4 || strcmp(ret->data + ret->len - 4, "\r\n\r\n") != 0) {
		char c;
		if (ret->len == HEAD_BYTES_MAX)
			return inspector_odd("does not speak HTTP");
		struct error *error = bytes_receive(fd, &c, 1, CONNECT_WAIT_S);
		if (error)
			return error;
		text_add_n(ret, &c, 1);
		if (ret->failed)
			return error_no_memory();
	}
	return NULL;
}

/* What it answers to GET of a path, at most `room` - 1 bytes. */
static struct error *path_get(uint16_t port, const char *path, char *ret, size_t room)
{
	_cleanup_(text_deinit) struct text head, request;
	int fd;
	text_init(&head);
	text_init(&request);
	text_printf(&request, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\n\r\n",
		path, port);
	struct error *error = request.failed ? error_no_memory() : port_connect(port, &fd);
	if (error)
		return error;
	error = bytes_send(fd, request.data, request.len);
	if (!error)
		error = head_receive(fd, &head);
	const char *length = error ? NULL : strcasestr(head.data, "Content-Length:");
	size_t len = length ? strtoul(length + strlen("Content-Length:"), NULL, 10) : 0;
	if (!error && (!len || len >= room))
		error = inspector_odd("its answer has no length, or is too long");
	if (!error)
		error = bytes_receive(fd, ret, len, CONNECT_WAIT_S);
	close(fd);
	ret[error ? 0 : len] = '\0';
	return error;
}

struct error *inspector_prove(uint16_t port)
{
	char body[HEAD_BYTES_MAX];
	struct error *error = path_get(port, "/json/version", body, sizeof(body));
	if (error || strstr(body, "\"Browser\": \"node.js/"))
		return error;
	return inspector_odd("what listens there does not say that it is node");
}

/* The number of its target, "/0f2c936f-…", from /json/list. */
static struct error *target_find(uint16_t port, char ret[64])
{
	static const char key[] = "\"webSocketDebuggerUrl\": \"ws://";
	char body[HEAD_BYTES_MAX];
	struct error *error = path_get(port, "/json/list", body, sizeof(body));
	if (error)
		return error;
	const char *at = strstr(body, key);
	at = at ? strchr(at + strlen(key), '/') : NULL;
	if (!at || sscanf(at, "/%62[-0-9a-zA-Z]", ret) != 1)
		return inspector_odd("is no inspector of node: it lists no target");
	return NULL;
}

/* Whether a line of the head is "Sec-WebSocket-Accept:" with the answer to our key. */
static bool key_is_answered(const char *head)
{
	static const char name[] = "\r\nSec-WebSocket-Accept:";
	const char *at = strcasestr(head, name);
	if (!at)
		return false;
	at += strlen(name);
	at += strspn(at, " \t");
	return !strncmp(at, KEY_ANSWER, strlen(KEY_ANSWER)) &&
	       strchr(" \t\r", at[strlen(KEY_ANSWER)]) != NULL;
}

static struct error *socket_upgrade(int fd, uint16_t port, const char *target)
{
	_cleanup_(text_deinit) struct text request, head;
	text_init(&request);
	text_init(&head);
	text_printf(&request,
		"GET /%s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nUpgrade: websocket\r\n"
		"Connection: Upgrade\r\nSec-WebSocket-Key: " KEY "\r\n"
		"Sec-WebSocket-Version: 13\r\n\r\n",
		target, port);
	if (request.failed)
		return error_no_memory();
	struct error *error = bytes_send(fd, request.data, request.len);
	if (!error)
		error = head_receive(fd, &head);
	if (!error && strncmp(head.data, "HTTP/1.1 101", 12) != 0)
		error = inspector_odd("refuses the connection: it may have too many already");
	if (!error && !key_is_answered(head.data))
		error = inspector_odd("is no WebSocket: it does not answer the key");
	return error;
}

struct error *inspector_open(uint16_t port, struct inspector *ret)
{
	char target[64];
	*ret = (struct inspector){.fd = -1};
	struct error *error = target_find(port, target);
	if (!error)
		error = port_connect(port, &ret->fd);
	if (!error)
		error = socket_upgrade(ret->fd, port, target);
	if (error)
		inspector_close(ret);
	return error;
}

void inspector_close(struct inspector *inspector)
{
	if (inspector->fd >= 0)
		close(inspector->fd);
	inspector->fd = -1;
}

/* Frames of clients are masked: each byte is changed by one of four. */
static struct error *frame_send(int fd, unsigned kind, const char *data, size_t len)
{
	uint8_t mask[4];
	uint8_t head[8] = {(uint8_t)(0x80 | kind)};
	size_t head_len = len < 126 ? 2 : 4;
	if (len > UINT16_MAX)
		return inspector_odd("a question is too long");
	if (getrandom(mask, sizeof(mask), 0) != sizeof(mask))
		memset(mask, 0x5a, sizeof(mask));
	head[1] = (uint8_t)(0x80 | (len < 126 ? len : 126));
	if (head_len == 4) {
		head[2] = (uint8_t)(len >> 8);
		head[3] = (uint8_t)len;
	}
	memcpy(head + head_len, mask, sizeof(mask));
	_cleanup_free_ char *masked = malloc(len + 1);
	if (!masked)
		return error_no_memory();
	for (size_t i = 0; i < len; i++)
		masked[i] = (char)((uint8_t)data[i] ^ mask[i % 4]);
	struct error *error = bytes_send(fd, head, head_len + sizeof(mask));
	return error ? error : bytes_send(fd, masked, len);
}

struct frame {
	bool last;
	unsigned kind;
	uint64_t bytes;
};

static struct error *frame_head(int fd, unsigned wait_s, struct frame *ret)
{
	uint8_t head[2], length[8] = {0};
	struct error *error = bytes_receive(fd, head, sizeof(head), wait_s);
	if (error)
		return error;
	ret->last = head[0] >> 7;
	ret->kind = head[0] & 15;
	ret->bytes = head[1] & 127;
	size_t more = ret->bytes == 126 ? 2 : ret->bytes == 127 ? 8 : 0;
	if (head[1] & 128)
		return inspector_odd("sends masked frames, as no server may");
	if (!more)
		return NULL;
	error = bytes_receive(fd, length, more, wait_s);
	ret->bytes = 0;
	for (size_t i = 0; i < more; i++)
		ret->bytes = ret->bytes << 8 | length[i];
	return error;
}

static struct error *frame_body(int fd, unsigned wait_s, uint64_t bytes, struct text *ret)
{
	char buffer[65536];
	while (bytes) {
		size_t got;
		struct error *error = bytes_some(fd, buffer,
			bytes < sizeof(buffer) ? (size_t)bytes : sizeof(buffer), wait_s, &got);
		if (error)
			return error;
		text_add_n(ret, buffer, got);
		bytes -= got;
	}
	return ret->failed ? error_no_memory() : NULL;
}

/* The next whole message. */
static struct error *message_receive(int fd, unsigned wait_s, struct text *ret)
{
	bool last = false;
	text_clear(ret);
	while (!last) {
		struct frame frame;
		struct error *error = frame_head(fd, wait_s, &frame);
		if (error)
			return error;
		if (frame.bytes > MESSAGE_BYTES_MAX || ret->len + frame.bytes > MESSAGE_BYTES_MAX)
			return inspector_odd("sends a message of more than 1 GiB");
		if (frame.kind == FRAME_CLOSE)
			return inspector_odd("closed the connection");
		bool is_part = frame.kind == FRAME_TEXT || frame.kind == FRAME_MORE;
		_cleanup_(text_deinit) struct text other;
		text_init(&other);
		error = frame_body(fd, wait_s, frame.bytes, is_part ? ret : &other);
		if (!error && frame.kind == FRAME_PING)
			error = frame_send(fd, FRAME_PONG, other.data ? other.data : "", other.len);
		if (error)
			return error;
		last = is_part && frame.last;
	}
	return NULL;
}

struct error *inspector_ask(struct inspector *inspector, const char *method, const char *params,
	unsigned wait_s, inspector_event_fn *event, void *context, struct text *ret)
{
	_cleanup_(text_deinit) struct text question;
	char begin[32];
	text_init(&question);
	uint32_t number = ++inspector->asked;
	text_printf(&question, "{\"id\":%" PRIu32 ",\"method\":\"%s\",\"params\":%s}", number,
		method, params);
	if (question.failed)
		return error_no_memory();
	struct error *error = frame_send(inspector->fd, FRAME_TEXT, question.data, question.len);
	int len = snprintf(begin, sizeof(begin), "{\"id\":%" PRIu32 ",", number);
	while (!error) {
		error = message_receive(inspector->fd, wait_s, ret);
		if (error || !ret->data)
			continue;
		if (strncmp(ret->data, begin, (size_t)len) == 0)
			break;
		if (event)
			error = event(context, ret);
	}
	if (error || strncmp(ret->data + len, "\"error\"", 7) != 0)
		return error;
	_cleanup_(text_deinit) struct text shown;
	text_init(&shown);
	text_add_shown(&shown, ret->data, 200);
	return error_create(ERROR_ENVIRONMENT, "the inspector of the process: %s failed: %s",
		method, shown.data ? shown.data : "");
}
