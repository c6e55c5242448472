/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the verdict says, and what it says when a recording is not all it should be. */
#include "analysis/summary.h"
#include "base/cleanup.h"
#include "lib/tap.h"
#include "unit/fake_symbols.h"
#include "unit/model_fixture.h"

static const struct fake_symbol symbols[] = {
	{"/opt/demo/app", 0x10, {"foo", "foo", "/src/foo.c", 12, false}},
	{"/opt/demo/app", 0x20, {"bar", "bar", NULL, 0, false}},
	{0},
};

static char *verdict_of(struct fixture *fixture, char **ret_notes)
{
	fake_symbols = symbols;
	fake_files = NULL;
	_cleanup_(resolver_cleanup) struct resolver *resolver = NULL;
	CHECK_OK(resolver_create(fixture->model, false, &resolver));
	_cleanup_(rows_deinit) struct rows rows;
	rows_init(&rows);
	CHECK_OK(rows_build(fixture->model, resolver, &rows));
	_cleanup_(summary_deinit) struct summary summary;
	summary_init(&summary);
	CHECK_OK(summary_build(fixture->model, NULL, &rows, &rows, &summary));
	struct text notes;
	text_init(&notes);
	summary_add_notes(fixture->model, resolver, &notes);
	*ret_notes = text_steal(&notes);
	return text_steal(&summary.verdict);
}

/* The fixture is done with afterwards. */
static void check_verdict(struct fixture *fixture, const char *verdict, const char *notes)
{
	_cleanup_free_ char *its_notes = NULL;
	_cleanup_free_ char *its_verdict = verdict_of(fixture, &its_notes);
	CHECK_STR(its_verdict, verdict);
	CHECK_STR(its_notes, notes);
	fixture_deinit(fixture);
}

static void add(struct fixture *fixture, uint64_t elf, struct site counts)
{
	fixture_site(fixture, fixture_stack(fixture, 0, MODULE_APP, elf), &counts);
}

CASE(verdict_nothing, "no allocation at all")
{
	struct fixture fixture;
	fixture_init(&fixture);
	check_verdict(&fixture, "The program allocated nothing.\n", "");
}

CASE(verdict_head_alone, "without any event an incomplete recording says nothing of the program")
{
	struct fixture fixture;
	fixture_init(&fixture);
	build_recording(fixture.model)->complete = false;
	check_verdict(&fixture,
		"It is unknown what the program allocated: none of its events can be read.\n",
		"The recording is incomplete: figures cover the time up to its end.\n");
}

CASE(verdict_front, "a malloc in front of the recorder's: where it is, and what to do")
{
	struct fixture fixture;
	fixture_init(&fixture);
	build_recording(fixture.model)->own_malloc = true;
	build_recording(fixture.model)->malloc_in_front = true;
	check_verdict(&fixture, "No allocation was seen.\n",
		"A library that is loaded before the recorder (LD_PRELOAD) defines malloc. Calls "
		"of that malloc are not recorded. Put libheapwise-rt.so first: "
		"LD_PRELOAD=…/libheapwise-rt.so:LIBRARY, or use 'heapwise run'.\n");
}

CASE(verdict_all_freed, "every block was freed")
{
	struct fixture fixture;
	fixture_init(&fixture);
	add(&fixture, 0x10,
		(struct site){.allocations = 30,
			.allocated_bytes = 300,
			.peak_blocks = 3,
			.peak_bytes = 30});
	build_totals(fixture.model)->peak_time_ns = 12300000;
	check_verdict(&fixture,
		"No leaks: every block was freed.\n"
		"Peak 30 B after 12.3 ms, all of it from one allocation site: foo (foo.c:12).\n",
		"");
}

CASE(verdict_no_block_counts, "bytes of which the file has no number of blocks were not freed")
{
	struct fixture fixture;
	fixture_init(&fixture);
	add(&fixture, 0x10, (struct site){.live_bytes = 127});
	build_recording(fixture.model)->unknown = ~(uint32_t)UNKNOWN_LIVE_BYTES;
	check_verdict(&fixture,
		"127 B were never freed, all of it from one allocation site: foo (foo.c:12).\n",
		"");
	fixture_init(&fixture);
	build_recording(fixture.model)->unknown = ~(uint32_t)UNKNOWN_LIVE_BYTES;
	check_verdict(&fixture, "0 B were never freed.\n", "");
}

