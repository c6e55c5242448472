/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/heap/heap_verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "cli/heap/heap_find_verb.h"
#include "cli/heap/heap_follow_verb.h"
#include "cli/heap/heap_region_verbs.h"
#include "cli/heap/heap_type_verbs.h"
#include "cli/terminal/message.h"
#include "heap/unread.h"
#include "heap/where.h"
#include "query/heap_subject.h"
#include "sources/heap_model.h"
#include "views/heap_answers.h"
#include "views/heap_where_view.h"
#include "views/leaks_view.h"

/* A heap that is read, with what was chosen of it. */
static struct error *heap_verbs_prepare(struct heap_look *look)
{
	struct error *error = heap_session_find_leaks(&look->heap);
	return error ? error : heap_selection_choose(look);
}

/* An answer about the judged heap, or memory as it is. */
static int show_any(struct heap_look *look, heap_answer_fn *ask)
{
	struct error *error = heap_verbs_prepare(look);
	if (error)
		return message_error(error);
	struct heap_page page = heap_look_page(look);
	struct output output;
	struct sink sink = heap_look_sink(look, &output);
	return heap_look_shown(&output, heap_answer_write(&page, ask, &sink));
}

int heap_verbs_check_found(struct heap_look *look, int status)
{
	const struct address_space *space = look->heap.scan.heap.space;
	bool is_cut = !space->is_live && (space->core.missing_bytes || space->core.unpacked_cut);
	bool is_unread = is_cut ? heap_is_cut_away(&look->heap.scan)
				: heap_unread_find(&look->heap.scan).largest != NULL;
	if (status || !is_unread)
		return status;
	return message_error(error_create(ERROR_INPUT,
		is_cut ? "%s: no heap was found in what there is of the core: nothing is known of "
			 "blocks"
		       : "%s: no heap was found, although there is memory: nothing is known of "
			 "blocks",
		heap_session_name(&look->heap)));
}

/* An answer about blocks. */
static int heap_verbs_show(struct heap_look *look, heap_answer_fn *ask)
{
	int status = show_any(look, ask);
	return status ? status : heap_verbs_check_found(look, status);
}

static int run_summary(struct heap_look *look, int count, char **words)
{
	(void)count, (void)words;
	return heap_verbs_show(look, heap_summary_answer);
}

static int run_types(struct heap_look *look, int count, char **words)
{
	(void)count, (void)words;
	return heap_verbs_show(look, heap_types_answer);
}

/* Bits of enum leak_kind, of those of enum search_kind. */
static unsigned leak_kinds(unsigned kinds)
{
	static const enum leak_kind same[SEARCH_KINDS] = {[SEARCH_DEFINITE] = LEAK_DEFINITE,
		[SEARCH_INDIRECT] = LEAK_INDIRECT,
		[SEARCH_POSSIBLE] = LEAK_POSSIBLE,
		[SEARCH_REACHABLE] = LEAK_REACHABLE};
	unsigned bits = 0;
	for (unsigned i = 0; i < SEARCH_KINDS; i++)
		bits |= (kinds >> i & 1) << same[i];
	return bits;
}

static struct error *write_leaks(const struct heap_page *page, const struct sink *sink)
{
	const struct leaks_view_options options = {.form = page->json  ? LEAKS_JSON
							   : page->csv ? LEAKS_CSV
								       : LEAKS_TEXT,
		.detail = LEAKS_FULL,
		.show_kinds = page->leak_kinds ? leak_kinds(page->leak_kinds)
					       : 1u << LEAK_DEFINITE | 1u << LEAK_POSSIBLE,
		.error_kinds = 1u << LEAK_DEFINITE | 1u << LEAK_POSSIBLE,
		.colour = page->colour,
		.limit = page->limit};
	struct leaks_outcome outcome;
	return leaks_view_write(page->model, &options, sink, &outcome);
}

