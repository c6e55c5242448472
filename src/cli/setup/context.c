/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/setup/context.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/util.h"
#include "cli/heap/heap_collector.h"
#include "cli/heap/heap_interrupt.h"
#include "cli/options/symbol_options.h"
#include "cli/terminal/message.h"
#include "cli/terminal/progress.h"
#include "query/bundles.h"

static void show_note(void *ctx, const char *text)
{
	(void)ctx;
	message("%s", text);
}

static void show_task(void *ctx, const char *what)
{
	(void)ctx;
	if (what)
		progress_begin("%s", what);
	else
		progress_end();
}

static void remove_at_end(void *ctx);

static void watch_signals(void *ctx, bool holds)
{
	(void)ctx;
	if (holds)
		heap_interrupt_begin();
	else
		heap_interrupt_end();
}

static struct query_context context;

/* Who keeps folders: children (pagers, graphviz) end without removing what is their parent's. */
static pid_t owner;

struct query_context *cli_context(void)
{
	if (!context.listener.note)
		query_context_init(&context, &(struct query_listener){.note = show_note,
						     .progress = show_task,
						     .keeps_folders = remove_at_end,
						     .holds_process = watch_signals,
						     .stop = &heap_interrupted,
						     .fetch = symbol_fetch_listener,
						     .collector = &heap_collector});
	return &context;
}

static void remove_all(void)
{
	if (owner == getpid())
		bundles_forget(&context);
}

static void remove_in_child(void *ctx, const char *folder)
{
	(void)ctx;
	/* NOLINTNEXTLINE(bugprone-signal-handler): POSIX (2024) has it for handlers */
	if (_Fork() == 0) {
		execl("/bin/rm", "rm", "-rf", "--", folder, NULL);
		_exit(127);
	}
}

/* Runs in a signal handler, so rm(1) has to do it. */
static void remove_and_die(int number)
{
	if (owner == getpid())
		/* NOLINTNEXTLINE(bugprone-signal-handler): its header promises it */
		query_context_each_folder(&context, remove_in_child, NULL);
	signal(number, SIG_DFL);
	raise(number);
}

/* Who is to be stopped removes what it has unpacked; who ignores that goes on to. */
static void remove_at_end(void *ctx)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	(void)ctx;
	if (owner)
		return;
	owner = getpid();
	atexit(remove_all);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		struct sigaction now;
		if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
			signal(numbers[i], remove_and_die);
	}
}
