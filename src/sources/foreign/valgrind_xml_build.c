/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/foreign/valgrind_xml_build.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"
#include "sources/foreign/foreign_scan.h"
#include "sources/foreign/valgrind_text.h"

#define INLINED_MAX 64u

void xml_error_clear(struct xml_error *error)
{
	struct xml_parts parts = error->parts;
	struct xml_frames frames = error->frames;
	xml_parts_clear(&parts);
	xml_frames_clear(&frames);
	*error = (struct xml_error){.unique = "",
		.kind = "",
		.what = "",
		.thread = "",
		.parts = parts,
		.frames = frames};
}

void xml_error_deinit(struct xml_error *error)
{
	xml_parts_deinit(&error->parts);
	xml_frames_deinit(&error->frames);
}

static struct foreign_text valgrind_xml_build_text_of(const char *string)
{
	return (struct foreign_text){.data = *string ? string : NULL, .len = strlen(string)};
}

static struct error *make_line(
	struct foreign *foreign, const struct xml_frame *frame, struct foreign_line *ret)
{
	_cleanup_(text_deinit) struct text path;
	text_init(&path);
	*ret = (struct foreign_line){
		.function = valgrind_xml_build_text_of(*frame->function ? frame->function : "???")};
	if (!*frame->file)
		return NULL;
	if (*frame->folder && frame->file[0] != '/')
		text_printf(&path, "%s/", frame->folder);
	text_add(&path, frame->file);
	const char *kept;
	struct error *error = strings_keep(&foreign->names, path.data ? path.data : "", &kept);
	if (error)
		return error;
	ret->file = valgrind_xml_build_text_of(kept);
	ret->line = frame->line < UINT32_MAX ? (uint32_t)frame->line : 0;
	return NULL;
}

static bool same_function(const struct xml_frame *a, const struct xml_frame *b)
{
	return strcmp(a->function, b->function) == 0 && strcmp(a->file, b->file) == 0 &&
	       a->line == b->line;
}

/* Where the functions begin that are inlined into frame `last`: others at its address. */
static size_t find_inlined(const struct xml_frame *frames, size_t least, size_t last)
{
	size_t first = last;
	while (frames[last].ip && first > least && last - first < INLINED_MAX - 1 &&
		frames[first - 1].ip == frames[last].ip) {
		for (size_t i = first; i <= last; i++)
			if (same_function(&frames[i], &frames[first - 1]))
				return first;
		first--;
	}
	return first;
}

static struct error *make_frame(struct foreign *foreign, const struct xml_frame *frames,
	size_t count, struct foreign_frame *ret)
{
	struct foreign_line lines[INLINED_MAX];
	struct module_id module = {0};
	static const struct module unknown;
	struct error *error = NULL;
	for (size_t i = 0; i < count && !error; i++)
		error = make_line(foreign, &frames[i], &lines[i]);
	if (!error && *frames[0].object)
		error = foreign_module(
			foreign, valgrind_xml_build_text_of(frames[0].object), &unknown, &module);
	return error ? error
		     : foreign_frame(foreign, module, frames[0].ip, true, lines, count, ret);
}

static struct error *make_stack(struct foreign *foreign, const struct xml_frame *frames,
	size_t least, size_t count, struct stack_id *ret)
{
	*ret = (struct stack_id){0};
	struct error *error = NULL;
	for (size_t end = count; end > least && !error;) {
		size_t first = find_inlined(frames, least, end - 1);
		struct foreign_frame frame;
		error = make_frame(foreign, &frames[first], end - first, &frame);
		if (!error)
			error = foreign_push(foreign, *ret, frame, ret);
		end = first;
	}
	return error;
}

static const struct {
	const char *name;
	enum leak_kind kind;
} leak_kinds[] = {
	{"Leak_DefinitelyLost", LEAK_DEFINITE},
	{"Leak_IndirectlyLost", LEAK_INDIRECT},
	{"Leak_PossiblyLost", LEAK_POSSIBLE},
	{"Leak_StillReachable", LEAK_REACHABLE},
};

