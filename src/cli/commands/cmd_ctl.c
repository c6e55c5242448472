/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heapwise ctl: stops and starts the recording of a running process, changes its mode, and shows
 * its state. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/number.h"
#include "base/path.h"
#include "base/text.h"
#include "base/util.h"
#include "capture/ask.h"
#include "cli/attach/attach_go.h"
#include "cli/options/options.h"
#include "cli/terminal/message.h"
#include "cli/terminal/output.h"

#define CTL_SCHEMA "heapwise.ctl/1"
#define SAMPLE "sample"
#define SAMPLE_BYTES_USUAL "524288"

enum { OPT_CTL_JSON = 256 };

static const struct option_spec option_specs[] = {
	{OPT_CTL_JSON, "json", NULL, "of status: write JSON, schema " CTL_SCHEMA}, {0}};

enum action { CTL_START, CTL_STOP, CTL_RESET, CTL_MARK, CTL_MODE, CTL_STATUS };

static const struct {
	const char *name, *operand, *done;
	enum hw_request_what what;
} actions[] = {
	[CTL_START] = {"start", NULL, "allocations are recorded", HW_ASK_START},
	[CTL_STOP] = {"stop", NULL, "allocations are no longer recorded", HW_ASK_STOP},
	[CTL_RESET] = {"reset", NULL, "counts of calls in dumps begin anew", HW_ASK_RESET},
	[CTL_MARK] = {"mark", "a name for the mark", "marked", HW_ASK_MARK},
	[CTL_MODE] = {"mode", "exact, aggregate or sample[:BYTES]", "its mode is that already",
		HW_ASK_MODE},
	[CTL_STATUS] = {"status", NULL, NULL, HW_ASK_STATUS},
};

/* The figures of HW_ASK_STATUS, in the order in which they are shown. */
static const struct figure {
	const char *key, *title;
	enum { FIGURE_COUNT, FIGURE_BYTES, FIGURE_TIME, FIGURE_WORD, FIGURE_FLAG } form;
	bool is_optional; /* in text: not if it is 0 */
	bool is_estimate; /* of a sample */
} figures[] = {
	{"recording", "recording", FIGURE_FLAG, false, false},
	{"mode", "mode", FIGURE_WORD, false, false},
	{"sample_bytes", "one block per", FIGURE_BYTES, true, false},
	{"since_ns", "in that state after", FIGURE_TIME, true, false},
	{"elapsed_ns", "recorded for", FIGURE_TIME, false, false},
	{"stops", "stopped, times", FIGURE_COUNT, true, false},
	{"stopped_ns", "stopped for", FIGURE_TIME, true, false},
	{"events", "events", FIGURE_COUNT, false, false},
	{"lost_events", "events lost", FIGURE_COUNT, false, false},
	{"allocated_bytes", "allocated", FIGURE_BYTES, false, true},
	{"freed_bytes", "freed", FIGURE_BYTES, false, true},
	{"live_bytes", "live", FIGURE_BYTES, false, true},
	{"live_blocks", "live blocks recorded", FIGURE_COUNT, false, false},
	{"peak_bytes", "peak", FIGURE_BYTES, false, true},
	{"dumps", "dumps written", FIGURE_COUNT, false, false},
	{"failed_dumps", "dumps that failed", FIGURE_COUNT, true, false},
	{"resets", "resets", FIGURE_COUNT, true, false},
};

struct ctl_request {
	pid_t pid;
	enum action action;
	const char *word;
	bool json;
};

/* The value of a key in lines KEY=VALUE; "" if it is not there. */
static void find_value(const char *lines, const char *key, char ret[static 32])
{
	size_t length = strlen(key);
	*ret = 0;
	for (const char *line = lines; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, length) && line[length] == '=')
			snprintf(ret, 32, "%.*s", (int)strcspn(line + length + 1, "\n"),
				line + length + 1);
	}
}

static void add_figure(struct text *text, const struct figure *figure, const char *value)
{
	uint64_t number = strtoull(value, NULL, 10);
	if (figure->form == FIGURE_BYTES)
		text_add_bytes(text, number);
	else if (figure->form == FIGURE_TIME)
		text_add_duration_ns(text, number);
	else if (figure->form == FIGURE_COUNT)
		text_add_count(text, number);
	else
		text_add(text, figure->form == FIGURE_WORD ? value
			       : number                    ? "yes"
							   : "no: stopped");
}

