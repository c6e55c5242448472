/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the entry for a stack. Stacks repeat their names a great deal, so each different name is
 * compared with the patterns once:
 *
 *   name ──matches──▶ the patterns that fit it ──key_first──▶ entries to try
 *
 * Each entry has a *key*: the pattern among its lines that the fewest other entries share. A stack
 * can fit the entry only if one of its names fits the key; the few entries without any (all their
 * lines are fun:* or the like) are tried with each stack. To try an entry is then to walk its lines
 * and the stack's frames comparing numbers of patterns, never text.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/leaks/suppress_impl.h"
#include "analysis/suppress.h"
#include "base/util.h"

#define MATCHED_MAX (16u << 20) /* pattern numbers kept; beyond, names are compared anew */
#define UNKNOWN "???"           /* how Valgrind calls it, and what patterns see */

void suppressions_unprepare(struct suppressions *set)
{
	suppress_trial_vec_deinit(&set->trials);
	suppress_id_vec_deinit(&set->unkeyed);
	suppress_name_map_deinit(&set->matches);
	suppress_id_vec_deinit(&set->matched);
	suppress_run_vec_deinit(&set->runs);
	suppress_seen_vec_deinit(&set->seen);
	suppress_seen_vec_deinit(&set->physical);
	arena_deinit(&set->names);
	free(set->key_first);
	free(set->key_entries);
	free(set->tried);
	set->key_first = set->key_entries = set->tried = NULL;
	set->stack = 0;
	set->is_prepared = false;
}

/* --- preparing -------------------------------------------------------------------------------- */

static struct error *list_trials(struct suppressions *set)
{
	for (size_t i = 0; i < set->patterns.len; i++) {
		const struct suppress_pattern *pattern = &set->patterns.data[i];
		if (pattern->literal || pattern->everything)
			continue;
		struct suppress_trial trial = {.pattern = (uint32_t)i};
		trial.pairs = glob_pairs_of_pattern(
			pattern->text.text, pattern->stem, pattern->text.what != WHAT_ANY);
		if (!suppress_trial_vec_push(&set->trials, trial))
			return error_no_memory();
	}
	return NULL;
}

/* How many entries' lines are made of each pattern. */
static void count_uses(const struct suppressions *set, uint32_t *uses)
{
	for (size_t i = 0; i < set->entries.len; i++) {
		const struct suppress_entry *entry = &set->entries.data[i];
		const struct suppress_line *lines = &set->lines.data[entry->first];
		for (uint32_t j = 0; j < suppress_entry_lines(set, entry); j++)
			if (lines[j].pattern != SUPPRESS_ELLIPSIS)
				uses[lines[j].pattern]++;
	}
}

enum key_kind { KEY_PATTERN, KEY_NONE, KEY_NEVER };

/* KEY_NEVER: of the lines that count none says anything. */
static enum key_kind choose_key(const struct suppressions *set, const struct suppress_entry *entry,
	const uint32_t *uses, uint32_t *ret)
{
	const struct suppress_line *lines = &set->lines.data[entry->first];
	enum key_kind kind = KEY_NEVER;
	for (uint32_t i = 0; i < suppress_entry_lines(set, entry); i++) {
		if (lines[i].pattern == SUPPRESS_ELLIPSIS)
			continue;
		const struct suppress_pattern *pattern = &set->patterns.data[lines[i].pattern];
		if (pattern->everything) {
			kind = kind == KEY_NEVER ? KEY_NONE : kind;
			continue;
		}
		bool rarer = kind != KEY_PATTERN || uses[lines[i].pattern] < uses[*ret];
		bool plainer = kind == KEY_PATTERN && pattern->literal &&
			       !set->patterns.data[*ret].literal &&
			       uses[lines[i].pattern] == uses[*ret];
		if (rarer || plainer)
			*ret = lines[i].pattern;
		kind = KEY_PATTERN;
	}
	return kind;
}

