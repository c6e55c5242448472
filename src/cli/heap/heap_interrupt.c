/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/heap/heap_interrupt.h"

#include <string.h>

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
volatile sig_atomic_t heap_interrupted;

static void heap_interrupt_note(int number)
{
	heap_interrupted = number;
}

void heap_interrupt_begin(void)
{
	/* Without SA_RESTART: a prompt that waits for a line is to see it. */
	struct sigaction action = {.sa_handler = heap_interrupt_note}, old;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (!sigaction(numbers[i], NULL, &old) && old.sa_handler == SIG_DFL)
			sigaction(numbers[i], &action, NULL);
	}
}

void heap_interrupt_end(void)
{
	struct sigaction old;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (!sigaction(numbers[i], NULL, &old) && old.sa_handler == heap_interrupt_note)
			signal(numbers[i], SIG_DFL);
	}
	if (heap_interrupted)
		raise(heap_interrupted);
}
