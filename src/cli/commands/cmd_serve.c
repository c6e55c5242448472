/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise serve: the page of `html` in a browser, where each range and filter is computed anew. */
#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "cli/commands/report_tree.h"
#include "cli/pages/page_options.h"
#include "cli/serve/open_browser.h"
#include "cli/serve/serve_answers.h"
#include "cli/serve/serve_files.h"
#include "cli/serve/serve_question.h"
#include "cli/terminal/message.h"
#include "cli/terminal/output.h"
#include "page/page.h"
#include "serve/serve.h"

enum {
	OPT_LISTEN = 256,
	OPT_ALLOW_REMOTE,
	OPT_OPEN,
	OPT_PAGE_LIMIT,
};

static const struct option_spec option_specs[] = {
	{OPT_OPEN, "open", NULL, "open the page in the browser (xdg-open)"},
	{OPT_LISTEN, "listen", "ADDRESS:PORT",
		"listen there (default: at 127.0.0.1 and a free port); PORT alone: at 127.0.0.1"},
	{OPT_ALLOW_REMOTE, "allow-remote", NULL,
		"let --listen be an address that other machines reach; nothing is encrypted"},
	{OPT_PAGE_LIMIT, "page-limit", "SIZE",
		"answer with at most SIZE bytes; the smallest stacks are summed up (default: 128M, "
		"the most)"},
	VIEW_SPEC_WHOLE_STACKS SYMBOL_SPECS VIEW_SPEC_ANONYMIZE{0},
};

/* What pages may ask for: options of `html` that choose what a page is of. */
static const struct option_spec asked_specs[] = {PAGE_SPECS_ASKED{0}};

struct serve_request_line {
	struct view_request checked; /* options for all answers, which are looked at once */
	struct option_words common;  /* these options as words */
	const char *listen;
	bool allow_remote, open;
};

struct serve_state {
	struct serve_files files;
	struct serve_questions questions;
	struct serve_answers *answers;
	struct serve_bytes *page;
};

static_assert(PAGE_CONTAINER_BYTES_MAX <= SERVE_ANSWER_BYTES_MAX,
	"answers are what html writes, whatever it has to sum up");

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
	stopped = number;
}

/* --- the command line ------------------------------------------------------------------------- */

/* What `html` would take, and answers can be. */
static bool limit_is_good(const struct options *options)
{
	uint64_t bytes;
	if (options_size(options->argument, &bytes) && bytes && bytes <= SERVE_ANSWER_BYTES_MAX)
		return true;
	options_wrong(options->command,
		"invalid --page-limit '%s': expected a size like 512K or 2M, 128M at most",
		options->argument);
	return false;
}

static bool cmd_serve_take(const struct options *options, int id, void *ctx)
{
	struct serve_request_line *line = ctx;
	switch (id) {
	case OPT_LISTEN:
		line->listen = options->argument;
		return true;
	case OPT_ALLOW_REMOTE:
		return line->allow_remote = true;
	case OPT_OPEN:
		return line->open = true;
	case OPT_PAGE_LIMIT:
		return limit_is_good(options) &&
		       option_words_note(&line->common, option_specs, id, options->argument);
	default:
		return view_options_take(options, id, &line->checked) &&
		       option_words_note(&line->common, option_specs, id, options->argument);
	}
}

/* --- requests --------------------------------------------------------------------------------- */

static void answer_page(struct serve_state *state, struct serve_exchange *exchange)
{
	serve_answer(exchange, &(struct serve_answer){.status = 200,
				       .type = "text/html; charset=utf-8",
				       .bytes = serve_bytes_share(state->page)});
}

static void answer_files(struct serve_state *state, struct serve_exchange *exchange)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	serve_files_write(&state->files, state->questions.compares, &text);
	if (text.failed)
		serve_answer_error(state->answers, exchange, error_no_memory());
	else
		serve_answer_text(exchange, 200, "application/json", text.data);
}

/* In a process of its own: the table of `heapwise report --json`. What can't be read is not in it.
 */
