/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/check/uninit.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "base/vec.h"
#include "capture/check_settings.h"

/* The first run's byte, then those that are tried against it: its complement, so that each bit
 * differs, and those that make numbers 0 and flags clear, or all bits set. */
static const uint8_t fills[] = {0x55, 0xaa, 0x00, 0xff};
_Static_assert(ARRAY_SIZE(fills) == UNINIT_FILLS, "each is tried");

/* No run may take longer than this times the first one, and this much more. */
#define SLOWER_MOST 10u
#define SLOWER_NS 5000000000u
#define SHOWN_MOST 60u

/* Which memory a run fills with the second byte. */
struct fill_plan {
	uint8_t other;
	uint64_t from, to;    /* blocks, to exclusive */
	uint64_t first, last; /* bytes of each of them */
	bool others;          /* and all blocks of other processes */
	bool whole;           /* all blocks without an exception */
};

DEFINE_VEC(line_vec, size_t)

/* Where two results differ first. */
enum difference { SAME, IN_STATUS, IN_OUT, IN_ERR };
struct place {
	enum difference what;
	size_t line; /* from 1; 0: in what was not kept */
};

struct search {
	const struct uninit_options *options;
	struct uninit_result *result;
	struct hw_check_page *shared; /* with the runs */
	struct stat page;             /* its file */
	bool left[UNINIT_FILLS];      /* a run with this fill has shown what leaves the program */
	struct trial_program program; /* with a limit, once a run is known */
	struct line_vec masked[TRIAL_STREAMS]; /* lines that differ by themselves, ascending */
};

/* Every number has the same width in each run, so that the program's stack begins at the same
 * address in each. */
static void search_settings(
	const struct search *search, const struct fill_plan *plan, struct text *text)
{
	text_printf(text,
		HW_CHECK_ENV "=backend=none," CHECK_SETTINGS_PROCESS
			     ",sums=%06d:%020ju:%020ju,fill=%02x,fill2=%02x,fill2-others=%d,"
			     "fill2-from=%020" PRIu64 ",fill2-to=%020" PRIu64
			     ",fill2-bytes=%020" PRIu64 "-%020" PRIu64,
		search->program.shared, (uintmax_t)search->page.st_dev,
		(uintmax_t)search->page.st_ino, fills[0], plan->other, plan->others, plan->from,
		plan->to, plan->first, plan->last);
	for (size_t i = 0; i < UNINIT_FINDINGS_MOST; i++)
		text_printf(text, ",fill2-skip=%020" PRIu64,
			i < search->result->count && !plan->whole
				? search->result->findings[i].number
				: UINT64_MAX);
}

/* Whether there may be no further runs; the result says then that it is not the whole. */
static bool search_is_spent(const struct search *search)
{
	bool spent = search->result->runs >= search->options->runs_most;
	search->result->spent |= spent;
	return spent;
}

/* Which fill all blocks have in a run with that plan; UNINIT_FILLS: not all have the same. */
static size_t find_fill(const struct search *search, const struct fill_plan *plan)
{
	size_t at = 0;
	bool all = !plan->from && plan->to == UINT64_MAX && !plan->first &&
		   plan->last == UINT64_MAX && (plan->whole || !search->result->count);
	if (!plan->to)
		return 0;
	while (all && at < UNINIT_FILLS && fills[at] != plan->other)
		at++;
	return all ? at : UNINIT_FILLS;
}

/* Has a run note what leaves the program, if it can tell anything: the first two with the first
 * fill, then one with each other fill, until no candidates are left. */
static bool leaving_prepare(struct search *search, size_t fill)
{
	struct leaving *leaving = &search->result->leaving;
	bool first = search->result->runs == 1, again = search->result->runs == 2;
	search->shared->leaves.mode = HW_LEAVES_OFF;
	if (fill == UNINIT_FILLS || (search->left[fill] && !again))
		return false;
	search->left[fill] = true;
	leaving->fills += !again;
	if (!first && !leaving->count)
		return false;
	leaving_begin(leaving, first, fills[fill], &search->shared->leaves);
	return true;
}

