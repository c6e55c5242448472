/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A model with a search for leaks, made by hand: lost blocks with what they held, a list in a
 * global, a table with many words, a block that is pointed into from a register, a buffer of
 * libc's, C++ on a thread's stack.
 */
#ifndef TESTS_UNIT_LEAKS_FIXTURE_H
#define TESTS_UNIT_LEAKS_FIXTURE_H

#include "unit/model_fixture.h"

enum leaks_site {
	SITE_LOAD,       /* malloc in load_config, called by main */
	SITE_LOAD_AGAIN, /* another call instruction of the same line */
	SITE_NODE,       /* calloc in node */
	SITE_BUCKET,     /* malloc in table_add */
	SITE_BUFFER,     /* malloc in main */
	SITE_STDIO,      /* malloc in _IO_file_doallocate */
	SITE_QUEUE,      /* operator new in Queue::add, through two inlined functions */
	LEAKS_SITES
};

/* Set: the next one's source lines stand elsewhere. */
extern bool leaks_fixture_moved;

/* Symbols, sites, threads, an empty search at exit. */
void leaks_fixture_init(struct fixture *fixture);
/* All of the story. */
void leaks_fixture_demo(struct fixture *fixture);

uint32_t leaks_root(struct fixture *fixture, const struct leak_root *root, const char *name);
/* Held by a root's word, or, with a parent, by a block of that group. */
uint32_t leaks_group(struct fixture *fixture, uint32_t parent, uint32_t root, uint64_t word,
	enum leaks_site site);
/* Blocks of `size` bytes each; `group` may be LEAK_NO_GROUP. */
void leaks_record(struct fixture *fixture, enum leaks_site site, enum leak_kind kind,
	uint32_t group, uint64_t blocks, uint64_t size);

#endif
