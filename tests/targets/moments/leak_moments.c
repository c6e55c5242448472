/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * leak_moments: has blocks of each kind and does what the letters on its standard input say, one
 * after the other; each is answered with a line when it has been done.
 *
 *     l  loses another block (23 B)         x  exits with status 5
 *     a  abort()                            s  a thread of its own writes to address 0
 *     t  SIGTERM, which is not handled      k  SIGKILL
 *     u  1,000 SIGUSR1, handled, and 1,000 SIGUSR2, ignored, while a thread waits in epoll_wait
 *     f  a child that ends with status 6    c  1,000 threads, one after the other
 *     p  stops itself (SIGSTOP)
 */
#include "truth.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

TRUTH_SITE(site_held)
TRUTH_SITE(site_lost)
TRUTH_SITE(site_of_thread)

static void *volatile held;
static volatile sig_atomic_t handled;
static volatile bool waiting, interrupted, over;

static void on_signal(int number)
{
	(void)number;
	handled = handled + 1;
}

/* No frame that comes later has an old word in a place of its own that it never writes. */
TRUTH_FRAME static void wipe_stack(void)
{
	volatile char below[32768];
	for (unsigned i = 0; i < sizeof(below); i++)
		below[i] = 0;
}

TRUTH_FRAME static void lose(void)
{
	void *volatile lost = site_lost(23);
	lost = NULL;
	(void)lost;
	wipe_stack();
}

static void *hold_on_stack(void *argument)
{
	void *volatile mine = site_of_thread(61);
	waiting = true;
	if (argument)
		*(volatile int *)NULL = 1;
	for (;;)
		pause();
	return mine;
}

/* Waits for nothing in a call that the kernel does not begin again by itself. */
static void *wait_for_nothing(void *argument)
{
	sigset_t all;
	sigfillset(&all);
	sigdelset(&all, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	int set = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event;
	waiting = true;
	while (!over)
		interrupted |= epoll_wait(set, &event, 1, 100) < 0 && errno == EINTR;
	close(set);
	return argument;
}

static void start(pthread_t *thread, void *(*work)(void *), void *argument)
{
	waiting = false;
	truth_need(!pthread_create(thread, NULL, work, argument), "thread");
	while (!waiting)
		usleep(100);
}

static void send_signals(void)
{
	pthread_t thread;
	handled = 0;
	over = interrupted = false;
	start(&thread, wait_for_nothing, NULL);
	for (int i = 0; i < 1000; i++) {
		kill(getpid(), SIGUSR1);
		pthread_kill(thread, SIGUSR2);
	}
	over = true;
	pthread_join(thread, NULL);
	truth_say("# signals %d %s", (int)handled, interrupted ? "EINTR" : "undisturbed");
}

static void *nothing(void *argument)
{
	return argument;
}

static void make_threads(void)
{
	for (int i = 0; i < 1000; i++) {
		pthread_t thread;
		truth_need(!pthread_create(&thread, NULL, nothing, NULL), "thread");
		pthread_join(thread, NULL);
	}
	truth_say("# threads");
}

static void fork_child(void)
{
	int status = 0;
	pid_t child = fork();
	if (!child)
		_exit(6);
	truth_need(waitpid(child, &status, 0) == child, "waitpid");
	truth_say("# child %d", WEXITSTATUS(status));
}

static void obey(int letter)
{
	pthread_t thread;
	switch (letter) {
	case 'l':
		lose();
		truth_say("# lost");
		return;
	case 'u':
		send_signals();
		return;
	case 'c':
		make_threads();
		return;
	case 'f':
		fork_child();
		return;
	case 'p':
		raise(SIGSTOP);
		truth_say("# continued");
		return;
	case 'a':
		abort();
	case 's':
		start(&thread, hold_on_stack, &thread);
		pthread_join(thread, NULL);
		return;
	case 't':
		raise(SIGTERM);
		return;
	case 'k':
		raise(SIGKILL);
		return;
	default:
		exit(5);
	}
}

int main(void)
{
	pthread_t thread;
	char letter;
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, SIG_IGN);
	held = site_held(47);
	lose();
	start(&thread, hold_on_stack, NULL);
	truth_say("# pid %d", (int)getpid());
	while (read(STDIN_FILENO, &letter, 1) == 1)
		obey(letter);
	return 7;
}
