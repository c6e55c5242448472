/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread that reaps the traced threads of a process that have ended (stop_reap_ended()) while its
 * caller, the tracer, may wait for them in the kernel.
 */
#ifndef PROCESS_REAP_H
#define PROCESS_REAP_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <sys/types.h>

struct reaper {
	pid_t pid;
	bool runs;
	pthread_t thread;
	sem_t is_over;
};

/* Begins, anew if it had; where no thread can be created there is none. *reaper, at first zeros,
 * must stay where it is until reaper_end(). */
void reaper_begin(struct reaper *reaper, pid_t pid);
/* Lets it end, without waiting: costs next to nothing. */
void reaper_dismiss(struct reaper *reaper);
/* Lets it end, and waits for that. Nothing happens where it has not begun. */
void reaper_end(struct reaper *reaper);

#endif