/* "1,234" */
static bool scan_grouped(struct foreign_scan *scan, uint64_t *ret)
{
	uint64_t part;
	if (!foreign_scan_u64(scan, ret))
		return false;
	while (foreign_scan_text(scan, ",")) {
		if (scan->at == scan->end || *scan->at < '0' || *scan->at > '9')
			return true;
		if (!foreign_scan_u64(scan, &part) || part > 999 ||
			__builtin_mul_overflow(*ret, (uint64_t)1000, ret) ||
			__builtin_add_overflow(*ret, part, ret))
			return false;
	}
	return true;
}

/* "96 (48 direct, 48 indirect) bytes in 1 blocks are definitely lost": leakedbytes is the sum. */
static uint64_t indirect_bytes_of(const struct xml_error *found)
{
	struct foreign_scan scan = foreign_scan_of(found->what, strlen(found->what));
	uint64_t all, direct, indirect;
	if (!scan_grouped(&scan, &all) || !foreign_scan_text(&scan, " (") ||
		!scan_grouped(&scan, &direct) || !foreign_scan_text(&scan, " direct, ") ||
		!scan_grouped(&scan, &indirect) || !foreign_scan_text(&scan, " indirect)") ||
		indirect > found->leaked_bytes || all != found->leaked_bytes)
		return 0;
	return indirect;
}

static struct leak_search *search_of(struct xml_build *build)
{
	xml_build_search(build);
	return build_leak_search_more(build->foreign.model);
}

static struct error *too_much(void)
{
	return error_create(ERROR_INPUT, "leaks add up to more than 2^64");
}

/* What the leak adds to its site and to the sums of the search. */
static struct error *add_leak_sums(struct xml_build *build, const struct leak_record *record)
{
	struct leak_search *search = search_of(build);
	struct site *site = build_site_at(build->foreign.model, record->site);
	uint64_t *sums[] = {&site->live_bytes, &search->bytes[record->kind], &site->live_blocks,
		&search->blocks[record->kind]};
	for (size_t i = 0; i < ARRAY_SIZE(sums); i++)
		if (__builtin_add_overflow(
			    *sums[i], i < 2 ? record->bytes : record->blocks, sums[i]))
			return too_much();
	build->has_indirect |= record->kind == LEAK_INDIRECT;
	return __builtin_add_overflow(
		       build->indirect_bytes, record->indirect_bytes, &build->indirect_bytes)
		       ? too_much()
		       : NULL;
}

static void forget_leaks(struct xml_build *build)
{
	xml_leaks_clear(&build->leaks);
	build->record_number = build->record_of = 0;
}

/* "… in loss record 2 of 4": which of the search's records it is. */
static bool scan_record(const char *what, uint64_t *ret_number, uint64_t *ret_of)
{
	static const char words[] = " in loss record ";
	const char *at = strstr(what, words);
	if (!at)
		return false;
	struct foreign_scan scan = foreign_scan_of(at + strlen(words), strlen(at + strlen(words)));
	return scan_grouped(&scan, ret_number) && foreign_scan_text(&scan, " of ") &&
	       scan_grouped(&scan, ret_of);
}

/*
 * The program, or its debugger, may request any number of searches. A search tells its
 * records in the order of their numbers, and all that is known by then; one that is asked for what
 * is new since the last ("101 (+50) bytes") tells of that alone.
 */
static struct error *keep_leak(
	struct xml_build *build, const struct xml_error *found, const struct leak_record *record)
{
	uint64_t number = 0, of = 0;
	bool numbered = scan_record(found->what, &number, &of);
	bool is_change = strstr(found->what, "(+") || strstr(found->what, "(-");
	struct xml_leaks *leaks = &build->leaks;
	if (numbered && !is_change &&
		(number <= build->record_number || (build->record_of && of != build->record_of)))
		forget_leaks(build);
	for (size_t i = 0; i < leaks->len && is_change; i++) {
		struct leak_record *older = &leaks->data[i];
		if (older->site.value != record->site.value || older->kind != record->kind)
			continue;
		*older = *record;
		return NULL;
	}
	if (numbered && !is_change) {
		build->record_number = number;
		build->record_of = of;
	}
	return xml_leaks_push(leaks, *record) ? NULL : error_no_memory();
}

