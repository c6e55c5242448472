/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * timed RESULT COMMAND [ARGS…]: runs COMMAND and writes what it cost to the file RESULT, as JSON:
 *   wall_ns       until COMMAND itself has ended: what its user waits
 *   settled_ns    until its last descendant has ended too
 *   cpu_ns        user and system time of all of them
 *   peak_rss_kb   of the largest of them
 *   code, signal  how COMMAND ended; the other one is null
 *
 * A program of its own because the kernel lets a process inherit the peak RSS of the one that
 * forked it: measured from Python, /bin/true "needs" 12 MB. And as the subreaper it also inherits,
 * and so counts, a collector that has detached itself from its parents.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct cost {
	int64_t wall_ns, settled_ns, cpu_ns;
	long peak_rss_kb;
	int status;
};

static int64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int64_t timeval_ns(struct timeval t)
{
	return t.tv_sec * 1000000000ll + t.tv_usec * 1000ll;
}

/* Until no child and no orphan of theirs is left. */
static struct cost wait_for_all(pid_t command, int64_t start_ns)
{
	struct cost cost = {0};
	for (;;) {
		int status;
		struct rusage usage;
		pid_t ended = wait4(-1, &status, 0, &usage);
		if (ended < 0 && errno == EINTR)
			continue;
		if (ended < 0)
			break;
		if (ended == command) {
			cost.wall_ns = now_ns() - start_ns;
			cost.status = status;
		}
		cost.cpu_ns += timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime);
		if (usage.ru_maxrss > cost.peak_rss_kb)
			cost.peak_rss_kb = usage.ru_maxrss;
	}
	cost.settled_ns = now_ns() - start_ns;
	return cost;
}

static int write_result(const char *path, const struct cost *cost)
{
	FILE *out = fopen(path, "we");
	if (!out)
		return -1;
	char code[16] = "null", signal[16] = "null";
	if (WIFSIGNALED(cost->status))
		snprintf(signal, sizeof(signal), "%d", WTERMSIG(cost->status));
	else
		snprintf(code, sizeof(code), "%d", WEXITSTATUS(cost->status));
	fprintf(out,
		"{\"wall_ns\": %lld, \"settled_ns\": %lld, \"cpu_ns\": %lld, \"peak_rss_kb\": %ld, "
		"\"code\": %s, \"signal\": %s}\n",
		(long long)cost->wall_ns, (long long)cost->settled_ns, (long long)cost->cpu_ns,
		cost->peak_rss_kb, code, signal);
	return fclose(out);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fputs("usage: timed RESULT COMMAND [ARGS...]\n", stderr);
		return 2;
	}
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) {
		perror("timed: prctl");
		return 1;
	}
	int64_t start_ns = now_ns();
	pid_t command = fork();
	if (command < 0) {
		perror("timed: fork");
		return 1;
	}
	if (command == 0) {
		execvp(argv[2], argv + 2);
		fprintf(stderr, "timed: %s: %s\n", argv[2], strerror(errno));
		_exit(127);
	}
	struct cost cost = wait_for_all(command, start_ns);
	if (write_result(argv[1], &cost) < 0) {
		fprintf(stderr, "timed: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	return 0;
}
