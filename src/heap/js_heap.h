/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A heap of JavaScript, as V8 writes it into a heap snapshot: objects, and which reference which.
 * src/sources reads one; here is what is asked of it.
 *
 * Object 0 is the root. A reference holds its target unless it is weak, or a shortcut (which V8
 * adds beside the real one) from any other object than the root, or that of a WeakMap's table to
 * the value of a key: only the key holds that. What nothing holds waits for the garbage collector,
 * or is referenced weakly; it counts, and retains itself alone.
 *
 * An object retains what would be gone with it: itself and all that it dominates
 * (search/dominators.h says what that is). A class retains what its objects do, each byte once.
 */
#ifndef HEAP_JS_HEAP_H
#define HEAP_JS_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"
#include "symbols/strings.h"

/* Types of objects, of references: V8 names them in each file, in an order of its own. */
enum js_type {
	JS_HIDDEN,
	JS_ARRAY,
	JS_STRING,
	JS_OBJECT,
	JS_CODE,
	JS_CLOSURE,
	JS_REGEXP,
	JS_NATIVE,
	JS_SYNTHETIC,
	JS_OTHER, /* named by js_heap.type_names */
};

enum js_reference {
	JS_PROPERTY, /* by a name, as a variable of a closure's context */
	JS_ELEMENT,  /* by an index */
	JS_INTERNAL, /* by a name that V8 gives it */
	JS_SHORTCUT,
	JS_WEAK,
};

#define JS_TYPES_MAX 64u

struct js_object {
	uint64_t bytes : 56;
	uint64_t type : 8; /* an index of js_heap.types */
	uint32_t name;     /* of js_heap.strings */
	uint32_t id;       /* the same in later snapshots of the process */
	uint32_t first_edge;
	uint32_t trace; /* of js_heap.traces, plus 1; 0: it is not known who allocated it */
};

struct js_edge {
	uint32_t to;
	uint32_t name;  /* of js_heap.strings; of elements the index */
	uint8_t kind;   /* enum js_reference */
	bool is_number; /* of an internal one: the name is a number, too */
};

/* A call stack's innermost call. */
struct js_trace {
	uint32_t parent; /* plus 1; always an earlier one; 0: none */
	uint32_t function;
};

struct js_function {
	uint32_t name, file;   /* of js_heap.strings */
	uint32_t line, column; /* from 1; 0: not known */
};

/* Objects that are called alike: of one constructor, or a kind of V8's own in parentheses. */
struct js_class {
	const char *name;
	uint64_t objects, bytes;
	uint64_t retained_bytes; /* after js_heap_retain() */
};

DEFINE_VEC(js_objects, struct js_object)
DEFINE_VEC(js_edges, struct js_edge)
DEFINE_VEC(js_traces, struct js_trace)
DEFINE_VEC(js_functions, struct js_function)
DEFINE_VEC(js_strings, uint64_t)
DEFINE_VEC(js_classes, struct js_class)

struct js_heap {
	struct js_objects objects;
	struct js_edges edges; /* of each object in turn */
	struct js_traces traces;
	struct js_functions functions;
	struct js_strings strings; /* offsets in `text` */
	char *text;                /* strings, each with a NUL */
	enum js_type types[JS_TYPES_MAX];
	const char *type_names[JS_TYPES_MAX];
	size_t type_count;

	/* After js_heap_classify(). */
	struct strings names;
	struct js_classes classes;
	uint32_t *class_of; /* of each object */

	/* After js_heap_retain(). */
	uint64_t *retained;   /* of each object */
	uint32_t *dominators; /* of each object; JS_NONE: of the root, and of what nothing holds */
	uint64_t unheld_objects, unheld_bytes;
};
#define JS_NONE UINT32_MAX

struct error *js_heap_create(struct js_heap **ret) must_check_;
void js_heap_destroy(struct js_heap *heap);

static inline const char *js_heap_string(const struct js_heap *heap, uint32_t number)
{
	return heap->text + heap->strings.data[number];
}

/* Returns where the references of an object end. */
static inline uint32_t js_heap_edges_end(const struct js_heap *heap, uint32_t object)
{
	return object + 1 < heap->objects.len ? heap->objects.data[object + 1].first_edge
					      : (uint32_t)heap->edges.len;
}

/* Returns whether a reference of `from` holds what it is to. */
bool js_heap_holds(const struct js_heap *heap, uint32_t from, const struct js_edge *edge);

/* Finds the classes, with their objects that have bytes. */
struct error *js_heap_classify(struct js_heap *heap) must_check_;
/* Computes what objects and classes retain. Needs the classes. Takes 44 bytes for each object, and
 * 4 for each reference, while it computes. */
struct error *js_heap_retain(struct js_heap *heap) must_check_;

/* The most groups of ways; what is beyond counts with what holds it. */
#define JS_WAYS_MAX (1u << 20)
/* Names of properties by which one group holds objects of a class; further ones are one group. */
#define JS_WAY_NAMES_MAX 32u

#define JS_WAY_NAMED (UINT32_C(1) << 31)

/*
 * Ways along which objects are held: those of shortest ways from the root that go over the same
 * classes by the same names are one group. Ways from what programs see (the global object) count as
 * shorter than those from V8's own roots (handles, stacks). Elements of arrays have one name. A
 * class that holds itself by the same name (a list) is in a way once.
 */
struct js_way {
	uint32_t holder; /* group; JS_NONE: the root */
	uint32_t class;  /* of the objects; JS_WAY_NAMED and a string: V8's own root of that name */
	uint32_t name;   /* of js_heap.strings, of the reference to them */
	uint8_t kind;    /* enum js_reference of it; JS_ELEMENT, JS_WEAK: it has no one name */
	bool repeats;    /* objects of this group hold others of it */
	uint64_t objects; /* of the class that was asked about */
	uint64_t bytes;
};
DEFINE_VEC(js_way_vec, struct js_way)

struct js_ways {
	struct js_way_vec groups;
	uint32_t *chosen; /* of those with objects, most bytes first */
	size_t chosen_count;
	uint64_t unheld; /* objects of the class that nothing holds */
	bool is_full;    /* JS_WAYS_MAX was reached */
};

/* Finds the class called `name`; NULL: there is none. */
const struct js_class *js_heap_class(const struct js_heap *heap, const char *name);
/* Finds how the objects of a class are held. */
struct error *js_heap_ways(
	const struct js_heap *heap, const struct js_class *class, struct js_ways *ret) must_check_;
void js_ways_deinit(struct js_ways *ways);

/* How a class differs in a later snapshot of the same process. */
struct js_change {
	const char *name; /* of either heap */
	uint64_t new_objects, new_bytes, gone_objects, gone_bytes;
	int64_t more_objects, more_bytes; /* bytes also of objects that are in both */
};
DEFINE_VEC(js_change_vec, struct js_change)

struct js_changes {
	struct js_change_vec rows; /* those of which anything differs, most bytes more first */
	/* Objects in both, and those of them that are of another class: many, if the snapshots are
	 * of different processes. */
	uint64_t common_objects, renamed_objects;
};

/* Compares two heaps by the ids of their objects. Both need their classes. */
struct error *js_heap_compare(const struct js_heap *older, const struct js_heap *newer,
	struct js_changes *ret) must_check_;
void js_changes_deinit(struct js_changes *changes);

#endif
