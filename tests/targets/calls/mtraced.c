/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What programs do that have mtrace() in them: as glibc's manual shows it ("Tracing malloc"), and
 * as it goes on from there. The argument says which.
 */
#include <mcheck.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/wait.h>

static void *volatile kept[16];
static unsigned count;

static __attribute__((noinline)) void keep_row(size_t bytes)
{
	kept[count++] = malloc(bytes);
}

static __attribute__((noinline)) void drop_row(void)
{
	free(kept[--count]);
}

/* From the beginning to the end, without muntrace(). */
static void log_whole(void)
{
	mtrace();
	keep_row(101);
	keep_row(103);
	drop_row();
	keep_row(107);
}

/* Before and after it nothing counts; a block of before is freed, one moves. */
static void log_part(void)
{
	keep_row(31);
	keep_row(37);
	mtrace();
	drop_row();
	kept[0] = realloc(kept[0], 4099);
	keep_row(109);
	kept[1] = realloc(kept[1], 300007);
	kept[count++] = calloc(3, 41);
	muntrace();
	drop_row();
	keep_row(997);
}

/* The second part takes the place of the first; a call inside of a part has no effect. */
static void log_again(void)
{
	mtrace();
	keep_row(211);
	muntrace();
	muntrace();
	keep_row(223);
	mtrace();
	keep_row(227);
	mtrace();
	keep_row(229);
	muntrace();
	keep_row(233);
}

static void log_nothing_lost(void)
{
	mtrace();
	keep_row(401);
	drop_row();
	muntrace();
}

static void on_begin(int signal)
{
	(void)signal;
	mtrace();
}

static void on_end(int signal)
{
	(void)signal;
	muntrace();
}

/* The manual's second example: a log that signals begin and end. */
static void log_by_signals(void)
{
	signal(SIGUSR1, on_begin);
	signal(SIGUSR2, on_end);
	keep_row(307);
	raise(SIGUSR1);
	keep_row(311);
	raise(SIGUSR2);
	keep_row(313);
}

static void log_never(void)
{
	keep_row(509);
}

/* A program that names the file itself. */
static void log_to_own_file(void)
{
	setenv("MALLOC_TRACE", "own.log", 1);
	mtrace();
	keep_row(601);
}

/* It is the child that has something to log. */
static void log_in_child(void)
{
	pid_t child = fork();
	if (!child) {
		mtrace();
		keep_row(701);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

/* Each has a log of its own. */
static void log_in_both(void)
{
	mtrace();
	log_in_child();
	keep_row(709);
	muntrace();
}

static const struct {
	const char *name;
	void (*run)(void);
} stories[] = {
	{"whole", log_whole},
	{"part", log_part},
	{"again", log_again},
	{"nothing_lost", log_nothing_lost},
	{"signals", log_by_signals},
	{"never", log_never},
	{"own_file", log_to_own_file},
	{"child", log_in_child},
	{"both", log_in_both},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]); i++) {
		if (argc == 2 && !strcmp(argv[1], stories[i].name)) {
			stories[i].run();
			return 0;
		}
	}
	return 2;
}
