/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/heap/heap_selection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/heap/heap_verbs.h"
#include "query/heap_subject.h"

static const struct option_spec specs[] = {HEAP_SELECTION_SPECS{0}};

void heap_selection_init(struct heap_selection *selection)
{
	*selection = (struct heap_selection){.given = 0};
	heap_block_filter_init(&selection->chosen);
}

void heap_selection_deinit(struct heap_selection *selection)
{
	table_words_deinit(&selection->rows.where);
	heap_block_filter_deinit(&selection->chosen);
}

static const char *const places[] = {"all", "used", "free", NULL};
static const char *const widths[] = {"1", "2", "4", "8", NULL};
static const char *const kinds[] = {"definite", "indirect", "possible", "reachable", NULL};

static bool heap_selection_take_word(
	const struct options *options, const char *name, const char *const *words, unsigned *ret)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	for (unsigned i = 0; words[i]; i++) {
		if (!strcmp(words[i], options->argument)) {
			*ret = i;
			return true;
		}
		text_add(&text, !i ? "" : words[i + 1] ? ", " : " or ");
		text_add(&text, words[i]);
	}
	options_wrong(options->command, "invalid --%s '%s': expected %s", name, options->argument,
		text.data ? text.data : "");
	return false;
}

bool heap_selection_take(
	struct heap_selection *selection, const struct options *options, int id, bool *ret_known)
{
	unsigned which = 0;
	*ret_known = id >= HEAP_SELECTION_TYPE && id < HEAP_SELECTION_END;
	if (!*ret_known)
		return true;
	const char **texts[HEAP_SELECTION_END - HEAP_SELECTION_TYPE] = {
		&selection->type, /* HEAP_SELECTION_TYPE is the first */
		[HEAP_SELECTION_SIZE - HEAP_SELECTION_TYPE] = &selection->size,
		[HEAP_SELECTION_LEAK - HEAP_SELECTION_TYPE] = &selection->leak,
		[HEAP_SELECTION_REFERENCED_BY - HEAP_SELECTION_TYPE] = &selection->referenced_by,
		[HEAP_SELECTION_REFERENCES - HEAP_SELECTION_TYPE] = &selection->references,
		[HEAP_SELECTION_CONTAINING - HEAP_SELECTION_TYPE] = &selection->containing,
		[HEAP_SELECTION_SORT - HEAP_SELECTION_TYPE] = &selection->rows.sort,
	};
	selection->given |= HEAP_SELECTION_BIT(id);
	if (texts[id - HEAP_SELECTION_TYPE])
		*texts[id - HEAP_SELECTION_TYPE] = options->argument;
	switch (id) {
	case HEAP_SELECTION_WHERE:
		/* Without memory it is wrong, too. */
		return table_words_push(&selection->rows.where, options->argument);
	case HEAP_SELECTION_COUNT:
		selection->rows.count_only = true;
		return true;
	case HEAP_SELECTION_WIDTH:
		if (!heap_selection_take_word(options, "width", widths, &which))
			return false;
		selection->width = 1u << which;
		return true;
	case HEAP_SELECTION_IN:
		if (!heap_selection_take_word(options, "in", places, &which))
			return false;
		selection->in = (enum heap_wish_in)which;
		return true;
	default:
		return true;
	}
}

const char *heap_selection_beyond(const struct heap_selection *selection, unsigned allowed)
{
	for (const struct option_spec *spec = specs; spec->name; spec++) {
		if (selection->given & ~allowed & HEAP_SELECTION_BIT(spec->id))
			return spec->name;
	}
	return NULL;
}

void heap_selection_describe(unsigned allowed, struct text *text)
{
	for (const struct option_spec *spec = specs; spec->name; spec++) {
		if (!(allowed & HEAP_SELECTION_BIT(spec->id)))
			continue;
		_cleanup_(text_deinit) struct text name;
		text_init(&name);
		text_printf(&name, "--%s %s", spec->name, spec->argument ? spec->argument : "");
		const char *what =
			strncmp(spec->help, "of `", 4) ? spec->help : strchr(spec->help, ':') + 2;
		text_printf(text, "  %-22s %s\n", name.data ? name.data : "", what);
	}
}

const char *heap_selection_option(unsigned allowed, size_t n, char *ret, size_t room)
{
	static const char *const all[] = {"limit", "json", "no-pager", "color", "as"};
	const char *name = n < sizeof(all) / sizeof(*all) ? all[n] : NULL;
	size_t left = n - sizeof(all) / sizeof(*all);
	for (const struct option_spec *spec = specs; spec->name && !name; spec++) {
		if (allowed & HEAP_SELECTION_BIT(spec->id) && !left--)
			name = spec->name;
	}
	if (name)
		snprintf(ret, room, "--%s", name);
	return name ? ret : NULL;
}

