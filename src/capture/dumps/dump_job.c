/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/dumps/dump_job.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "base/output_file.h"
#include "capture/ask.h"
#include "capture/collector/target_stderr.h"

#define DUMP_MODE 0600
#define NO_MEMORY "out of memory"

static void write_problem(char *ret, struct error *error)
{
	snprintf(ret, HW_REPLY_MESSAGE, "%s", error->message);
	error_destroy(error);
}

static struct error *write_to(struct recorder *recorder, const struct dump_order *order, int fd)
{
	const struct recorder_dump dump = {.fd = fd,
		.name = order->name ? order->name : "a dump",
		.why = order->why,
		.end = order->end};
	return recorder_dump(recorder, &dump);
}

/* To a file without a name, which becomes `name` by a conversion. */
static void write_converted(
	struct recorder *recorder, const struct dump_order *order, char *ret_problem)
{
	char path[64];
	int fd = memfd_create("heapwise-dump", 0);
	if (fd < 0) {
		snprintf(ret_problem, HW_REPLY_MESSAGE, NO_MEMORY);
		return;
	}
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	struct error *error = copy < 0 ? error_no_memory() : write_to(recorder, order, copy);
	if (error) {
		write_problem(ret_problem, error);
		return;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (order->plan->announce)
		target_stderr_take(order->process, recorder->pid);
	const struct dump_conversion conversion = {order->plan, order->reason, path, order->name};
	if (order->plan->convert(&conversion, ret_problem, HW_REPLY_MESSAGE) && !*ret_problem)
		snprintf(ret_problem, HW_REPLY_MESSAGE, "can't write %s", order->name);
}

static void write_named(
	struct recorder *recorder, const struct dump_order *order, char *ret_problem)
{
	_cleanup_(output_file_cleanup) struct output_file file = OUTPUT_FILE_NONE;
	struct error *error = output_file_open(order->name, DUMP_MODE, &file);
	int fd = error ? -1 : fcntl(file.fd, F_DUPFD_CLOEXEC, 3);
	if (!error && fd < 0)
		error = error_errno(ERROR_ENVIRONMENT, errno, "can't write %s", order->name);
	if (!error)
		error = write_to(recorder, order, fd);
	if (!error)
		error = output_file_commit(&file);
	if (error)
		write_problem(ret_problem, error);
}

/* Nothing is written any more once the collector has died. */
static void end_with(pid_t collector)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != collector)
		_exit(1);
}

/* The writer's life. */
static void write_dump(struct recorder *recorder, const struct dump_order *order, int file,
	pid_t collector, char *ret_problem)
{
	struct error *error = NULL;
	signal(SIGXFSZ, SIG_IGN);
	if (!dump_owner_become(&order->owner)) {
		snprintf(ret_problem, HW_REPLY_MESSAGE, "can't become the user of the process");
		return;
	}
	end_with(collector); /* which another user's rights have undone */
	if (order->name && order->plan->convert) {
		write_converted(recorder, order, ret_problem);
	} else if (order->name) {
		write_named(recorder, order, ret_problem);
	} else {
		error = write_to(recorder, order, file);
		if (error)
			write_problem(ret_problem, error);
	}
}

static const char *job_fail(struct dump_job *job, const char *problem)
{
	if (job->file >= 0)
		close(job->file);
	if (job->problem)
		munmap(job->problem, HW_REPLY_MESSAGE);
	*job = (struct dump_job){.writer = 0};
	return problem;
}

const char *dump_job_start(
	struct dump_job *job, struct recorder *recorder, const struct dump_order *order)
{
	*job = (struct dump_job){.pidfd = -1, .asker = -1, .file = -1};
	job->problem = mmap(
		NULL, HW_REPLY_MESSAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (job->problem == MAP_FAILED) {
		job->problem = NULL;
		return job_fail(job, NO_MEMORY);
	}
	if (!order->name) {
		job->file = memfd_create("heapwise-dump", MFD_CLOEXEC);
		if (job->file < 0)
			return job_fail(job, NO_MEMORY);
	}
	job->time_ns = recorder_prepare_dump(recorder);
	pid_t self = getpid();
	job->writer = fork();
	if (!job->writer) {
		end_with(self);
		write_dump(recorder, order, job->file, self, job->problem);
		_exit(0);
	}
	job->pidfd = job->writer > 0 ? (int)syscall(SYS_pidfd_open, job->writer, 0) : -1;
	if (job->pidfd < 0) {
		if (job->writer > 0) {
			kill(job->writer, SIGKILL);
			child_wait(job->writer, NULL, 0);
		}
		return job_fail(job, "there is no process to write it with");
	}
	job->name = order->name;
	job->owner = order->owner;
	job->order = order->number;
	job->asker = order->asker;
	return NULL;
}

bool dump_job_is_done(const struct dump_job *job, int ms)
{
	struct pollfd ended = {.fd = job->pidfd, .events = POLLIN};
	int ready;
	do
		ready = poll(&ended, 1, ms);
	while (ready < 0 && errno == EINTR);
	return ready == 1;
}

char *dump_job_finish(struct dump_job *job, char *ret_problem)
{
	int status = 1;
	if (child_wait(job->writer, &status, 0) != job->writer || status)
		snprintf(job->problem, HW_REPLY_MESSAGE, "the process that writes it has died");
	snprintf(ret_problem, HW_REPLY_MESSAGE, "%s", job->problem);
	struct hw_reply reply = {.time_ns = job->time_ns};
	snprintf(reply.file, sizeof(reply.file), "%s", job->name ? job->name : "");
	if (job->file >= 0)
		lseek(job->file, 0, SEEK_SET);
	ask_reply_send_with(job->asker, &reply, *ret_problem ? ret_problem : NULL, job->file);
	char *name = job->name;
	if (*ret_problem) {
		free(name);
		name = NULL;
	}
	close(job->pidfd);
	job_fail(job, NULL);
	return name;
}

void dump_job_cancel(struct dump_job *job)
{
	if (!job->writer)
		return;
	kill(job->writer, SIGKILL);
	child_wait(job->writer, NULL, 0);
	ask_reply_send(job->asker, &(struct hw_reply){.ok = 0}, "the process has ended meanwhile");
	free(job->name);
	close(job->pidfd);
	job_fail(job, NULL);
}
