/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a forked process began with. Its own recording does not have that: copying the parent's live
 * blocks at each fork would cost a server that forks a child for each request dearly. The parent's
 * recording has it all: the fork is a mark among its events, and what is live there, is the answer.
 * What the parent itself had been forked with comes from its own parent in the same way.
 *
 *     x.hpw    a──b──fork:1──c──…          began with a and b, by x.hpw's stacks
 *                      └─ x.17.hpw   …
 */
#ifndef SOURCES_HPW_INHERITED_H
#define SOURCES_HPW_INHERITED_H

#include "base/error.h"
#include "model/build.h"
#include "sources/recording/input.h"

/*
 * Fills `inherited` of a model that has its target and stacks; input: the file that it is of.
 * Parents' recordings are looked for in its folder, by base name. That one of them is missing or
 * damaged is no error: model_inherited() says so.
 */
struct error *hpw_inherited_put(struct model *model, const struct input *input) must_check_;

#endif
