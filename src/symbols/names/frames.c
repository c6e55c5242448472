/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The chain of inlined functions at an address: from the function's DIE down through each
 * DW_TAG_inlined_subroutine whose ranges hold the address. The line table gives the place in the
 * innermost; each inlined DIE says where in the next one outward it was called.
 *
 * A name is the demangled linkage name. Where DWARF has none (C; static functions and members of
 * local types in C++) it is DW_AT_name, in C++ and its like qualified by the namespaces and types
 * around its declaration. With -g1 there are none around it, and a symbol table is asked.
 * extern "C" functions are external and have no linkage name: bare.
 */
#include "symbols/names/frames.h"

#include <dwarf.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"
#include "symbols/name.h"

#define CHAIN_DEPTH_MAX 256u
#define SCOPE_DEPTH_MAX 64u
#define ORIGIN_HOPS_MAX 16u

/* Nearly always what it is. */
#define UNNAMED_TYPE "{lambda}"

DEFINE_VEC(die_vec, Dwarf_Die)

/* Which of the tags inside a function may hold inlined ones. */
static bool frames_is_block(int tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
	       tag == DW_TAG_catch_block || tag == DW_TAG_with_stmt;
}

/* Whether a DIE's code holds the address; a block without code of its own may. */
static bool may_hold(Dwarf_Die *die, int tag, uint64_t address)
{
	return dwarf_haspc(die, address) > 0 ||
	       (frames_is_block(tag) && !dwarf_hasattr(die, DW_AT_low_pc) &&
		       !dwarf_hasattr(die, DW_AT_ranges));
}

/* Appends the inlined DIEs at the address below `parent`, the outermost first. */
static struct error *add_inlined(
	struct die_vec *chain, Dwarf_Die *parent, uint64_t address, unsigned depth)
{
	Dwarf_Die die;
	if (depth > CHAIN_DEPTH_MAX)
		return NULL;
	for (bool ok = die_child(parent, &die); ok; ok = die_next(&die)) {
		int tag = dwarf_tag(&die);
		bool is_inlined = tag == DW_TAG_inlined_subroutine;
		if ((!is_inlined && !frames_is_block(tag)) || !may_hold(&die, tag, address))
			continue;
		size_t before = chain->len;
		if (is_inlined && !die_vec_push(chain, die))
			return error_no_memory();
		struct error *error = add_inlined(chain, &die, address, depth + 1);
		if (error || chain->len > before)
			return error;
	}
	return NULL;
}

/* The DIE where the function of this one was declared. */
static Dwarf_Die frames_declaration(Dwarf_Die die)
{
	for (unsigned hop = 0; hop < ORIGIN_HOPS_MAX; hop++) {
		Dwarf_Attribute attribute;
		Dwarf_Die origin;
		if (!dwarf_attr(&die, DW_AT_abstract_origin, &attribute) &&
			!dwarf_attr(&die, DW_AT_specification, &attribute))
			break;
		if (!dwarf_formref_die(&attribute, &origin))
			break;
		die = origin;
	}
	return die;
}

/* The languages of which a name without its namespace says little. */
static bool names_scopes(Dwarf_Die *unit)
{
	static const int languages[] = {
		DW_LANG_C_plus_plus,
		DW_LANG_C_plus_plus_03,
		DW_LANG_C_plus_plus_11,
		DW_LANG_C_plus_plus_14,
		0x2a, /* C++ 17 and 20, which DWARF 6 will have; clang uses them already */
		0x2b,
		DW_LANG_D,
		DW_LANG_Rust,
	};
	int language = dwarf_srclang(unit);
	for (size_t i = 0; i < ARRAY_SIZE(languages); i++)
		if (languages[i] == language)
			return true;
	return false;
}

static const char *scope_name(Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);
	switch (dwarf_tag(die)) {
	case DW_TAG_namespace:
		return name ? name : "(anonymous namespace)";
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		return name ? name : UNNAMED_TYPE;
	case DW_TAG_module:
	case DW_TAG_subprogram:
		return name;
	default:
		return NULL;
	}
}

/*
 * Adds "outer::inner::" for what is around a DIE. There are no links to parents, but DIEs lie in
 * preorder: on each level the last sibling that starts before the DIE is around it, unless the DIE
 * is a sibling itself. Returns whether a type without a name was among it.
 */
static bool add_scopes(struct text *name, Dwarf_Die *target)
{
	Dwarf_Die around;
	bool found = dwarf_diecu(target, &around, NULL, NULL) != NULL, is_vague = false;
	for (unsigned depth = 0; found && depth < SCOPE_DEPTH_MAX; depth++) {
		Dwarf_Die die, parent = around;
		found = false;
		for (bool ok = die_child(&parent, &die); ok; ok = die_next(&die)) {
			if (die.addr == target->addr)
				return is_vague;
			if ((char *)die.addr > (char *)target->addr)
				break;
			around = die;
			found = true;
		}
		const char *scope = found ? scope_name(&around) : NULL;
		if (scope)
			text_printf(name, "%s::", scope);
		is_vague |= scope && strcmp(scope, UNNAMED_TYPE) == 0;
	}
	return is_vague;
}