static struct error *add_leak(
	struct xml_build *build, const struct xml_error *found, enum leak_kind kind)
{
	struct foreign *foreign = &build->foreign;
	const struct xml_frame *frames = found->frames.data;
	size_t count = found->parts.len ? found->parts.data[0].count : 0;
	enum alloc_kind called =
		count ? valgrind_kind_of(valgrind_xml_build_text_of(frames[0].function))
		      : KIND_UNKNOWN;
	struct leak_record record = {
		.kind = kind, .group = LEAK_NO_GROUP, .blocks = found->leaked_blocks};
	struct stack_id stack;
	/* The allocation function is the site's kind, and no frame of it. */
	struct error *error =
		make_stack(foreign, frames, called != KIND_UNKNOWN && count > 1, count, &stack);
	if (!error)
		error = foreign_site(foreign, stack, called, &record.site);
	if (error)
		return error;
	record.indirect_bytes = kind == LEAK_DEFINITE ? indirect_bytes_of(found) : 0;
	record.bytes = found->leaked_bytes - record.indirect_bytes;
	record.example_ns = LEAK_NO_TIME;
	record.example.thread.value = LEAK_NO_THREAD;
	record.example.size = record.blocks ? record.bytes / record.blocks : 0;
	record.example.site = record.site;
	return keep_leak(build, found, &record);
}

/* All that is no leak. */
static struct error *add_other(struct xml_build *build, const struct xml_error *found)
{
	size_t count = found->parts.len, number;
	_cleanup_free_ struct error_stack *stacks = calloc(count + 1, sizeof(*stacks));
	if (!stacks)
		return error_no_memory();
	struct error *error = NULL;
	for (size_t i = 0; i < count && !error; i++) {
		const struct xml_part *part = &found->parts.data[i];
		struct stack_id stack;
		error = make_stack(
			&build->foreign, found->frames.data + part->first, 0, part->count, &stack);
		stacks[i] = (struct error_stack){.what = part->what, .stack = stack.value};
	}
	struct program_error row = {.kind = found->kind,
		.what = found->what,
		.thread = found->thread,
		.tid = found->tid < UINT32_MAX ? (uint32_t)found->tid : 0,
		.count = 1};
	model_errors(build->foreign.model, &number);
	if (!error)
		error = build_program_error(build->foreign.model, &row, stacks, count);
	if (error)
		return error;
	uint32_t *known = xml_numbers_insert(&build->numbers, found->unique, NULL);
	if (!known)
		return error_no_memory();
	*known = (uint32_t)number;
	return NULL;
}

struct error *xml_build_error(struct xml_build *build, const struct xml_error *found)
{
	for (size_t i = 0; i < ARRAY_SIZE(leak_kinds); i++)
		if (strcmp(found->kind, leak_kinds[i].name) == 0 && found->has_leaked)
			return add_leak(build, found, leak_kinds[i].kind);
	return add_other(build, found);
}

void xml_build_count(struct xml_build *build, const char *unique, uint64_t count)
{
	const uint32_t *number = xml_numbers_find(&build->numbers, unique);
	if (number)
		build_program_error_count(build->foreign.model, *number, count);
}

void xml_build_search(struct xml_build *build)
{
	if (!build->has_search)
		build_leak_search(build->foreign.model)->way = LEAK_WAY_HELD;
	build->has_search = true;
}

void xml_build_ended(struct xml_build *build)
{
	build->ended = true;
	forget_leaks(build);
	xml_summary_clear_leaks(&build->summary);
}

void xml_build_writer(struct xml_build *build, const char *path)
{
	const char *slash = strrchr(path, '/');
	build->by_other = strcmp(slash ? slash + 1 : path, "heapwise") == 0;
}

#define EACH_KIND ((1u << LEAK_KINDS) - 1)

static const struct {
	const char *option;
	unsigned shown;
} shown_by[] = {
	{"--show-leak-kinds=all", EACH_KIND},
	{"--show-leak-kinds=none", 0},
	{"--show-reachable=yes", EACH_KIND},
	{"--show-reachable=no", XML_SHOWN},
	{"--show-possibly-lost=yes", XML_SHOWN},
	{"--show-possibly-lost=no", 1u << LEAK_DEFINITE},
};

