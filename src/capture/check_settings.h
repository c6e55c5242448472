/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What programs that are checked for memory errors are given (HW_CHECK_ENV), and what they count
 * (struct hw_check_sums), for those who run such programs without recording them.
 */
#ifndef CAPTURE_CHECK_SETTINGS_H
#define CAPTURE_CHECK_SETTINGS_H

#include "format/check.h"
#include "format/check_leaves.h"
#include "format/shm.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What a variable has where the number of the process belongs, which is known once it is there. */
#define CHECK_SETTINGS_PROCESS "process=0000000000"

/* Puts the number of this process, which is to execute the program, into a variable
 * "HEAPWISE_CHECK=…" in place, if it has a place for it. */
static inline void check_settings_name_process(char *variable)
{
	char *at = strstr(variable, CHECK_SETTINGS_PROCESS);
	char text[sizeof(CHECK_SETTINGS_PROCESS)];
	if (at && snprintf(text, sizeof(text), "process=%010d", (int)getpid()) ==
			  (int)sizeof(text) - 1)
		memcpy(at, text, sizeof(text) - 1);
}

#endif