/* Puts entries under their keys: counts, sums up, fills in. keys has one for each entry. */
static struct error *index_keys(struct suppressions *set, const uint32_t *uses, uint32_t *keys)
{
	for (size_t i = 0; i < set->entries.len; i++) {
		uint32_t key = 0;
		enum key_kind kind = choose_key(set, &set->entries.data[i], uses, &key);
		keys[i] = kind == KEY_PATTERN ? key : UINT32_MAX;
		if (kind == KEY_PATTERN)
			set->key_first[key + 1]++;
		else if (kind == KEY_NONE && !suppress_id_vec_push(&set->unkeyed, (uint32_t)i))
			return error_no_memory();
	}
	for (size_t i = 0; i < set->patterns.len; i++)
		set->key_first[i + 1] += set->key_first[i];
	uint32_t keyed = set->key_first[set->patterns.len];
	/* From the last: fills each run from its end, and leaves one further where it begins. */
	for (size_t i = set->entries.len; i-- > 0;)
		if (keys[i] != UINT32_MAX)
			set->key_entries[--set->key_first[keys[i] + 1]] = (uint32_t)i;
	memmove(set->key_first, set->key_first + 1, set->patterns.len * sizeof(*set->key_first));
	set->key_first[set->patterns.len] = keyed;
	return NULL;
}

static struct error *suppress_match_prepare(struct suppressions *set)
{
	if (set->is_prepared)
		return NULL;
	suppressions_unprepare(set);
	size_t patterns = set->patterns.len, entries = set->entries.len;
	uint32_t *uses = calloc(patterns + 1, sizeof(*uses));
	uint32_t *keys = calloc(entries + 1, sizeof(*keys));
	set->key_first = calloc(patterns + 2, sizeof(*set->key_first));
	set->key_entries = calloc(entries + 1, sizeof(*set->key_entries));
	set->tried = calloc(entries + 1, sizeof(*set->tried));
	struct error *error = NULL;
	if (!uses || !keys || !set->key_first || !set->key_entries || !set->tried)
		error = error_no_memory();
	if (!error)
		error = list_trials(set);
	if (!error) {
		count_uses(set, uses);
		error = index_keys(set, uses, keys);
	}
	free(uses);
	free(keys);
	set->is_prepared = !error;
	return error;
}

/* --- names ------------------------------------------------------------------------------------ */

static struct error *add_match(struct suppressions *set, uint32_t pattern)
{
	return suppress_id_vec_push(&set->matched, pattern) ? NULL : error_no_memory();
}

static struct error *add_literal(struct suppressions *set, struct suppress_text name)
{
	const uint32_t *pattern = suppress_pattern_map_find(&set->pattern_by_text, name);
	return pattern && set->patterns.data[*pattern].literal ? add_match(set, *pattern) : NULL;
}

/* Patterns of mangled names that stand for this one. */
static struct error *add_mangled(struct suppressions *set, struct suppress_text name)
{
	const uint32_t *first = suppress_pattern_map_find(&set->mangled_by_whole, name);
	struct error *error = NULL;
	for (uint32_t id = first ? *first : SUPPRESS_NO_PATTERN;
		id != SUPPRESS_NO_PATTERN && !error; id = set->patterns.data[id].next_mangled)
		error = add_match(set, id);
	return error;
}

/* The name without what only one of symbol table and debug information adds to it. */
static struct suppress_text suppress_match_shortened(struct suppress_text name)
{
	const char *cut = NULL;
	if (name.what == WHAT_FUNCTION && name.len) {
		cut = memchr(name.text + 1, '@', name.len - 1);
		if (cut)
			name.len = (uint32_t)(cut - name.text);
	} else if (name.what == WHAT_SOURCE) {
		cut = memrchr(name.text, '/', name.len);
		if (cut) {
			name.len -= (uint32_t)(cut + 1 - name.text);
			name.text = cut + 1;
		}
	}
	return name;
}

static bool glob_name(struct suppress_text pattern, uint32_t pattern_len, struct suppress_text name)
{
	return glob_match(pattern.text, pattern_len, name.text, name.len, pattern.what != WHAT_ANY);
}

/*
 * Symbol versions: pthread_create@@GLIBC_2.34 in a file, which is what memcheck writes, means the
 * function that debug information calls pthread_create, and the other way round.
 */