/* What is lost of some types: a model of them alone. */
static int show_leaks_of(struct heap_look *look)
{
	struct model *model = NULL;
	const struct joined *joined = heap_session_joined(&look->heap);
	struct error *error = heap_session_find_leaks(&look->heap);
	if (!error)
		error = heap_selection_choose(look);
	if (!error)
		error = heap_model_make_of(&look->heap.scan, heap_session_name(&look->heap), joined,
			look->selection.chosen.types, &model);
	if (error)
		return message_error(error);
	if (look->heap.symbols.settings)
		model_set_names_from(model, look->heap.symbols.settings);
	struct heap_page page = heap_look_page(look);
	page.model = model;
	struct output output;
	struct sink sink = heap_look_sink(look, &output);
	int status = heap_look_shown(&output, write_leaks(&page, &sink));
	model_destroy(model);
	return status;
}

static int run_leaks(struct heap_look *look, int count, char **words)
{
	(void)count, (void)words;
	if (look->selection.type)
		return show_leaks_of(look);
	struct error *error = heap_verbs_prepare(look);
	if (error)
		return message_error(error);
	struct heap_page page = heap_look_page(look);
	struct output output;
	struct sink sink = heap_look_sink(look, &output);
	int status = heap_look_shown(&output, write_leaks(&page, &sink));
	return status ? status : heap_verbs_check_found(look, status);
}

static int run_blocks(struct heap_look *look, int count, char **words)
{
	(void)count, (void)words;
	return heap_verbs_show(look, heap_blocks_answer);
}

/* A view of one address. */
static int show_address(struct heap_look *look, const char *word,
	struct error *(*write)(
		const struct heap_page *page, uint64_t address, const struct sink *sink))
{
	uint64_t address;
	if (!heap_verb_address(word, &address))
		return ERROR_USAGE;
	struct error *error = heap_session_find_leaks(&look->heap);
	if (error)
		return message_error(error);
	struct heap_page page = heap_look_page(look);
	struct output output;
	struct sink sink = heap_look_sink(look, &output);
	return heap_look_shown(&output, write(&page, address, &sink));
}

static int run_block(struct heap_look *look, int count, char **words)
{
	(void)count;
	return show_address(look, words[1], heap_block_write);
}

static int run_words(struct heap_look *look, int count, char **words)
{
	(void)count;
	return show_address(look, words[1], heap_words_write);
}

static int run_refs(struct heap_look *look, int count, char **words)
{
	(void)count;
	return show_address(look, words[1], heap_refs_write);
}

static int run_python(struct heap_look *look, int count, char **words)
{
	(void)count;
	return show_address(look, words[1], heap_python_write);
}

/* What is asked for: a block, or what is of a type, or (word NULL) of any; of these, what options
 * choose. */
static struct error *find_asked(struct heap_look *look, const char *word, struct heap_subject *ret)
{
	bool is_chosen = look->selection.given & HEAP_SELECTIONES_USED;
	ret->block = SPACE_NONE;
	if (!word && !is_chosen)
		return error_create(ERROR_USAGE,
			"why: missing address, type or options that select blocks (help why)");
	struct error *error = is_chosen ? heap_session_find_leaks(&look->heap)
					: heap_session_scan_for(&look->heap, word);
	if (!error)
		error = heap_session_set_sites(&look->heap);
	if (!error && word)
		error = heap_subject_find(&look->heap, "why", word, ret);
	if (!error && is_chosen && ret->block != SPACE_NONE)
		error = error_create(ERROR_USAGE,
			"why: options that select blocks can't be used with an address (help why)");
	return !error && is_chosen ? heap_selection_choose(look) : error;
}

static struct error *ask_why(
	struct heap_look *look, const struct heap_subject *about, bool any, struct why *ret)
{
	const struct reverse *known = look->heap.reverse.heads ? &look->heap.reverse : NULL;
	struct error *error = heap_why(&look->heap.scan, about->block,
		any ? NULL : &about->subtypes, &look->selection.chosen, WHY_ALL_LAYERS, known, ret);
	if (!error && !ret->asked_blocks)
		error = error_create(ERROR_INPUT, "no block in use matches the options");
	return error;
}