static unsigned kinds_of(const char *list)
{
	static const char *const names[LEAK_KINDS] = {
		[LEAK_DEFINITE] = "definite",
		[LEAK_INDIRECT] = "indirect",
		[LEAK_POSSIBLE] = "possible",
		[LEAK_REACHABLE] = "reachable",
	};
	unsigned ret = 0;
	for (const char *word = list; *word;) {
		size_t len = strcspn(word, ",");
		for (unsigned kind = 0; kind < LEAK_KINDS; kind++)
			if (strlen(names[kind]) == len && strncmp(names[kind], word, len) == 0)
				ret |= 1u << kind;
		word += len + (word[len] == ',');
	}
	return ret;
}

/* The last one of several counts, as for Valgrind. */
void xml_build_option(struct xml_build *build, const char *option)
{
	static const char check[] = "--leak-check=", kinds[] = "--show-leak-kinds=";
	if (strncmp(option, check, strlen(check)) == 0) {
		const char *how = option + strlen(check);
		build->full = strcmp(how, "full") == 0 || strcmp(how, "yes") == 0;
		if (build->full)
			xml_build_search(build);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(shown_by); i++)
		if (strcmp(shown_by[i].option, option) == 0) {
			build->shown = shown_by[i].shown;
			return;
		}
	if (strncmp(option, kinds, strlen(kinds)) == 0)
		build->shown = kinds_of(option + strlen(kinds));
}

/* Kinds of which all leaks are in the file. Without one that is lost by itself nothing is lost
 * with it. */
static unsigned find_shown(const struct xml_build *build)
{
	unsigned shown = build->full && build->ended && build->whole ? build->shown : 0;
	return shown & 1u << LEAK_DEFINITE ? shown | 1u << LEAK_INDIRECT : shown;
}

static const struct {
	const char *element, *name;
} summed[LEAK_KINDS] = {
	[LEAK_DEFINITE] = {"definitely_lost", "definitely lost"},
	[LEAK_INDIRECT] = {"indirectly_lost", "indirectly lost"},
	[LEAK_POSSIBLE] = {"possibly_lost", "possibly lost"},
	[LEAK_REACHABLE] = {"still_reachable", "still reachable"},
};

void xml_summary_clear_leaks(struct xml_summary *summary)
{
	memset(summary->leaks, 0, sizeof(summary->leaks));
	memset(summary->heuristics, 0, sizeof(summary->heuristics));
	summary->suppressed = (struct xml_amount){0};
}

struct xml_amount *xml_summary_leaks(struct xml_summary *summary, const char *name)
{
	for (size_t i = 0; i < LEAK_KINDS; i++)
		if (strcmp(summed[i].element, name) == 0)
			return &summary->leaks[i];
	return strcmp(name, "suppressed") == 0 ? &summary->suppressed : NULL;
}

struct xml_amount *xml_summary_heuristic(struct xml_summary *summary, const char *name)
{
	/* By the number of the bit. */
	static const char *const names[LEAK_HEURISTICS] = {
		"stdstring", "length64", "newarray", "multipleinheritance"};
	for (size_t i = 0; i < LEAK_HEURISTICS; i++)
		if (strcmp(names[i], name) == 0)
			return &summary->heuristics[i];
	return NULL;
}

static void add_amount(struct text *out, const struct xml_amount *amount)
{
	text_printf(out, "%" PRIu64 " byte%s in %" PRIu64 " block%s", amount->bytes,
		amount->bytes == 1 ? "" : "s", amount->blocks, amount->blocks == 1 ? "" : "s");
}

