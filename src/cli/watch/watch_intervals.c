/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/watch/watch_intervals.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "cli/watch/watch_members.h"
#include "process/clock.h"

#define POLL_NS ((uint64_t)100000000)

struct error *watch_signals_open(bool with_hangup, int *ret)
{
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	if (with_hangup)
		sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	*ret = signalfd(-1, &signals, SFD_CLOEXEC);
	return *ret < 0 ? error_errno(ERROR_ENVIRONMENT, errno, "can't wait for signals") : NULL;
}

bool watch_await(int kernel, int signals, uint64_t wait_ns)
{
	const struct timespec wait = clock_timespec(wait_ns);
	struct pollfd waited[] = {
		{.fd = signals, .events = POLLIN}, {.fd = kernel, .events = POLLIN}};
	return ppoll(waited, ARRAY_SIZE(waited), &wait, NULL) > 0 && waited[0].revents;
}

/* A run of the loop. */
struct looks {
	const struct watch_intervals *intervals;
	const struct watch_kind *kind;
	void *subject;
	bool is_over, has_ended;
};

/* Until the next interval, or until it is over. */
static struct error *interval_wait(struct looks *looks, uint64_t due_ns)
{
	struct error *error = NULL;
	uint64_t now;
	while (!error && !looks->is_over && (now = clock_now_ns()) < due_ns) {
		looks->is_over = watch_await(looks->kind->fd(looks->subject),
			looks->intervals->signals, min(POLL_NS, due_ns - now));
		error = looks->kind->poll(looks->subject, &looks->has_ended);
		looks->is_over |= looks->has_ended;
	}
	return error;
}

static struct error *interval_print(struct looks *looks)
{
	const struct sink *sink = &looks->intervals->sink;
	_cleanup_(text_deinit) struct text text;
	char at[16];
	time_t now = time(NULL);
	struct tm day;
	text_init(&text);
	strftime(at, sizeof(at), "%H:%M:%S", localtime_r(&now, &day));
	struct error *error = looks->kind->add_text(looks->subject, &text, at);
	if (!error && text.failed)
		error = error_no_memory();
	if (!error)
		looks->is_over |= !sink->write(sink->ctx, text.data, text.len);
	return error;
}

static struct error *interval_show(struct looks *looks)
{
	struct json *json = looks->intervals->json;
	struct error *error = looks->kind->look(looks->subject);
	if (error)
		return error;
	if (!json)
		return interval_print(looks);
	error = looks->kind->add_json(looks->subject, json, (uint64_t)time(NULL));
	looks->is_over |= json->failed;
	return error;
}

struct error *watch_intervals_run(const struct watch_intervals *intervals,
	const struct watch_kind *kind, void *subject, bool *ret_ended)
{
	struct looks looks = {.intervals = intervals, .kind = kind, .subject = subject};
	struct error *error = NULL;
	uint64_t due = clock_now_ns(), count = 0;
	while (!error && !looks.is_over) {
		due += intervals->interval_s * NS_PER_SECOND;
		error = interval_wait(&looks, due);
		if (!error)
			error = interval_show(&looks);
		count++;
		looks.is_over |= intervals->count && count >= intervals->count;
	}
	if (intervals->json)
		(void)watch_json_end(intervals->json);
	*ret_ended = looks.has_ended;
	return error;
}
