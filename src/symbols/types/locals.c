/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbols/types/locals.h"

#include <dwarf.h>

#define DEPTH_MAX 64u
#define POINTER_BYTES 8u

struct walking {
	const struct local_frame *frame;
	bool has_base;
	uint64_t base; /* that DW_OP_fbreg counts from */
	locals_take take;
	void *context;
};

struct finding {
	uint64_t address;
	const char *name;
	uint64_t offset;
};

static bool register_of(const struct local_frame *frame, Dwarf_Word number, uint64_t *ret)
{
	bool is_stack = number == frame->stack_register;
	*ret = is_stack ? frame->stack_pointer : frame->frame_pointer;
	return is_stack || number == frame->frame_register;
}

/* What the first operation of a location says. */
static bool locals_begin(const struct walking *w, const Dwarf_Op *op, bool of_base, uint64_t *ret)
{
	const uint8_t atom = op->atom;
	if (atom == DW_OP_call_frame_cfa) {
		*ret = w->frame->cfa;
		return true;
	}
	if (atom == DW_OP_fbreg && w->has_base) {
		*ret = w->base + op->number;
		return true;
	}
	if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31 &&
		register_of(w->frame, atom - DW_OP_breg0, ret)) {
		*ret += op->number;
		return true;
	}
	return of_base && atom >= DW_OP_reg0 && atom <= DW_OP_reg31 &&
	       register_of(w->frame, atom - DW_OP_reg0, ret);
}

static bool is_constant(const Dwarf_Op *op, uint64_t *ret)
{
	*ret = op->number;
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
		*ret = op->atom - DW_OP_lit0;
		return true;
	}
	return (op->atom >= DW_OP_const1u && op->atom <= DW_OP_consts);
}

/* What a location says: one operation, and constants that are added to it. LLVM writes where
 * frames begin that are larger than a page so: DW_OP_call_frame_cfa, DW_OP_consts, DW_OP_plus. */
static bool locals_evaluate(
	const struct walking *w, const Dwarf_Op *ops, size_t count, bool of_base, uint64_t *ret)
{
	uint64_t value, constant;
	if (!count || !locals_begin(w, ops, of_base, &value))
		return false;
	for (size_t i = 1; i < count; i++) {
		if (ops[i].atom == DW_OP_plus_uconst) {
			value += ops[i].number;
			continue;
		}
		if (i + 1 == count || !is_constant(&ops[i], &constant))
			return false;
		i++;
		if (ops[i].atom != DW_OP_plus && ops[i].atom != DW_OP_minus)
			return false;
		value += ops[i].atom == DW_OP_plus ? constant : -constant;
	}
	*ret = value;
	return true;
}

static bool locals_locate(
	const struct walking *w, Dwarf_Die *die, unsigned name, bool of_base, uint64_t *ret)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *ops;
	size_t count;
	return dwarf_attr(die, name, &attribute) &&
	       dwarf_getlocation_addr(&attribute, w->frame->pc, &ops, &count, 1) == 1 &&
	       locals_evaluate(w, ops, count, of_base, ret);
}

static uint64_t locals_size_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Die type;
	Dwarf_Word size;
	if (!dwarf_attr_integrate(die, DW_AT_type, &attribute) ||
		!dwarf_formref_die(&attribute, &type) || dwarf_aggregate_size(&type, &size) != 0)
		return POINTER_BYTES;
	return size;
}

/* Inner blocks come last, and what they say stays. */
static void locals_take_take(void *context, Dwarf_Die *die, uint64_t start, bool inlined)
{
	struct finding *f = context;
	Dwarf_Attribute attribute;
	(void)inlined;
	if (f->address < start || f->address - start >= locals_size_of(die))
		return;
	const char *name = dwarf_attr_integrate(die, DW_AT_name, &attribute)
				   ? dwarf_formstring(&attribute)
				   : NULL;
	if (name) {
		f->name = name;
		f->offset = f->address - start;
	}
}

static void look_into(struct walking *w, Dwarf_Die *parent, unsigned depth, bool inlined)
{
	Dwarf_Die die;
	uint64_t start;
	for (bool ok = depth < DEPTH_MAX && die_child(parent, &die); ok; ok = die_next(&die)) {
		int tag = dwarf_tag(&die);
		if ((tag == DW_TAG_variable || tag == DW_TAG_formal_parameter) &&
			locals_locate(w, &die, DW_AT_location, false, &start))
			w->take(w->context, &die, start, inlined);
		else if ((tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine ||
				 tag == DW_TAG_try_block || tag == DW_TAG_catch_block) &&
			 dwarf_haspc(&die, w->frame->pc) > 0)
			look_into(w, &die, depth + 1, inlined || tag == DW_TAG_inlined_subroutine);
	}
}

struct error *locals_each(struct unit_index *index, const struct local_frame *frame,
	locals_take take_one, void *context)
{
	struct unit *unit;
	const Dwarf_Die *function = NULL;
	struct error *error = unit_index_find(index, frame->pc, &unit);
	if (!error && unit)
		error = unit_function(unit, frame->pc, &function);
	if (error || !function)
		return error;
	struct walking w = {.frame = frame, .take = take_one, .context = context};
	Dwarf_Die die = *function;
	w.has_base = locals_locate(&w, &die, DW_AT_frame_base, true, &w.base);
	look_into(&w, &die, 0, false);
	return NULL;
}

struct error *locals_find(struct unit_index *index, const struct local_frame *frame,
	uint64_t address, struct strings *strings, const char **ret_name, uint64_t *ret_offset)
{
	struct finding f = {.address = address};
	*ret_name = NULL;
	struct error *error = locals_each(index, frame, locals_take_take, &f);
	*ret_offset = f.offset;
	return error ? error : strings_keep(strings, f.name, ret_name);
}