const char *const *heap_selection_values(const char *option, size_t len)
{
	static const struct {
		const char *name;
		const char *const *values;
	} rows[] = {{"--leak", kinds}, {"--in", places}, {"--width", widths}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (strlen(rows[i].name) == len && !strncmp(rows[i].name, option, len))
			return rows[i].values;
	}
	return NULL;
}

static struct error *take_address(const char *name, const char *word, uint64_t *ret)
{
	char *end;
	errno = 0;
	*ret = strtoull(word, &end, 0);
	if (!errno && end != word && !*end && *word != '-')
		return NULL;
	return error_create(
		ERROR_USAGE, "invalid --%s '%s': expected an address (0x…)", name, word);
}

static struct error *choose_type(struct heap_look *look, struct heap_block_filter *chosen)
{
	const char *word = look->selection.type;
	uint32_t block, type;
	struct error *none = heap_subject_own(&look->heap.scan, word, &block, &type);
	if (none && strchr(word, '*')) {
		bool any;
		error_destroy(none);
		struct error *error =
			heap_block_filter_pattern(&look->heap.scan, word, chosen, &any);
		if (!error && !any)
			error = error_create(ERROR_INPUT,
				"--type: no type in the heap matches '%s' (`types` lists them)",
				word);
		return error;
	}
	error_destroy(none);
	_cleanup_(heap_subject_deinit) struct heap_subject about = {.layout = TYPE_VOID};
	struct error *error = heap_subject_find(&look->heap, "blocks --type", word, &about);
	if (!error && about.block != SPACE_NONE)
		error = heap_subtypes_of_type(&look->heap.scan,
			heap_scan_type_of(&look->heap.scan, about.block), &about.subtypes);
	return error ? error
		     : heap_block_filter_subtypes(&look->heap.scan, &about.subtypes, chosen);
}

/* "definite,possible" */
static struct error *choose_kinds(const char *words, unsigned *ret)
{
	for (const char *at = words; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		size_t len = strcspn(at, ",");
		unsigned kind = 0;
		while (kind < SEARCH_KINDS &&
			(strlen(kinds[kind]) != len || strncmp(kinds[kind], at, len) != 0))
			kind++;
		if (kind == SEARCH_KINDS)
			return error_create(ERROR_USAGE,
				"invalid --leak '%s': expected a list of definite, indirect, "
				"possible and reachable",
				words);
		*ret |= 1u << kind;
	}
	return NULL;
}

static void choose_states(const struct heap_selection *selection, struct heap_block_filter *chosen)
{
	/* What is cached is free, too. */
	if (heap_selection_has(selection, HEAP_SELECTION_USED))
		chosen->states |= 1u << BLOCK_USED;
	if (heap_selection_has(selection, HEAP_SELECTION_FREE))
		chosen->states |= 1u << BLOCK_FREE | 1u << BLOCK_CACHED;
	if (heap_selection_has(selection, HEAP_SELECTION_CACHED))
		chosen->states |= 1u << BLOCK_CACHED;
	chosen->is_asked |= chosen->states != 0;
}

static struct error *choose_pointers(struct heap_look *look, struct heap_block_filter *chosen)
{
	const struct heap_selection *selection = &look->selection;
	uint64_t address;
	struct error *error = NULL;
	if (selection->references)
		error = take_address("references", selection->references, &address);
	if (!error && selection->references)
		error = heap_block_filter_holders(&look->heap.scan, address, chosen);
	if (!error && selection->referenced_by)
		error = take_address("referenced-by", selection->referenced_by, &address);
	if (!error && selection->referenced_by)
		error = heap_block_filter_held(&look->heap.scan, address, chosen);
	if (!error && selection->containing) {
		error = take_address("containing", selection->containing, &chosen->containing);
		chosen->has_containing = chosen->is_asked = true;
	}
	return error;
}

struct error *heap_selection_choose(struct heap_look *look)
{
	struct heap_selection *selection = &look->selection;
	struct heap_block_filter *chosen = &selection->chosen;
	struct error *error = NULL;
	heap_block_filter_deinit(chosen);
	choose_states(selection, chosen);
	if (selection->size) {
		if (!table_select_range(selection->size, &chosen->least, &chosen->most))
			return error_create(ERROR_USAGE,
				"invalid --size '%s': expected 24, 1k.., ..64k or 1m..2m",
				selection->size);
		chosen->is_asked = true;
	}
	if (selection->leak)
		error = choose_kinds(selection->leak, &chosen->kinds);
	if (heap_selection_has(selection, HEAP_SELECTION_LEAKED))
		chosen->kinds |=
			1u << SEARCH_DEFINITE | 1u << SEARCH_INDIRECT | 1u << SEARCH_POSSIBLE;
	selection->kinds = chosen->kinds;
	chosen->is_asked |= chosen->kinds != 0;
	if (!error && selection->type)
		error = choose_type(look, chosen);
	return error ? error : choose_pointers(look, chosen);
}
