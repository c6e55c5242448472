/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the virtual bases of an object lie. Debug information says only how a program finds out: so
 * far before the functions of the object's table is how far after the object the base begins
 * (Itanium C++ ABI, 2.5.2). It is the same in all objects of one class, but not in those of classes
 * that derive from it. So an object's class becomes a type of its own, which has each virtual base
 * once, as if it were a plain one.
 */
#ifndef HEAP_VIRTUAL_BASES_H
#define HEAP_VIRTUAL_BASES_H

#include "process/address_space.h"
#include "symbols/types.h"

/* Returns the type, plain, as an object of it at that address is laid out; so are objects that it
 * has as members. The type itself if it has no virtual bases; those that make no sense are left
 * out. */
uint32_t virtual_bases_place(
	struct types *types, const struct address_space *space, uint32_t type, uint64_t address);

/* Returns the type as a base of another one, `offset` bytes from the beginning, where that one's
 * virtual bases are placed. */
uint32_t virtual_bases_within(struct types *types, uint32_t whole, uint64_t offset, uint32_t type);

#endif
