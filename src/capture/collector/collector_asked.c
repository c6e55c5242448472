/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What commands ask of recorded processes while these run: see ask.h. */
#include "capture/collector/collector_impl.h"
#include "capture/leaks/paused_target.h"

#include "base/cleanup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The recorded process that a command means; NULL: there is none. */
static struct tracked_process *asked_for(
	const struct collector *c, const struct session_caller *caller)
{
	struct tracked_process *s = NULL;
	pid_t pid = caller->request.pid ? caller->request.pid : caller->pid;
	for (uint32_t i = 0; i < c->process_count; i++) {
		struct tracked_process *one = c->processes[i];
		if (one->recorder && (one->pid == pid || (!s && one->recorder->target_pid == pid)))
			s = one;
	}
	return s;
}

static void mark_moment(struct tracked_process *s, const struct session_caller *caller)
{
	struct hw_reply reply = {.ok = 1};
	const char *name = caller->request.text, *problem = ask_mark_problem(name);
	if (!problem)
		problem = recorder_mark(s->recorder, name, &reply.time_ns);
	snprintf(reply.file, sizeof(reply.file), "%s", s->file);
	ask_reply_send(caller->connection, &reply, problem);
}

static void send_blocks(struct tracked_process *s, const struct session_caller *caller)
{
	struct hw_reply reply = {.ok = 1};
	int fd = -1;
	const char *problem = NULL;
	reply.busy = !caller->request.anyhow && target_is_busy(s->recorder->shm);
	if (reply.busy)
		problem = "a thread is in an event";
	else
		problem = recorder_send_blocks(s->recorder, &fd, &reply.blocks);
	snprintf(reply.file, sizeof(reply.file), "%s", s->file);
	ask_reply_send_with(caller->connection, &reply, problem, fd);
	if (fd >= 0)
		close(fd);
}

static void answer_done(const struct tracked_process *s, const struct session_caller *caller)
{
	struct hw_reply reply = {.ok = 1, .time_ns = clock_pair_now().ns - s->recorder->began.ns};
	snprintf(reply.file, sizeof(reply.file), "%s", s->file);
	ask_reply_send(caller->connection, &reply, NULL);
}

static void reset_sums(struct tracked_process *s, const struct session_caller *caller)
{
	const bool with_live = !strcmp(caller->request.text, HW_RESET_LIVE);
	const char *problem = recorder_reset(s->recorder, with_live);
	if (!problem && with_live)
		collector_restart_distances(s);
	const bool is_sample = s->recorder->mode.kind == MODE_SAMPLE;
	const struct hw_reply refused = {.error = with_live && is_sample ? ENOTSUP : ENOMEM};
	if (problem)
		ask_reply_send(caller->connection, &refused, problem);
	else
		answer_done(s, caller);
}

/* The lines of HW_ASK_STATUS: see request.h. */
static void answer_status(struct tracked_process *s, const struct session_caller *caller)
{
	struct recorder *r = s->recorder;
	struct hw_reply reply = {.ok = 1};
	recorder_take_older(r);
	recorder_drain(r);
	const struct dump_figures now = recorder_figures(r);
	const struct recorder_state state = recorder_state(r);
	reply.time_ns = clock_pair_now().ns - r->began.ns;
	snprintf(reply.file, sizeof(reply.file), "%s", s->file);
	snprintf(reply.message, sizeof(reply.message),
		"recording=%d\nmode=%s\nsample_bytes=%" PRIu64 "\nelapsed_ns=%" PRIu64
		"\nsince_ns=%" PRIu64 "\nstops=%" PRIu64 "\nstopped_ns=%" PRIu64 "\nevents=%" PRIu64
		"\nlost_events=%" PRIu64 "\nallocated_bytes=%" PRIu64 "\nfreed_bytes=%" PRIu64
		"\nlive_bytes=%" PRIu64 "\nlive_blocks=%" PRIu64 "\npeak_bytes=%" PRIu64
		"\ndumps=%" PRIu64 "\nfailed_dumps=%" PRIu64 "\nresets=%" PRIu64 "\n",
		!r->stopped, collector_mode_name(&r->mode), r->mode.sample_bytes, reply.time_ns,
		state.since_ns, r->stop_count, state.stopped_ns, state.events, state.lost,
		now.allocated_bytes, now.freed_bytes, now.live_bytes, state.live_blocks,
		now.peak_bytes, s->dumps.done, s->dumps.failed, r->resets);
	ask_reply_send(caller->connection, &reply, NULL);
}