static bool fits_name(const struct suppress_pattern *pattern, struct suppress_text name,
	struct suppress_text shorter)
{
	if (glob_name(pattern->text, pattern->text.len, name))
		return true;
	if (pattern->text.what == WHAT_ANY)
		return false;
	bool has_shorter = shorter.len != name.len;
	if (pattern->stem != pattern->text.len)
		return !has_shorter && glob_name(pattern->text, pattern->stem, name);
	return has_shorter && glob_name(pattern->text, pattern->text.len, shorter);
}

static int compare_ids(const void *a, const void *b)
{
	uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
	return (first > second) - (first < second);
}

static struct error *compare_name(
	struct suppressions *set, struct suppress_text name, struct suppress_run *run)
{
	set->effort.names++;
	struct suppress_text shorter = suppress_match_shortened(name);
	bool known = strcmp(name.text, UNKNOWN) != 0;
	struct glob_pairs pairs = glob_pairs_of_name(name.text, name.len);
	run->first = (uint32_t)set->matched.len;
	struct error *error = add_literal(set, name);
	if (!error)
		error = add_mangled(set, name);
	if (!error && shorter.len != name.len)
		error = add_literal(set, shorter);
	for (size_t i = 0; i < set->trials.len && !error; i++) {
		const struct suppress_trial *trial = &set->trials.data[i];
		if (!glob_pairs_within(&trial->pairs, &pairs))
			continue;
		const struct suppress_pattern *pattern = &set->patterns.data[trial->pattern];
		enum suppress_what what = pattern->text.what;
		if (what != name.what && (what != WHAT_ANY || !known))
			continue;
		set->effort.patterns_tried++;
		if (fits_name(pattern, name, shorter))
			error = add_match(set, trial->pattern);
	}
	run->count = (uint32_t)set->matched.len - run->first;
	if (run->count > 1)
		qsort(&set->matched.data[run->first], run->count, sizeof(uint32_t), compare_ids);
	return error;
}

/* The patterns that fit a name, from the table or by comparing. */
static struct error *run_of_name(struct suppressions *set, enum suppress_what what,
	const char *text, struct suppress_run *ret)
{
	struct suppress_text name = {.text = text, .len = (uint32_t)strlen(text), .what = what};
	const struct suppress_run *known = suppress_name_map_find(&set->matches, name);
	if (known) {
		*ret = *known;
		return NULL;
	}
	name.text = arena_strndup(&set->names, text, name.len);
	if (!name.text)
		return error_no_memory();
	struct suppress_run run = {0};
	struct error *error = compare_name(set, name, &run);
	struct suppress_run *place =
		error ? NULL : suppress_name_map_insert(&set->matches, name, NULL);
	if (!error && !place)
		error = error_no_memory();
	if (!error)
		*place = *ret = run;
	return error;
}

static struct error *suppress_match_add_function(
	struct suppressions *set, const char *name, struct suppress_seen *seen)
{
	struct suppress_run run;
	struct error *error = run_of_name(set, WHAT_FUNCTION, name, &run);
	if (!error && !suppress_run_vec_push(&set->runs, run))
		error = error_no_memory();
	seen->name_count += !error;
	return error;
}

static struct error *add_functions(
	struct suppressions *set, const struct suppress_frame *frame, struct suppress_seen *seen)
{
	seen->first_name = (uint32_t)set->runs.len;
	struct error *error = NULL;
	if (frame->function)
		error = suppress_match_add_function(set, frame->function, seen);
	if (!error && frame->demangled)
		error = suppress_match_add_function(set, frame->demangled, seen);
	for (size_t i = 0; i < frame->alias_count && !error; i++)
		error = suppress_match_add_function(set, frame->aliases[i], seen);
	if (!error && seen->name_count == 0)
		error = suppress_match_add_function(set, UNKNOWN, seen);
	return error;
}

