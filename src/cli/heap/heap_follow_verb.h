/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verb `follow`: a walk from blocks along members. */
#ifndef CLI_HEAP_FOLLOW_VERB_H
#define CLI_HEAP_FOLLOW_VERB_H

#include "cli/heap/heap_look.h"

int heap_verb_follow(struct heap_look *look, int count, char **words);

#endif