static void answer_pool(struct tracked_process *s, const struct session_caller *caller)
{
	char *end;
	uint64_t address = strtoull(caller->request.text, &end, 16);
	bool has = *caller->request.text && !*end && recorder_has_pool(s->recorder, address);
	struct hw_reply reply = {.error = ENOENT};
	ask_reply_send(caller->connection, &reply, has ? NULL : "there is no such pool");
}

/* What a process of another user may ask of a collector that is root's, of itself. */
static bool is_allowed(const struct session_caller *caller, const struct tracked_process *s)
{
	uint32_t what = caller->request.what;
	return !caller->is_other || (s->pid == caller->pid && what != HW_ASK_LEAKS &&
					    what != HW_ASK_BLOCKS && what != HW_ASK_DETACH);
}

/* To a memfd. -1: there is no memory. */
static int list_processes(const struct collector *c)
{
	int fd = memfd_create("heapwise-list", MFD_CLOEXEC);
	for (uint32_t i = 0; fd >= 0 && i < c->process_count; i++) {
		const struct tracked_process *s = c->processes[i];
		if (!s->recorder)
			continue;
		const struct dump_figures now = recorder_figures(s->recorder);
		char name[sizeof(s->started_as)];
		memcpy(name, s->started_as, sizeof(name));
		for (char *p = name; *p; p++) {
			if ((unsigned char)*p < ' ')
				*p = '?'; /* no line of its own */
		}
		dprintf(fd, "%d %llu %llu %d %s\n", (int)s->pid, (unsigned long long)now.live_bytes,
			(unsigned long long)now.peak_bytes, !s->recorder->stopped, name);
	}
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET);
	return fd;
}

static void send_list(const struct collector *c, const struct session_caller *caller)
{
	int fd = list_processes(c);
	ask_reply_send_with(caller->connection, &(struct hw_reply){.ok = 1},
		fd < 0 ? "there is no memory" : NULL, fd);
	if (fd >= 0)
		close(fd);
}

void collector_on_request(struct collector *c, const struct session_caller *caller)
{
	struct tracked_process *s = asked_for(c, caller);
	struct hw_reply refused = {.error = ESRCH};
	if (caller->is_other && (!s || !is_allowed(caller, s))) {
		refused.error = EPERM;
		ask_reply_send(caller->connection, &refused, "it is recorded by another user");
		return;
	}
	if (caller->request.what == HW_ASK_PROCESSES && !caller->is_other) {
		send_list(c, caller);
		return;
	}
	if (!s) {
		ask_reply_send(caller->connection, &refused,
			"that process is not recorded by this collector");
		return;
	}
	switch (caller->request.what) {
	case HW_ASK_LEAKS:
		collector_search(c, s, caller);
		break;
	case HW_ASK_MARK:
		mark_moment(s, caller);
		break;
	case HW_ASK_BLOCKS:
		send_blocks(s, caller);
		break;
	case HW_ASK_DUMP:
		collector_dump_for(c, s, caller);
		break;
	case HW_ASK_CONFIGURE:
		recorder_take_older(s->recorder); /* it is no growth */
		collector_dump_due(c, s);
		collector_configure(c, s, caller);
		break;
	case HW_ASK_START:
		recorder_resume(s->recorder);
		answer_done(s, caller);
		break;
	case HW_ASK_STOP:
		recorder_stop(s->recorder);
		answer_done(s, caller);
		break;
	case HW_ASK_RESET:
		reset_sums(s, caller);
		break;
	case HW_ASK_STATUS:
		answer_status(s, caller);
		break;
	case HW_ASK_POOL:
		answer_pool(s, caller);
		break;
	case HW_ASK_DETACH:
		collector_detach(c, caller);
		break;
	case HW_ASK_MODE:
		collector_change_mode(c, s, caller);
		break;
	default:
		refused.error = EINVAL;
		ask_reply_send(caller->connection, &refused, "what it asks for makes no sense");
	}
}
