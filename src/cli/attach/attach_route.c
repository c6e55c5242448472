/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/attach/attach_route.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"
#include "cli/command.h"
#include "cli/terminal/message.h"
#include "cli/terminal/output.h"
#include "cli/watch/watch_record.h"

#define NS_PER_SECOND 1000000000ull
/* As `watch` has it. */
#define GROWTH_INTERVAL_S 5u

bool attach_route_parse(const char *word, enum attach_route *ret)
{
	static const char *const names[] = {[ATTACH_ROUTE_AUTO] = "auto",
		[ATTACH_ROUTE_INJECT] = "inject",
		[ATTACH_ROUTE_EBPF] = "ebpf",
		[ATTACH_ROUTE_GO] = "go",
		[ATTACH_ROUTE_GROWTH] = "growth",
		[ATTACH_ROUTE_PROCFS] = "procfs"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(word, names[i]) != 0)
			continue;
		*ret = (enum attach_route)i;
		return true;
	}
	return false;
}

const char *attach_route_lacks(const struct attach_route_request *request)
{
	if (request->attach->before == ATTACH_BEFORE_SNAPSHOT)
		return "--before=snapshot: probes do not look into the process";
	if (request->attach->launch->mode.seed)
		return "--seed: the kernel draws the samples";
	return NULL;
}

static struct watch_record record_plan(const struct attach_route_request *request)
{
	const struct attach_options *attach = request->attach;
	const struct mode *mode = &attach->launch->mode;
	return (struct watch_record){
		.recording = {.pid = attach->pid,
			.mode = {.kind = mode->kind, .sample_bytes = mode->sample_bytes},
			.file = attach->launch->file,
			.overwrite = attach->launch->overwrite},
		.for_ns = attach->for_ns,
		.quiet = request->quiet};
}

/* Neither route is possible: what is said first is why the better one is not. */
static int refusals_say(struct error *refused, struct error *error)
{
	bool is_other = strcmp(refused->message, error->message) != 0;
	int code = message_error(refused);
	if (is_other)
		message("nor by probes in the kernel (--route=ebpf): %s", error->message);
	error_destroy(error);
	return code;
}

int attach_route_probe(const struct attach_route_request *request, struct error *refused)
{
	struct watch_record record = record_plan(request);
	struct error *error = NULL;
	record.why = refused ? refused->message : NULL;
	int code = watch_record_run(&record, &error);
	if (error && refused)
		return refusals_say(refused, error);
	error_destroy(refused);
	return error ? message_error(error) : code;
}

int attach_route_probe_outlook(const struct attach_route_request *request, struct error *refused)
{
	const struct watch_options options = {.pid = request->attach->pid, .is_dry = true};
	_cleanup_(watch_cleanup) struct watch *watch = NULL;
	_cleanup_(text_deinit) struct text text;
	size_t functions, files;
	text_init(&text);
	struct error *error = watch_open(&options, &watch);
	if (error && refused)
		return refusals_say(refused, error);
	if (error)
		return message_error(error);
	watch_probes(watch, &functions, &files);
	text_printf(&text, "process        %d\nroute          ebpf: probes in the kernel (%s)",
		(int)request->attach->pid, watch_way_name(watch));
	text_add(&text, ", nothing in the process is changed\nprobes         ");
	text_add_counted(&text, functions, "function", "functions");
	text_add(&text, " in ");
	text_add_counted(&text, files, "file", "files");
	text_add(&text, "\nbefore         what it has allocated so far is not listed\n");
	if (refused)
		text_printf(&text, "not inject     %s\n", refused->message);
	error_destroy(refused);
	return text.failed ? message_error(error_no_memory()) : output_text(&text);
}

#define ROUTE_WORDS 5
#define WORD_BYTES 32

/* A command line of another command. */
struct route_words {
	char text[ROUTE_WORDS][WORD_BYTES];
	char *words[ROUTE_WORDS + 1];
	int count;
};

static void word_add(struct route_words *line, const char *word)
{
	char *place = line->text[line->count];
	snprintf(place, WORD_BYTES, "%s", word);
	line->words[line->count++] = place;
}

static void number_add(struct route_words *line, const char *before, uint64_t number)
{
	char word[WORD_BYTES];
	snprintf(word, sizeof(word), "%s%" PRIu64, before, number);
	word_add(line, word);
}

/* `watch --growth` ends after COUNT intervals. */
static void growth_words_add(struct route_words *line, uint64_t for_ns)
{
	uint64_t seconds = (for_ns + NS_PER_SECOND - 1) / NS_PER_SECOND;
	uint64_t interval = seconds % GROWTH_INTERVAL_S ? 1 : GROWTH_INTERVAL_S;
	word_add(line, "--growth");
	if (!seconds)
		return;
	number_add(line, "", interval);
	number_add(line, "", seconds / interval);
}

static void procfs_words_add(struct route_words *line, const char *for_time)
{
	char word[WORD_BYTES];
	word_add(line, "--every=1s");
	snprintf(word, sizeof(word), "--for=%s", for_time ? for_time : "");
	if (for_time)
		word_add(line, word);
}

int attach_route_hand_over(const struct attach_route_request *request, enum attach_route route)
{
	bool is_growth = route == ATTACH_ROUTE_GROWTH;
	const struct command *command = is_growth ? &command_watch : &command_maps;
	struct route_words line = {.count = 0};
	word_add(&line, command->name);
	number_add(&line, "", (uint64_t)request->attach->pid);
	if (is_growth)
		growth_words_add(&line, request->attach->for_ns);
	else
		procfs_words_add(&line, request->for_time);
	if (!request->quiet)
		message("route %s: heapwise %s %s %s", is_growth ? "growth" : "procfs",
			line.words[0], line.words[1], line.words[2]);
	return command->run(command, line.count, line.words);
}
