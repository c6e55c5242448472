/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The HTTP server of `run --http`: profiles of the recorded processes at the URLs of Go's
 * net/http/pprof, which pprof, Parca and Pyroscope ask. It is a process beside the collector, which
 * ends with it: neither the program nor the collector ever waits for a client. Each answer is made
 * by a process of its own (http_answer.h).
 */
#ifndef CLI_HTTP_SERVER_H
#define CLI_HTTP_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct http_server {
	int link; /* to the process; it ends when all copies of this descriptor are closed */
	char *url;
};

/* A server that was not started. */
#define HTTP_SERVER_NONE ((struct http_server){.link = -1})

/*
 * Starts the server, which listens when this returns. `listen` is as of `heapwise serve`; addresses
 * that other machines reach need `allow_remote`, and have a token in the URL. Errors are those of
 * serve_open().
 */
struct error *http_server_start(
	const char *listen, bool allow_remote, struct http_server *ret) must_check_;

/* Reports to the server what it is about. `session` is the path of the collector's socket. For
 * struct launch_options: `server` is a struct http_server. */
void http_server_report(void *server, pid_t root, const char *session);

/* Closes this process's end and frees the URL. */
void http_server_deinit(struct http_server *server);

#endif
