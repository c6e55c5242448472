/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/daemonize.h"

#include "format/shm.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define ALIEN_LAST 255
#define KEPT_MAX 8

void daemonize_note_descriptors(struct foreign_descriptors *apart)
{
	apart->aliens = 0;
	for (int fd = 3; fd <= ALIEN_LAST && apart->aliens < FOREIGN_DESCRIPTORS_MAX; fd++) {
		int flags = fcntl(fd, F_GETFD);
		if (flags >= 0 && flags & FD_CLOEXEC)
			apart->alien[apart->aliens++] = fd;
	}
}

struct error *daemonize_check_limits(void)
{
	static const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
	struct rlimit limit;
	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_max >= HW_SHM_BYTES)
		return NULL;
	if (!setrlimit(RLIMIT_FSIZE, &none)) {
		setrlimit(RLIMIT_FSIZE, &limit); /* the program's stays; the collector may */
		return NULL;
	}
	return error_create(ERROR_ENVIRONMENT,
		"the hard limit of file sizes (ulimit -H -f) is %llu KiB, and recording needs %llu "
		"MiB of shared memory; raise it, or set only the soft limit (ulimit -S -f)",
		(unsigned long long)limit.rlim_max >> 10, (unsigned long long)HW_SHM_BYTES >> 20);
}

/* The program's limits are not the collector's: as far up as we may. */
static void limits_raise(void)
{
	static const int limits[] = {
		RLIMIT_FSIZE, RLIMIT_CPU, RLIMIT_AS, RLIMIT_DATA, RLIMIT_RSS, RLIMIT_NOFILE};
	static const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
	for (unsigned i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct rlimit limit;
		if (!setrlimit(limits[i], &none) || getrlimit(limits[i], &limit))
			continue;
		limit.rlim_cur = limit.rlim_max;
		setrlimit(limits[i], &limit);
	}
}

static int compare_ints(const void *a, const void *b)
{
	return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

static void close_others(int *kept, size_t count)
{
	qsort(kept, count, sizeof(*kept), compare_ints);
	for (size_t i = 1; i < count; i++) {
		if (kept[i] > kept[i - 1] + 1)
			close_range((unsigned)kept[i - 1] + 1, (unsigned)kept[i] - 1, 0);
	}
}

static void signals_ignore(void)
{
	static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGPIPE, SIGXFSZ,
		SIGXCPU, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF};
	for (unsigned i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

void daemonize(const struct foreign_descriptors *apart, const int *kept, size_t count)
{
	setsid();
	prctl(PR_SET_NAME, "heapwise-collect");
	limits_raise();
	int all[2 + KEPT_MAX + FOREIGN_DESCRIPTORS_MAX] = {2, INT_MAX};
	size_t n = 2;
	for (size_t i = 0; i < count && i < KEPT_MAX; i++) {
		if (kept[i] > 2)
			all[n++] = kept[i];
	}
	memcpy(all + n, apart->alien, apart->aliens * sizeof(*all));
	close_others(all, n + apart->aliens);
	(void)!chdir("/");
	signals_ignore();
}

int daemonize_open_null(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	return null >= 0 ? null : open("/", O_PATH | O_CLOEXEC);
}

void daemonize_close_streams(int count)
{
	int null = daemonize_open_null();
	for (int fd = 0; fd < count; fd++) {
		if (fd == null)
			continue;
		if (null < 0 || dup2(null, fd) < 0)
			close(fd);
	}
	if (null > 2)
		close(null);
}
