/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * V8's inspector protocol over a WebSocket (RFC 6455) on loopback: as much of it as profiles and
 * snapshots need. One question at a time; answers may be of any size and come in pieces.
 */
#ifndef CLI_INSPECTOR_H
#define CLI_INSPECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

struct inspector {
	int fd;
	uint32_t asked; /* the number of the last question */
};

/* Asks what listens at 127.0.0.1:port for its version, by HTTP; ERROR_ENVIRONMENT: it does not say
 * that it is node. */
struct error *inspector_prove(uint16_t port) must_check_;

/* Connects to the only target of the inspector at 127.0.0.1:port. */
struct error *inspector_open(uint16_t port, struct inspector *ret) must_check_;
void inspector_close(struct inspector *inspector);

/* Takes the text of an event, a whole JSON document, that comes before an answer. */
typedef struct error *inspector_event_fn(void *context, const struct text *event);

/* Asks for `method` with `params` (JSON) and waits for the answer, {"id":…,"result":…}, at most
 * `wait_s` seconds for each piece. SIGINT, SIGTERM and SIGHUP end the wait if the caller blocks
 * them. `event` NULL: events are passed over. */
struct error *inspector_ask(struct inspector *inspector, const char *method, const char *params,
	unsigned wait_s, inspector_event_fn *event, void *context, struct text *ret) must_check_;

#endif