static int show_text(const struct hw_reply *reply)
{
	_cleanup_(text_deinit) struct text text;
	char value[32], mode[32];
	text_init(&text);
	find_value(reply->message, "mode", mode);
	for (size_t i = 0; i < ARRAY_SIZE(figures); i++) {
		find_value(reply->message, figures[i].key, value);
		if (!*value || (figures[i].is_optional && !strcmp(value, "0")))
			continue;
		text_printf(&text, "%-22s", figures[i].title);
		if (figures[i].is_estimate && !strcmp(mode, SAMPLE))
			text_add(&text, "about ");
		add_figure(&text, &figures[i], value);
		text_add(&text, "\n");
	}
	text_printf(&text, "%-22s", "file");
	text_add_shown(&text, reply->file, sizeof(reply->file));
	text_add(&text, "\n");
	return output_text(&text);
}

static void put_figure(struct json *json, const struct figure *figure, const char *value)
{
	json_key(json, figure->key);
	if (!*value)
		json_null(json);
	else if (figure->form == FIGURE_WORD)
		json_string(json, value);
	else if (figure->form == FIGURE_FLAG)
		json_bool(json, strcmp(value, "0") != 0);
	else
		json_u64(json, strtoull(value, NULL, 10));
}

static int show_json(const struct ctl_request *request, const struct hw_reply *reply)
{
	_cleanup_free_ struct json *json = malloc(sizeof(*json));
	if (!json)
		return message_error(error_no_memory());
	struct output output;
	struct sink sink = output_sink(&output);
	char value[32];
	json_init(json, sink.write, sink.ctx);
	json_object_begin(json);
	json_key(json, "schema");
	json_string(json, CTL_SCHEMA);
	json_key(json, "pid");
	json_u64(json, (uint64_t)request->pid);
	json_key(json, "file");
	json_string(json, reply->file);
	for (size_t i = 0; i < ARRAY_SIZE(figures); i++) {
		find_value(reply->message, figures[i].key, value);
		put_figure(json, &figures[i], value);
	}
	json_object_end(json);
	json_finish(json);
	return output_end(&output);
}

/* What the collector compares with its own mode: with the distance of samples. NULL: no memory, or
 * *ret_wrong. */
static char *whole_mode(const char *word, bool *ret_wrong)
{
	uint64_t bytes;
	char *ret = NULL;
	*ret_wrong = false;
	if (!strcmp(word, "exact") || !strcmp(word, "aggregate"))
		return strdup(word);
	if (!strcmp(word, SAMPLE))
		return strdup(SAMPLE ":" SAMPLE_BYTES_USUAL);
	*ret_wrong = strncmp(word, SAMPLE ":", strlen(SAMPLE ":")) != 0 ||
		     !options_size(word + strlen(SAMPLE ":"), &bytes) || !bytes ||
		     bytes > HW_SAMPLE_BYTES_MAX;
	return *ret_wrong || asprintf(&ret, SAMPLE ":%" PRIu64, bytes) < 0 ? NULL : ret;
}

/* Returns -1, or the exit status of a wrong use. */
static int check_words(
	const struct command *command, char **words, int count, struct ctl_request *ret)
{
	uint64_t pid;
	size_t i = 0;
	if (count < 2)
		return options_wrong(command, "expected a PID, then start, stop, reset, mark, mode "
					      "or status");
	if (!number_whole(words[0], &pid) || pid > INT_MAX)
		return options_wrong(command, "'%s' is not a PID", words[0]);
	while (i < ARRAY_SIZE(actions) && strcmp(actions[i].name, words[1]) != 0)
		i++;
	if (i == ARRAY_SIZE(actions))
		return options_wrong(command,
			"unknown '%s': expected start, stop, reset, mark, mode or status",
			words[1]);
	if (actions[i].operand && count != 3)
		return options_wrong(
			command, "expected %s after '%s'", actions[i].operand, words[1]);
	if (!actions[i].operand && count != 2)
		return options_wrong(command, "unexpected '%s' after '%s'", words[2], words[1]);
	ret->pid = (pid_t)pid;
	ret->action = (enum action)i;
	ret->word = count == 3 ? words[2] : "";
	const char *problem = i == CTL_MARK ? ask_mark_problem(ret->word) : NULL;
	if (problem)
		return options_wrong(command, "%s", problem);
	if (ret->json && i != CTL_STATUS)
		return options_wrong(command, "--json is for 'status'");
	return -1;
}

