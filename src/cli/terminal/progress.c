/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread waits for each second to pass: the work itself is not asked, and not slowed down. */
#include "cli/terminal/progress.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Narrower than most terminals: a line that wraps can't be taken back. */
#define LINE_BYTES_MAX 72

static struct {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	pthread_t thread;
	bool runs;   /* the thread is there: only the main thread asks */
	bool active; /* something goes on; under the lock, and so is what follows */
	bool shown;
	char what[LINE_BYTES_MAX - 16];
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};

static void hide_locked(void)
{
	if (progress.shown)
		fputs("\r\033[K", stderr);
	progress.shown = false;
}

static void *progress_run(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&progress.lock);
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	for (unsigned seconds = 1; progress.active; seconds++) {
		until.tv_sec++;
		while (progress.active &&
			!pthread_cond_timedwait(&progress.ended, &progress.lock, &until))
			;
		if (!progress.active)
			break;
		fprintf(stderr, "\r\033[Kheapwise: %s… %u s", progress.what, seconds);
		fflush(stderr);
		progress.shown = true;
	}
	pthread_mutex_unlock(&progress.lock);
	return NULL;
}

static bool progress_is_wanted(void)
{
	const char *term = getenv("TERM");
	return isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
}

/* Control characters would spoil the line. */
static void set_what(const char *format, va_list args)
{
	int len = vsnprintf(progress.what, sizeof(progress.what), format, args);
	size_t most = sizeof(progress.what) - 1;
	if (len > 0 && (size_t)len > most)
		memcpy(progress.what + most - 3, "...", 3);
	for (char *c = progress.what; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
}

void progress_begin(const char *format, ...)
{
	progress_end();
	if (!progress_is_wanted())
		return;
	va_list args;
	va_start(args, format);
	set_what(format, args);
	va_end(args);
	progress.active = true;
	progress.runs = !pthread_create(&progress.thread, NULL, progress_run, NULL);
	progress.active &= progress.runs;
}

void progress_end(void)
{
	if (!progress.runs)
		return;
	pthread_mutex_lock(&progress.lock);
	progress.active = false;
	hide_locked();
	pthread_cond_signal(&progress.ended);
	pthread_mutex_unlock(&progress.lock);
	pthread_join(progress.thread, NULL);
	progress.runs = false;
}

bool progress_goes_on(void)
{
	return progress.runs;
}

void progress_hide(void)
{
	if (!progress.runs)
		return;
	pthread_mutex_lock(&progress.lock);
	hide_locked();
	pthread_mutex_unlock(&progress.lock);
}
