/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Containers and pointers of Rust's libraries, recognised by their names in debug information.
 * Which members they have where is read from debug information, too: rustc chooses the order of
 * members, and the libraries change. Tested with 1.63 and 1.95.
 */
#ifndef HEAP_RUST_H
#define HEAP_RUST_H

#include "base/text.h"
#include "symbols/types.h"

/* A hash table's byte for a bucket that is full is smaller. */
#define RUST_TAG_EMPTY 0x80u

enum rust_form {
	RUST_NONE,
	RUST_BUFFER, /* Vec: a pointer, room for this many elements, of which the first `count` are
		      * there */
	RUST_TEXT,   /* String: the same of bytes, which are UTF-8 */
	RUST_RING,   /* VecDeque: the same; the elements begin at `begin` and may go on at 0 */
	RUST_TABLE,  /* hashbrown's, of HashMap and HashSet: elements lie before the pointer, a byte
		      * each after it says whether they are there */
	RUST_SLICE,  /* a pointer and a number: &[T], Box<[T]>, Rc<[T]> */
	RUST_STR,    /* a pointer and a number of bytes of UTF-8: &str, Box<str> */
	RUST_TRAIT,  /* a pointer and a table of functions: &dyn T, Box<dyn T>, Rc<dyn T> */
	RUST_BOX,    /* a pointer to one T: Box<T> of what has no members */
};

/* Offsets in the object; UINT32_MAX: it has no such word. */
struct rust_container {
	enum rust_form form;
	uint32_t element; /* plain; of RUST_TRAIT what the pointer is declared to lead to */
	uint32_t pointer;
	uint32_t count; /* elements; of RUST_RING of old libraries where they end */
	uint32_t room;  /* of RUST_TABLE: less one; of RUST_TRAIT: the table of functions */
	uint32_t begin;
	bool ends;    /* of RUST_RING: `count` is where they end, `room` a power of two */
	bool is_held; /* of slices and traits: its holder owns it, as a Box does */
};
#define RUST_NOWHERE UINT32_MAX

/* Returns whether objects of a type, plain, are such. */
bool rust_container_find(struct types *types, uint32_t plain, struct rust_container *ret);

/* Returns whether a type, plain, is a node of a BTreeMap's or BTreeSet's without edges: of its
 * members `keys` and `vals` the first `len` are there. */
bool rust_is_leaf(const struct type *type);
/* Returns whether it is one with edges: of these the first `len` + 1 are there. */
bool rust_is_internal(const struct type *type);
/* Of a leaf the type of nodes with edges of the same tree, plain; TYPE_VOID: none is described. */
uint32_t rust_internal_of_leaf(struct types *types, const struct type *leaf);

/* Returns whether a type is memory that may have no value yet (MaybeUninit); … */
bool rust_is_unset(const struct type *type);
/* … and one in which it has one if the type's `once` says so (OnceLock, LazyLock, thread-local
 * variables). */
bool rust_is_cell(const struct type *type);

/* What counts references before a value: RcInner<T>, in Rust up to 1.7x RcBox<T>; ArcInner<T>.
 */
bool rust_is_counted(const struct type *type);
/* Returns the type of such a block whose declared one, `counted`, has a trait for T, with the type
 * that implements it; TYPE_VOID: none is described. */
uint32_t rust_counted_of(struct types *types, const struct type *counted, uint32_t implementor);

/* Adds a name as people write it: without paths of Rust's own libraries, and without arguments that
 * are those by default. Of what containers allocate by what it is: "Rc block of Circle",
 * "BTreeMap<u32, String> leaf node". */
void rust_add_name(struct text *text, const char *name);
/* Adds what a container's memory is called: "Vec<u32> buffer", "HashMap<u64, String> table". */
void rust_add_part_name(struct text *text, struct types *types, uint32_t container);

#endif
