/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The demo model as views of stacks look at it. */
#ifndef TESTS_UNIT_STACK_SETTING_H
#define TESTS_UNIT_STACK_SETTING_H

#include "analysis/calltree.h"
#include "analysis/profile.h"
#include "base/util.h"
#include "lib/tap.h"
#include "unit/model_fixture.h"
#include "views/views.h"

/* What golden files end in, by form: text, JSON, CSV. */
static const char *const golden_forms[] = {"txt", "json", "csv"};

struct setting {
	struct fixture fixture;
	struct profile profile;
	struct calltree tree;
};

static inline void set_up(struct setting *s)
{
	fixture_demo(&s->fixture);
	profile_init(&s->profile);
	calltree_init(&s->tree);
	CHECK_OK(profile_build(s->fixture.model, false, NULL, &s->profile));
}

static inline void tear_down(struct setting *s)
{
	calltree_deinit(&s->tree);
	profile_deinit(&s->profile);
	fixture_deinit(&s->fixture);
}

/* The tree of all rows. */
static inline void plant(
	struct setting *s, enum metric metric, enum calltree_way way, enum grain grain)
{
	struct spots *spots;
	CHECK_OK(spots_create(grain, &spots));
	CHECK_OK(calltree_build(profile_rows(&s->profile), metric, way, NULL, spots, &s->tree));
}

/* Compares with a heap where each place had allocated so much. */
static inline void compare_with(struct setting *s, uint64_t bytes)
{
	struct rows *all = &s->profile.all;
	for (size_t i = 0; i < all->rows.len; i++) {
		struct site *base = row_own_base(&all->rows.data[i], &all->arena);
		CHECK(base);
		base->allocated_bytes = bytes;
	}
	s->profile.base = s->fixture.model;
}

static inline bool collect(void *ctx, const char *data, size_t len)
{
	text_add_n(ctx, data, len);
	return true;
}

#endif
