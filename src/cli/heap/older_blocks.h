/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The blocks of a process that is being attached, by type, as `heapwise heap` finds them. */
#ifndef CLI_OLDER_BLOCKS_H
#define CLI_OLDER_BLOCKS_H

#include "capture/attach.h"

/* As list_blocks of struct attach_options; the context is not used. */
struct error *older_blocks_list(
	void *context, const struct attach_copy *copy, struct older_list *list) must_check_;

#endif
