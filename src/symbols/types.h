/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Types as debug information describes them (DWARF 2 to 5): how large they are, which members they
 * have where. A type is read when it is first asked for: each unit of a program describes it anew,
 * so what has the same name, size and line stands for all of them.
 *
 * Types have numbers; TYPE_VOID stands for what is not known, too. Nothing of a damaged file is an
 * error: such types are empty, or end early. What is read never goes deeper than TYPES_DEPTH_MAX,
 * but types may lead back to themselves: code that follows them needs a counter.
 */
#ifndef SYMBOLS_TYPES_H
#define SYMBOLS_TYPES_H

#include "base/text.h"
#include "symbols/symbols.h"

#define TYPE_VOID 0u
#define TYPES_DEPTH_MAX 32u

enum type_kind {
	TYPE_UNKNOWN, /* void, and what can't be read */
	TYPE_NUMBER,
	TYPE_ENUM,
	TYPE_POINTER,
	TYPE_REFERENCE,
	TYPE_STRUCT,
	TYPE_CLASS,
	TYPE_UNION,
	TYPE_ARRAY,
	TYPE_FUNCTION,
	TYPE_TYPEDEF,
	TYPE_QUALIFIED,      /* const, volatile… */
	TYPE_MEMBER_POINTER, /* to a member of a class: an offset, or a function and an offset */
};

enum type_encoding {
	TYPE_SIGNED,
	TYPE_UNSIGNED,
	TYPE_CHARACTER, /* signed, as char is on x86-64 */
	TYPE_BYTE,      /* the same without a sign */
	TYPE_BOOLEAN,
	TYPE_FLOAT,
	TYPE_COMPLEX, /* two of these */
};

enum member_kind {
	MEMBER_PLAIN,
	MEMBER_BASE,         /* what a class derives from */
	MEMBER_VIRTUAL_BASE, /* the same; where it lies only objects know: there is no `bits` */
	MEMBER_VTABLE,       /* the pointer to it, which compilers add */
};

struct type_member {
	const char *name; /* NULL: it has none */
	uint64_t bits;    /* from the beginning of the type; of an enumerator: its value */
	uint32_t type;
	uint32_t bit_size; /* of a bit field; 0: it is none */
	enum member_kind kind;
	/* Of a virtual base: this many bytes before the first function of the object's table is
	 * how far after the object it lies (Itanium C++ ABI, 2.5.2); 0: not known. */
	uint32_t before;
};

/* One of the things that a type can be which is one of several (Rust's enums; DWARF's variant
 * parts).
 */
struct type_variant {
	const char *name;
	uint64_t bits;  /* where its members' structure begins */
	uint32_t type;  /* that structure */
	bool is_rest;   /* it is there if the number is no other one's */
	uint64_t value; /* of the number, if it is there; of is_rest nothing */
};

struct type {
	const char *name; /* with namespaces; NULL: it has none */
	uint64_t size;    /* bytes; 0: not known, or none */
	uint64_t count;   /* of an array's elements; 0: not known */
	/* What it has, by place; of an enumeration its values, of a function its parameters, of a
	 * pointer to a member the class. */
	const struct type_member *members;
	uint32_t member_count;
	/* Of an array its elements, of others what they stand for; of what types_with_members() has
	 * made the type that it was made of. */
	uint32_t target;
	enum type_kind kind;
	enum type_encoding encoding;
	bool is_declared; /* its members are described in no module that was read */
	bool is_c;        /* `struct` belongs to its name */
	bool is_rust;     /* of structures, unions and enumerations: written in Rust */
	bool is_box;      /* of a pointer: Rust's Box, which leads to one thing, never to several */
	uint32_t align;   /* of structures, unions and classes: what the declaration asks for, in
			   * bytes; 0: nothing */
	/* Of a structure that is one of several things, beside its members; NULL: of others. */
	const struct type_variant *variants;
	uint32_t variant_count;
	uint8_t which_bytes; /* of the number that says which: 1, 2, 4 or 8; 0: there is one variant
			      * alone, without a number */
	uint64_t which;      /* where that number stands: bytes from the beginning */
};

