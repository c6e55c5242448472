/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What holds for every recording that was closed, whatever the program in it did. */
#ifndef FUZZ_CHECK_RECORDING_H
#define FUZZ_CHECK_RECORDING_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define NEED(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);    \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* It opens without damage, is complete, and its footer says what a replay of its events does. */
void check_recording(const void *bytes, size_t size);

#endif
