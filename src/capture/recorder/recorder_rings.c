/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory that the target and its recorder share, and how one recorder hands it over to another.
 */
#include "capture/recorder/instructions.h"
#include "capture/recorder/recorder_impl.h"
#include "capture/shared_memory.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

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
 *     first    ▓▓▓▓▓▓▓▓▓▓▓▓│              ▓ taken
 *                          │░░░░          ░ of threads that have not seen the change: passed over
 *     next                      ▓▓▓▓▓▓▓
 *
 * The first is cut at a stamp up to which all is known, so that it has nothing whose cause it
 * lacks. Only then the change is published: what a thread does after it has seen it is later than
 * the cut, also if it still writes as of before (runtime/preload/sampling.h). A block of the new
 * mode was given out by a thread that had seen the change, so that the thread that frees it sees it
 * too.
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

void recorder_hand_over(struct recorder *recorder, struct recorder *next)
{
	struct recorder *r = recorder;
	recorder_take_all(r);
	struct clock_pair now = recorder_now(r);
	r->cut.report = recorder_report(r);
	r->cut.instructions = instructions_read(r->instructions);
	next->earlier = report_of_all(r);
	r->cut.at = now;
	r->cut.done = true;
	r->outlived = true; /* what is shared is the other one's now */
	next->own_malloc = r->own_malloc;
	merge_go_on(&next->merge, &r->merge);
	/* Rings may be full of what is in neither; samples don't wait until there is room. */
	recorder_drain(next);
	publish_mode(next);
	recorder_drain(next);
}
