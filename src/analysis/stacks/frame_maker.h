/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes shown frames of what a stack consists of: code in a file, named by its symbols; code that
 * the source of the model names itself; remarks; and the allocation function that was called.
 */
#ifndef ANALYSIS_FRAME_MAKER_H
#define ANALYSIS_FRAME_MAKER_H

#include "analysis/stacks/frame_places.h"
#include "analysis/stacks/hidden_frames.h"
#include "analysis/stacks/loaded_files.h"
#include "analysis/stacks/shown_frame.h"
#include "base/arena.h"
#include "base/error.h"
#include "model/model.h"

struct frame_maker {
	const struct model *model;
	struct loaded_files files;
	struct place_map places;
	struct arena arena;      /* frames */
	struct frame_vec made;   /* in the order in which they were */
	bool with_aliases;       /* frames get them */
	bool has_python;         /* the model has code of it */
	struct hidden_kinds any; /* of the frames that were made */
};

/* Where code is. */
struct code_address {
	uint32_t module;  /* of symbols, or NO_MODULE */
	uint64_t address; /* ELF address looked up; in the target's memory without a module */
};

/* As loaded_files_init(). */
struct error *frame_maker_init(struct frame_maker *maker, const struct model *model,
	struct frame_maker *beside) must_check_;
void frame_maker_deinit(struct frame_maker *maker);

/* Finds the code of a node: that of the call, not of its return address. */
struct error *frame_maker_find_code(
	struct frame_maker *maker, struct stack_node node, struct code_address *ret) must_check_;

/* Add frames to `made`, innermost first. */
struct error *frame_maker_add(struct frame_maker *maker, struct shown_frame frame) must_check_;
struct error *frame_maker_add_code(
	struct frame_maker *maker, struct stack_node node, struct code_address code) must_check_;
struct error *frame_maker_add_given(struct frame_maker *maker, struct stack_node node,
	const struct embedded_run *run) must_check_;
/* Adds the frames of a node whose code is in no loaded file. */
struct error *frame_maker_add_managed(
	struct frame_maker *maker, struct stack_node node) must_check_;

#endif
