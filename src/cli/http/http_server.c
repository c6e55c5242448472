/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/http/http_server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "base/util.h"
#include "capture/ask.h"
#include "cli/command.h"
#include "cli/http/http_answer.h"
#include "cli/http/http_question.h"
#include "cli/serve/serve_answers.h"
#include "serve/serve.h"

#define PLAIN "text/plain; charset=utf-8"
/* Only pages of its own are shown by it, and these have a policy of their own in them. */
#define POLICY "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
#define RUNNING_MAX 16u
#define URL_BYTES 256
/* As of nice(1): a tenth of the time of a processor that others want, too. */
#define NICENESS 10
#define SYMBOL_PATH "pprof/symbol"
/* What google-pprof and jeprof want to see there first, with any number but 0. */
#define SYMBOLS_THERE "num_symbols: 1\n"
/* For a client to read the last answer, and between two looks at that. */
#define LAST_ANSWER_MS 500
#define LAST_LOOK_MS 50

/* What the launcher reports. */
struct http_subject {
	pid_t root;
	char session[HW_SESSION_BYTES];
};

/* What the server says when it listens, or can't. */
struct http_started {
	uint32_t code; /* 0, or enum error_code */
	char text[URL_BYTES * 2];
};

struct http_state {
	int link;
	struct http_subject subject; /* root 0: not news yet */
	struct serve_answers *answers;
	uint64_t asked;
	/* The collector has ended: the server ends when what was asked before is answered. */
	bool ended;
	int64_t answered_ms; /* with `ended`: when the last answer was made */
};

static volatile sig_atomic_t stopped;

/* What can be asked for. */
static const struct http_page {
	const char *path;
	enum http_kind kind;
	const char *type;
} pages[] = {
	{"", HTTP_PAGE, "text/html; charset=utf-8"},
	{"debug/pprof", HTTP_INDEX, "text/html; charset=utf-8"},
	{"debug/pprof/", HTTP_INDEX, "text/html; charset=utf-8"},
	{"debug/pprof/heap", HTTP_HEAP, "application/octet-stream"},
	{"debug/pprof/allocs", HTTP_ALLOCS, "application/octet-stream"},
	{"debug/pprof/cmdline", HTTP_COMMAND, PLAIN},
	{"pprof/heap", HTTP_ADDRESSES, PLAIN},
	{"pprof/cmdline", HTTP_COMMAND, PLAIN},
	{SYMBOL_PATH, HTTP_NAMES, PLAIN},
};

static const struct http_page *page_find(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(pages); i++) {
		if (!strcmp(pages[i].path, path))
			return &pages[i];
	}
	return NULL;
}

/* A copy of the server has all that another start of this program would have to load first. */
static int run_in_copy(void *words)
{
	char **argv = words;
	int argc = 0;
	while (argv[argc])
		argc++;
	return command_http_answer.run(&command_http_answer, argc - 1, argv + 1);
}

static void http_request(
	void *ctx, const struct serve_request *request, struct serve_exchange *exchange)
{
	struct http_state *state = ctx;
	const struct http_page *page = page_find(request->path);
	if (!page) {
		serve_answer_text(exchange, 404, PLAIN,
			"Not found. There are: /, /debug/pprof/, /debug/pprof/heap, "
			"/debug/pprof/allocs, /debug/pprof/cmdline, and for google-pprof and "
			"jeprof /pprof/heap, /pprof/symbol and /pprof/cmdline.\n");
		return;
	}
	if (page->kind == HTTP_NAMES && !request->is_post) {
		serve_answer_text(exchange, 200, PLAIN, SYMBOLS_THERE);
		return;
	}
	struct http_question question = {.kind = page->kind, .root = state->subject.root};
	snprintf(question.session, sizeof(question.session), "%s", state->subject.session);
	const char *problem = http_question_take(request, &question);
	if (problem || !state->subject.root || state->ended) {
		serve_answer_text(exchange, problem ? 400 : 503, PLAIN,
			problem        ? problem
			: state->ended ? "The program has ended.\n"
				       : "The program has not started yet.\n");
		return;
	}
	struct http_words words;
	char key[32];
	snprintf(key, sizeof(key), "%llu", (unsigned long long)state->asked++);
	http_words_make(&question, &words);
	const struct serve_work work = {.key = key,
		.file = (size_t)state->asked,
		.type = question.debug ? PLAIN : page->type,
		.words = words.data,
		.run = run_in_copy};
	serve_answers_ask(state->answers, &work, exchange);
}

static void http_gone(void *ctx, struct serve_exchange *exchange)
{
	serve_answers_gone(((struct http_state *)ctx)->answers, exchange);
}

static size_t http_watch(void *ctx, struct pollfd *ret, size_t most, int *timeout_ms)
{
	const struct http_state *state = ctx;
	*ret = (struct pollfd){.fd = state->ended ? -1 : state->link, .events = POLLIN};
	if (state->ended)
		*timeout_ms = LAST_LOOK_MS;
	return 1 + serve_answers_watch(state->answers, ret + 1, most - 1, timeout_ms);
}

