/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Verbs of core and heap that read types from debug information. */
#ifndef CLI_HEAP_TYPE_VERBS_H
#define CLI_HEAP_TYPE_VERBS_H

#include "cli/heap/heap_look.h"

int heap_verb_layout(struct heap_look *look, int count, char **words);
int heap_verb_show(struct heap_look *look, int count, char **words);
int heap_verb_type(struct heap_look *look, int count, char **words);

#endif
