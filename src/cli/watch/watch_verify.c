/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/watch/watch_verify.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/setup/context.h"
#include "query/heap_session.h"

void watch_verify_init(struct watch_verify *verify, struct watch *watch)
{
	*verify = (struct watch_verify){.problem = NULL};
	watch_keep_blocks(watch);
}

void watch_verify_deinit(struct watch_verify *verify)
{
	watch_verdicts_deinit(&verify->by_stack);
	watch_lives_deinit(&verify->before);
	free(verify->problem);
	verify->problem = NULL;
}

static int lives_compare(const void *left, const void *right)
{
	const struct watch_live *a = left, *b = right;
	return a->address < b->address ? -1 : a->address > b->address;
}

/* Keeps the list of the last look. */
static struct error *before_keep(struct watch_verify *verify, const struct watch *watch)
{
	const struct watch_lives *lives = watch_lives_get(watch);
	watch_lives_clear(&verify->before);
	if (!lives->len)
		return NULL;
	if (!watch_lives_reserve(&verify->before, lives->len))
		return error_no_memory();
	memcpy(verify->before.data, lives->data, lives->len * sizeof(*lives->data));
	verify->before.len = lives->len;
	qsort(verify->before.data, lives->len, sizeof(*lives->data), lives_compare);
	return NULL;
}

/* Whether a block lived already when the first list was made. */
static bool was_before(const struct watch_verify *verify, const struct watch_live *live)
{
	const struct watch_lives *before = &verify->before;
	const struct watch_live *found =
		before->len ? bsearch(live, before->data, before->len, sizeof(*live), lives_compare)
			    : NULL;
	return found && found->time_ns == live->time_ns && found->size == live->size;
}

static void judged_add(struct watch_judged *sum, double blocks, double bytes)
{
	sum->blocks += blocks;
	sum->bytes += bytes;
}

/* Which of the sums a block belongs to; `search` NULL: nothing is known. */
static size_t sum_of(const struct watch_verify *verify, const struct watch_live *live,
	const struct search *search)
{
	uint64_t offset;
	if (!search || !was_before(verify, live))
		return offsetof(struct watch_verdict, unjudged);
	uint32_t block = search_block_at(search, live->address, &offset);
	/* As the allocator has it: not found in a heap that it can't be read, or that is damaged.
	 */
	if (block == SPACE_NONE || offset || search_block_size(search, block) < live->size)
		return offsetof(struct watch_verdict, unjudged);
	enum search_kind kind = search_kind(search, block);
	return kind == SEARCH_DEFINITE || kind == SEARCH_INDIRECT
		       ? offsetof(struct watch_verdict, leaked)
		       : offsetof(struct watch_verdict, referenced);
}

static void live_judge(
	struct watch_verify *verify, const struct watch_live *live, const struct search *search)
{
	size_t place = sum_of(verify, live, search);
	struct watch_verdict *verdicts[] = {&verify->by_stack.data[live->stack], &verify->total};
	for (size_t i = 0; i < 2; i++)
		judged_add((struct watch_judged *)((char *)verdicts[i] + place), live->weight,
			live->weight * (double)live->size);
}

/* Mappings are no blocks of a heap. */
static void mappings_pass(struct watch_verify *verify, const struct watch_stacks *stacks)
{
	for (size_t i = 0; i < stacks->len; i++) {
		const struct watch_stack *stack = &stacks->data[i];
		if (!stack->is_mapping || stack->is_own)
			continue;
		judged_add(
			&verify->by_stack.data[i].unjudged, stack->live_blocks, stack->live_bytes);
		judged_add(&verify->total.unjudged, stack->live_blocks, stack->live_bytes);
	}
}

static struct error *lives_judge(
	struct watch_verify *verify, const struct watch *watch, const struct search *search)
{
	const struct watch_stacks *stacks = watch_stacks_get(watch);
	const struct watch_lives *lives = watch_lives_get(watch);
	watch_verdicts_clear(&verify->by_stack);
	verify->total = (struct watch_verdict){.leaked = {0, 0}};
	while (verify->by_stack.len < stacks->len) {
		if (!watch_verdicts_push(&verify->by_stack, verify->total))
			return error_no_memory();
	}
	for (size_t i = 0; i < lives->len; i++)
		live_judge(verify, &lives->data[i], search);
	mappings_pass(verify, stacks);
	return NULL;
}

static struct error *leaks_find(struct heap_session *session)
{
	struct error *error = heap_session_scan(session);
	return error ? error : heap_scan_find_leaks(&session->scan);
}

/* Takes a problem, and notes it. */
static struct error *problem_note(struct watch_verify *verify, struct error *problem)
{
	if (!problem)
		return NULL;
	verify->problem = strdup(problem->message);
	error_destroy(problem);
	return verify->problem ? NULL : error_no_memory();
}

/* The second list, and the verdict; `problem`: there is no copy. */
static struct error *copy_judge(struct watch_verify *verify, struct watch *watch,
	struct heap_session *session, uint64_t older_ns, struct error *problem)
{
	struct error *error = watch_look(watch, older_ns);
	if (!error && !problem)
		problem = leaks_find(session);
	if (error) {
		error_destroy(problem);
		return error;
	}
	verify->is_copy = session->has_snapshot;
	verify->pause_ns = session->pause_ns;
	verify->unread_bytes = problem ? 0 : search_totals(session->scan.search)->unread_bytes;
	error = lives_judge(verify, watch, problem ? NULL : session->scan.search);
	if (!error)
		return problem_note(verify, problem);
	error_destroy(problem);
	return error;
}

struct error *watch_verify_look(
	struct watch_verify *verify, struct watch *watch, pid_t pid, uint64_t older_ns)
{
	struct heap_session session;
	struct error *error = watch_look(watch, 0);
	if (!error)
		error = before_keep(verify, watch);
	if (error)
		return error;
	free(verify->problem);
	verify->problem = NULL;
	heap_session_init(&session, cli_context());
	session.pid = pid;
	session.no_recording = true;
	session.no_inference = true;
	struct error *problem = heap_session_open(&session);
	error = copy_judge(verify, watch, &session, older_ns, problem);
	heap_session_close(&session);
	return error;
}
