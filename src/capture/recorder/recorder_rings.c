/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory that the target and its recorder share, and how one recorder hands it over to another.
 */
#include "base/util.h"
#include "capture/recorder/instructions.h"
#include "capture/recorder/recorder_impl.h"
#include "capture/shared_memory.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* So long a thread that is in an event may take to end it after the mode was changed: a processor
 * that hundreds of threads share comes back to it within that time. */
#define SETTLE_NS 2000000000ull

/* The collector has raised its own limit as far as it may. */
static struct error *rings_refused(int why)
{
	unsigned long long mib = HW_SHM_BYTES >> 20;
	struct rlimit limit;
	if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return error_errno(ERROR_ENVIRONMENT, why,
			"no room to record: can't map %llu MiB for the rings", mib);
	return error_create(ERROR_ENVIRONMENT,
		"no room to record: the hard limit of address space (ulimit -H -v) is %llu MiB, "
		"and the "
		"collector needs %llu MiB for each process at a time; raise it, or set only the "
		"soft limit (ulimit -S -v)",
		(unsigned long long)limit.rlim_cur >> 20, mib);
}

_Static_assert(
	(int)MODE_MAPPINGS_TOO == HW_MAPPINGS_TOO && (int)MODE_MAPPINGS_ONLY == HW_MAPPINGS_ONLY,
	"one for one");

struct error *recorder_share_rings(struct recorder *r, const struct recorder_start *start)
{
	/* mremap(2): with an old size of 0 the same shared pages are mapped once more. */
	void *at = mremap(start->before->shm, 0, HW_SHM_BYTES, MREMAP_MAYMOVE);
	if (at == MAP_FAILED)
		return rings_refused(errno);
	r->shm = at;
	ring_source_init(&r->rings, r->shm, start->tsc_hz);
	r->rings.changes = start->before->rings.changes + 1;
	r->source = &r->rings.source;
	return NULL;
}

/* The memory that both sides share: sparse, so that its size is a promise, not a cost. */
struct error *recorder_create_rings(struct recorder *r, const struct recorder_start *start)
{
	const char *name = start->memory_name ? start->memory_name : "heapwise";
	r->memory = shared_memory_create(name, HW_SHM_BYTES, r->writer.name);
	if (r->memory < 0)
		return error_errno(
			ERROR_ENVIRONMENT, errno, "can't create shared memory for the rings");
	void *at = mmap(NULL, HW_SHM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
		r->memory, 0);
	if (at == MAP_FAILED)
		return rings_refused(errno);
	r->shm = at;
	r->shm->magic = HW_SHM_MAGIC;
	r->shm->version = HW_SHM_VERSION;
	r->shm->total_bytes = HW_SHM_BYTES;
	r->shm->sample_bytes = r->mode.sample_bytes;
	r->shm->sample_seed = r->mode.seed;
	r->shm->free_stacks = r->mode.free_stacks;
	r->shm->no_python_objects = r->mode.no_python_objects;
	_Static_assert(MODE_TRACED_BYTES == HW_TRACED_NAMES_BYTES, "the same names");
	if (r->mode.traced)
		snprintf(r->shm->traced, sizeof(r->shm->traced), "%s", r->mode.traced);
	r->shm->mappings = r->mode.mappings;
	r->shm->errors_only = r->mode.check == MODE_CHECK_ONLY;
	r->shm->nodes = 1;
	r->shm->modules = 1;
	r->shm->awaited = start->awaited ? start->target_pid : 0;
	r->shm->awaited_at_main_end = start->awaited_at_main_end;
	r->shm->as_lsan = start->as_lsan;
	r->shm->heap_check = start->heap_check;
	r->shm->clears = start->clears;
	r->shm->dump_signal = (uint32_t)start->dump_signal;
	if (start->lsan_functions)
		memcpy(r->shm->lsan_functions, start->lsan_functions,
			sizeof(r->shm->lsan_functions));
	ring_source_init(&r->rings, r->shm, start->tsc_hz);
	r->source = &r->rings.source;
	return NULL;
}

