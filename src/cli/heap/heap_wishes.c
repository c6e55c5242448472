/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/heap/heap_wishes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/heap/heap_verbs.h"
#include "query/heap_subject.h"

static const struct option_spec specs[] = {HEAP_WISH_SPECS{0}};

void heap_wishes_init(struct heap_wishes *wishes)
{
	*wishes = (struct heap_wishes){.given = 0};
	heap_chosen_init(&wishes->chosen);
}

void heap_wishes_deinit(struct heap_wishes *wishes)
{
	table_words_deinit(&wishes->rows.where);
	heap_chosen_deinit(&wishes->chosen);
}

static const char *const places[] = {"all", "used", "free", NULL};
static const char *const widths[] = {"1", "2", "4", "8", NULL};
static const char *const kinds[] = {"definite", "indirect", "possible", "reachable", NULL};

static bool take_word(
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

bool heap_wishes_take(
	struct heap_wishes *wishes, const struct options *options, int id, bool *ret_known)
{
	unsigned which = 0;
	*ret_known = id >= HEAP_WISH_TYPE && id < HEAP_WISH_END;
	if (!*ret_known)
		return true;
	const char **texts[HEAP_WISH_END - HEAP_WISH_TYPE] = {
		&wishes->type, /* HEAP_WISH_TYPE is the first */
		[HEAP_WISH_SIZE - HEAP_WISH_TYPE] = &wishes->size,
		[HEAP_WISH_LEAK - HEAP_WISH_TYPE] = &wishes->leak,
		[HEAP_WISH_REFERENCED_BY - HEAP_WISH_TYPE] = &wishes->referenced_by,
		[HEAP_WISH_REFERENCES - HEAP_WISH_TYPE] = &wishes->references,
		[HEAP_WISH_CONTAINING - HEAP_WISH_TYPE] = &wishes->containing,
		[HEAP_WISH_SORT - HEAP_WISH_TYPE] = &wishes->rows.sort,
	};
	wishes->given |= HEAP_WISH_BIT(id);
	if (texts[id - HEAP_WISH_TYPE])
		*texts[id - HEAP_WISH_TYPE] = options->argument;
	switch (id) {
	case HEAP_WISH_WHERE:
		/* Without memory it is wrong, too. */
		return table_words_push(&wishes->rows.where, options->argument);
	case HEAP_WISH_COUNT:
		wishes->rows.count_only = true;
		return true;
	case HEAP_WISH_WIDTH:
		if (!take_word(options, "width", widths, &which))
			return false;
		wishes->width = 1u << which;
		return true;
	case HEAP_WISH_IN:
		if (!take_word(options, "in", places, &which))
			return false;
		wishes->in = (enum heap_wish_in)which;
		return true;
	default:
		return true;
	}
}

const char *heap_wishes_beyond(const struct heap_wishes *wishes, unsigned allowed)
{
	for (const struct option_spec *spec = specs; spec->name; spec++) {
		if (wishes->given & ~allowed & HEAP_WISH_BIT(spec->id))
			return spec->name;
	}
	return NULL;
}

void heap_wishes_describe(unsigned allowed, struct text *text)
{
	for (const struct option_spec *spec = specs; spec->name; spec++) {
		if (!(allowed & HEAP_WISH_BIT(spec->id)))
			continue;
		_cleanup_(text_deinit) struct text name;
		text_init(&name);
		text_printf(&name, "--%s %s", spec->name, spec->argument ? spec->argument : "");
		const char *what =
			strncmp(spec->help, "of `", 4) ? spec->help : strchr(spec->help, ':') + 2;
		text_printf(text, "  %-22s %s\n", name.data ? name.data : "", what);
	}
}

const char *heap_wishes_option(unsigned allowed, size_t n, char *ret, size_t room)
{
	static const char *const all[] = {"limit", "json", "no-pager", "color", "as"};
	const char *name = n < sizeof(all) / sizeof(*all) ? all[n] : NULL;
	size_t left = n - sizeof(all) / sizeof(*all);
	for (const struct option_spec *spec = specs; spec->name && !name; spec++) {
		if (allowed & HEAP_WISH_BIT(spec->id) && !left--)
			name = spec->name;
	}
	if (name)
		snprintf(ret, room, "--%s", name);
	return name ? ret : NULL;
}

const char *const *heap_wishes_values(const char *option, size_t len)
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

static struct error *choose_type(struct heap_look *look, struct heap_chosen *chosen)
{
	const char *word = look->wishes.type;
	uint32_t block, type;
	struct error *none = heap_subject_own(&look->heap.survey, word, &block, &type);
	if (none && strchr(word, '*')) {
		bool any;
		error_destroy(none);
		struct error *error = heap_chosen_pattern(&look->heap.survey, word, chosen, &any);
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
		error = heap_kin_alone(&look->heap.survey,
			survey_type_of(&look->heap.survey, about.block), &about.kin);
	return error ? error : heap_chosen_kin(&look->heap.survey, &about.kin, chosen);
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

static void choose_states(const struct heap_wishes *wishes, struct heap_chosen *chosen)
{
	/* What is cached is free, too. */
	if (heap_wishes_has(wishes, HEAP_WISH_USED))
		chosen->states |= 1u << BLOCK_USED;
	if (heap_wishes_has(wishes, HEAP_WISH_FREE))
		chosen->states |= 1u << BLOCK_FREE | 1u << BLOCK_CACHED;
	if (heap_wishes_has(wishes, HEAP_WISH_CACHED))
		chosen->states |= 1u << BLOCK_CACHED;
	chosen->is_asked |= chosen->states != 0;
}

static struct error *choose_pointers(struct heap_look *look, struct heap_chosen *chosen)
{
	const struct heap_wishes *wishes = &look->wishes;
	uint64_t address;
	struct error *error = NULL;
	if (wishes->references)
		error = take_address("references", wishes->references, &address);
	if (!error && wishes->references)
		error = heap_chosen_holders(&look->heap.survey, address, chosen);
	if (!error && wishes->referenced_by)
		error = take_address("referenced-by", wishes->referenced_by, &address);
	if (!error && wishes->referenced_by)
		error = heap_chosen_held(&look->heap.survey, address, chosen);
	if (!error && wishes->containing) {
		error = take_address("containing", wishes->containing, &chosen->containing);
		chosen->has_containing = chosen->is_asked = true;
	}
	return error;
}

struct error *heap_wishes_choose(struct heap_look *look)
{
	struct heap_wishes *wishes = &look->wishes;
	struct heap_chosen *chosen = &wishes->chosen;
	struct error *error = NULL;
	heap_chosen_deinit(chosen);
	choose_states(wishes, chosen);
	if (wishes->size) {
		if (!table_select_range(wishes->size, &chosen->least, &chosen->most))
			return error_create(ERROR_USAGE,
				"invalid --size '%s': expected 24, 1k.., ..64k or 1m..2m",
				wishes->size);
		chosen->is_asked = true;
	}
	if (wishes->leak)
		error = choose_kinds(wishes->leak, &chosen->kinds);
	if (heap_wishes_has(wishes, HEAP_WISH_LEAKED))
		chosen->kinds |=
			1u << SEARCH_DEFINITE | 1u << SEARCH_INDIRECT | 1u << SEARCH_POSSIBLE;
	wishes->kinds = chosen->kinds;
	chosen->is_asked |= chosen->kinds != 0;
	if (!error && wishes->type)
		error = choose_type(look, chosen);
	return error ? error : choose_pointers(look, chosen);
}
