/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process that says that it ends, or wants to be searched, and waits for the answer. */
#include "capture/leaks/paused_target.h"
#include "capture/recorder/recorder_impl.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

void recorder_want_signal(struct recorder *recorder, int signal)
{
	if (recorder->shm)
		__atomic_store_n(&recorder->shm->dump_signal, (uint32_t)signal, __ATOMIC_RELAXED);
}

uint32_t recorder_dump_signals(const struct recorder *recorder)
{
	return recorder->shm ? __atomic_load_n(&recorder->shm->dump_signals, __ATOMIC_RELAXED) : 0;
}

void recorder_await_end(struct recorder *recorder)
{
	if (recorder->shm)
		__atomic_store_n(&recorder->shm->awaited, recorder->target_pid, __ATOMIC_RELAXED);
}

bool recorder_is_leaving(const struct recorder *recorder, struct recorder_end *ret)
{
	struct hw_shm *shm = recorder->shm;
	if (!shm)
		return false;
	uint32_t state = __atomic_load_n(&shm->leaving, __ATOMIC_ACQUIRE);
	if (state != HW_LEAVING_ASKS && state != HW_LEAVING_HELD)
		return false;
	uint32_t status = __atomic_load_n(&shm->leaving_status, __ATOMIC_RELAXED);
	bool known = status <= 255;
	*ret = (struct recorder_end){
		known ? HPW_EXIT_STATUS : HPW_EXIT_UNKNOWN, known ? status : 0};
	return true;
}

static void answer_leaving(struct recorder *recorder, enum hw_leaving answer)
{
	struct hw_shm *shm = recorder->shm;
	__atomic_store_n(&shm->leaving, answer, __ATOMIC_RELEASE);
	syscall(SYS_futex, &shm->leaving, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void recorder_hold_on(struct recorder *recorder)
{
	answer_leaving(recorder, HW_LEAVING_HELD);
}

void recorder_go_on(struct recorder *recorder)
{
	answer_leaving(recorder, HW_LEAVING_NOT);
}

enum hw_leaving_what recorder_leaving_what(const struct recorder *recorder)
{
	return (enum hw_leaving_what)__atomic_load_n(
		&recorder->shm->leaving_what, __ATOMIC_RELAXED);
}

bool recorder_is_bypassed(const struct recorder *recorder)
{
	uint32_t notes = event_source_notes(recorder->source);
	return notes & HW_NOTE_OWN_MALLOC || (recorder->own_malloc && !recorder->live.blocks);
}

bool recorder_ends_empty(struct recorder *recorder)
{
	const struct hw_shm *shm = recorder->shm;
	struct paused_target target;
	if (recorder->mode.kind == MODE_SAMPLE || recorder->stop_count || recorder->goes_on ||
		recorder->shm->notes & HW_NOTE_IGNORES || recorder_is_bypassed(recorder) ||
		!pause_waiting_target(recorder->pid, shm, &target))
		return false;
	merge_pass_until(&recorder->merge, target.heads);
	bool waits = paused_target_still_waits(&target, shm);
	paused_target_resume(&target);
	uint64_t wrong = recorder->tally.repairs + recorder->blocks_dropped +
			 recorder->merge.dropped + recorder->merge.damaged;
	return waits && !wrong && !recorder_has_lost(recorder) && !recorder->live.blocks;
}

bool recorder_is_unsearched(const struct recorder *recorder)
{
	return __atomic_load_n(&recorder->shm->leaving_unsearched, __ATOMIC_RELAXED) != 0;
}

enum hw_leak_asker recorder_leaving_asker(const struct recorder *recorder)
{
	uint32_t asker = __atomic_load_n(&recorder->shm->leaving_asker, __ATOMIC_RELAXED);
	return asker == HW_ASKER_CHECKER ? HW_ASKER_CHECKER : HW_ASKER_LSAN;
}

void recorder_send_verdict(struct recorder *recorder, const struct leak_verdict *verdict)
{
	recorder->shm->found = verdict->found;
	recorder->shm->found_status = verdict->status;
	recorder->shm->found_sums = verdict->sums;
}

void recorder_heartbeat(struct recorder *recorder)
{
	__atomic_fetch_add(&recorder->shm->held, 1, __ATOMIC_RELAXED);
}

void recorder_release(struct recorder *recorder)
{
	struct hw_shm *shm = recorder->shm;
	recorder->outlived = true;
	__atomic_store_n(&shm->stalled_at, shm->progress + 1, __ATOMIC_RELAXED);
	answer_leaving(recorder, HW_LEAVING_DONE);
}