/* The summary's sums are all that there was: what is above those of the leaks has no place. */
static void take_leaks(struct xml_build *build, struct text *remark)
{
	struct leak_search *search = search_of(build);
	const struct xml_summary *summary = &build->summary;
	const char *before = " Valgrind's summary has more, without stacks: ";
	for (size_t i = 0; i < LEAK_KINDS; i++) {
		struct xml_amount more = {.bytes = summary->leaks[i].bytes - search->bytes[i],
			.blocks = summary->leaks[i].blocks - search->blocks[i]};
		if (summary->leaks[i].bytes < search->bytes[i] ||
			summary->leaks[i].blocks < search->blocks[i] ||
			(!more.bytes && !more.blocks))
			continue;
		search->bytes[i] += more.bytes;
		search->blocks[i] += more.blocks;
		text_add(remark, before);
		add_amount(remark, &summary->leaks[i]);
		text_printf(remark, " %s", summed[i].name);
		before = ", ";
	}
	if (summary->suppressed.blocks) {
		text_add(remark, before);
		add_amount(remark, &summary->suppressed);
		text_add(remark, " suppressed");
		before = ", ";
	}
	if (before[0] == ',')
		text_add(remark, ".");
	for (size_t i = 0; i < LEAK_HEURISTICS; i++) {
		search->heuristic_bytes[i] = summary->heuristics[i].bytes;
		search->heuristic_blocks[i] = summary->heuristics[i].blocks;
	}
	search->allocations = summary->allocations;
	search->frees = summary->frees;
	search->allocated_bytes = summary->allocated_bytes;
}

static void add_heap(const struct xml_summary *summary, struct text *remark)
{
	text_printf(remark,
		"%sValgrind counted %" PRIu64 " allocation%s of %" PRIu64 " bytes in total and "
		"%" PRIu64 " free%s; ",
		remark->len ? " " : "", summary->allocations, summary->allocations == 1 ? "" : "s",
		summary->allocated_bytes, summary->frees, summary->frees == 1 ? "" : "s");
	add_amount(remark, &summary->in_use);
	text_add(remark, " were in use at exit.");
}

static struct error *make_remark(struct xml_build *build)
{
	struct recording *recording = build_recording(build->foreign.model);
	_cleanup_(text_deinit) struct text remark;
	text_init(&remark);
	if (build->has_search) {
		text_add(&remark, "Unfreed blocks are only those that Valgrind was asked to show: "
				  "--leak-check=full --show-leak-kinds=all shows everything.");
		take_leaks(build, &remark);
	}
	if (build->summary.has_heap)
		add_heap(&build->summary, &remark);
	if (remark.failed)
		return error_no_memory();
	return remark.len ? build_string(build->foreign.model, remark.data, remark.len,
				    &recording->remark)
			  : NULL;
}

/* With XML memcheck looks for all leaks, whatever --leak-check is. */
static void expect_leaks(struct xml_build *build)
{
	if (!build->is_memcheck || build->by_other)
		return;
	build->full = true;
	if (build->ended)
		xml_build_search(build);
}

static struct error *add_leaks(struct xml_build *build)
{
	struct error *error = NULL;
	for (size_t i = 0; i < build->leaks.len && !error; i++) {
		error = add_leak_sums(build, &build->leaks.data[i]);
		if (!error)
			error = build_leak_record(build->foreign.model, &build->leaks.data[i]);
	}
	return error;
}

/* The end's search is one at the fatal signal, if there was one; of what comes before the end the
 * program has asked itself. */
static enum leak_moment moment_of(const struct xml_build *build)
{
	if (build->ended)
		return model_target(build->foreign.model)->exit_kind == EXIT_KIND_SIGNAL
			       ? LEAK_ON_DEATH
			       : LEAK_AT_EXIT;
	return build->leaks.len ? LEAK_BY_PROGRAM : LEAK_AT_EXIT;
}

struct error *xml_build_finish(struct xml_build *build)
{
	struct recording *recording = build_recording(build->foreign.model);
	expect_leaks(build);
	struct error *error = add_leaks(build);
	if (error)
		return error;
	if (build->has_search) {
		search_of(build)->moment = moment_of(build);
		search_of(build)->selected = !build->all_freed;
		search_of(build)->shown = find_shown(build);
		recording->unknown &= ~(uint32_t)(UNKNOWN_LIVE_BLOCKS | UNKNOWN_LIVE_BYTES);
		if (!build->has_indirect)
			search_of(build)->bytes[LEAK_INDIRECT] = build->indirect_bytes;
	}
	error = make_remark(build);
	return error ? error : foreign_total(&build->foreign);
}