static int run_why(struct heap_look *look, int count, char **words)
{
	const char *word = count > 1 ? words[1] : NULL;
	_cleanup_(heap_subject_deinit) struct heap_subject about = {.layout = TYPE_VOID};
	_cleanup_(heap_why_deinit) struct why why = {.layers = 0};
	struct error *error = find_asked(look, word, &about);
	if (!error)
		error = ask_why(look, &about, !word, &why);
	if (error)
		return message_error(error);
	bool is_whole = word && about.block == SPACE_NONE && !look->selection.chosen.is_asked;
	const char *what = word                   ? word
			   : look->selection.type ? look->selection.type
						  : "chosen blocks";
	struct heap_page page = heap_look_page(look);
	struct output output;
	struct sink sink = heap_look_sink(look, &output);
	return heap_look_shown(&output,
		heap_why_write(&page, what, is_whole ? &about.subtypes : NULL, &why, &sink));
}

static int run_isolated(struct heap_look *look, int count, char **words)
{
	(void)count, (void)words;
	return heap_verbs_show(look, heap_isolated_answer);
}

static int run_fragmentation(struct heap_look *look, int count, char **words)
{
	(void)count, (void)words;
	return heap_verbs_show(look, heap_fragments_answer);
}

static int run_dominators(struct heap_look *look, int count, char **words)
{
	(void)count, (void)words;
	return heap_verbs_show(look, heap_dominators_answer);
}

static int run_maps(struct heap_look *look, int count, char **words)
{
	(void)count, (void)words;
	return show_any(look, heap_maps_answer);
}

static int run_threads(struct heap_look *look, int count, char **words)
{
	(void)count, (void)words;
	struct heap_page page = heap_look_page(look);
	struct output output;
	struct sink sink = heap_look_sink(look, &output);
	return heap_look_shown(&output, heap_answer_write(&page, heap_threads_answer, &sink));
}

#define BLOCK_HELP                                                                                 \
	"A block must match all options that select blocks; of states, kinds of leaks and types, " \
	"one is enough.\n"                                                                         \
	"The number and the bytes of the matches are shown.\n"
#define ROW_HELP(columns)                                                                          \
	"Columns of --sort and --where: " columns ".\n"                                            \
	"Amounts are sorted largest first; -COLUMN reverses the order.\n"
#define AS_ADDRESS "An address may point anywhere into a block.\n"

