/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to types*.c: attributes of entries, and types that are made of them. */
#ifndef SYMBOLS_TYPES_ENTRY_H
#define SYMBOLS_TYPES_ENTRY_H

#include "symbols/types/type_store.h"

uint64_t entry_number(Dwarf_Die *die, unsigned name, uint64_t otherwise);
bool entry_flag(Dwarf_Die *die, unsigned name);
/* Finds what DW_AT_type refers to. */
bool entry_type(Dwarf_Die *die, Dwarf_Die *ret);
/* As above, and reads it; TYPE_VOID: there is none. */
uint32_t types_of_entry(struct types *types, Dwarf_Die *die);

/* A new type that the entry (NULL: none) stands for; TYPE_VOID: no memory. */
uint32_t types_make(struct types *types, Dwarf_Die *die, const struct type *type);
/* From now on the entry stands for that type, which is returned. */
uint32_t types_stand_for(struct types *types, Dwarf_Die *die, uint32_t number);

/* A copy that stays, the same one for equal names; NULL of NULL. */
const char *types_keep(struct types *types, const char *name);
/* Returns what the outline has of an entry; NULL: nothing. */
const struct outline_type *types_outline_of(const struct types *types, const Dwarf_Die *die);
/* With namespaces, kept. */
const char *types_whole_name(struct types *types, Dwarf_Die *die, const struct outline_type *known);

/* Members are gathered in types->scratch while a type is read, and those of types that it needs
 * after them; from `first` on they are then the type's. */
void types_add_member(struct types *types, const struct type_member *member);
void types_settle_members(struct types *types, uint32_t number, size_t first);

/* A structure, class, union or enumeration. */
uint32_t types_read_class(struct types *types, Dwarf_Die *die, int tag);

/* What an entry (DW_TAG_variant_part) says of a type that is one of several things. */
void types_read_variants(struct types *types, Dwarf_Die *part, uint32_t number);

#endif