static struct error *see_frame(struct suppressions *set, const struct suppress_frame *frame)
{
	struct suppress_seen seen = {.line = frame->line, .has_source = frame->file != NULL};
	struct error *error = add_functions(set, frame, &seen);
	if (!error)
		error = run_of_name(
			set, WHAT_OBJECT, frame->object ? frame->object : UNKNOWN, &seen.object);
	if (!error && frame->object_alias)
		error = run_of_name(set, WHAT_OBJECT, frame->object_alias, &seen.object_alias);
	if (!error && frame->file)
		error = run_of_name(set, WHAT_SOURCE, frame->file, &seen.source);
	if (!error && !suppress_seen_vec_push(&set->seen, seen))
		error = error_no_memory();
	if (!error && !frame->inlined && !suppress_seen_vec_push(&set->physical, seen))
		error = error_no_memory();
	return error;
}

static struct error *see_stack(
	struct suppressions *set, const struct suppress_frame *frames, size_t count)
{
	if (set->matched.len > MATCHED_MAX) {
		suppress_name_map_deinit(&set->matches);
		suppress_id_vec_clear(&set->matched);
		arena_deinit(&set->names);
	}
	suppress_run_vec_clear(&set->runs);
	suppress_seen_vec_clear(&set->seen);
	suppress_seen_vec_clear(&set->physical);
	struct error *error = NULL;
	for (size_t i = 0; i < count && !error; i++)
		error = see_frame(set, &frames[i]);
	return error;
}

/* --- stacks ----------------------------------------------------------------------------------- */

static bool run_has(const struct suppressions *set, struct suppress_run run, uint32_t pattern)
{
	if (run.count == 0)
		return false;
	const uint32_t *ids = &set->matched.data[run.first];
	size_t low = 0, high = run.count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (ids[middle] < pattern)
			low = middle + 1;
		else
			high = middle;
	}
	return low < run.count && ids[low] == pattern;
}

static bool function_fits(
	const struct suppressions *set, const struct suppress_seen *seen, uint32_t pattern)
{
	for (uint32_t i = 0; i < seen->name_count; i++)
		if (run_has(set, set->runs.data[seen->first_name + i], pattern))
			return true;
	return false;
}

static bool object_fits(
	const struct suppressions *set, const struct suppress_seen *seen, uint32_t pattern)
{
	return run_has(set, seen->object, pattern) || run_has(set, seen->object_alias, pattern);
}

static bool frame_fits(
	const struct suppressions *set, const struct suppress_seen *seen, struct suppress_line line)
{
	const struct suppress_pattern *pattern = &set->patterns.data[line.pattern];
	switch (pattern->text.what) {
	case WHAT_FUNCTION:
		return pattern->everything || function_fits(set, seen, line.pattern);
	case WHAT_OBJECT:
		return pattern->everything || object_fits(set, seen, line.pattern);
	case WHAT_SOURCE:
		return seen->has_source && (!line.source_line || line.source_line == seen->line) &&
		       (pattern->everything || run_has(set, seen->source, line.pattern));
	case WHAT_ANY:
		break;
	}
	return function_fits(set, seen, line.pattern) || object_fits(set, seen, line.pattern) ||
	       (seen->has_source && run_has(set, seen->source, line.pattern));
}

static bool any_frame_fits(const struct suppressions *set, struct suppress_line line)
{
	for (size_t i = 0; i < set->seen.len; i++)
		if (frame_fits(set, &set->seen.data[i], line))
			return true;
	return false;
}

/* As glob_match(), with lines for bytes, and the end of the lines ends it: callers may follow. */
static bool stack_fits(const struct suppressions *set, const struct suppress_entry *entry,
	const struct suppress_seen_vec *frames)
{
	const struct suppress_line *lines = &set->lines.data[entry->first];
	size_t count = suppress_entry_lines(set, entry), line = 0, frame = 0;
	size_t ellipsis = SIZE_MAX, ellipsis_frame = 0;
	while (line < count) {
		if (lines[line].pattern == SUPPRESS_ELLIPSIS) {
			ellipsis = line++;
			ellipsis_frame = frame;
		} else if (frame < frames->len &&
			   frame_fits(set, &frames->data[frame], lines[line])) {
			line++;
			frame++;
		} else if (frame < frames->len && ellipsis != SIZE_MAX) {
			line = ellipsis + 1;
			frame = ++ellipsis_frame;
		} else {
			return false;
		}
	}
	return true;
}

