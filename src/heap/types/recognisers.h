/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who knows what blocks are. Each recogniser is one row of a table and one function; they are asked
 * in the order of the table, and what an earlier one has assigned stays. To add one: a file with
 * its function, a declaration here, a row in recognisers.c.
 */
#ifndef HEAP_RECOGNISERS_H
#define HEAP_RECOGNISERS_H

#include "base/error.h"

struct heap_scan;
struct inferred_subset;

/*
 * Assigns types to blocks that have none, between search_read() and search_judge(): to all blocks
 * of a class (heap_types_assign()), or to single blocks (block_set_label()). few: NULL, or the only
 * blocks that are asked about (inferred_subset.h); a recogniser may assign types to all blocks
 * nevertheless. Errors are those of memory; what can't be read is no error.
 */
typedef struct error *recognise_blocks(struct heap_scan *scan, struct inferred_subset *subset);

recognise_blocks python_objects_recognise; /* objects of Python and what they have beside them */
recognise_blocks python_parts_recognise;   /* where bytearray, array, StringIO, deque, OrderedDict
					    * have   what they hold */
recognise_blocks system_blocks_recognise;  /* libc's and the dynamic linker's own */
recognise_blocks system_pool_recognise;    /* what libstdc++ keeps for exceptions */
recognise_blocks go_elements_recognise;    /* elements of spans of Go's runtime */
recognise_blocks cxx_objects_recognise;    /* objects of C++ classes, by their vtables */
recognise_blocks containers_recognise;     /* memory of C++ containers and strings */
recognise_blocks inferred_recognise;       /* what declared types of pointers say */
recognise_blocks held_recognise;           /* contents of std::any that nothing else names */
recognise_blocks texts_recognise;          /* blocks that are nothing but a text */

/* Asks all of them. */
struct error *recognisers_ask(struct heap_scan *scan, struct inferred_subset *subset) must_check_;

#endif
