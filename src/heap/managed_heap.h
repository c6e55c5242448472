/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A heap that is garbage collected, as V8 writes it into a heap snapshot and a JVM into a heap
 * dump: objects, and which reference which. src/sources reads one; here is what is asked of it.
 *
 * Object 0 is the root. A reference holds its target unless it is weak, or a shortcut (which V8
 * adds beside the real one) from any other object than the root, or that of a WeakMap's table to
 * the value of a key: only the key holds that. What nothing holds waits for the garbage collector,
 * or is referenced weakly; it counts, and retains itself alone.
 *
 * An object retains what would be gone with it: itself and all that it dominates
 * (search/dominators.h says what that is). A class retains what its objects do, each byte once.
 */
#ifndef HEAP_MANAGED_HEAP_H
#define HEAP_MANAGED_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"
#include "symbols/strings.h"

/* Types of objects, of references: V8 names them in each file, in an order of its own. */
enum managed_type {
	MANAGED_HIDDEN,
	MANAGED_ARRAY,
	MANAGED_STRING,
	MANAGED_OBJECT,
	MANAGED_CODE,
	MANAGED_CLOSURE,
	MANAGED_REGEXP,
	MANAGED_NATIVE,
	MANAGED_SYNTHETIC,
	MANAGED_CLASS, /* a java.lang.Class: on ways it has its own name */
	MANAGED_OTHER, /* named by managed_heap.type_names */
};

enum managed_reference {
	MANAGED_PROPERTY, /* by a name, as a variable of a closure's context */
	MANAGED_ELEMENT,  /* by an index */
	MANAGED_INTERNAL, /* by a name that V8 gives it */
	MANAGED_SHORTCUT,
	MANAGED_WEAK,
	MANAGED_BY_ROOT, /* of a root, which is named itself: the reference has no name */
};

#define MANAGED_TYPES_MAX 64u

struct managed_object {
	uint64_t bytes : 56;
	uint64_t type : 8; /* an index of managed_heap.types */
	uint32_t name;     /* of managed_heap.strings */
	uint32_t id;       /* the same in later snapshots of the process, if has_ids */
	uint32_t first_edge;
	uint32_t trace; /* of managed_heap.traces, plus 1; 0: it is not known who allocated it */
};

struct managed_edge {
	uint32_t to;
	uint32_t name;  /* of managed_heap.strings; of elements the index */
	uint8_t kind;   /* enum managed_reference */
	bool is_number; /* of an internal one: the name is a number, too */
};

/* A call stack's innermost call. */
struct managed_trace {
	uint32_t parent; /* plus 1; always an earlier one; 0: none */
	uint32_t function;
};

struct managed_function {
	uint32_t name, file;   /* of managed_heap.strings */
	uint32_t line, column; /* from 1; 0: not known */
};

/* Objects that are called alike: of one constructor, or a kind of V8's own in parentheses. */
struct managed_class {
	const char *name;
	uint64_t objects, bytes;
	uint64_t retained_bytes; /* after managed_heap_retain() */
};

DEFINE_VEC(managed_objects, struct managed_object)
DEFINE_VEC(managed_edges, struct managed_edge)
DEFINE_VEC(managed_traces, struct managed_trace)
DEFINE_VEC(managed_functions, struct managed_function)
DEFINE_VEC(managed_strings, uint64_t)
DEFINE_VEC(managed_classes, struct managed_class)

struct managed_heap {
	struct managed_objects objects;
	struct managed_edges edges; /* of each object in turn */
	struct managed_traces traces;
	struct managed_functions functions;
	struct managed_strings strings; /* offsets in `text` */
	char *text;                     /* strings, each with a NUL */
	enum managed_type types[MANAGED_TYPES_MAX];
	const char *type_names[MANAGED_TYPES_MAX];
	size_t type_count;
	bool has_ids;
	/* How sizes were found, if the file does not have them; "": it does. */
	char *sizes;

	/* After managed_heap_classify(). */
	struct strings names;
	struct managed_classes classes;
	uint32_t *class_of; /* of each object */