static struct error *search_run(
	struct search *search, const struct fill_plan *plan, struct trial *trial)
{
	_cleanup_(text_deinit) struct text settings;
	text_init(&settings);
	search_settings(search, plan, &settings);
	if (settings.failed)
		return error_no_memory();
	if (search->options->progress)
		search->options->progress(search->options->context, search->result->runs);
	search->result->runs++;
	search->shared->sums = (struct hw_check_sums){0};
	bool leaving = leaving_prepare(search, find_fill(search, plan));
	struct error *error = trial_run(&search->program, settings.data, trial);
	if (!error && leaving)
		error = leaving_take(&search->result->leaving, &search->shared->leaves);
	return error;
}

/* The next line of a stream from *pos on. */
static bool next_line(const struct buf *kept, size_t *pos, const char **ret, size_t *ret_len)
{
	if (*pos >= kept->len)
		return false;
	const char *start = (const char *)kept->data + *pos;
	const char *end = memchr(start, '\n', kept->len - *pos);
	*ret = start;
	*ret_len = end ? (size_t)(end + 1 - start) : kept->len - *pos;
	*pos += *ret_len;
	return true;
}

static bool line_is_masked(const struct line_vec *masked, size_t line)
{
	size_t low = 0, high = masked->len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (masked->data[middle] < line)
			low = middle + 1;
		else
			high = middle;
	}
	return low < masked->len && masked->data[low] == line;
}

/*
 * Returns the number of the first line, from 1, that differs in two results and is not masked; 0:
 * none does. With `differing` all lines that differ are added there, and only another number of
 * lines counts as a difference. *ret_failed: no memory.
 */
static size_t compare_lines(const struct buf *a, const struct buf *b, const struct line_vec *masked,
	struct line_vec *differing, bool *ret_failed)
{
	size_t at[2] = {0, 0}, lengths[2] = {0, 0};
	const char *lines[2] = {NULL, NULL};
	for (size_t line = 1;; line++) {
		bool there[2] = {next_line(a, &at[0], &lines[0], &lengths[0]),
			next_line(b, &at[1], &lines[1], &lengths[1])};
		if (!there[0] && !there[1])
			return 0;
		if (there[0] != there[1])
			return line;
		if (lengths[0] == lengths[1] && !memcmp(lines[0], lines[1], lengths[0]))
			continue;
		if (differing)
			*ret_failed |= !line_vec_push(differing, line);
		else if (!line_is_masked(masked, line))
			return line;
	}
}

static struct place compare_trials(const struct search *search, const struct trial *trial)
{
	const struct trial *base = &search->result->result;
	bool failed = false;
	if (trial->status != base->status || trial->timed_out != base->timed_out)
		return (struct place){IN_STATUS, 0};
	for (int i = 0; i < TRIAL_STREAMS; i++) {
		enum difference what = i == TRIAL_OUT ? IN_OUT : IN_ERR;
		size_t line = compare_lines(
			&base->kept[i], &trial->kept[i], &search->masked[i], NULL, &failed);
		if (line)
			return (struct place){what, line};
		/* Of what was not kept no line is known to differ by itself. */
		if (base->hash[i] != trial->hash[i])
			return (struct place){what, 0};
	}
	return (struct place){SAME, 0};
}

static void describe_status(const struct trial *trial, struct text *text)
{
	if (trial->timed_out)
		text_add(text, "no end within the time that was allowed");
	else if (WIFSIGNALED(trial->status))
		text_printf(text, "killed by signal %d (SIG%s)", WTERMSIG(trial->status),
			sigabbrev_np(WTERMSIG(trial->status)) ?: "?");
	else
		text_printf(text, "%d", WEXITSTATUS(trial->status));
}

static void describe_line(const struct buf *kept, size_t number, struct text *text)
{
	size_t pos = 0, len = 0;
	const char *line = NULL;
	bool there = true;
	for (size_t i = 0; i < number && there; i++)
		there = next_line(kept, &pos, &line, &len);
	if (!there) {
		text_add(text, "no such line");
		return;
	}
	len -= len && line[len - 1] == '\n';
	_cleanup_(text_deinit) struct text copy;
	text_init(&copy);
	text_add_n(&copy, line, len);
	text_add_char(text, '"');
	text_add_shown(text, copy.data ? copy.data : "", SHOWN_MOST);
	text_add_char(text, '"');
}