struct types;

/* Creates types without modules. `symbols` must outlive them. */
struct error *types_create(struct symbols *symbols, struct types **ret) must_check_;
void types_destroy(struct types *types);
static inline void types_cleanup(struct types **types)
{
	types_destroy(*types);
}

/* Returns whether memory ran out: answers since then may be incomplete. */
bool types_failed(const struct types *types);
/* Returns whether a module has more debug information than is looked at: some types are not known.
 */
bool types_are_cut(const struct types *types);

/* Finds out what a module's debug information declares, once. Returns whether it has any. */
bool types_add_module(struct types *types, uint32_t module);

const struct type *types_get(const struct types *types, uint32_t number);

/* Returns what a pointer or reference points to, what an array has, what a typedef stands for. */
uint32_t types_target(struct types *types, uint32_t number);
/* Returns the type without typedefs and qualifiers. */
uint32_t types_plain(const struct types *types, uint32_t number);
/* Returns whether two, plain, are one: modules describe the same class each for itself. */
bool types_are_same(const struct types *types, uint32_t a, uint32_t b);
/* Returns whether a type, plain, has a virtual base: itself, one of its bases or of its members.
 * Looks at each type once. */
bool types_have_virtual_bases(struct types *types, uint32_t number);
/* A type of the same name and size that has these members; the type itself: no memory. */
uint32_t types_with_members(
	struct types *types, uint32_t number, const struct type_member *members, uint32_t count);
/* Returns the type itself, or what types_with_members() has made it of. */
uint32_t types_declared(const struct types *types, uint32_t number);
/* Returns whether it is a structure, class or union. */
static inline bool type_has_members(const struct type *type)
{
	return type->kind == TYPE_STRUCT || type->kind == TYPE_CLASS || type->kind == TYPE_UNION;
}

/* The type that a template was made with, from 0 on, also those of a pack (class... T); false: it
 * has not this many, or is of more than are kept. Values don't count. */
bool types_argument(struct types *types, uint32_t number, unsigned which, uint32_t *ret);

/* A variable of static storage, as its declaration says. */
struct types_variable {
	const char *name; /* NULL: no such variable is known, and the rest is 0 */
	uint32_t type;
	uint64_t start; /* as the ELF file has it */
	bool is_local;  /* of one unit or function */
};
/* The variable that an address lies in, as the ELF file has it. */
void types_variable(
	struct types *types, uint32_t module, uint64_t address, struct types_variable *ret);

/* The thread-local variable at an offset in its module's thread-local memory; so is its start. */
void types_thread_local(
	struct types *types, uint32_t module, uint64_t offset, struct types_variable *ret);

/*
 * Calls `take` with each local variable of a frame whose memory is known, its type and address.
 * Without what is declared after the line (0: not known) at which its function is: it has no value
 * yet.
 */
void types_locals(struct types *types, uint32_t module, const struct local_frame *frame,
	uint32_t line, void (*take)(void *context, uint32_t type, uint64_t address), void *context);

/* Of the class template that a function is a member of. */
struct types_function_class {
	const char *name;  /* with its arguments, without namespaces */
	uint32_t type;     /* the class itself, plain; TYPE_VOID: it is described nowhere */
	uint32_t argument; /* the last one that is a type, plain; TYPE_VOID: none is known */
	/* The value of a static constant of its, or of a class that it derives from; UINT64_MAX: it
	 * has none of that name. */
	uint64_t constant;
};
/* address: as the ELF file has it. False: no class is known. */
bool types_function_class(struct types *types, uint32_t module, uint64_t address,
	const char *constant, struct types_function_class *ret);

