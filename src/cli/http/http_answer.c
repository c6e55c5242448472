/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/http/http_answer.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"
#include "base/vec.h"
#include "capture/ask.h"
#include "cli/command.h"
#include "cli/options/options.h"
#include "cli/terminal/message.h"
#include "cli/terminal/output.h"

static const char *const kinds[HTTP_KINDS] = {
	"heap", "allocs", "index", "page", "command", "addresses", "names"};

/* A process that is being recorded. */
struct recorded {
	pid_t pid;
	uint64_t live_bytes, peak_bytes;
	bool is_recording; /* allocations are */
	char command[256];
};

DEFINE_VEC(recorded_vec, struct recorded)

void http_words_make(const struct http_question *question, struct http_words *ret)
{
	size_t n = 0;
	const size_t bytes = sizeof(ret->texts[0]);
	snprintf(ret->texts[n++], bytes, "heapwise");
	snprintf(ret->texts[n++], bytes, "http-answer");
	snprintf(ret->texts[n++], bytes, "%s", question->session);
	snprintf(ret->texts[n++], bytes, "%s", kinds[question->kind]);
	snprintf(ret->texts[n++], bytes, "%d", (int)question->root);
	snprintf(ret->texts[n++], bytes, "%d", (int)question->pid);
	snprintf(ret->texts[n++], bytes, "%u", question->seconds);
	snprintf(ret->texts[n++], bytes, "%d", question->debug);
	for (size_t i = 0; i < n; i++)
		ret->data[i] = ret->texts[i];
	ret->data[n] = NULL;
}

/* The lines are those of HW_ASK_PROCESSES. */
static struct error *read_recorded(const char *session, struct recorded_vec *ret)
{
	_cleanup_close_ int fd = -1;
	struct error *error = ask_for_processes(session, &fd);
	if (error)
		return error;
	_cleanup_fclose_ FILE *lines = fdopen(fd, "r");
	if (!lines)
		return error_no_memory();
	fd = -1;
	char line[512];
	while (fgets(line, sizeof(line), lines)) {
		struct recorded one = {.pid = 0};
		int pid, recording;
		if (sscanf(line, "%d %" SCNu64 " %" SCNu64 " %d %255[^\n]", &pid, &one.live_bytes,
			    &one.peak_bytes, &recording, one.command) < 4)
			continue;
		one.is_recording = recording;
		one.pid = pid;
		if (!recorded_vec_push(ret, one))
			return error_no_memory();
	}
	return NULL;
}

/* The process that is meant; NULL: there is none. */
static const struct recorded *recorded_find(
	const struct recorded_vec *all, const struct http_question *question)
{
	const struct recorded *largest = NULL;
	pid_t wanted = question->pid ? question->pid : question->root;
	for (size_t i = 0; i < all->len; i++) {
		const struct recorded *one = &all->data[i];
		if (one->pid == wanted)
			return one;
		if (!largest || one->live_bytes > largest->live_bytes)
			largest = one;
	}
	return question->pid ? NULL : largest;
}

static int answer_index(const struct recorded_vec *all, const struct http_question *question)
{
	struct text text;
	text_init(&text);
	text_add(&text, "<!doctype html><meta charset=utf-8><title>heapwise: profiles</title>\n"
			"<h1>/debug/pprof/</h1>\n<p>Recorded by heapwise. <a href=\"../../\">The "
			"live report</a></p>\n<table border=1 cellpadding=6><tr><th>process"
			"<th>live<th>peak<th>profiles\n");
	for (size_t i = 0; i < all->len; i++) {
		const struct recorded *one = &all->data[i];
		text_printf(&text, "<tr><td>%d ", (int)one->pid);
		text_add_xml(&text, one->command);
		text_add(&text, one->pid == question->root ? " (default)<td>" : "<td>");
		text_add_bytes(&text, one->live_bytes);
		text_add(&text, "<td>");
		text_add_bytes(&text, one->peak_bytes);
		text_add(&text, "<td>");
		static const struct {
			const char *link, *text;
		} links[] = {{"heap?", "live heap"}, {"allocs?", "all allocations"},
			{"heap?debug=1&amp;", "live heap as text"},
			{"heap?seconds=30&amp;", "what changes in 30 seconds"}};
		for (size_t k = 0; k < ARRAY_SIZE(links); k++)
			text_printf(&text, "%s<a href=\"%spid=%d\">%s</a>", k ? ", " : "",
				links[k].link, (int)one->pid, links[k].text);
		text_add_char(&text, '\n');
	}
	text_add(&text, "</table>\n<p>go tool pprof http://HOST:PORT/debug/pprof/heap; "
			"?seconds=N: what changed in N seconds; ?debug=1: as text.</p>\n");
	return output_text(&text);
}

