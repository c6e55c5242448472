/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * C++ objects that identify themselves: an object with virtual functions begins with a pointer to
 * its class's vtable, and the word before the vtable points to the class's description (Itanium C++
 * ABI, 2.5.2 and 2.9). Names come from there, or from symbols where classes are not described
 * (-fno-rtti). No name is made up: where the description's text is in no file at hand, the table's
 * own place stands for the class.
 */
#ifndef HEAP_CXX_H
#define HEAP_CXX_H

#include "base/text.h"
#include "heap/scan/names.h"
#include "heap/scan/shapes.h"
#include "heap/types/types.h"
#include "symbols/types.h"

/* Returns whether the program contains a C++ library, also a statically linked one. May search all
 * read-only data of modules. */
bool cxx_is_there(const struct address_space *space);

/* Adds the name of a class as people write it: without default allocators and inner namespaces of
 * libraries, and "shared_ptr control block of T" for what that is. */
void cxx_add_plain_name(struct text *text, const char *name);
/* Adds the name of a symbol, or a declaration, with class names in that form. */
void cxx_add_symbol(struct text *text, const char *name);
/* As types_declare(), with class names in that form. */
void cxx_add_declaration(struct text *text, struct types *types, uint32_t type, const char *name);
/* As cxx_add_plain_name(), for a name in the form of type_info::name(). */
void cxx_add_class_name(struct text *text, const char *name);

#endif
