/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that allocates without a pause while a signal handler forks, so also in the middle of a
 * call of the allocator (which allows that: signal_safe_allocator.c). Each child allocates in the
 * handler, and then returns to what the handler had interrupted, before it ends. Argument: how many
 * forks. It says how many children have not ended well.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAUSE_US 1000
#define ROUNDS 100

static volatile sig_atomic_t forks, bad, is_child;
static void *volatile sink;

/* The next alarm comes only when this one is done, and some code of the program has run. */
static void alarm_set(void)
{
	const struct itimerval once = {{0, 0}, {0, PAUSE_US}};
	setitimer(ITIMER_REAL, &once, NULL);
}

static void on_alarm(int number)
{
	int status;
	(void)number;
	pid_t child = fork();
	if (!child) {
		for (size_t i = 0; i < ROUNDS; i++) {
			sink = malloc(40 + i);
			free(sink);
		}
		is_child = 1;
		return;
	}
	forks++;
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		bad++;
	alarm_set();
}

int main(int argc, char **argv)
{
	const struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	int count = argc > 1 ? atoi(argv[1]) : 100;
	sigaction(SIGALRM, &action, NULL);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	alarm_set();
	while (forks < count && !is_child) {
		for (int i = 0; i < ROUNDS; i++) {
			sink = malloc(40);
			sink = realloc(sink, 90);
			free(sink);
		}
	}
	if (is_child)
		_exit(0);
	printf("bad %d\n", (int)bad);
	return 0;
}