static const char *format_of(const struct http_question *question)
{
	if (question->kind == HTTP_PAGE)
		return "--format=html";
	if (question->kind == HTTP_ADDRESSES)
		return "--format=gperftools-served";
	if (question->kind == HTTP_NAMES)
		return "--format=gperftools-names";
	return question->debug ? "--format=gperftools" : "--format=pprof";
}

/* As the kernel has it, without the last NUL. */
static int answer_command(pid_t pid)
{
	char path[32];
	_cleanup_free_ char *line = NULL;
	size_t bytes;
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	ssize_t n = file ? getdelim(&line, &bytes, EOF, file) : -1;
	if (n <= 0)
		return message_error(error_create(ERROR_INPUT, "process %d has ended", (int)pid));
	fwrite(line, 1, line[n - 1] ? (size_t)n : (size_t)n - 1, stdout);
	return 0;
}

/* `heapwise dump PID …`, in this process. */
static int answer_dump(pid_t pid, const struct http_question *question)
{
	char number[16], seconds[32];
	const char *words[12] = {"heapwise", "dump", number, "--quiet", "--output=-"};
	size_t n = 5;
	snprintf(number, sizeof(number), "%d", (int)pid);
	snprintf(seconds, sizeof(seconds), "--seconds=%u", question->seconds);
	words[n++] = format_of(question);
	if (!strcmp(words[n - 1], "--format=pprof"))
		words[n++] = question->kind == HTTP_ALLOCS ? "--metric=allocated_bytes"
							   : "--metric=live_bytes";
	if (question->seconds)
		words[n++] = seconds;
	return command_dump.run(&command_dump, (int)n - 1, (char **)words + 1);
}

static int answer_profile(const struct recorded *one, const struct http_question *question)
{
	if (one->is_recording)
		return answer_dump(one->pid, question);
	message("heap profiling not activated: recording of process %d is stopped; start it with "
		"'heapwise ctl %d start'",
		(int)one->pid, (int)one->pid);
	return HTTP_EXIT_STOPPED;
}

static int http_answer(const struct http_question *question)
{
	_cleanup_(recorded_vec_deinit) struct recorded_vec all;
	recorded_vec_init(&all);
	struct error *error = read_recorded(question->session, &all);
	if (error)
		return message_error(error);
	if (question->kind == HTTP_INDEX)
		return answer_index(&all, question);
	const struct recorded *one = recorded_find(&all, question);
	if (!one)
		return message_error(
			question->pid
				? error_create(ERROR_INPUT, "process %d is not being recorded here",
					  (int)question->pid)
				: error_create(
					  ERROR_INPUT, "no process is being recorded any more"));
	if (question->kind == HTTP_COMMAND)
		return answer_command(one->pid);
	return question->kind == HTTP_PAGE ? answer_dump(one->pid, question)
					   : answer_profile(one, question);
}

static int cmd_http_answer(const struct command *command, int argc, char **argv)
{
	enum http_kind kind = HTTP_HEAP;
	while (argc == 7 && kind < HTTP_KINDS && strcmp(kinds[kind], argv[2]))
		kind++;
	if (argc != 7 || kind == HTTP_KINDS)
		return options_wrong(command, "this command is started by 'heapwise run --http'");
	struct http_question question = {.kind = kind,
		.root = (pid_t)atoi(argv[3]),
		.pid = (pid_t)atoi(argv[4]),
		.seconds = (unsigned)atoi(argv[5]),
		.debug = atoi(argv[6])};
	snprintf(question.session, sizeof(question.session), "%s", argv[1]);
	return http_answer(&question);
}

const struct command command_http_answer = {
	.name = "http-answer",
	.synopsis = "SESSION KIND ROOT PID SECONDS DEBUG",
	.what = "Writes one answer of 'heapwise run --http', which starts it.",
	.hidden = true,
	.no_files = true,
	.run = cmd_http_answer,
};
