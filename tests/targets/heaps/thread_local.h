/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What thread_local.c and its libraries have in common. */
#ifndef THREAD_LOCAL_H
#define THREAD_LOCAL_H

#include "account.h"

void linked_fill(unsigned thread);
void loaded_fill(unsigned thread);

static inline void thread_local_account(
	const void *block, size_t size, unsigned thread, const char *variable)
{
	char name[40];
	snprintf(name, sizeof(name), "%u %.30s", thread, variable);
	account(block, size, 'r', name);
}

#endif