const struct heap_verb heap_verbs[] = {
	{"summary", "", "what is in use, free and leaked, and the largest types", 0, 0, run_summary,
		0, NULL, NULL, true},
	{"types", "", "all types of blocks, by bytes", 0, 0, run_types,
		HEAP_SELECTIONES_USED | HEAP_SELECTIONES_ROWS,
		BLOCK_HELP ROW_HELP("bytes, blocks, kind, type"),
		"--leaked --where 'type=std::*' --sort blocks", true},
	{"blocks", "", "every block: address, size, state and type", 0, 0, run_blocks,
		HEAP_SELECTIONES_BLOCKS | HEAP_SELECTIONES_ROWS,
		BLOCK_HELP ROW_HELP("address, size, state, leak, type"),
		"--type 'node*' --size 1k.. --sort size --limit 20", true},
	{"block", "ADDR", "a block's type, and where it was allocated (needs a recording)", 1, 1,
		run_block, 0, AS_ADDRESS, "0x5561a0b2c3d0", true},
	{"leaks", "", "blocks that nothing references any more", 0, 0, run_leaks,
		HEAP_SELECTION_BIT(HEAP_SELECTION_LEAK) |
			HEAP_SELECTION_BIT(HEAP_SELECTION_LEAKED) |
			HEAP_SELECTION_BIT(HEAP_SELECTION_TYPE),
		"More options that select blocks work with `types --leaked` and `blocks "
		"--leaked`.\n",
		"--type 'node*'", true},
	{"alone", "", "blocks without pointers in or to them: contents, neighbours", 0, 0,
		run_isolated,
		HEAP_SELECTION_BIT(HEAP_SELECTION_TYPE) | HEAP_SELECTION_BIT(HEAP_SELECTION_SIZE) |
			HEAP_SELECTION_BIT(HEAP_SELECTION_COUNT),
		NULL, "--size 100..200", true},
	{"why", "[ADDR|TYPE]", "what references a block, step by step up to globals and stacks", 0,
		1, run_why, HEAP_SELECTIONES_USED,
		AS_ADDRESS "Options select among the blocks of a type, or among all blocks.\n",
		"Session --leaked", true},
	{"refs", "ADDR", "what a block references", 1, 1, run_refs, 0,
		AS_ADDRESS "`blocks --referenced-by ADDR` lists these blocks, `blocks --references "
			   "ADDR` those that\n"
			   "reference it.\n",
		"0x5561a0b2c3d0", true},
	{"words", "ADDR", "every word of a block, and what it is", 1, 1, run_words, 0, AS_ADDRESS,
		"0x5561a0b2c3d0", true},
	{"layout", "TYPE", "a type's members with offsets and padding, from debug information", 1,
		4, heap_verb_layout, 0, NULL, "struct node", true},
	{"show", "ADDR|TYPE",
		"members and their values (--as TYPE); all blocks of a type as a table", 1, 8,
		heap_verb_show, HEAP_SELECTION_BIT(HEAP_SELECTION_RAW),
		AS_ADDRESS
		"Containers and similar types of the C++ library are shown with their contents.\n",
		"0x5561a0b2c3d0 --as 'struct session'", true},
	{"type", "ADDR|TYPE",
		"possible types of unknown blocks; of known ones, what may reference them", 1, 8,
		heap_verb_type, 0, NULL, "'40 bytes, pointers at 0 16'", true},
	{"python", "ADDR", "the contents of a Python object", 1, 1, run_python, 0, NULL,
		"0x7f3a5c6d7e80", true},
	{"find", "VALUE|TEXT", "where a value or text is in memory: in which blocks, or elsewhere",
		1, 64, heap_verb_find_bytes,
		HEAP_SELECTION_BIT(HEAP_SELECTION_ANYWHERE) |
			HEAP_SELECTION_BIT(HEAP_SELECTION_WIDTH) |
			HEAP_SELECTION_BIT(HEAP_SELECTION_TEXT) |
			HEAP_SELECTION_BIT(HEAP_SELECTION_IN) |
			HEAP_SELECTION_BIT(HEAP_SELECTION_COUNT),
		"A number (0x… or decimal) is a word of 8 bytes at a multiple of 8; anything else "
		"is text, searched\n"
		"for byte by byte. All memory that the program may have written is searched.\n",
		"'GET /' --in free", true},
	{"follow", "TYPE.MEMBER[.MEMBER]",
		"what is reached through members, from ADDR or all blocks of TYPE", 1, 8,
		heap_verb_follow,
		HEAP_SELECTIONES_USED | HEAP_SELECTIONES_ROWS |
			HEAP_SELECTION_BIT(HEAP_SELECTION_LIST),
		"A pointer leads to its block, a container to its elements; MEMBER* follows a "
		"member repeatedly,\n"
		"as along a list. Options select the blocks to start from.\n" ROW_HELP(
			"bytes, blocks, kind, type"),
		"Session.users.name", true},
	{"dominators", "", "how much memory globals, stacks and blocks retain", 0, 0,
		run_dominators, HEAP_SELECTIONES_ROWS,
		ROW_HELP("retained, kind, address, type, symbol"), "--where kind=global", true},
	{"fragmentation", "", "free memory of each arena, and what pins its pages", 0, 0,
		run_fragmentation, HEAP_SELECTIONES_ROWS,
		ROW_HELP("allocator, arena, bytes, used, free, spare, pages, free_pages, "
			 "pinned_pages,\npinned_bytes"),
		"--sort free", true},
	{"threads", "", "the call stack of each thread, in Python too", 0, 0, run_threads, 0, NULL,
		NULL, true},
	{"maps", "", "all mappings by purpose: bytes, resident, private, swapped", 0, 0, run_maps,
		HEAP_SELECTIONES_ROWS,
		ROW_HELP("start, bytes, there, not_zero, resident, private, swapped, kind, path"),
		"--where kind=heap --sort bytes", true},
	{"hexdump", "ADDR [BYTES]", "memory in the format of hexdump -C; also ADDR-ADDR", 1, 2,
		heap_verb_hexdump, 0, NULL, "0x5561a0b2c3d0 64", true},
	{"strings", "[ADDR [BYTES]]", "printable text in memory that the program wrote", 0, 2,
		heap_verb_strings, 0, NULL, NULL, true},
	{"dump", "ADDR BYTES FILE", "write raw memory to a file; also ADDR-ADDR FILE", 2, 3,
		heap_verb_dump, 0, NULL, "0x5561a0b2c3d0 4096 page", false},
	{"save", "FILE", "write a core of the process, which runs on", 1, 1, heap_verb_save, 0,
		NULL, "before.core", false},
	{0},
};

