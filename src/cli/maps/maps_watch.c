/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/maps/maps_watch.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/maps/maps_explain.h"
#include "cli/terminal/progress.h"
#include "process/proc_info.h"

#define NS_PER_SECOND 1000000000ull

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

void maps_target_deinit(struct maps_target *target)
{
	for (size_t i = 0; i < target->page_count; i++)
		free(target->pages[i]);
	free(target->pages);
	free(target->command);
	free(target->end);
	address_ranges_deinit(&target->first_pages);
	maps_written_deinit(&target->written);
	live_looker_close(&target->looker);
	memory_look_deinit(&target->look);
	mapping_series_deinit(&target->series);
}

/* The arguments, or the name if there are none. */
static char *command_read(pid_t pid)
{
	char *text;
	size_t len;
	struct error *error = process_read(pid, "cmdline", 1u << 20, &text, &len);
	if (error || !len) {
		bool is_read = !error;
		error_destroy(error);
		if (is_read)
			free(text);
		error = process_read(pid, "comm", 4096, &text, &len);
	}
	if (error) {
		error_destroy(error);
		return strdup("?");
	}
	for (size_t i = 0; i < len; i++) {
		if (!text[i] || text[i] == '\n')
			text[i] = ' ';
	}
	while (len && text[len - 1] == ' ')
		text[--len] = 0;
	return text;
}

static bool range_add(void *ctx, uint64_t start, uint64_t end)
{
	return address_ranges_add(ctx, start, end);
}

static struct error *first_pages_find(struct maps_target *target)
{
	if (!target->looker.scans) {
		target->pages_unknown = "which pages are new is not known: this kernel has no "
					"PAGEMAP_SCAN (Linux 6.7)";
		return NULL;
	}
	struct error *error = live_look_pages(&target->looker, range_add, &target->first_pages);
	if (!error)
		address_ranges_join(&target->first_pages);
	return error;
}

static struct error *target_open(const struct maps_plan *plan, struct maps_target *target)
{
	pid_t pid = target->looker.pid;
	bool ended;
	/* One look is of smaps alone, all of whose figures are of one moment. */
	enum live_look_way way =
		!plan->every_ns && plan->way == LIVE_LOOK_ANY ? LIVE_LOOK_SMAPS : plan->way;
	memory_look_init(&target->look);
	mapping_series_init(&target->series);
	struct error *error = live_looker_open(pid, way, &target->looker);
	if (!error && plan->reads_nodes)
		error = live_looker_read_nodes(&target->looker);
	if (!error)
		error = live_look_take(&target->looker, true, &target->look, &ended);
	if (!error && ended)
		error = error_create(ERROR_INPUT,
			"process %d has no memory: it has ended, or is a thread of the kernel",
			(int)pid);
	if (!error)
		error = mapping_series_add(&target->series, &target->look, 0);
	if (!error && plan->explains)
		error = first_pages_find(target);
	if (!error && plan->compares)
		error = maps_written_begin(&target->written, &target->looker, &target->look);
	if (error)
		return error;
	target->command = command_read(pid);
	return target->command ? NULL : error_no_memory();
}

/* Sets why the looks of a target ended. */
static struct error *target_end(struct maps_target *target, double seconds)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	bool runs_on = process_start_ticks(target->looker.pid) != 0;
	text_add(&text, runs_on ? "The process executed another program between "
				: "The process ended between ");
	text_add_duration_ns(&text, (uint64_t)(target->series.last_seconds * 1e9));
	text_add(&text, " and ");
	text_add_duration_ns(&text, (uint64_t)(seconds * 1e9));
	text_add(&text, " after the first look: this is what was seen until then.");
	target->has_ended = true;
	target->end = text_steal(&text);
	return target->end ? NULL : error_no_memory();
}

/* What was seen is worth more than the rest of the series. */
static struct error *target_give_up(struct maps_target *target, struct error *error)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_add(&text, "Looking ended early: ");
	text_add(&text, error->message);
	text_add(&text, "; this is what was seen until then.");
	error_destroy(error);
	target->has_ended = true;
	target->end = text_steal(&text);
	return target->end ? NULL : error_no_memory();
}

static struct error *target_look(struct maps_target *target, bool full, double seconds)
{
	bool ended;
	if (target->has_ended)
		return NULL;
	struct error *error = live_look_take(&target->looker, full, &target->look, &ended);
	if (error)
		return target_give_up(target, error);
	return ended ? target_end(target, seconds)
		     : mapping_series_add(&target->series, &target->look, seconds);
}

/* Waits until a time; true: a signal asks to end. */
static bool is_asked_to_end(const sigset_t *signals, uint64_t until_ns)
{
	for (;;) {
		uint64_t now = now_ns();
		uint64_t left = until_ns > now ? until_ns - now : 0;
		const struct timespec wait = {
			(time_t)(left / NS_PER_SECOND), (long)(left % NS_PER_SECOND)};
		if (sigtimedwait(signals, NULL, &wait) > 0)
			return true;
		if (errno == EAGAIN)
			return false;
	}
}

static bool all_have_ended(const struct maps_target *targets, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!targets[i].has_ended)
			return false;
	}
	return true;
}

static struct error *targets_follow(const struct maps_plan *plan, struct maps_target *targets,
	size_t count, const sigset_t *signals)
{
	uint64_t start = now_ns(), due = start;
	bool is_last = false;
	struct error *error = NULL;
	while (!error && !is_last && !all_have_ended(targets, count)) {
		uint64_t now = now_ns();
		/* Times that were missed, as after a suspended machine, are left out. */
		due += plan->every_ns;
		if (due < now)
			due += (now - due) / plan->every_ns * plan->every_ns;
		if (plan->for_ns && due >= start + plan->for_ns) {
			due = start + plan->for_ns;
			is_last = true;
		}
		is_last |= is_asked_to_end(signals, due);
		double seconds = (double)(now_ns() - start) / 1e9;
		for (size_t i = 0; !error && i < count; i++)
			error = target_look(&targets[i], is_last, seconds);
	}
	return error;
}

static struct error *target_compare(struct maps_target *target)
{
	if (!target->has_ended)
		return maps_written_end(&target->written, &target->looker, &target->series);
	target->written.changes.unknown = "the process has ended";
	return NULL;
}

struct error *maps_watch(const struct maps_plan *plan, struct maps_target *targets, size_t count)
{
	sigset_t signals, before;
	struct error *error = NULL;
	for (size_t i = 0; i < count; i++)
		targets[i].looker.scan.pages = targets[i].looker.maps.file =
			targets[i].looker.smaps.file = targets[i].looker.sizes.file =
				targets[i].looker.numa.file = -1;
	for (size_t i = 0; !error && i < count; i++)
		error = target_open(plan, &targets[i]);
	if (!error && plan->every_ns) {
		sigemptyset(&signals);
		sigaddset(&signals, SIGINT);
		sigaddset(&signals, SIGTERM);
		sigprocmask(SIG_BLOCK, &signals, &before);
		progress_begin("looking at memory every %.3g s%s", (double)plan->every_ns / 1e9,
			plan->for_ns ? "" : "; ^C shows what there is");
		error = targets_follow(plan, targets, count, &signals);
		progress_end();
		sigprocmask(SIG_SETMASK, &before, NULL);
	}
	for (size_t i = 0; !error && i < count; i++)
		error = mapping_series_finish(&targets[i].series);
	for (size_t i = 0; !error && plan->compares && i < count; i++)
		error = target_compare(&targets[i]);
	for (size_t i = 0; !error && plan->explains && i < count; i++)
		error = maps_explain(&targets[i]);
	return error;
}