static int list_recordings(void *ctx)
{
	const struct serve_state *state = ctx;
	const struct serve_files *files = &state->files;
	const struct view_options view = {.json = true, .limit = VIEW_DEFAULT_LIMIT};
	_cleanup_free_ char **paths = calloc(files->len + 1, sizeof(*paths));
	_cleanup_free_ const char **names = calloc(files->len + 1, sizeof(*names));
	const struct report_tree_options options = {
		.view = &view, .names = names, .may_be_empty = true, .anonymize = files->anonymize};
	size_t count = 0;
	if (!paths || !names)
		return message_error(error_no_memory());
	for (size_t i = 0; i < files->len; i++) {
		if (files->data[i].is_process || !files->data[i].is_there)
			continue;
		paths[count] = files->data[i].path;
		names[count++] = serve_file_name(&files->data[i]);
	}
	return report_tree(paths, count, &options);
}

static void ask_recordings(struct serve_state *state, struct serve_exchange *exchange)
{
	const struct serve_work work = {.key = "recordings",
		.file = SIZE_MAX,
		.type = "application/json",
		.run = list_recordings,
		.ctx = state};
	serve_answers_ask(state->answers, &work, exchange);
}

static void ask_data(struct serve_state *state, const struct serve_request *request,
	struct serve_exchange *exchange)
{
	_cleanup_(serve_question_deinit) struct serve_question question;
	serve_question_init(&question);
	struct error *error = serve_question_take(
		&state->questions, request->arguments, request->argument_count, &question);
	if (!error && !word_vec_push(&question.words, NULL))
		error = error_no_memory();
	if (error) {
		serve_answer_error(state->answers, exchange, error);
		return;
	}
	const struct serve_work work = {.key = question.key.data,
		.file = question.file,
		.is_kept = !question.is_of_process,
		.type = "application/octet-stream",
		.words = question.words.data};
	serve_answers_ask(state->answers, &work, exchange);
}

static void cmd_serve_request(
	void *ctx, const struct serve_request *request, struct serve_exchange *exchange)
{
	struct serve_state *state = ctx;
	struct error *error = *request->path ? serve_files_look(&state->files) : NULL;
	if (error)
		serve_answer_error(state->answers, exchange, error);
	else if (!*request->path)
		answer_page(state, exchange);
	else if (strcmp(request->path, "files") == 0)
		answer_files(state, exchange);
	else if (strcmp(request->path, "recordings") == 0)
		ask_recordings(state, exchange);
	else if (strcmp(request->path, "data") == 0)
		ask_data(state, request, exchange);
	else
		serve_answer_text(exchange, 404, "text/plain; charset=utf-8", "Not found.\n");
}

static void cmd_serve_gone(void *ctx, struct serve_exchange *exchange)
{
	serve_answers_gone(((struct serve_state *)ctx)->answers, exchange);
}

static size_t cmd_serve_watch(void *ctx, struct pollfd *ret, size_t most, int *timeout_ms)
{
	return serve_answers_watch(((struct serve_state *)ctx)->answers, ret, most, timeout_ms);
}

static void cmd_serve_ready(void *ctx)
{
	serve_answers_ready(((struct serve_state *)ctx)->answers);
}

/* --- from beginning to end -------------------------------------------------------------------- */

/* Signals that end it come while it waits, and at no other time. */
static void take_signals(sigset_t *ret_wait_mask)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	sigset_t blocked;
	sigemptyset(&blocked);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		struct sigaction now, wanted = {.sa_handler = on_signal};
		sigaction(numbers[i], NULL, &now);
		if (now.sa_handler != SIG_IGN)
			sigaction(numbers[i], &wanted, NULL);
		sigaddset(&blocked, numbers[i]);
	}
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &blocked, ret_wait_mask);
}

static int say_url(const struct serve_server *server, bool open)
{
	struct text text;
	text_init(&text);
	text_printf(&text, "%s\n", serve_url(server));
	int code = output_text(&text);
	if (!code && open)
		browser_open(serve_ticket_url(server));
	return code;
}

