/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dwarf.h>

#include "symbols/types/locals.h"
#include "symbols/types/type_store.h"

struct taking {
	struct types *types;
	uint32_t line;
	void (*take)(void *context, uint32_t type, uint64_t address);
	void *context;
};

static void take_local(void *context, Dwarf_Die *variable, uint64_t start, bool inlined)
{
	struct taking *t = context;
	Dwarf_Attribute attribute;
	Dwarf_Die type;
	int line;
	/* Lines of what was inlined are others. */
	if (t->line && !inlined && dwarf_decl_line(variable, &line) == 0 && line > (int64_t)t->line)
		return;
	if (dwarf_attr_integrate(variable, DW_AT_type, &attribute) &&
		dwarf_formref_die(&attribute, &type))
		t->take(t->context, types_of_die(t->types, &type), start);
}

void types_locals(struct types *types, uint32_t module, const struct local_frame *frame,
	uint32_t line, void (*take)(void *context, uint32_t type, uint64_t address), void *context)
{
	struct unit_index *units = symbols_units(types->symbols, module);
	struct taking t = {types, line, take, context};
	struct error *error = units ? locals_each(units, frame, take_local, &t) : NULL;
	types->failed |= error != NULL;
	error_destroy(error);
}