static bool entry_fits(struct suppressions *set, const struct suppress_entry *entry)
{
	set->effort.entries_tried++;
	const struct suppress_line *first = &set->lines.data[entry->first];
	if (entry->of_call)
		return set->patterns.data[first->pattern].everything ||
		       run_has(set, set->call, first->pattern);
	if (entry->of_any_frame)
		return any_frame_fits(set, *first);
	return stack_fits(set, entry, &set->seen) ||
	       (set->physical.len != set->seen.len && stack_fits(set, entry, &set->physical));
}

/* The search for one stack: the first entry that fits so far. */
struct search {
	struct suppressions *set;
	uint64_t kinds;
	const char *extra;
	const char *call;
	uint32_t best;
};

/* Whether the entry is for such errors at all. */
static bool suppress_match_is_of(const struct search *search, const struct suppression *entry)
{
	return entry->kinds & search->kinds &&
	       (!entry->extra || (search->extra && !strcmp(entry->extra, search->extra)));
}

/* Tries entries, which are ascending, up to the best one. */
static void try_entries(struct search *search, const uint32_t *ids, size_t count)
{
	struct suppressions *set = search->set;
	for (size_t i = 0; i < count && ids[i] < search->best; i++) {
		const struct suppress_entry *entry = &set->entries.data[ids[i]];
		if (set->tried[ids[i]] == set->stack ||
			!suppress_match_is_of(search, &entry->shown))
			continue;
		set->tried[ids[i]] = set->stack;
		if (entry_fits(set, entry))
			search->best = ids[i];
	}
}

static void try_run(struct search *search, struct suppress_run run)
{
	const struct suppressions *set = search->set;
	for (uint32_t i = 0; i < run.count; i++) {
		uint32_t pattern = set->matched.data[run.first + i];
		uint32_t first = set->key_first[pattern], last = set->key_first[pattern + 1];
		try_entries(search, set->key_entries + first, last - first);
	}
}

/* A number for the current stack that no entry has been tried with. */
static void number_stack(struct suppressions *set)
{
	if (set->stack == UINT32_MAX) {
		memset(set->tried, 0, set->entries.len * sizeof(*set->tried));
		set->stack = 0;
	}
	set->stack++;
}

static struct error *suppress_match_search(
	struct search *search, const struct suppress_frame *frames, size_t count, uint32_t *ret_id)
{
	struct suppressions *set = search->set;
	struct error *error = set->entries.len ? suppress_match_prepare(set) : NULL;
	if (!error && set->entries.len)
		error = see_stack(set, frames, count);
	set->call = (struct suppress_run){0};
	if (!error && set->entries.len && search->call)
		error = run_of_name(set, WHAT_FUNCTION, search->call, &set->call);
	if (error)
		return error;
	if (set->entries.len) {
		number_stack(set);
		try_run(search, set->call);
		for (size_t i = 0; i < set->runs.len; i++)
			try_run(search, set->runs.data[i]);
		for (size_t i = 0; i < set->seen.len; i++) {
			try_run(search, set->seen.data[i].object);
			try_run(search, set->seen.data[i].object_alias);
			try_run(search, set->seen.data[i].source);
		}
		try_entries(search, set->unkeyed.data, set->unkeyed.len);
	}
	*ret_id = search->best;
	return NULL;
}

struct error *suppressions_match(struct suppressions *set, const struct suppress_frame *frames,
	size_t count, enum suppress_kind kind, uint32_t *ret_id)
{
	assert((unsigned)kind < SUPPRESS_KINDS);
	struct search search = {.set = set, .kinds = SUPPRESS_BIT(kind), .best = SUPPRESS_NONE};
	return suppress_match_search(&search, frames, count, ret_id);
}

struct error *suppressions_match_error(
	struct suppressions *set, const struct suppress_error *error, uint32_t *ret_id)
{
	struct search search = {.set = set,
		.kinds = (error->kinds & ~(uint64_t)SUPPRESS_KINDS_ALL) |
			 (error->call ? SUPPRESS_BIT(SUPPRESS_IN_CALL) : 0),
		.extra = error->extra,
		.call = error->call,
		.best = SUPPRESS_NONE};
	return suppress_match_search(&search, error->frames, error->count, ret_id);
}