static int run_server(const struct serve_request_line *line, struct serve_state *state,
	const struct page_served *page)
{
	sigset_t wait_mask;
	struct serve_server *server = NULL;
	const struct serve_settings settings = {.listen = line->listen,
		.allow_remote = line->allow_remote,
		.policy = page->policy,
		.stop = &stopped,
		.wait_mask = &wait_mask,
		.bounds = SERVE_BOUNDS};
	const struct serve_site site = {.ctx = state,
		.request = cmd_serve_request,
		.gone = cmd_serve_gone,
		.watch = cmd_serve_watch,
		.ready = cmd_serve_ready};
	take_signals(&wait_mask);
	struct error *error = serve_open(&settings, &site, &server);
	int code = error ? 0 : say_url(server, line->open);
	if (!error && !code)
		error = serve_run(server);
	serve_close(server);
	return error ? message_error(error) : code;
}

/* Names of files are in what commands say of them. */
static void show_message(void *ctx, const char *message, struct text *ret)
{
	serve_files_hide(ctx, message, ret);
}

static struct error *state_prepare(struct serve_state *state, struct page_served *page)
{
	const struct serve_answers_settings settings = {.bounds = SERVE_ANSWER_BOUNDS,
		.show_message = state->files.anonymize ? show_message : NULL,
		.ctx = &state->files};
	struct error *error = serve_answers_create(&settings, &state->answers);
	if (!error)
		error = page_served_make(page);
	if (error)
		return error;
	state->page = serve_bytes_create(steal_ptr(page->html), page->len);
	return state->page ? NULL : error_no_memory();
}

static int serve_all(const struct serve_request_line *line, struct serve_state *state)
{
	_cleanup_(page_served_deinit) struct page_served page = {.html = NULL};
	state->questions = (struct serve_questions){.files = &state->files,
		.allowed = asked_specs,
		.common = line->common.data,
		.common_count = line->common.len,
		.compares = !line->checked.query.anonymize};
	state->files.anonymize = line->checked.query.anonymize;
	struct error *error = serve_files_look(&state->files);
	if (!error)
		error = state_prepare(state, &page);
	return error ? message_error(error) : run_server(line, state, &page);
}

static int take_words(struct serve_files *files, char **words, int count)
{
	static char here[] = ".";
	struct error *error = count ? NULL : serve_files_add(files, here);
	for (int i = 0; !error && i < count; i++)
		error = serve_files_add(files, words[i]);
	return error ? message_error(error) : 0;
}

static void serve_state_deinit(struct serve_state *state)
{
	serve_answers_destroy(state->answers);
	serve_bytes_drop(state->page);
	serve_files_deinit(&state->files);
}

static int cmd_serve_run(const struct command *command, int argc, char **argv)
{
	struct serve_request_line line = {.checked = VIEW_REQUEST_DEFAULT};
	_cleanup_(serve_state_deinit) struct serve_state state = {.answers = NULL};
	struct options options = {.command = command, .argc = argc, .argv = argv};
	int code;
	if (options_each(&options, cmd_serve_take, &line, &code)) {
		code = take_words(&state.files, argv + options.operand, argc - options.operand);
		code = code ? code : serve_all(&line, &state);
	}
	option_words_free(&line.common);
	view_request_deinit(&line.checked);
	return code;
}

const struct command command_serve = {
	.name = "serve",
	.synopsis = "[FILE…|FOLDER|PID] [--open] [--listen ADDRESS:PORT] [OPTION…]",
	.what = "Serves the page to a browser here, and computes each range and filter anew.",
	.about = "Prints the URL, which has a secret in it, and serves until it is stopped "
		 "(Ctrl-C). The page is that\n"
		 "of 'heapwise html'; it chooses among the files, follows recordings that still "
		 "grow, and shows ranges\n"
		 "and filters exactly. FOLDER: its recordings (*.hpw), also those that come "
		 "later; without FILE: those\n"
		 "of the current directory. Two of them can be compared. PID: the heap of a "
		 "process, looked at anew when\n"
		 "the page asks. Nothing is written; only this machine is listened to, unless "
		 "--listen and --allow-remote\n"
		 "say otherwise.\n",
	.examples =
		"  heapwise serve --open app.hpw                in the browser\n"
		"  heapwise serve old.hpw new.hpw               two, to choose from and to "
		"compare\n"
		"  heapwise serve 4711                          the heap of a process\n"
		"  heapwise serve --listen 8080 recordings/     at a port that stays the same\n",
	.options = option_specs,
	.run = cmd_serve_run,
};
