/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbols/locals.h"

#include <dwarf.h>

#define DEPTH_MAX 64u
#define POINTER_BYTES 8u

struct finding {
	const struct local_frame *frame;
	uint64_t address;
	bool has_base;
	uint64_t base; /* that DW_OP_fbreg counts from */
	const char *name;
	uint64_t offset;
};

static bool register_of(const struct local_frame *frame, Dwarf_Word number, uint64_t *ret)
{
	bool is_stack = number == frame->stack_register;
	*ret = is_stack ? frame->stack_pointer : frame->frame_pointer;
	return is_stack || number == frame->frame_register;
}

/* What a location says that is one operation. */
static bool evaluate(const struct finding *f, const Dwarf_Op *op, bool of_base, uint64_t *ret)
{
	const uint8_t atom = op->atom;
	if (atom == DW_OP_call_frame_cfa) {
		*ret = f->frame->cfa;
		return true;
	}
	if (atom == DW_OP_fbreg && f->has_base) {
		*ret = f->base + op->number;
		return true;
	}
	if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31 &&
		register_of(f->frame, atom - DW_OP_breg0, ret)) {
		*ret += op->number;
		return true;
	}
	return of_base && atom >= DW_OP_reg0 && atom <= DW_OP_reg31 &&
	       register_of(f->frame, atom - DW_OP_reg0, ret);
}

static bool locate(
	const struct finding *f, Dwarf_Die *die, unsigned name, bool of_base, uint64_t *ret)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *ops;
	size_t count;
	return dwarf_attr(die, name, &attribute) &&
	       dwarf_getlocation_addr(&attribute, f->frame->pc, &ops, &count, 1) == 1 &&
	       count == 1 && evaluate(f, ops, of_base, ret);
}

static uint64_t size_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Die type;
	Dwarf_Word size;
	if (!dwarf_attr_integrate(die, DW_AT_type, &attribute) ||
		!dwarf_formref_die(&attribute, &type) || dwarf_aggregate_size(&type, &size) != 0)
		return POINTER_BYTES;
	return size;
}

static void take(struct finding *f, Dwarf_Die *die)
{
	uint64_t start;
	Dwarf_Attribute attribute;
	if (!locate(f, die, DW_AT_location, false, &start) || f->address < start ||
		f->address - start >= size_of(die))
		return;
	const char *name = dwarf_attr_integrate(die, DW_AT_name, &attribute)
				   ? dwarf_formstring(&attribute)
				   : NULL;
	if (name) {
		f->name = name;
		f->offset = f->address - start;
	}
}

/* Inner blocks come last, and what they say stays. */
static void look_into(struct finding *f, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;
	for (bool ok = depth < DEPTH_MAX && die_child(parent, &die); ok; ok = die_next(&die)) {
		int tag = dwarf_tag(&die);
		if (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter)
			take(f, &die);
		else if ((tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine ||
				 tag == DW_TAG_try_block || tag == DW_TAG_catch_block) &&
			 dwarf_haspc(&die, f->frame->pc) > 0)
			look_into(f, &die, depth + 1);
	}
}

struct error *locals_find(struct unit_index *index, const struct local_frame *frame,
	uint64_t address, struct strings *strings, const char **ret_name, uint64_t *ret_offset)
{
	*ret_name = NULL;
	*ret_offset = 0;
	struct unit *unit;
	const Dwarf_Die *function = NULL;
	struct error *error = unit_index_find(index, frame->pc, &unit);
	if (!error && unit)
		error = unit_function(unit, frame->pc, &function);
	if (error || !function)
		return error;
	struct finding f = {.frame = frame, .address = address};
	Dwarf_Die die = *function;
	f.has_base = locate(&f, &die, DW_AT_frame_base, true, &f.base);
	look_into(&f, &die, 0);
	*ret_offset = f.offset;
	return strings_keep(strings, f.name, ret_name);
}
