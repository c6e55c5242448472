/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the forms for CI systems share: one sentence, one place and one fingerprint a row. */
#include "analysis/summary.h"
#include "views/gates/ci_parts.h"
#include "views/leaks/leaks_page.h"
#include "views/report/figure_text.h"

const char *leaks_kind_words(const struct leak_row *row)
{
	static const char *const words[LEAK_CLASSES] = {
		[LEAK_CLASS_DEFINITE] = "definitely lost",
		[LEAK_CLASS_INDIRECT] = "indirectly lost",
		[LEAK_CLASS_POSSIBLE] = "possibly lost",
		[LEAK_CLASS_REACHABLE] = "still reachable",
		[LEAK_CLASS_SUPPRESSED] = "suppressed",
		[LEAK_CLASS_LIBRARY] = "kept by libraries",
		[LEAK_CLASS_NEVER_FREED] = "never freed",
	};
	return words[row->class];
}

const char *leaks_heuristic_name(unsigned number)
{
	static const char *const names[LEAK_HEURISTICS] = {
		"stdstring", "length64", "newarray", "multipleinheritance"};
	return names[number];
}

void leaks_add_quantity(struct text *out, uint64_t bytes, uint64_t blocks)
{
	text_printf(out, "%s in %s%s", FMT_BYTES(bytes), FMT_COUNT(blocks),
		blocks == 1 ? " block" : " blocks");
}

void leaks_add_message(const struct leaks_page *page, const struct leak_row *row, struct text *out)
{
	const struct leak_stack *stack = leaks_stack(page, row);
	leaks_add_quantity(out, row->bytes, row->blocks);
	text_printf(out, " %s", leaks_kind_words(row));
	if (row->indirect_blocks) {
		text_add(out, ", and with ");
		text_add(out, row->blocks == 1 ? "it " : "them ");
		leaks_add_quantity(out, row->indirect_bytes, row->indirect_blocks);
	}
	if (stack->kind != KIND_UNKNOWN)
		text_printf(out, ", from %s", leaks_function(stack));
	if (stack->place) {
		text_add(out, " in ");
		summary_add_place(out, stack->place);
	}
}

bool leaks_may_be_error(const struct leaks_page *page, const struct leak_row *row)
{
	return page->options->detail == LEAKS_FULL && row->class < LEAK_CLASS_SUPPRESSED &&
	       (page->options->error_kinds >> row->kind & 1) != 0;
}

bool leaks_is_error(const struct leaks_page *page, const struct leak_row *row)
{
	return leaks_may_be_error(page, row) && (page->sure_kinds >> row->kind & 1) != 0;
}

bool leaks_fingerprint(const struct leaks_page *page, const struct leak_row *row, uint64_t *ret)
{
	const struct leak_stack *stack = leaks_stack(page, row);
	return ci_fingerprint(leak_class_name((enum leak_class)row->kind), stack->kind,
		stack->frames, stack->depth, ret);
}