/* "standard output, line 3: "a" or "b"" */
static char *describe_place(const struct trial *base, const struct trial *trial, struct place place)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	if (place.what == IN_STATUS) {
		text_add(&text, "the exit status: ");
		describe_status(base, &text);
		text_add(&text, " or ");
		describe_status(trial, &text);
	} else {
		int stream = place.what == IN_OUT ? TRIAL_OUT : TRIAL_ERR;
		text_add(&text, stream == TRIAL_OUT ? "standard output" : "standard error");
		if (place.line) {
			text_printf(&text, ", line %zu: ", place.line);
			describe_line(&base->kept[stream], place.line, &text);
			text_add(&text, " or ");
			describe_line(&trial->kept[stream], place.line, &text);
		} else {
			text_printf(&text, ", after its first %zu MiB", TRIAL_KEPT_MOST >> 20);
		}
	}
	return text_steal(&text);
}

/* Runs with a plan and compares. *ret_text: what differs, NULL: nothing does; may be NULL itself.
 */
static struct error *search_try(
	struct search *search, const struct fill_plan *plan, bool *ret_differs, char **ret_text)
{
	_cleanup_(trial_deinit) struct trial trial;
	trial_init(&trial);
	struct error *error = search_run(search, plan, &trial);
	if (error)
		return error;
	struct place place = compare_trials(search, &trial);
	*ret_differs = place.what != SAME;
	if (!ret_text || place.what == SAME)
		return NULL;
	*ret_text = describe_place(&search->result->result, &trial, place);
	return *ret_text ? NULL : error_no_memory();
}

static const struct fill_plan fill_nothing = {.other = 0x55};

/* The program's results, twice: what differs then is not compared. */
static struct error *search_begin(struct search *search)
{
	struct uninit_result *result = search->result;
	_cleanup_(trial_deinit) struct trial again;
	trial_init(&again);
	struct error *error = search_run(search, &fill_nothing, &result->result);
	if (error)
		return error;
	result->blocks = search->shared->sums.numbered;
	if (!result->blocks) {
		result->verdict = UNINIT_NOT_SERVED;
		return NULL;
	}
	search->program.most_ns = result->result.ns * SLOWER_MOST + SLOWER_NS;
	error = search_run(search, &fill_nothing, &again);
	if (error)
		return error;
	bool failed = false, other_count = false;
	for (int i = 0; i < TRIAL_STREAMS; i++) {
		other_count |= compare_lines(&result->result.kept[i], &again.kept[i], NULL,
				       &search->masked[i], &failed) != 0;
		result->masked += search->masked[i].len;
	}
	if (failed)
		return error_no_memory();
	struct place place = compare_trials(search, &again);
	if (!other_count && place.what == SAME)
		return NULL;
	result->verdict = UNINIT_NOT_REPEATABLE;
	result->why = describe_place(&result->result, &again, place);
	return result->why ? NULL : error_no_memory();
}

/* A fill of all blocks of all processes changes the result: whether it does so with those that have
 * numbers, too. Else the result notes that others do. */
static struct error *search_own(
	struct search *search, struct fill_plan *plan, bool *ret_differs, char **text)
{
	struct uninit_result *result = search->result;
	char *own = NULL;
	plan->others = false;
	struct error *error = search_try(search, plan, ret_differs, &own);
	if (error)
		return error;
	if (!*ret_differs) {
		result->others = true;
		if (asprintf(&result->why,
			    "%s, by memory of a process that the program started, or of "
			    "a program that it executed",
			    *text) < 0) {
			result->why = NULL;
			return error_no_memory();
		}
	}
	free(*text);
	*text = own;
	return NULL;
}

/* Finds the byte whose use as filling of all numbered blocks changes the result; plan->other is
 * 0x55 if none does. */
static struct error *search_fill(struct search *search, struct fill_plan *plan, char **ret_text)
{
	for (size_t i = 1; i < ARRAY_SIZE(fills); i++) {
		struct fill_plan all = {.other = fills[i],
			.to = UINT64_MAX,
			.last = UINT64_MAX,
			.others = !search->result->others};
		bool differs;
		struct error *error = search_try(search, &all, &differs, ret_text);
		if (!error && differs && all.others)
			error = search_own(search, &all, &differs, ret_text);
		if (error)
			return error;
		if (differs) {
			*plan = all;
			return NULL;
		}
	}
	*plan = fill_nothing;
	return NULL;
}

