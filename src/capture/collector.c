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
	uint32_t images;      /* of root, recorded so far */
	uint8_t *turned_away; /* bit set of PIDs */
	size_t turned_away_bytes;
	uint64_t tended_ns, sleep_ns;
	struct collector_ended ended;
	bool launcher_gone, have_ended, root_gone;
	struct collector_recording done[COLLECTOR_NAMED_MAX]; /* those with the most allocations */
	uint32_t done_count;
	struct collector_end end;
	char file[COLLECTOR_FILE_MAX]; /* of the present recording */
	char command[64];
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

/* Keeps it, if need be in the place of the one with the fewest allocations. */
static void remember(struct collector *c, const struct collector_recording *recording)
{
	c->end.recordings++;
	if (c->done_count < COLLECTOR_NAMED_MAX) {
		c->done[c->done_count++] = *recording;
		return;
	}
	uint32_t least = 0;
	for (uint32_t i = 1; i < c->done_count; i++) {
		if (c->done[i].totals.allocations < c->done[least].totals.allocations)
			least = i;
	}
	if (recording->totals.allocations <= c->done[least].totals.allocations)
		return;
	memmove(&c->done[least], &c->done[least + 1],
		(c->done_count - least - 1) * sizeof(c->done[0]));
	c->done[c->done_count - 1] = *recording;
}

static void finish(struct collector *c, enum hpw_exit_kind kind, uint32_t value)
{
	if (!c->recorder)
		return;
	struct recorder_end end = {.kind = kind, .value = value, .children = c->end.unrecorded};
	struct collector_recording recording = {.pid = c->start->root, .image = c->images - 1};
	recorder_finish(c->recorder, &end, &recording.totals);
	memcpy(recording.command, c->command, sizeof(recording.command));
	memcpy(recording.file, c->file, sizeof(recording.file));
	remember(c, &recording);
	recorder_destroy(steal_ptr(c->recorder));
}

/* The base name of the program's file; "" if nobody may know. */
static void command_read(pid_t pid, char ret[static 64])
{
	char path[64], exe[4096];
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	ssize_t n = readlink(path, exe, sizeof(exe) - 1);
	exe[n > 0 ? n : 0] = 0;
	const char *slash = strrchr(exe, '/');
	snprintf(ret, 64, "%.63s", slash ? slash + 1 : exe);
}

/* Root's first image has said hello: its file gets its name. */
static void file_rename(struct collector *c)
{
	const char *now = c->start->file_now;
	snprintf(c->file, sizeof(c->file), "%s", c->start->file_name);
	if (!strcmp(now, c->file) || !rename(now, c->file))
		return;
	snprintf(c->end.message, sizeof(c->end.message),
		"the old recording could not be replaced: %.60s", strerror(errno));
	snprintf(c->file, sizeof(c->file), "%s", now);
}

static void record_root(struct collector *c, struct session_caller *caller)
{
	int file = c->start->file;
	if (c->images) {
		finish(c, HPW_EXIT_EXEC, 0);
		file = image_file(c, caller->pid, c->file, sizeof(c->file));
	} else {
		file_rename(c);
		c->start->file = -1;
		c->tsc_hz = estimate_hz(c->start->began);
	}
	command_read(caller->pid, c->command);
	const struct recorder_start start = {.pid = caller->pid,
		.target_pid = caller->hello.pid,
		.ppid = caller->hello.ppid,
		.tsc_hz = c->tsc_hz,
		.began = clock_pair_now(),
		.file = file,
		.file_name = c->file};
	struct error *error =
		file < 0 ? error_errno(ERROR_ENVIRONMENT, errno, "can't create %s", c->file)
			 : recorder_create(&start, &c->recorder);
	if (error) {
		snprintf(c->end.message, sizeof(c->end.message), "%s", error->message);
		error_destroy(error);
		session_answer(caller, -1);
		return;
	}
	c->images++;
	session_answer(caller, c->recorder->memory);
	close(c->recorder->memory);
	c->recorder->memory = -1;
}

/* Counts a process once, however many programs it becomes. */
static void turn_away(struct collector *c, struct session_caller *caller)
{
	size_t at = (size_t)caller->pid / 8;
	uint8_t bit = (uint8_t)(1 << caller->pid % 8);
	if (at >= c->turned_away_bytes) {
		uint8_t *moved = realloc(c->turned_away, at + 4096);
		if (moved) {
			memset(moved + c->turned_away_bytes, 0, at + 4096 - c->turned_away_bytes);
			c->turned_away = moved;
			c->turned_away_bytes = at + 4096;
		}
	}
	if (at < c->turned_away_bytes && !(c->turned_away[at] & bit)) {
		c->turned_away[at] |= bit;
		c->end.unrecorded++;
	}
	session_answer(caller, -1);
}

static void serve_caller(struct collector *c)
{
	struct session_caller caller;
	if (!session_accept(&c->start->session, &caller))
		return;
	if (caller.pid == c->start->root)
		record_root(c, &caller);
	else
		turn_away(c, &caller);
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

static void tell(struct collector *c)
{
	c->end.is_end = 1;
	c->end.processes = c->images > 0;
	const struct timeval limit = {2, 0}; /* a stopped launcher has had its chance */
	setsockopt(c->start->control, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	for (uint32_t i = 0; i < c->done_count; i++)
		(void)!send(c->start->control, &c->done[i], sizeof(c->done[i]), MSG_NOSIGNAL);
	(void)!send(c->start->control, &c->end, sizeof(c->end), MSG_NOSIGNAL);
}

static struct collector *collector_create(struct collector_start *start)
{
	struct collector *c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->start = start;
	c->sleep_ns = SLEEP_MIN_NS;
	c->pidfd = (int)syscall(SYS_pidfd_open, start->root, 0);
	return c;
}

static void collector_destroy(struct collector *c)
{
	if (c->start->file >= 0) {
		close(c->start->file);
		unlink(c->start->file_now);
	}
	if (c->pidfd >= 0)
		close(c->pidfd);
	close(c->start->control);
	free(c->turned_away);
	free(c);
}

int collector_run(struct collector_start *start)
{
	struct collector *c = collector_create(start);
	if (!c)
		return EXIT_FAILURE;
	while (!c->root_gone && !(c->pidfd < 0 && c->have_ended)) {
		nap(c);
		drain(c);
	}
	await_ended(c);
	finish(c, c->ended.kind, c->ended.value);
	session_remove(&start->session);
	tell(c);
	collector_destroy(c);
	return EXIT_SUCCESS;
}
