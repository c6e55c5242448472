/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Models made by hand. `fixture_demo` is the story that golden views tell: a program with a leak
 * behind a wrapper, a big table at the peak, a helper that churns along thirty paths, C++ with
 * inlined frames, a library whose file is gone, and marks in stacks.
 */
#ifndef TESTS_UNIT_MODEL_FIXTURE_H
#define TESTS_UNIT_MODEL_FIXTURE_H

#include "model/build.h"

struct fixture {
	struct model *model;
	uint32_t stacks, sites;
};

/* All of these end the program when something fails. */
void fixture_init(struct fixture *fixture);
void fixture_deinit(struct fixture *fixture);

enum fixture_module {
	MODULE_NONE, /* for marks */
	MODULE_APP,  /* /opt/demo/app, bias 0x400000 */
	MODULE_CXX,  /* libstdc++, bias 0x7f0000000000 */
	MODULE_GONE, /* a library that is missing here */
};

/* A node outside of which stands `outer` (0: none); `elf` is the address that gets looked up. */
uint32_t fixture_stack(
	struct fixture *fixture, uint32_t outer, enum fixture_module module, uint64_t elf);
uint32_t fixture_mark(struct fixture *fixture, uint32_t outer, enum stack_mark mark);

/* Adds a site; its counters go into the totals too. */
void fixture_site(struct fixture *fixture, uint32_t stack, const struct site *counts);

/* The story, with symbols set for it. */
void fixture_demo(struct fixture *fixture);

#endif