/* Finds the least number of blocks, at most *end, whose fill makes the difference: *end does, and
 * none does not. If the bound of runs ends that, *end is larger. */
static struct error *bisect_blocks(
	struct search *search, const struct fill_plan *plan, uint64_t *end)
{
	struct fill_plan tried = *plan;
	uint64_t low = 0;
	while (*end - low > 1 && !search_is_spent(search)) {
		bool differs;
		tried.to = low + (*end - low) / 2;
		struct error *error = search_try(search, &tried, &differs, NULL);
		if (error)
			return error;
		if (differs)
			*end = tried.to;
		else
			low = tried.to;
	}
	return NULL;
}

/* The smallest range of bytes of one block that makes the difference: first its end, then its
 * beginning. */
static struct error *find_bytes(
	struct search *search, struct fill_plan *plan, struct uninit_finding *finding)
{
	if (!finding->block_bytes)
		return NULL;
	uint64_t low = 0, high = finding->block_bytes;
	while (high - low > 1 && !search_is_spent(search)) {
		bool differs;
		uint64_t bytes = low + (high - low) / 2;
		plan->last = bytes - 1;
		struct error *error = search_try(search, plan, &differs, NULL);
		if (error)
			return error;
		if (differs)
			high = bytes;
		else
			low = bytes;
	}
	plan->last = high - 1;
	low = 0;
	while (high - low > 1 && !search_is_spent(search)) {
		bool differs;
		plan->first = low + (high - low) / 2;
		struct error *error = search_try(search, plan, &differs, NULL);
		if (error)
			return error;
		if (differs)
			low = plan->first;
		else
			high = plan->first;
	}
	*finding = (struct uninit_finding){.number = finding->number,
		.block_bytes = finding->block_bytes,
		.first = low,
		.last = plan->last,
		.has_bytes = !search_is_spent(search),
		.alone = true,
		.fill = {fills[0], plan->other},
		.difference = finding->difference};
	return NULL;
}

/* Whether the block's fill alone makes the difference; and its size. */
static struct error *examine_block(
	struct search *search, struct fill_plan *plan, struct uninit_finding *finding)
{
	bool differs;
	*plan = (struct fill_plan){.other = plan->other,
		.from = finding->number,
		.to = finding->number + 1,
		.last = UINT64_MAX};
	free(finding->difference);
	finding->difference = NULL;
	struct error *error = search_try(search, plan, &differs, &finding->difference);
	if (error)
		return error;
	finding->alone = differs;
	finding->block_bytes = search->shared->sums.filled_bytes;
	return differs ? find_bytes(search, plan, finding) : NULL;
}

/* Finds one, given that filling all of them with plan->other changes the result. */
static struct error *find_block(
	struct search *search, struct fill_plan plan, const char *text, bool *ret_found)
{
	struct uninit_result *result = search->result;
	uint64_t now = search->shared->sums.numbered; /* of the run that was just filled so */
	uint64_t end = result->blocks > now ? result->blocks : now;
	struct uninit_finding finding = {.fill = {fills[0], plan.other}};
	bool differs;
	*ret_found = false;
	struct error *error = bisect_blocks(search, &plan, &end);
	if (error || search_is_spent(search))
		return error;
	finding.number = end - 1;
	finding.difference = strdup(text);
	error = finding.difference ? examine_block(search, &plan, &finding) : error_no_memory();
	/* With earlier ones it may do so; else it was chance. */
	if (!error && !finding.alone) {
		plan = (struct fill_plan){.other = plan.other, .to = end, .last = UINT64_MAX};
		error = search_try(search, &plan, &differs, &finding.difference);
		if (!error && !differs) {
			free(finding.difference);
			return NULL;
		}
	}
	if (error) {
		free(finding.difference);
		return error;
	}
	result->findings[result->count++] = finding;
	*ret_found = true;
	return NULL;
}

static struct error *search_unnamed(struct search *search, const char *difference)
{
	search->result->verdict = UNINIT_UNNAMED;
	search->result->others = false;
	free(search->result->why);
	search->result->why = strdup(difference);
	return search->result->why ? NULL : error_no_memory();
}