/* What a block may be of. */
struct types_allocation {
	uint32_t type;          /* a structure, class or union, plain; TYPE_VOID: not known */
	const char *variable;   /* that is a pointer to it; NULL: the function returns one */
	bool is_declared_there; /* that variable is declared at the line of the call; else it is one
				   of the function's that points to something of that size, and
				   nothing of another type is */
};
/*
 * Looks for the type of a block of so many bytes (an array, if it is a multiple of the type's size)
 * that is allocated by the call at an address (of the call, as the ELF file has it). False: the
 * function hands memory of no type on (void *), and nothing is known: its caller may tell.
 */
bool types_allocation(struct types *types, uint32_t module, uint64_t address, uint64_t bytes,
	struct types_allocation *ret);

/* Finds the type whose functions a table of Rust's at an address has (of a `dyn Trait`), plain.
 * address: as the ELF file has it. False: no such table is described there. */
bool types_implementor(struct types *types, uint32_t module, uint64_t address, uint32_t *ret);

/* Returns what a template keeps in bytes that it was not made with yet: __aligned_membuf<T> has a
 * T. TYPE_VOID: it is no such thing. */
uint32_t types_content(struct types *types, uint32_t plain);

/* What lies at an offset of a type. */
struct types_place {
	uint32_t type;  /* plain, without members of its own there: a number, a pointer */
	uint32_t owner; /* the structure that it is a member of; TYPE_VOID: of none */
	uint64_t into;  /* the offset is so far after its beginning */
};
/* path: "list.head", "names[3]" is added; NULL: not wanted. Where a type has a hole, or ends, the
 * type itself is the place. */
void types_locate(struct types *types, uint32_t number, uint64_t offset, struct types_place *ret,
	struct text *path);

/* Returns whether a structure's last member, or that one's, is an array without an end: then of
 * which elements, plain, and where it begins. path: what it is called is added; NULL: not wanted.
 */
bool types_open_end(const struct types *types, uint32_t number, uint32_t *ret_element,
	uint64_t *ret_at, struct text *path);

/* All structures, classes, unions, enumerations and typedefs of the modules that were added: reads
 * what was not read yet. Calls `take` with each that is described, once; false from it ends it. */
void types_each(struct types *types, bool (*take)(void *context, uint32_t number), void *context);
/* As above, only for structures and classes whose size `wants` accepts, which is asked before one
 * is read.
 */
void types_each_sized(struct types *types, bool (*wants)(void *context, uint64_t size),
	bool (*take)(void *context, uint32_t number), void *context);

/* Structures and classes of more than `from` and at most `most` bytes, larger than `base` (plain),
 * that begin with it: in C it is the first member, in C++ they derive from it; also of what begins
 * so. Calls `take` with each; false from it ends it. */
void types_each_beginning(struct types *types, uint32_t base, uint64_t from, uint64_t most,
	bool (*take)(void *context, uint32_t whole), void *context);

/* Returns whether a type is another, both plain, or begins with it: derives from it, or has it as
 * its first member or element; or what that begins with. */
bool types_begins_with(const struct types *types, uint32_t type, uint32_t first);

/* By name, with or without "struct" and the like in front; TYPE_VOID: there is none. Of several
 * the one that is described. */
uint32_t types_find(struct types *types, const char *name);
/* As above, for names as people write them, "std::vector<int>" or "Circle" of geo::Circle: the
 * number of types that may be meant, and up to `most` of their whole names; *ret_type is the last
 * one. */
size_t type_query(
	struct types *types, const char *name, const char **ret, size_t most, uint32_t *ret_type);
/* Up to `most` names that are like it; the array's strings belong to the types. */
size_t types_like(struct types *types, const char *name, const char **ret, size_t most);

/* Calls `take` with the whole names of all types that are described; false from it ends it. Names
 * belong to the types. */
void types_each_name(
	struct types *types, bool (*take)(void *context, const char *name), void *context);

/* A declaration in the language: "struct node *next", "char text[16]", "int (*call)(int)". name:
 * "" for the type alone. */
void types_declare(struct types *types, uint32_t number, const char *name, struct text *text);

#endif
