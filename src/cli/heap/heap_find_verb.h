/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verb `find`: where a value or a text stands in memory. */
#ifndef CLI_HEAP_FIND_VERB_H
#define CLI_HEAP_FIND_VERB_H

#include "cli/heap/heap_look.h"

int heap_verb_find_bytes(struct heap_look *look, int count, char **words);

#endif