static struct error *search_blocks(struct search *search)
{
	struct uninit_result *result = search->result;
	for (;;) {
		struct fill_plan plan;
		_cleanup_free_ char *difference = NULL;
		bool found;
		if (result->count && search_is_spent(search)) {
			result->more = true; /* or not: nobody looked */
			return NULL;
		}
		struct error *error = search_fill(search, &plan, &difference);
		if (!error && plan.other == fills[0] && result->others) {
			result->more = result->count > 0;
			result->verdict = result->count ? UNINIT_FOUND : UNINIT_UNNAMED;
		}
		if (error || plan.other == fills[0])
			return error;
		if (result->count >= search->options->findings_most) {
			result->more = result->full = true;
			return NULL;
		}
		error = find_block(search, plan, difference, &found);
		if (error)
			return error;
		if (!found && result->count) {
			result->more = true;
			return NULL;
		}
		if (!found)
			return search_unnamed(search, difference);
		result->verdict = UNINIT_FOUND;
	}
}

/* Runs with the fills with which nothing was found out yet about what leaves the program. */
static struct error *search_leaving(struct search *search)
{
	struct uninit_result *result = search->result;
	struct error *error = NULL;
	for (size_t i = 0; i < UNINIT_FILLS && !error; i++) {
		_cleanup_(trial_deinit) struct trial trial;
		trial_init(&trial);
		const struct fill_plan all = {
			.other = fills[i], .to = UINT64_MAX, .last = UINT64_MAX, .whole = true};
		if (search->left[i])
			continue;
		if (!result->leaving.count)
			result->leaving.fills = UNINIT_FILLS;
		else if (result->runs < search->options->runs_most)
			error = search_run(search, &all, &trial);
	}
	return error;
}

static struct error *search_all(struct search *search)
{
	struct uninit_result *result = search->result;
	struct error *error = search_begin(search);
	if (!error && result->verdict == UNINIT_NONE) {
		error = search_blocks(search);
		if (!error)
			error = search_leaving(search);
	} else {
		leaving_drop(&result->leaving);
	}
	return error;
}

struct error *uninit_search(const struct uninit_options *options, struct uninit_result *ret)
{
	struct search search = {.options = options, .result = ret, .program = *options->program};
	*ret = (struct uninit_result){.verdict = UNINIT_NONE, .runs_most = options->runs_most};
	trial_init(&ret->result);
	int page = memfd_create("heapwise-sums", MFD_CLOEXEC);
	void *memory = page < 0 || ftruncate(page, (off_t)sizeof(*search.shared)) ||
				       fstat(page, &search.page)
			       ? MAP_FAILED
			       : mmap(NULL, sizeof(*search.shared), PROT_READ | PROT_WRITE,
					 MAP_SHARED, page, 0);
	struct error *error = NULL;
	if (memory == MAP_FAILED) {
		error = error_create(
			ERROR_ENVIRONMENT, "can't make a page to share with the program");
	} else {
		search.shared = memory;
		search.program.shared = page;
		error = search_all(&search);
		munmap(memory, sizeof(*search.shared));
	}
	for (int i = 0; i < TRIAL_STREAMS; i++)
		line_vec_deinit(&search.masked[i]);
	if (page >= 0)
		close(page);
	return error;
}

void uninit_result_deinit(struct uninit_result *result)
{
	for (size_t i = 0; i < result->count; i++)
		free(result->findings[i].difference);
	free(result->why);
	leaving_deinit(&result->leaving);
	trial_deinit(&result->result);
}

uint64_t uninit_leaving_calls(const struct uninit_result *result)
{
	uint64_t calls = result->leaving.fills == UNINIT_FILLS ? result->leaving.calls : 0;
	return min(calls, (uint64_t)LEAVING_REPORTED_MOST);
}

void uninit_report_settings(struct uninit_result *result, struct text *text)
{
	text_printf(text, "backend=none," CHECK_SETTINGS_PROCESS ",fill=%02x", fills[0]);
	for (size_t i = 0; i < result->count; i++) {
		const struct uninit_finding *finding = &result->findings[i];
		uint64_t last = finding->has_bytes     ? finding->last
				: finding->block_bytes ? finding->block_bytes - 1
						       : 0;
		text_printf(text, ",uninit=%" PRIu64 ":%" PRIu64 "-%" PRIu64, finding->number,
			finding->first, last);
	}
	if (uninit_leaving_calls(result))
		leaving_add_settings(&result->leaving, text);
}