CASE(verdict_leak, "what was left, by share of the largest place")
{
	struct fixture fixture;
	fixture_init(&fixture);
	add(&fixture, 0x10,
		(struct site){.allocations = 1000,
			.allocated_bytes = 102400,
			.live_blocks = 1000,
			.live_bytes = 102400});
	add(&fixture, 0x20,
		(struct site){.allocations = 204,
			.allocated_bytes = 20480,
			.live_blocks = 204,
			.live_bytes = 20480});
	check_verdict(&fixture,
		"120 KiB in 1,204 blocks were never freed, 83% of it from one allocation site: foo "
		"(foo.c:12).\n",
		"");
}

CASE(verdict_empty_blocks, "blocks of no size count too")
{
	struct fixture fixture;
	fixture_init(&fixture);
	add(&fixture, 0x20, (struct site){.allocations = 1, .live_blocks = 1});
	check_verdict(&fixture,
		"0 B in 1 block was never freed, all of it from one allocation site: bar (app).\n",
		"");
}

CASE(verdict_churn, "temporary allocations from a tenth on, failures, mismatches")
{
	struct fixture fixture;
	fixture_init(&fixture);
	add(&fixture, 0x10,
		(struct site){.allocations = 1000, .temporary = 999, .same_frame = 999});
	add(&fixture, 0x20, (struct site){.allocations = 1000, .temporary = 1, .failed = 1});
	build_recording(fixture.model)->mismatched_frees = 2;
	check_verdict(&fixture,
		"No leaks: every block was freed.\n"
		"50% of the allocations were temporary (freed by the same thread before its next "
		"allocation), more than 99% of these from one allocation site: foo (foo.c:12).\n"
		"1 allocation failed.\n"
		"2 blocks were freed by a function that does not match its allocation function.\n",
		"");
}

CASE(verdict_killed, "a program that was killed did not forget its blocks")
{
	struct fixture fixture;
	fixture_init(&fixture);
	add(&fixture, 0x10,
		(struct site){.allocations = 2,
			.allocated_bytes = 20,
			.live_blocks = 2,
			.live_bytes = 20});
	build_target(fixture.model)->exit_kind = EXIT_KIND_SIGNAL;
	build_target(fixture.model)->exit_value = 9;
	check_verdict(&fixture,
		"20 B in 2 blocks were live when the program was killed, all of it from one "
		"allocation site: foo (foo.c:12).\n",
		"The program was killed by signal 9 (SIGKILL).\n");
}

CASE(verdict_incomplete, "damage, loss and repairs are said plainly")
{
	struct fixture fixture;
	fixture_init(&fixture);
	add(&fixture, 0x10,
		(struct site){.allocations = 2,
			.allocated_bytes = 20,
			.live_blocks = 1,
			.live_bytes = 10});
	CHECK_OK(build_damage(fixture.model, "Chunk 17 is damaged."));
	struct recording *recording = build_recording(fixture.model);
	recording->lost_events = 1234567;
	recording->repairs = 1;
	recording->unknown_frees = 2;
	recording->inherited_frees = 1;
	recording->stacks_full = 3;
	recording->children_unrecorded = 1;
	recording->longest_wait_ns = 250000000;
	build_target(fixture.model)->exit_kind = EXIT_KIND_UNKNOWN;
	check_verdict(&fixture,
		"10 B in 1 block was live at the end of the recording, all of it from one "
		"allocation site: "
		"foo (foo.c:12).\n",
		"The recording is incomplete: figures cover the time up to its end.\n"
		"Chunk 17 is damaged.\n"
		"1,234,567 events lost: counts are too low, and blocks whose free was lost look "
		"never freed.\n"
		"1 inconsistency repaired: allocations and frees of an address did not alternate.\n"
		"2 frees of blocks whose allocation was not recorded.\n"
		"1 free of a block inherited from the parent process.\n"
		"3 events without a stack: the table of stacks was full.\n"
		"1 child process ran unrecorded.\n"
		"A thread of the program waited up to 250 ms for the recorder.\n");
}

