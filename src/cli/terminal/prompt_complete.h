/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What TAB completes at the prompt of a recording: verbs, options and their values, functions. */
#ifndef CLI_PROMPT_COMPLETE_H
#define CLI_PROMPT_COMPLETE_H

#include "cli/terminal/line_editor.h"
#include "cli/terminal/prompt_state.h"

struct prompt_complete {
	const struct prompt_state *state;
	struct prompt_words names; /* functions of the file, once they were asked for */
	bool has_names;
};

struct line_completion prompt_completion(struct prompt_complete *complete);
void prompt_complete_deinit(struct prompt_complete *complete);

#endif
