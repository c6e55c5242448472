/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbols/types/variables.h"

#include <dwarf.h>

#include "symbols/types/unit_index.h"

/* Of namespaces, functions and blocks in one another. */
#define DEPTH_MAX 32u
/* Entries that are looked at: some seconds' worth; of the largest programs a part stays unread. */
#define ENTRIES_MAX (8u << 20)

void variables_init(struct variables *variables)
{
	*variables = (struct variables){.scanned = false};
	variable_map_init(&variables->places);
}

void variables_deinit(struct variables *variables)
{
	variable_map_deinit(&variables->places);
}

bool variable_static_address(Dwarf_Die *die, uint64_t *ret)
{
	Dwarf_Attribute attribute, address;
	Dwarf_Op *op;
	size_t len;
	if (!dwarf_attr(die, DW_AT_location, &attribute) ||
		dwarf_getlocation(&attribute, &op, &len) != 0 || len != 1)
		return false;
	Dwarf_Addr value = op->number;
	if (op->atom != DW_OP_addr &&
		((op->atom != DW_OP_addrx && op->atom != DW_OP_GNU_addr_index) ||
			dwarf_getlocation_attr(&attribute, op, &address) != 0 ||
			dwarf_formaddr(&address, &value) != 0))
		return false;
	*ret = value;
	return true;
}

/* What an operation puts on the stack that is a number, or stands for one. */
static bool variables_number_of(Dwarf_Attribute *location, const Dwarf_Op *op, uint64_t *ret)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;
	switch (op->atom) {
	case DW_OP_const1u:
	case DW_OP_const2u:
	case DW_OP_const4u:
	case DW_OP_const8u:
	case DW_OP_constu:
	case DW_OP_addr:
		*ret = op->number;
		return true;
	case DW_OP_constx:
	case DW_OP_GNU_const_index:
		if (dwarf_getlocation_attr(location, op, &attribute) != 0 ||
			dwarf_formudata(&attribute, &value) != 0)
			return false;
		*ret = value;
		return true;
	default:
		return false;
	}
}

bool variable_thread_offset(Dwarf_Die *die, uint64_t *ret)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *op;
	size_t len;
	return dwarf_attr(die, DW_AT_location, &attribute) &&
	       dwarf_getlocation(&attribute, &op, &len) == 0 && len == 2 &&
	       (op[1].atom == DW_OP_form_tls_address || op[1].atom == DW_OP_GNU_push_tls_address) &&
	       variables_number_of(&attribute, op, ret);
}

/* dwarf_decl_file() ends the process where a damaged unit has no table of files. */
static const char *decl_file(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;
	Dwarf_Die unit;
	Dwarf_Files *files;
	size_t count;
	if (!dwarf_attr_integrate(die, DW_AT_decl_file, &attribute) ||
		dwarf_formudata(&attribute, &number) != 0 || !number ||
		!dwarf_cu_die(attribute.cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL) ||
		dwarf_getsrcfiles(&unit, &files, &count) != 0 || number >= count)
		return NULL;
	return dwarf_filesrc(files, number, NULL, NULL);
}

static struct error *add_variable(struct variables *variables, Dwarf_Die *die)
{
	uint64_t start;
	int line = 0;
	const char *file = variable_static_address(die, &start) ? decl_file(die) : NULL;
	if (!file)
		return NULL;
	struct variable_place *place = variable_map_insert(&variables->places, start, NULL);
	if (!place)
		return error_no_memory();
	place->file = file;
	place->line = dwarf_decl_line(die, &line) == 0 && line > 0 ? (uint32_t)line : 0;
	return NULL;
}

/* What can have variables inside. */
static bool is_scope(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block;
}

static struct error *scan_scope(struct variables *variables, Dwarf_Die *outer, unsigned *entries)
{
	Dwarf_Die path[DEPTH_MAX];
	unsigned depth = 0;
	bool ok = die_child(outer, &path[0]);
	while (ok && ++*entries < ENTRIES_MAX) {
		int tag = dwarf_tag(&path[depth]);
		struct error *error =
			tag == DW_TAG_variable ? add_variable(variables, &path[depth]) : NULL;
		if (error)
			return error;
		if (is_scope(tag) && depth + 1 < DEPTH_MAX &&
			die_child(&path[depth], &path[depth + 1])) {
			depth++;
			continue;
		}
		while (!(ok = die_next(&path[depth])) && depth > 0)
			depth--;
	}
	return NULL;
}

static struct error *variables_scan(struct variables *variables, Dwarf *dwarf)
{
	struct error *error = NULL;
	unsigned entries = 0;
	Dwarf_CU *unit = NULL;
	Dwarf_Die die, split;
	while (!error && entries < ENTRIES_MAX &&
		dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, &split) == 0)
		error = scan_scope(variables, split.addr ? &split : &die, &entries);
	return error;
}

struct error *variables_find(struct variables *variables, Dwarf *dwarf, uint64_t start,
	const char **ret_file, uint32_t *ret_line)
{
	struct error *error = NULL;
	*ret_file = NULL;
	*ret_line = 0;
	if (!variables->scanned) {
		variables->scanned = true;
		error = variables_scan(variables, dwarf);
	}
	const struct variable_place *place =
		error ? NULL : variable_map_find(&variables->places, start);
	if (place) {
		*ret_file = place->file;
		*ret_line = place->line;
	}
	return error;
}