const struct heap_verb *heap_verb_find(const char *name)
{
	for (const struct heap_verb *verb = heap_verbs; verb->name; verb++) {
		if (!strcmp(verb->name, name))
			return verb;
	}
	return NULL;
}

void heap_verbs_describe(struct text *text)
{
	for (const struct heap_verb *verb = heap_verbs; verb->name; verb++) {
		int space = 27 - (int)strlen(verb->name);
		text_printf(text, "  %s %-*s %s\n", verb->name, space, verb->synopsis, verb->what);
	}
	text_printf(text, "  %-28s %s\n", "prompt",
		"start an interactive prompt; verbs can also be piped in");
}

void heap_verb_describe(const struct heap_verb *verb, struct text *text)
{
	text_printf(text, "%s%s%s%s\n  %s\n", verb->name, *verb->synopsis ? " " : "",
		verb->synopsis, verb->options ? " [OPTION…]" : "", verb->what);
	if (verb->more)
		text_printf(text, "\n%s", verb->more);
	text_add(text, verb->options ? "\n" : "");
	heap_selection_describe(verb->options, text);
	text_printf(text, "\nWith any verb: --limit N (rows), --json, %s--color WHEN, --no-pager\n",
		verb->has_csv ? "--csv, " : "");
	text_printf(text, "Example: %s%s%s\n", verb->name, verb->example ? " " : "",
		verb->example ? verb->example : "");
}

/* False, after saying so: it takes none of an option that was given. */
static bool options_fit(const struct heap_look *look, const struct heap_verb *verb)
{
	const char *option = heap_selection_beyond(&look->selection, verb->options);
	if (option)
		message("%s doesn't accept --%s (help %s)", verb->name, option, verb->name);
	bool counts = heap_selection_has(&look->selection, HEAP_SELECTION_COUNT);
	if (look->csv && (look->json || counts))
		message("--csv and --%s exclude each other", look->json ? "json" : "count");
	else if (look->csv && !verb->has_csv)
		message("%s has no table to write as CSV (help %s)", verb->name, verb->name);
	return !option && !(look->csv && (look->json || counts || !verb->has_csv));
}

/* Answers about blocks rest on the whole heap: what lacks or is in motion there is said once, if
 * the summary, which says it all, is not what was asked for. */
static void describe_damage(struct heap_look *look)
{
	const struct heap_damage_vec *damage = &look->heap.scan.heap.damage;
	if (look->json || look->has_shown_damage || !damage->len)
		return;
	look->has_shown_damage = true;
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	heap_damage_describe(&damage->data[0], &text);
	if (damage->len > 1)
		text_printf(&text, "; and %zu more such %s (`summary` lists them)", damage->len - 1,
			damage->len == 2 ? "place" : "places");
	if (!text.failed)
		message("%s", text.data);
}

int heap_verbs_run(struct heap_look *look, int count, char **words)
{
	const struct heap_verb *verb = heap_verb_find(count ? words[0] : "summary");
	if (!verb) {
		message("unknown verb '%s' (heapwise core --help lists all verbs)", words[0]);
		return ERROR_USAGE;
	}
	if (!options_fit(look, verb))
		return ERROR_USAGE;
	if (!count)
		return run_summary(look, 0, NULL);
	look->has_shown_damage |= verb->run == run_summary;
	if (count - 1 < verb->least || count - 1 > verb->most) {
		message("%s: usage: %s %s", verb->name, verb->name, verb->synopsis);
		return ERROR_USAGE;
	}
	int status = verb->run(look, count, words);
	describe_damage(look);
	return status;
}
