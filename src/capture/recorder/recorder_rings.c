/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory that the target and its recorder share. */
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
