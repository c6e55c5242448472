/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a damaged recording lacks, as sentences for the model. The first few are kept, the others
 * counted: a file may hold a million damaged places.
 */
#ifndef SOURCES_HPW_DAMAGE_H
#define SOURCES_HPW_DAMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/build.h"

#define HPW_DAMAGE_SENTENCES 16u

struct hpw_damage {
	struct model *model; /* borrowed */
	uint64_t count;
};

/* Adds a sentence. */
struct error *hpw_damage_add(struct hpw_damage *damage, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), warn_unused_result));

/*
 * Takes an error that one part of a file gave: what is wrong with the file becomes a sentence after
 * the prefix, what is wrong with us (no memory) is given back.
 */
struct error *hpw_damage_take(struct hpw_damage *damage, struct error *error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), warn_unused_result));

/* The last sentence: how many more there were. */
struct error *hpw_damage_finish(struct hpw_damage *damage) __attribute__((warn_unused_result));

#endif
