/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process that was attached while it ran is let go. */
#include "capture/attach/inject.h"
#include "capture/collector/collector_impl.h"

#include "base/cleanup.h"
#include "capture/ask.h"
#include "process/stop.h"

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>

static void answer_caller(
	const struct session_caller *caller, const char *file, const char *problem, int why)
{
	struct hw_reply reply = {.ok = !problem, .error = problem ? (uint32_t)why : 0};
	if (!caller)
		return;
	snprintf(reply.file, sizeof(reply.file), "%s", file);
	ask_reply_send(caller->connection, &reply, problem);
}

/* The process goes on: as if it had ended, for this collector. */
static void leave_root(
	struct collector *c, const struct tracked_process *root, enum hpw_exit_kind kind)
{
	epoll_ctl(c->epoll, EPOLL_CTL_DEL, root->pidfd, NULL);
	c->ended = (struct collector_ended){kind, 0};
	c->have_ended = true;
	c->root_gone_ns = clock_pair_now().ns;
}

static void drain_meanwhile(void *collector)
{
	collector_go_on_meanwhile(collector, NULL);
}

void collector_detach(struct collector *c, const struct session_caller *caller)
{
	struct tracked_process *root = collector_find(c, c->start->root);
	struct attach_removed removed;
	if (!c->start->attached_ns || !root || !root->recorder) {
		answer_caller(
			caller, "", "it was not attached, but recorded from its start", EINVAL);
		return;
	}
	recorder_drain(root->recorder);
	const struct recorder_meanwhile meanwhile = {drain_meanwhile, c};
	struct error *error = attach_remove(root->pid, &meanwhile, &removed);
	bool has_ended = tracked_process_has_ended(root) || process_is_ending(root->pid);
	if (error && has_ended && !caller) { /* that is noticed at once, and how */
		error_destroy(error);
		return;
	}
	bool is_other = error && !has_ended && !attach_has_image(root->pid);
	if (error && error->code != ERROR_INPUT && !has_ended && !is_other) {
		answer_caller(caller, root->file, error->message, EIO);
		if (!caller)
			session_summary_complain(&c->summary, error);
		else
			error_destroy(error);
		return;
	}
	error_destroy(error);
	if (removed.functions_left)
		session_summary_complain(&c->summary,
			error_create(ERROR_ENVIRONMENT,
				"%zu of the functions of process %d that were changed are not as "
				"they "
				"were left (a breakpoint or a probe was set there?), and stay as "
				"they are; nothing is recorded there any more",
				removed.functions_left, (int)root->pid));
	if (removed.left_bytes && removed.late_tid)
		session_summary_complain(&c->summary,
			error_create(ERROR_ENVIRONMENT,
				"%llu MiB of address space stay mapped in process %d: its thread "
				"%d does "
				"not return from the kernel (it waits for its vfork child, or for "
				"a dead "
				"disk), and may be in an event; nothing is recorded there any "
				"more. "
				"'heapwise detach %d' unmaps the rest when it has returned",
				(unsigned long long)removed.left_bytes >> 20, (int)root->pid,
				(int)removed.late_tid, (int)root->pid));
	else if (removed.left_bytes)
		session_summary_complain(&c->summary,
			error_create(ERROR_ENVIRONMENT,
				"%llu MiB of address space stay mapped in process %d, since a "
				"thread may return to them; nothing is recorded there any more. "
				"'heapwise detach %d' unmaps the rest later",
				(unsigned long long)removed.left_bytes >> 20, (int)root->pid,
				(int)root->pid));
	char file[TRACKED_FILE_MAX];
	snprintf(file, sizeof(file), "%s", root->file);
	if (!c->root_gone_ns)
		leave_root(c, root, is_other ? HPW_EXIT_EXEC : HPW_EXIT_DETACHED);
	collector_root_finish(c);
	answer_caller(caller, file, NULL, 0);
}
