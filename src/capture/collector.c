/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One loop: poll the sockets and the processes' pidfds with a timeout that follows the load, then
 * drain. Producers never wake the collector (that would cost them a system call and a descriptor);
 * it comes by often enough for the rings' sizes.
 */
#include "capture/collector.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SLEEP_MIN_NS 300000
#define SLEEP_MAX_NS 5000000
/* A pass that brought more than this many words is followed by the next at once. */
#define BUSY_WORDS (1u << 16)
#define TEND_NS 50000000
/* The launcher tells how its program ended; if it does not within this time it has died too. */
#define ENDED_MS 2000

struct collector {
	struct collector_start *start;
	struct recorder *recorder; /* of root's present image; NULL: none yet, or done */
	int pidfd;                 /* of root */
	uint64_t tsc_hz;
	uint32_t images;   /* of root, recorded so far */
	uint64_t children; /* processes that were turned away */
	uint64_t tended_ns, sleep_ns;
	struct collector_ended ended;
	bool launcher_gone, have_ended, root_gone;
	struct recorder_totals totals; /* of root's last image */
	char message[256];
};

static uint64_t estimate_hz(struct clock_pair began)
{
	struct clock_pair now = clock_pair_now();
	while (now.ns - began.ns < 200000)
		now = clock_pair_now();
	return (uint64_t)((double)(now.tsc - began.tsc) * 1e9 / (double)(now.ns - began.ns));
}

/* FILE for the first image, FILE.PID.N for later ones (before the extension .hpw if it has it). */
static int image_file(const struct collector *c, pid_t pid, char *ret_name, size_t size)
{
	const char *name = c->start->file_name;
	size_t stem = strlen(name);
	const char *extension = stem > 4 && !strcmp(name + stem - 4, ".hpw") ? ".hpw" : "";
	stem -= strlen(extension);
	for (uint32_t n = c->images; n < c->images + 1000; n++) {
		snprintf(ret_name, size, "%.*s.%d.%u%s", (int)stem, name, (int)pid, n, extension);
		int fd = open(ret_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

static void finish(struct collector *c, enum hpw_exit_kind kind, uint32_t value)
{
	if (!c->recorder)
		return;
	struct recorder_end end = {.kind = kind, .value = value, .children = c->children};
	recorder_finish(c->recorder, &end, &c->totals);
	recorder_destroy(steal_ptr(c->recorder));
}

static void record_root(struct collector *c, struct session_caller *caller)
{
	char name[4200];
	int file = c->start->file;
	if (c->images) {
		finish(c, HPW_EXIT_EXEC, 0);
		file = image_file(c, caller->pid, name, sizeof(name));
	} else {
		snprintf(name, sizeof(name), "%s", c->start->file_name);
		c->start->file = -1;
		c->tsc_hz = estimate_hz(c->start->began);
	}
	const struct recorder_start start = {.pid = caller->pid,
		.target_pid = caller->hello.pid,
		.ppid = caller->hello.ppid,
		.tsc_hz = c->tsc_hz,
		.began = clock_pair_now(),
		.file = file,
		.file_name = name};
	struct error *error =
		file < 0 ? error_errno(ERROR_ENVIRONMENT, errno, "can't create %s", name)
			 : recorder_create(&start, &c->recorder);
	if (error) {
		snprintf(c->message, sizeof(c->message), "%s", error->message);
		error_destroy(error);
		session_answer(caller, -1);
		return;
	}
	c->images++;
	session_answer(caller, c->recorder->memory);
	close(c->recorder->memory);
	c->recorder->memory = -1;
}

static void serve_caller(struct collector *c)
{
	struct session_caller caller;
	if (!session_accept(&c->start->session, &caller))
		return;
	if (caller.pid == c->start->root) {
		record_root(c, &caller);
		return;
	}
	c->children++;
	session_answer(&caller, -1);
}

static void read_control(struct collector *c)
{
	ssize_t n = recv(c->start->control, &c->ended, sizeof(c->ended), MSG_DONTWAIT);
	if (n == (ssize_t)sizeof(c->ended))
		c->have_ended = true;
	else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		c->launcher_gone = true;
}

static void nap(struct collector *c)
{
	struct pollfd fds[] = {{.fd = c->start->session.socket, .events = POLLIN},
		{.fd = c->pidfd, .events = POLLIN},
		{.fd = c->launcher_gone ? -1 : c->start->control, .events = POLLIN}};
	struct timespec sleep = {0, (long)c->sleep_ns};
	struct timespec idle = {1, 0};
	if (ppoll(fds, 3, c->recorder ? &sleep : &idle, NULL) <= 0)
		return;
	if (fds[0].revents)
		serve_caller(c);
	if (fds[2].revents)
		read_control(c);
	if (fds[1].revents)
		c->root_gone = true;
}

static void drain(struct collector *c)
{
	if (!c->recorder)
		return;
	uint64_t moved = recorder_drain(c->recorder);
	if (moved > BUSY_WORDS)
		c->sleep_ns = 0;
	else if (moved)
		c->sleep_ns = SLEEP_MIN_NS;
	else if (c->sleep_ns < SLEEP_MAX_NS)
		c->sleep_ns = c->sleep_ns ? c->sleep_ns * 2 : SLEEP_MIN_NS;
	uint64_t now = clock_pair_now().ns;
	if (now - c->tended_ns > TEND_NS) {
		c->tended_ns = now;
		recorder_tend(c->recorder);
	}
}

/* How root ended is the launcher's to say; without it only that it did. */
static void await_ended(struct collector *c)
{
	struct pollfd wait = {.fd = c->start->control, .events = POLLIN};
	while (!c->have_ended && !c->launcher_gone && poll(&wait, 1, ENDED_MS) == 1)
		read_control(c);
	if (!c->have_ended)
		c->ended = (struct collector_ended){HPW_EXIT_UNKNOWN, 0};
}

int collector_run(struct collector_start *start)
{
	struct collector c = {.start = start, .sleep_ns = SLEEP_MIN_NS};
	c.pidfd = (int)syscall(SYS_pidfd_open, start->root, 0);
	while (!c.root_gone && !(c.pidfd < 0 && c.have_ended)) {
		nap(&c);
		drain(&c);
	}
	await_ended(&c);
	finish(&c, c.ended.kind, c.ended.value);
	c.totals.children = c.children;
	if (c.message[0])
		memcpy(c.totals.message, c.message, sizeof(c.totals.message));
	(void)!send(start->control, &c.totals, sizeof(c.totals), MSG_NOSIGNAL);
	if (start->file >= 0)
		close(start->file);
	if (c.pidfd >= 0)
		close(c.pidfd);
	close(start->control);
	session_remove(&start->session);
	return 0;
}
