/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/heap/heap_command.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/heap/heap_html.h"
#include "cli/heap/heap_prompt.h"
#include "cli/heap/heap_verbs.h"
#include "cli/options/heuristics.h"
#include "cli/options/view_options.h"
#include "cli/terminal/message.h"
#include "cli/terminal/terminal.h"
#include "page/page.h"

static bool take_pointers(const struct options *options, enum pointer_rule *ret)
{
	static const char *const names[POINTER_RULES] = {[POINTERS_ALIGNED] = "aligned",
		[POINTERS_TAGGED] = "tagged",
		[POINTERS_START] = "start"};
	for (unsigned i = 0; i < POINTER_RULES; i++) {
		if (!strcmp(options->argument, names[i])) {
			*ret = (enum pointer_rule)i;
			return true;
		}
	}
	options_wrong(options->command,
		"invalid --pointers '%s': expected aligned, tagged or start", options->argument);
	return false;
}

/*
 * Words with numbers below 0 among them ("find -5"), which are values and no options. Options may
 * stand behind them, so they are hidden from who looks for such: with a blank in front of them,
 * which is taken away afterwards.
 */
struct hiding {
	char **words; /* a copy, with the hidden ones in place; NULL-terminated */
	char *hidden; /* their text */
	size_t hidden_bytes;
};

static void hiding_deinit(struct hiding *h)
{
	free(h->words);
	free(h->hidden);
}

/* No option is a digit. */
static bool is_below_zero(const char *word)
{
	return word[0] == '-' && word[1] >= '0' && word[1] <= '9';
}

/* False: no memory. */
static bool hiding_init(struct hiding *h, int count, char **words)
{
	*h = (struct hiding){.words = calloc((size_t)count + 1, sizeof(*h->words))};
	for (int i = 0; i < count; i++)
		h->hidden_bytes += is_below_zero(words[i]) ? strlen(words[i]) + 2 : 0;
	h->hidden = malloc(h->hidden_bytes + 1);
	char *at = h->hidden;
	for (int i = 0; h->words && at && i < count; i++) {
		h->words[i] = words[i];
		if (!is_below_zero(words[i]))
			continue;
		h->words[i] = at;
		*at = ' ';
		at = stpcpy(at + 1, words[i]) + 1;
	}
	return h->words && at;
}

/* The word as it was given. */
static char *hiding_shown(const struct hiding *h, char *word)
{
	return word >= h->hidden && word < h->hidden + h->hidden_bytes ? word + 1 : word;
}

static void hiding_show_all(const struct hiding *h, int count)
{
	for (int i = 0; i < count; i++)
		h->words[i] = hiding_shown(h, h->words[i]);
}

/* options_next(), with an argument as it was given. */
static int next_option(struct options *options, const struct hiding *h)
{
	int id = options_next(options);
	if (options->argument && options->argument >= h->hidden &&
		options->argument < h->hidden + h->hidden_bytes)
		options->argument++;
	return id;
}

/* False: all is said. */
static bool heap_command_take(
	const struct options *options, int id, struct heap_look *look, enum colour_when *colour)
{
	uint64_t number;
	bool taken;
	struct error *error = NULL;
	if (!heap_selection_take(&look->selection, options, id, &taken))
		return false;
	if (taken)
		return true;
	switch (id) {
	case HEAP_OPT_EXE:
		look->heap.exe = options->argument;
		return true;
	case HEAP_OPT_AS:
		look->as = options->argument;
		return true;
	case HEAP_OPT_NO_INFERENCE:
		look->heap.no_inference = true;
		return true;
	case HEAP_OPT_JSON:
		look->json = true;
		look->json_before = options->argument != NULL;
		if (!options->argument || !strcmp(options->argument, "1"))
			return true;
		options_wrong(options->command, "invalid version of JSON '%s': expected 1",
			options->argument);
		return false;
	case HEAP_OPT_HTML:
		look->html = true;
		look->html_path = options->argument;
		return true;
	case HEAP_OPT_CSV:
		look->csv = true;
		return true;
	case HEAP_OPT_RECORDING:
		look->heap.no_recording = !strcmp(options->argument, "none");
		look->heap.recording_path = look->heap.no_recording ? NULL : options->argument;
		return true;
	case HEAP_OPT_LIMIT:
		if (!options_number(options, options->argument, "limit", &number))
			return false;
		look->limit = number;
		return true;
	case HEAP_OPT_POINTERS:
		return take_pointers(options, &look->heap.pointers);
	case HEAP_OPT_HEURISTICS:
		error = heuristics_parse(options->argument, &look->heap.heuristics);
		if (error)
			options_wrong(options->command, "%s", error->message);
		error_destroy(error);
		return !error;
	case VIEW_OPT_NO_PAGER:
		look->no_pager = true;
		return true;
	case VIEW_OPT_COLOUR:
		if (colour_when_parse(options->argument, colour))
			return true;
		options_wrong(options->command,
			"invalid --color '%s': expected auto, always or never", options->argument);
		return false;
	default:
		error = symbol_options_take(&look->heap.symbols, id, options->argument, &taken);
		if (error)
			options_wrong(options->command, "%s", error->message);
		error_destroy(error);
		return !error && (taken || options_untaken(options, id));
	}
}