static int64_t http_now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The last answers are still to be sent. */
static void http_end(struct http_state *state)
{
	bool pending = serve_answers_are_pending(state->answers);
	int64_t now = http_now_ms();
	if (pending)
		state->answered_ms = now;
	state->ended = true;
	if (!pending && now - state->answered_ms >= LAST_ANSWER_MS)
		stopped = 1;
}

static void http_ready(void *ctx)
{
	struct http_state *state = ctx;
	struct http_subject news;
	ssize_t n = recv(state->link, &news, sizeof(news), MSG_DONTWAIT);
	if (n == (ssize_t)sizeof(news))
		state->subject = news;
	else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		http_end(state);
	serve_answers_ready(state->answers);
}

static unsigned status_of(int code)
{
	return code == HTTP_EXIT_STOPPED ? 403 : code == ERROR_INPUT ? 404 : 500;
}

/* The server's life. */
static void serve_all(const char *listen, bool allow_remote, int link, int report)
{
	static const struct http_started none;
	struct http_started started = none;
	struct http_state state = {.link = link};
	struct serve_answers_settings answers = {
		.bounds = SERVE_ANSWER_BOUNDS, .plain = true, .status_of = status_of};
	answers.bounds.running = RUNNING_MAX;
	sigset_t wait_mask;
	sigprocmask(SIG_BLOCK, NULL, &wait_mask);
	const struct serve_settings settings = {.listen = listen,
		.allow_remote = allow_remote,
		.open_on_loopback = true,
		.post_path = SYMBOL_PATH,
		.policy = POLICY,
		.stop = &stopped,
		.wait_mask = &wait_mask,
		.bounds = SERVE_BOUNDS};
	const struct serve_site site = {.ctx = &state,
		.request = http_request,
		.gone = http_gone,
		.watch = http_watch,
		.ready = http_ready};
	struct serve_server *server = NULL;
	struct error *error = serve_answers_create(&answers, &state.answers);
	if (!error)
		error = serve_open(&settings, &site, &server);
	started.code = error ? (uint32_t)error->code : 0;
	snprintf(started.text, sizeof(started.text), "%s",
		error ? error->message : serve_url(server));
	(void)!write(report, &started, sizeof(started));
	close(report);
	if (!error)
		error = serve_run(server);
	serve_close(server);
	serve_answers_destroy(state.answers);
	error_destroy(error);
}

/*
 * Answers are for people and monitoring: the program, and the recorder, come first. Where the
 * kernel groups processes by session (autogroup, sched(7)), priorities count within the session
 * alone, and the session's own counts.
 */
static void server_lower_priority(void)
{
	char text[8];
	int length = snprintf(text, sizeof(text), "%d", NICENESS);
	(void)!setpriority(PRIO_PROCESS, 0, NICENESS);
	_cleanup_close_ int group = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
	if (group >= 0)
		(void)!write(group, text, (size_t)length);
}

/* Away from the terminal and from what else this process has. */
static void server_detach(int link, int report)
{
	setsid();
	server_lower_priority();
	signal(SIGPIPE, SIG_IGN);
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd < 3 && nothing >= 0; fd++)
		dup2(nothing, fd);
	int low = link < report ? link : report, high = link < report ? report : link;
	close_range(3, (unsigned)low - 1, 0);
	if (low + 1 < high)
		close_range((unsigned)low + 1, (unsigned)high - 1, 0);
	close_range((unsigned)high + 1, ~0u, 0);
}

struct error *http_server_start(const char *listen, bool allow_remote, struct http_server *ret)
{
	int ends[2], report[2];
	*ret = HTTP_SERVER_NONE;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return error_errno(ERROR_ENVIRONMENT, errno, "can't create a socket pair");
	if (pipe2(report, O_CLOEXEC)) {
		close(ends[0]);
		close(ends[1]);
		return error_errno(ERROR_ENVIRONMENT, errno, "can't create a pipe");
	}
	fflush(NULL);
	/* A child of a child: nobody has to wait for it. */
	pid_t child = fork();
	if (!child) {
		if (!fork()) {
			close(ends[0]);
			close(report[0]);
			server_detach(ends[1], report[1]);
			serve_all(listen, allow_remote, ends[1], report[1]);
		}
		_exit(0);
	}
	close(ends[1]);
	close(report[1]);
	if (child > 0)
		child_wait(child, NULL, 0);
	struct http_started started = {.code = ERROR_ENVIRONMENT, .text = "it has died"};
	(void)!read(report[0], &started, sizeof(started));
	close(report[0]);
	started.text[sizeof(started.text) - 1] = 0;
	if (!started.code) {
		ret->link = ends[0];
		ret->url = strdup(started.text);
		return ret->url ? NULL : error_no_memory();
	}
	close(ends[0]);
	return error_create((enum error_code)started.code, "--http: %s", started.text);
}

void http_server_report(void *server, pid_t root, const char *session)
{
	const struct http_server *to = server;
	struct http_subject subject = {.root = root};
	snprintf(subject.session, sizeof(subject.session), "%s", session);
	(void)!send(to->link, &subject, sizeof(subject), MSG_NOSIGNAL);
}

void http_server_deinit(struct http_server *server)
{
	if (server->link >= 0)
		close(server->link);
	free(server->url);
	*server = HTTP_SERVER_NONE;
}
