/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/heap_interrupt.h"

#include <signal.h>
#include <string.h>

#include "process/memory.h"

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
static volatile sig_atomic_t came;

static void note(int number)
{
	came = number;
	process_memory_stopped = 1;
}

void heap_interrupt_begin(void)
{
	/* Without SA_RESTART: a prompt that waits for a line is to see it. */
	struct sigaction action = {.sa_handler = note}, old;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (!sigaction(numbers[i], NULL, &old) && old.sa_handler == SIG_DFL)
			sigaction(numbers[i], &action, NULL);
	}
}

struct error *heap_interrupt_check(void)
{
	return came ? error_create(ERROR_ENVIRONMENT,
			      "SIG%s came: nothing was shown; the process "
			      "goes on as before",
			      sigabbrev_np(came))
		    : NULL;
}

void heap_interrupt_end(void)
{
	if (!came)
		return;
	signal(came, SIG_DFL);
	raise(came);
}