/*
 * A change of the mode: one recording ends, and another one goes on over the same rings.
 *
 *               published   cut
 *     thread 1  ▓▓▓▓▓▓▓│▒▒▒▒▒▒▒▒▒▒        ▓ taken by the first recording, which goes on until
 *     thread 2  ▓▓▓▓▓▓▓│▓▓▓▒▒▒▒▒▒▒          each thread has seen the change or rests
 *     thread 3  ▓▓▓    │      ░▒▒▒        ▒ waits in the ring, and is taken by the next one
 *                                         ░ passed over, and counted
 *
 * A thread that has seen the change goes on in a new generation of its ring
 * (runtime/preload/sampling.h), so that it is plain which words are whose. A block of the new mode
 * was given out by a thread that had seen the change, so that the thread that frees it sees it too:
 * the first recording has nothing whose cause it lacks. Only a thread that had looked at the mode
 * already and had not begun its event when the first was cut, or one with so few events that it
 * does not look each time, leaves events that are in neither.
 */
static void publish_mode(const struct recorder *next)
{
	struct hw_shm *shm = next->shm;
	__atomic_store_n(&shm->sample_bytes, next->mode.sample_bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&shm->sample_seed, next->mode.seed, __ATOMIC_RELAXED);
	__atomic_store_n(&shm->mode_changes, next->rings.changes, __ATOMIC_RELEASE);
}

/* What all recordings of the process have had so far. */
static struct event_report report_of_all(struct recorder *r)
{
	struct event_report all = {.damaged = 0};
	r->source->ops->report(r->source, UINT64_MAX, &all);
	return all;
}

/* Takes what threads did before they saw the change. Rings are not freed: who gets one then may
 * have left words of the new mode there. One that is busy all the time (its thread is stopped, or
 * in an allocator that waits) is left as it is. */
static void take_rest(struct recorder *r, const struct recorder_meanwhile *meanwhile)
{
	uint64_t began = recorder_now(r).ns;
	bool settled;
	do {
		merge_pass(&r->merge, false);
		settled = merge_has_settled(&r->merge);
		recorder_do_meanwhile(meanwhile);
	} while (!settled && recorder_now(r).ns - began < SETTLE_NS);
	merge_pass(&r->merge, true);
}

/* Samples that were lost since `*report` and `*all` were read, and are not of the next recording,
 * in which every event is recorded. */
static void add_lost_samples(
	struct recorder *r, struct event_report *report, struct event_report *all)
{
	static const enum hw_lost reasons[] = {
		HW_LOST_SAMPLED, HW_LOST_REALLOC_FAILED, HW_LOST_SAMPLER};
	const struct event_report now = report_of_all(r);
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		report->lost[reasons[i]] += now.lost[reasons[i]] - all->lost[reasons[i]];
		all->lost[reasons[i]] = now.lost[reasons[i]];
	}
}

void recorder_hand_over(struct recorder *recorder, struct recorder *next,
	const struct recorder_meanwhile *meanwhile)
{
	struct recorder *r = recorder;
	/* Threads that go on count their waits anew. */
	struct event_report report = recorder_report(r);
	next->earlier = report_of_all(r);
	/* Threads go on losing events between the two: what is not in the one is to be in the
	 * other. */
	for (unsigned why = 0; why < HW_LOST_REASONS; why++)
		next->earlier.lost[why] = report.lost[why] + r->earlier.lost[why];
	publish_mode(next);
	r->is_over = true;
	take_rest(r, meanwhile);
	if (next->mode.kind == MODE_EXACT)
		add_lost_samples(r, &report, &next->earlier);
	r->cut.report = report;
	r->cut.instructions = instructions_read(r->instructions);
	r->cut.at = recorder_now(r);
	r->cut.done = true;
	r->outlived = true; /* what is shared is the other one's now */
	next->own_malloc = r->own_malloc;
	merge_go_on(&next->merge, &r->merge);
	recorder_drain(next);
}
