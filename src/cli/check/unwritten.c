/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/check/unwritten.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/check/check_printer.h"
#include "cli/check/uninit_words.h"
#include "cli/terminal/message.h"

void unwritten_deinit(struct unwritten *unwritten)
{
	uninit_result_deinit(&unwritten->found);
	if (unwritten->input >= 0)
		close(unwritten->input);
	free(unwritten->settings);
}

/* The program's output, as it would have been seen. */
static void write_outputs(const struct trial *trial)
{
	static const int streams[TRIAL_STREAMS] = {STDOUT_FILENO, STDERR_FILENO};
	for (int i = 0; i < TRIAL_STREAMS; i++) {
		const struct buf *kept = &trial->kept[i];
		error_destroy(write_all(streams[i], "the program's output", kept->data, kept->len));
		if (trial->bytes[i] > kept->len)
			message("only the first %zu MiB of what the program wrote are passed on",
				TRIAL_KEPT_MOST >> 20);
	}
}

struct error *unwritten_search(
	const struct check_options *options, const char *guard, struct unwritten *ret)
{
	const struct launch_options *launch = &options->recording.launch;
	*ret = (struct unwritten){.input = -1};
	trial_init(&ret->found.result);
	struct error *error = trial_input(&ret->input);
	if (error)
		return error;
	if (!options->recording.quiet && !options->json)
		message("searching for memory that is used and was never written: the program "
			"runs again and again");
	const struct trial_program program = {.file = launch->program,
		.argv = launch->argv,
		.preload = guard,
		.input = ret->input,
		.shared = -1};
	const struct uninit_options search = {.program = &program,
		.findings_most = options->uninit,
		.runs_most = options->uninit_runs ? options->uninit_runs : UNINIT_RUNS_MOST};
	error = uninit_search(&search, &ret->found);
	if (!error)
		write_outputs(&ret->found.result);
	return error;
}

bool unwritten_is_found(const struct unwritten *unwritten)
{
	const struct uninit_result *found = &unwritten->found;
	return found->verdict == UNINIT_FOUND || uninit_leaving_calls(found);
}

struct error *unwritten_show(
	const struct unwritten *unwritten, const struct check_options *options, int log)
{
	_cleanup_(text_deinit) struct text text, document;
	const struct sink sink = {text_write, &document};
	struct error *error = NULL;
	text_init(&text);
	text_init(&document);
	if (options->json) {
		error = uninit_write_json(&unwritten->found, &sink);
		check_line_add(&document, &text);
	} else if (!options->recording.quiet || unwritten->found.verdict != UNINIT_NONE ||
		   unwritten_is_found(unwritten)) {
		uninit_add_words(&unwritten->found, &text);
	}
	if (!error && (text.failed || document.failed))
		error = error_no_memory();
	return error ? error : write_all(log, "what was found", text.data, text.len);
}

void unwritten_compare(
	const struct unwritten *unwritten, const struct check_options *options, uint64_t errors)
{
	const struct uninit_result *found = &unwritten->found;
	uint64_t wanted = found->count + uninit_leaving_calls(found);
	if (errors < wanted && !options->first && !options->leaks.suppressions.len)
		message("the last run, which was to report %" PRIu64 " of these with their stacks, "
			"had %" PRIu64 ": it did not do the same as the runs before",
			wanted, errors);
}

struct error *unwritten_prepare(struct unwritten *unwritten, struct check_options *options)
{
	struct text text;
	text_init(&text);
	uninit_report_settings(&unwritten->found, &text);
	unwritten->settings = text_steal(&text);
	if (!unwritten->settings)
		return error_no_memory();
	options->recording.launch.check = unwritten->settings;
	options->recording.quiet = true; /* what there is to sum up was said */
	/* As in the other runs: what depends on addresses is the same. */
	personality((unsigned long)personality(0xffffffff) | ADDR_NO_RANDOMIZE);
	return NULL;
}

void unwritten_streams_hide(const struct unwritten *unwritten, struct unwritten_streams *ret)
{
	for (int i = 0; i < 3; i++)
		ret->kept[i] = fcntl(i, F_DUPFD_CLOEXEC, 3);
	int input = trial_open_input(unwritten->input);
	int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (input >= 0) {
		dup2(input, STDIN_FILENO);
		close(input);
	}
	if (nothing >= 0) {
		dup2(nothing, STDOUT_FILENO);
		dup2(nothing, STDERR_FILENO);
		close(nothing);
	}
}

void unwritten_streams_show(struct unwritten_streams *streams)
{
	for (int i = 0; i < 3; i++) {
		if (streams->kept[i] < 0)
			continue;
		dup2(streams->kept[i], i);
		close(streams->kept[i]);
	}
}