static const char *attribute_string(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	return dwarf_attr_integrate(die, name, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

static struct error *keep_qualified(struct strings *strings, Dwarf_Die *die, const char *name,
	const char **ret, bool *ret_vague)
{
	_cleanup_(text_deinit) struct text qualified;
	text_init(&qualified);
	*ret_vague = add_scopes(&qualified, die);
	/* Debug information of lines alone (-g1) has no namespaces and types to be in. */
	*ret_vague |= !qualified.len;
	text_add(&qualified, name);
	if (qualified.failed)
		return error_no_memory();
	return strings_keep(strings, qualified.data, ret);
}

static struct error *set_name(struct unit *unit, Dwarf_Die *die, struct strings *strings,
	struct symbol *symbol, bool *ret_vague)
{
	*ret_vague = false;
	const char *linkage = attribute_string(die, DW_AT_linkage_name);
	if (!linkage)
		linkage = attribute_string(die, DW_AT_MIPS_linkage_name);
	const char *name = attribute_string(die, DW_AT_name);
	const char *raw = linkage && !(symbol->inlined && name) ? linkage : name;
	struct error *error = strings_keep(strings, raw, &symbol->raw_name);
	if (!error)
		error = strings_keep(strings, linkage, &symbol->linkage_name);
	if (error)
		return error;
	/* C has linkage names too, where a header renamed a function: __GI_abort for abort. */
	if (linkage && (!name || name_is_mangled(linkage)))
		return strings_keep_demangled(strings, linkage, &symbol->function);
	if (!name || dwarf_hasattr_integrate(die, DW_AT_external) || !names_scopes(&unit->die))
		return strings_keep(strings, name, &symbol->function);
	Dwarf_Die declared = frames_declaration(*die);
	return keep_qualified(strings, &declared, name, &symbol->function, ret_vague);
}

/*
 * Relative names are of the folder of the compilation, which may be relative itself; libdw puts it
 * in front of some of them. It says "???" where the table has no name.
 */
static struct error *set_file(
	struct unit *unit, const char *file, struct strings *strings, struct symbol *symbol)
{
	if (!file || strcmp(file, "???") == 0)
		return NULL;
	const char *folder = attribute_string(&unit->skeleton, DW_AT_comp_dir);
	size_t folder_len = folder ? strlen(folder) : 0;
	if (file[0] == '/' || !folder ||
		(strncmp(file, folder, folder_len) == 0 && file[folder_len] == '/'))
		return strings_keep_path(strings, file, &symbol->file);
	_cleanup_(text_deinit) struct text path;
	text_init(&path);
	text_printf(&path, "%s/%s", folder, file);
	return path.failed ? error_no_memory()
			   : strings_keep_path(strings, path.data, &symbol->file);
}

/* The place where the address itself is, by the line table. */
static struct error *set_line(
	struct unit *unit, uint64_t address, struct strings *strings, struct symbol *symbol)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->skeleton, address);
	int number = 0;
	if (!line)
		return NULL;
	if (dwarf_lineno(line, &number) == 0 && number > 0)
		symbol->line = (uint32_t)number;
	return set_file(unit, dwarf_linesrc(line, NULL, NULL), strings, symbol);
}

static bool attribute_number(Dwarf_Die *die, unsigned name, Dwarf_Word *ret)
{
	Dwarf_Attribute attribute;
	return dwarf_attr(die, name, &attribute) && dwarf_formudata(&attribute, ret) == 0;
}

/* The place where an inlined function was called. */
static struct error *set_call(
	struct unit *unit, Dwarf_Die *inlined, struct strings *strings, struct symbol *symbol)
{
	Dwarf_Word number, file;
	Dwarf_Files *files;
	size_t count;
	if (attribute_number(inlined, DW_AT_call_line, &number) && number <= INT32_MAX)
		symbol->line = (uint32_t)number;
	if (!attribute_number(inlined, DW_AT_call_file, &file) ||
		(dwarf_getsrcfiles(&unit->die, &files, &count) != 0 &&
			dwarf_getsrcfiles(&unit->skeleton, &files, &count) != 0) ||
		file >= count)
		return NULL;
	return set_file(unit, dwarf_filesrc(files, file, NULL, NULL), strings, symbol);
}

/* `chain` is outermost first, the result innermost. *ret_vague is of the outermost, set last. */
static struct error *add_chain(struct unit *unit, uint64_t address, const struct die_vec *chain,
	struct strings *strings, struct symbol_vec *ret, bool *ret_vague)
{
	for (size_t i = chain->len; i > 0; i--) {
		Dwarf_Die *die = &chain->data[i - 1];
		struct symbol symbol = {.inlined = i > 1};
		struct error *error = set_name(unit, die, strings, &symbol, ret_vague);
		if (!error)
			error = i == chain->len ? set_line(unit, address, strings, &symbol)
						: set_call(unit, die + 1, strings, &symbol);
		if (error)
			return error;
		if (!symbol_vec_push(ret, symbol))
			return error_no_memory();
	}
	return NULL;
}

struct error *frames_add(struct unit_index *index, uint64_t address, struct strings *strings,
	struct symbol_vec *ret, bool *ret_vague)
{
	*ret_vague = false;
	struct unit *unit;
	struct error *error = unit_index_find(index, address, &unit);
	if (error || !unit)
		return error;
	const Dwarf_Die *function;
	error = unit_function(unit, address, &function);
	if (error)
		return error;
	if (!function) {
		/* Assembly has lines, but no functions. */
		struct symbol symbol = {0};
		error = set_line(unit, address, strings, &symbol);
		if (!error && symbol.file && !symbol_vec_push(ret, symbol))
			error = error_no_memory();
		return error;
	}
	_cleanup_(die_vec_deinit) struct die_vec chain;
	die_vec_init(&chain);
	Dwarf_Die outermost = *function;
	if (!die_vec_push(&chain, outermost))
		return error_no_memory();
	error = add_inlined(&chain, &outermost, address, 0);
	return error ? error : add_chain(unit, address, &chain, strings, ret, ret_vague);
}