/* The sentence about lost events, with so many of each cause. */
static void check_lost(const uint64_t lost[LOST_REASONS], const char *expected)
{
	struct fixture fixture;
	fixture_init(&fixture);
	add(&fixture, 0x10, (struct site){.allocations = 1, .allocated_bytes = 5});
	struct recording *recording = build_recording(fixture.model);
	memcpy(recording->lost, lost, sizeof(recording->lost));
	for (unsigned why = 0; why < LOST_REASONS; why++)
		recording->lost_events += lost[why];
	recording->complete = true;
	build_target(fixture.model)->exit_kind = EXIT_KIND_STATUS;
	check_verdict(&fixture, "No block that was seen was live at the end.\n", expected);
}

#define THEN ": counts are too low, and blocks whose free was lost look never freed.\n"

CASE(verdict_waits, "many short waits are reported from a tenth of the time on")
{
	static const struct {
		uint64_t wait_ns, duration_ns;
		bool shown;
	} waits[] = {{300000000, 3000000000, true}, {299999999, 3000000000, false},
		{99999999, 100000000, false}, {0, 0, false}};
	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
		struct fixture fixture;
		fixture_init(&fixture);
		add(&fixture, 0x10, (struct site){.allocations = 2, .allocated_bytes = 20});
		struct recording *recording = build_recording(fixture.model);
		recording->duration_ns = waits[i].duration_ns;
		recording->longest_wait_ns = 5000000;
		recording->wait_ns = waits[i].wait_ns;
		check_verdict(&fixture, "No leaks: every block was freed.\n",
			waits[i].shown ? "The program's threads waited 300 ms in total for room in "
					 "their buffers, because the recorder was slower.\n"
				       : "");
	}
}

CASE(lost_words, "what was lost is said with its cause, or its causes one by one")
{
	check_lost((uint64_t[LOST_REASONS]){[LOST_STALLED] = 1},
		"1 event lost because the recorder stalled for more than a second" THEN);
	check_lost((uint64_t[LOST_REASONS]){[LOST_IN_HANDLER] = 7},
		"7 events lost in signal handlers, which must not wait for the recorder" THEN);
	check_lost((uint64_t[LOST_REASONS]){[LOST_HELD] = 7, [LOST_NO_MEMORY] = 2000},
		"2,007 events lost, 7 because another thread stopped in the middle of an event "
		"and 2,000 because the recorder had no memory for more blocks or stacks" THEN);
	check_lost((uint64_t[LOST_REASONS]){[LOST_SAMPLED] = 1,
			   [LOST_REALLOC_FAILED] = 2,
			   [LOST_SAMPLER] = 3,
			   [LOST_OWNERLESS] = 4,
			   [LOST_DAMAGED] = 5},
		"15 events lost, 1 because a buffer was full (sampling does not wait for room), 2 "
		"with "
		"sampled blocks whose realloc failed, 3 because the table of sampled blocks was "
		"full or in use, 4 of threads that the recorder could not identify and 5 at least, "
		"where the program overwrote the recorder's memory" THEN);
	check_lost((uint64_t[LOST_REASONS]){[LOST_RING] = 3, [LOST_TABLE] = 4, [LOST_UNPROBED] = 5},
		"12 events lost, 3 because the ring of events from the kernel was full, 4 because "
		"the kernel's table of blocks or threads was full and 5 of operator new, whose "
		"calls "
		"probes leave alone if they might throw" THEN);
}

CASE(ending_words, "every ending has words")
{
	static const struct {
		enum exit_kind kind;
		int value;
		const char *words;
	} table[] = {
		{EXIT_KIND_STATUS, 3, "ended with status 3"},
		{EXIT_KIND_SIGNAL, 11, "was killed by signal 11 (SIGSEGV)"},
		{EXIT_KIND_SIGNAL, 999, "was killed by signal 999"},
		{EXIT_KIND_EXEC, 0, "executed another program (exec)"},
		{EXIT_KIND_UNKNOWN, 0, "has an unknown exit status"},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct target target = {.exit_kind = table[i].kind, .exit_value = table[i].value};
		_cleanup_(text_deinit) struct text text;
		text_init(&text);
		summary_add_ending(&text, &target);
		CHECK_STR(text.data, table[i].words);
	}
}

TAP_MAIN
