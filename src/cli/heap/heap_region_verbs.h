/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Verbs of `core` and `heap` that show memory as it lies there, or write it to files: as of struct
 * heap_verb. */
#ifndef CLI_HEAP_REGION_VERBS_H
#define CLI_HEAP_REGION_VERBS_H

#include "cli/heap/heap_look.h"

/* "0x…", or a decimal number. False, after saying so. */
bool heap_verb_address(const char *word, uint64_t *ret);

int heap_verb_hexdump(struct heap_look *look, int count, char **words);
int heap_verb_strings(struct heap_look *look, int count, char **words);
int heap_verb_dump(struct heap_look *look, int count, char **words);
int heap_verb_save(struct heap_look *look, int count, char **words);

#endif