/* What the heap was read by. */
static bool is_of_reading(int id)
{
	return (id < HEAP_SELECTION_TYPE || id >= HEAP_SELECTION_END) && id != HEAP_OPT_AS &&
	       id != HEAP_OPT_JSON && id != HEAP_OPT_CSV && id != HEAP_OPT_LIMIT &&
	       id != VIEW_OPT_NO_PAGER && id != VIEW_OPT_COLOUR;
}

int heap_command_line(struct heap_look *look, char **words, size_t count)
{
	const struct command *command = look->heap.core ? &command_core : &command_heap;
	_cleanup_free_ char **argv = calloc(count + 2, sizeof(*argv));
	char name[] = "heapwise";
	if (!argv)
		return message_error(error_no_memory());
	argv[0] = name;
	memcpy(argv + 1, words, count * sizeof(*argv));
	_cleanup_(hiding_deinit) struct hiding hiding;
	if (!hiding_init(&hiding, (int)count + 1, argv))
		return message_error(error_no_memory());
	struct options options = {.command = command, .argc = (int)count + 1, .argv = hiding.words};
	enum colour_when colour = look->colour_when;
	int id;
	while ((id = next_option(&options, &hiding)) > 0) {
		if (is_of_reading(id)) {
			message("this option only works on the command line, before the heap is "
				"read: heapwise %s %s",
				command->name, command->synopsis);
			return ERROR_USAGE;
		}
		if (!heap_command_take(&options, id, look, &colour))
			return ERROR_USAGE;
	}
	if (id < 0)
		return options.exit_code;
	look->colour = !look->json && !look->csv && terminal_has_colour(colour);
	hiding_show_all(&hiding, options.argc);
	return heap_verbs_run(look, options.argc - options.operand, hiding.words + options.operand);
}

/* The verb that help is asked of: "--help VERB", "VERB --help", or "help VERB" alone; NULL: none.
 */
static const struct heap_verb *help_of(int argc, char **argv)
{
	const struct heap_verb *verb = NULL;
	bool asked = argc == 3 && !strcmp(argv[1], "help");
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		asked |= !strcmp(argv[i], "--help") || !strcmp(argv[i], "-h");
		verb = verb ? verb : heap_verb_find(argv[i]);
	}
	return asked ? verb : NULL;
}

/* --html: of the heap, not of a verb. */
static int write_page(struct heap_look *look)
{
	const struct heap_html page = {
		.output = look->html_path, .ways = "use --html=FILE for another name"};
	return heap_html_write(look, &page);
}

/* False, after saying so: what --html has no use for was given, too. */
static bool page_is_possible(const struct command *command, const struct heap_look *look, int words)
{
	const char *other = look->json    ? "--json"
			    : look->csv   ? "--csv"
			    : look->limit ? "--limit"
			    : look->as    ? "--as"
			    : heap_selection_beyond(&look->selection, 0)
				    ? "options that select blocks or rows"
				    : NULL;
	if (words)
		options_wrong(command, "--html writes a page of the whole heap and takes no verb");
	else if (other)
		options_wrong(command, "--html can't be used with %s", other);
	return !words && !other;
}

int heap_command_run(const struct command *command, int argc, char **argv,
	bool (*take_operand)(struct heap_look *look, const char *word))
{
	const struct heap_verb *helped = help_of(argc, argv);
	if (helped) {
		struct text text;
		text_init(&text);
		heap_verb_describe(helped, &text);
		return output_text(&text);
	}
	_cleanup_(hiding_deinit) struct hiding hiding;
	if (!hiding_init(&hiding, argc, argv))
		return message_error(error_no_memory());
	_cleanup_(heap_look_close) struct heap_look look;
	heap_look_init(&look);
	argv = hiding.words;
	struct options options = {.command = command, .argc = argc, .argv = argv};
	enum colour_when colour = COLOUR_AUTO;
	int id;
	while ((id = next_option(&options, &hiding)) > 0)
		if (!heap_command_take(&options, id, &look, &colour))
			return ERROR_USAGE;
	if (id < 0)
		return options.exit_code;
	hiding_show_all(&hiding, argc);
	if (options.operand >= argc)
		return options_wrong(command, "expected %s", command->synopsis);
	if (!take_operand(&look, argv[options.operand]))
		return ERROR_USAGE;
	int words = argc - options.operand - 1;
	if (look.html && !page_is_possible(command, &look, words))
		return ERROR_USAGE;
	look.colour_when = colour;
	look.colour = !look.json && !look.csv && terminal_has_colour(colour);
	struct error *error = heap_session_open(&look.heap);
	if (error)
		return message_error(error);
	if (look.html)
		return write_page(&look);
	bool on_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	bool asks = words == 1 && !strcmp(argv[options.operand + 1], "prompt");
	if (asks || (!words && on_terminal && !look.json && !look.csv))
		return heap_prompt_run(&look);
	look.heap.is_one_question = true;
	return heap_verbs_run(&look, words, argv + options.operand + 1);
}
