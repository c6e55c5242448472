/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/live/reap.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "process/stop.h"

/* An exec or an exit that waits for us is later by that. */
#define EVERY_NS 20000000

/* Stops of traced threads are told whatever is asked for, and are the tracer's: so it is looked
 * first. */
static void reap_thread(pid_t tid)
{
	siginfo_t info = {.si_pid = 0};
	if (waitid(P_PID, (id_t)tid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) || !info.si_pid)
		return; /* who is not traced by us is no child: ECHILD */
	if (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED)
		(void)!waitid(P_PID, (id_t)tid, &info, WEXITED | WNOHANG | __WALL);
}

void stop_reap_ended(pid_t pid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *folder = opendir(path);
	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		pid_t tid = (pid_t)atoi(entry->d_name);
		if (tid > 0 && tid != pid)
			reap_thread(tid);
	}
	if (folder)
		closedir(folder);
}

static void *reaper_main(void *context)
{
	struct reaper *reaper = context;
	struct timespec next;
	for (;;) {
		clock_gettime(CLOCK_MONOTONIC, &next);
		next.tv_nsec += EVERY_NS;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		if (!sem_clockwait(&reaper->is_over, CLOCK_MONOTONIC, &next))
			return NULL;
		stop_reap_ended(reaper->pid);
	}
}

void reaper_begin(struct reaper *reaper, pid_t pid)
{
	reaper_end(reaper);
	reaper->pid = pid;
	sem_init(&reaper->is_over, 0, 0);
	reaper->runs = !pthread_create(&reaper->thread, NULL, reaper_main, reaper);
	if (!reaper->runs)
		sem_destroy(&reaper->is_over);
}

void reaper_dismiss(struct reaper *reaper)
{
	if (reaper->runs)
		sem_post(&reaper->is_over);
}

void reaper_end(struct reaper *reaper)
{
	if (!reaper->runs)
		return;
	sem_post(&reaper->is_over);
	pthread_join(reaper->thread, NULL);
	sem_destroy(&reaper->is_over);
	reaper->runs = false;
}
