/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/collector/callers.h"

#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

bool callers_init(struct callers *callers, uint32_t max)
{
	callers->count = 0;
	callers->max = max < CALLERS_MAX ? max : CALLERS_MAX;
	callers->epoll = epoll_create1(EPOLL_CLOEXEC);
	return callers->epoll >= 0;
}

void callers_deinit(struct callers *callers)
{
	for (uint32_t i = 0; i < callers->count; i++)
		close(callers->silent[i].connection);
	callers->count = 0;
	if (callers->epoll >= 0)
		close(callers->epoll);
	callers->epoll = -1;
}

/* Takes a row out; the others keep their order. The connection stays open. */
static int row_remove(struct callers *c, uint32_t row)
{
	int connection = c->silent[row].connection;
	epoll_ctl(c->epoll, EPOLL_CTL_DEL, connection, NULL);
	c->count--;
	memmove(&c->silent[row], &c->silent[row + 1], (c->count - row) * sizeof(*c->silent));
	return connection;
}

static uint32_t rows_of(const struct callers *c, pid_t pid)
{
	uint32_t rows = 0;
	for (uint32_t i = 0; i < c->count; i++)
		rows += c->silent[i].peer.pid == pid;
	return rows;
}

/* The oldest of the process that has the most. */
static uint32_t row_to_drop(const struct callers *c)
{
	uint32_t row = 0, most = 0;
	for (uint32_t i = 0; i < c->count; i++) {
		uint32_t rows = rows_of(c, c->silent[i].peer.pid);
		if (rows > most) {
			most = rows;
			row = i;
		}
	}
	return row;
}

void callers_add(struct callers *callers, int connection, const struct ucred *peer, uint64_t now_ns)
{
	struct callers *c = callers;
	if (c->count && c->count >= c->max)
		close(row_remove(c, row_to_drop(c)));
	struct epoll_event event = {.events = EPOLLIN, .data.fd = connection};
	if (c->count >= c->max || epoll_ctl(c->epoll, EPOLL_CTL_ADD, connection, &event)) {
		close(connection);
		return;
	}
	c->silent[c->count++] = (struct caller_silent){connection, *peer, now_ns};
}

int callers_next(struct callers *callers, struct ucred *ret_peer)
{
	struct epoll_event event;
	if (!callers->count || epoll_wait(callers->epoll, &event, 1, 0) != 1)
		return -1;
	for (uint32_t i = 0; i < callers->count; i++) {
		if (callers->silent[i].connection == event.data.fd) {
			*ret_peer = callers->silent[i].peer;
			return row_remove(callers, i);
		}
	}
	return -1;
}

void callers_expire(struct callers *callers, uint64_t now_ns)
{
	while (callers->count && now_ns - callers->silent[0].since_ns > CALLERS_SILENT_NS)
		close(row_remove(callers, 0));
}