static int cmd_ctl_done(const struct ctl_request *request, const struct hw_reply *reply)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_printf(
		&text, "process %d: %s, after ", (int)request->pid, actions[request->action].done);
	text_add_duration_ns(&text, reply->time_ns);
	if (text.failed)
		return message_error(error_no_memory());
	message("%s", text.data);
	return 0;
}

/* Both recordings by name, to be read by people and scripts. */
static int show_change(const struct ctl_request *request, const struct hw_reply *reply)
{
	_cleanup_free_ char *before = NULL;
	int folder = (int)(path_last_part(reply->file) - reply->file);
	if (asprintf(&before, "%.*s%s", folder, reply->file, reply->message) < 0) {
		before = NULL;
		return message_error(error_no_memory());
	}
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_printf(&text, "process %d: its mode is %s; the recording before is complete and has ",
		(int)request->pid, request->word);
	text_add_duration_ns(&text, reply->time_ns);
	text_add(&text, " of it\nbefore  ");
	text_add_shown(&text, before, SIZE_MAX);
	text_add(&text, "\nnow     ");
	text_add_shown(&text, reply->file, SIZE_MAX);
	text_add(&text, "\n");
	return output_text(&text);
}

static int cmd_ctl_run(const struct command *command, int argc, char **argv)
{
	struct options options = {.command = command, .argc = argc, .argv = argv};
	struct ctl_request request = {.json = false};
	int id;
	while ((id = options_next(&options)) > 0)
		request.json |= id == OPT_CTL_JSON;
	if (id < 0)
		return options.exit_code;
	int code = check_words(command, argv + options.operand, argc - options.operand, &request);
	if (code >= 0)
		return code;
	bool is_wrong = false;
	_cleanup_free_ char *mode =
		request.action == CTL_MODE ? whole_mode(request.word, &is_wrong) : NULL;
	if (is_wrong)
		return options_wrong(command,
			"invalid mode '%s': expected exact, aggregate or sample[:BYTES] (1 to 64G)",
			request.word);
	struct hw_reply reply;
	struct error *error = ask_for(
		request.pid, actions[request.action].what, mode ? mode : request.word, &reply);
	if (error)
		return message_error(attach_go_explain(request.pid, error));
	if (request.action == CTL_MODE && *reply.message)
		return show_change(&request, &reply);
	if (request.action != CTL_STATUS)
		return cmd_ctl_done(&request, &reply);
	return request.json ? show_json(&request, &reply) : show_text(&reply);
}

const struct command command_ctl = {
	.name = "ctl",
	.synopsis = "PID start|stop|reset|mark NAME|mode MODE|status [--json]",
	.what = "Stops and starts the recording of a running process, changes its mode, or shows "
		"how it stands.",
	.about = "stop: allocations are not recorded any more, and cost little; frees of recorded "
		 "blocks still are.\n"
		 "start: they are recorded again. reset: counts of calls in dumps begin anew; what "
		 "is "
		 "live stays. mark:\n"
		 "as 'heapwise mark'. mode: the recording is completed, and another one goes on in "
		 "that mode, beside it:\n"
		 "NAME.2.hpw. It begins without live blocks. The answer has both names, or says "
		 "why it "
		 "is refused. Reports\n"
		 "say for how long a recording was stopped.\n",
	.examples = "  heapwise ctl 4711 status\n"
		    "  heapwise ctl 4711 stop; sleep 60; heapwise ctl 4711 start\n"
		    "  heapwise ctl 4711 mode sample:512K\n",
	.options = option_specs,
	.no_files = true,
	.run = cmd_ctl_run,
};