	/* After managed_heap_retain(). */
	uint64_t *retained;   /* of each object */
	uint32_t *dominators; /* of each object; MANAGED_NONE: of the root, and of what nothing
				 holds */
	uint64_t unheld_objects, unheld_bytes;
};
#define MANAGED_NONE UINT32_MAX

struct error *managed_heap_create(struct managed_heap **ret) must_check_;
void managed_heap_destroy(struct managed_heap *heap);

static inline const char *managed_heap_string(const struct managed_heap *heap, uint32_t number)
{
	return heap->text + heap->strings.data[number];
}

/* Returns where the references of an object end. */
static inline uint32_t managed_heap_edges_end(const struct managed_heap *heap, uint32_t object)
{
	return object + 1 < heap->objects.len ? heap->objects.data[object + 1].first_edge
					      : (uint32_t)heap->edges.len;
}

/* Returns whether a reference of `from` holds what it is to. */
bool managed_heap_holds(
	const struct managed_heap *heap, uint32_t from, const struct managed_edge *edge);

/* Finds the classes, with their objects that have bytes. */
struct error *managed_heap_classify(struct managed_heap *heap) must_check_;
/* Computes what objects and classes retain. Needs the classes. Takes 44 bytes for each object, and
 * 4 for each reference, while it computes. */
struct error *managed_heap_retain(struct managed_heap *heap) must_check_;

/* The most groups of ways; what is beyond counts with what holds it. */
#define MANAGED_WAYS_MAX (1u << 20)
/* Names of properties by which one group holds objects of a class; further ones are one group. */
#define MANAGED_WAY_NAMES_MAX 32u

#define MANAGED_WAY_NAMED (UINT32_C(1) << 31)

/*
 * Ways along which objects are held: those of shortest ways from the root that go over the same
 * classes by the same names are one group. Ways from what programs see (the global object) count as
 * shorter than those from V8's own roots (handles, stacks). Those from a class's static fields
 * begin at the class, whatever holds that. Elements of arrays have one name. A class that holds
 * itself by the same name (a list) is in a way once.
 */
struct managed_way {
	uint32_t holder; /* group; MANAGED_NONE: the root */
	uint32_t class;  /* of the objects; MANAGED_WAY_NAMED and a string: V8's own root of that
			    name */
	uint32_t name;   /* of managed_heap.strings, of the reference to them */
	uint8_t kind; /* enum managed_reference of it; MANAGED_ELEMENT, MANAGED_WEAK: it has no one
			 name */
	bool repeats; /* objects of this group hold others of it */
	uint64_t objects; /* of the class that was asked about */
	uint64_t bytes;
};
DEFINE_VEC(managed_way_vec, struct managed_way)

struct managed_ways {
	struct managed_way_vec groups;
	uint32_t *chosen; /* of those with objects, most bytes first */
	size_t chosen_count;
	uint64_t unheld; /* objects of the class that nothing holds */
	bool is_full;    /* MANAGED_WAYS_MAX was reached */
};

/* Finds the class called `name`; NULL: there is none. */
const struct managed_class *managed_heap_class(const struct managed_heap *heap, const char *name);
/* Finds how the objects of a class are held. */
struct error *managed_heap_ways(const struct managed_heap *heap, const struct managed_class *class,
	struct managed_ways *ret) must_check_;
void managed_ways_deinit(struct managed_ways *ways);

/* How a class differs in a later snapshot of the same process. */
struct managed_change {
	const char *name; /* of either heap */
	uint64_t new_objects, new_bytes, gone_objects, gone_bytes;
	int64_t more_objects, more_bytes; /* bytes also of objects that are in both */
};
DEFINE_VEC(managed_change_vec, struct managed_change)

struct managed_changes {
	struct managed_change_vec rows; /* those of which anything differs, most bytes more first */
	/* Objects in both, and those of them that are of another class: many, if the snapshots are
	 * of different processes. */
	uint64_t common_objects, renamed_objects;
};

/* Compares two heaps by the ids of their objects; if these have none, by the numbers and bytes of
 * each class, and `new_objects` and the like mean nothing. Both need their classes. */
struct error *managed_heap_compare(const struct managed_heap *older,
	const struct managed_heap *newer, struct managed_changes *ret) must_check_;
void managed_changes_deinit(struct managed_changes *changes);

#endif
