/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtime/preload/solo.h"

#include <linux/membarrier.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>

/* With more rings than this, looking at all of them costs more than stamps do. */
#define SOLO_RINGS_MAX 64
/* Words of stamped events between two looks around; doubled when a solo was not worth its barriers.
 */
#define SOLO_WORDS_MIN 4096
#define SOLO_WORDS_MAX (256u << 10)

static bool issue_membarrier(void)
{
	return !sys_failed(sys_call(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0));
}

void rt_solo_prepare(struct rt_process *p)
{
	/* Under a filter that another library has installed any call can be the last one. */
	p->solo_forbidden = sys_no_calls() ||
			    sys_call(__NR_prctl, PR_GET_SECCOMP, 0, 0) != SECCOMP_MODE_DISABLED ||
			    sys_failed(sys_call(__NR_membarrier,
				    MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0));
}

/* What the other rings have ever seen. False: one of them is in an event. */
static bool read_other_rings(
	const struct rt_process *p, const struct rt_thread *t, uint64_t *ret_words)
{
	const struct hw_ring *rings = (const struct hw_ring *)((const char *)p->shm + HW_SHM_RINGS);
	uint32_t used = __atomic_load_n(&p->rings_used, __ATOMIC_ACQUIRE);
	bool quiet = true;
	*ret_words = used;
	for (uint32_t i = 0; i <= used; i++) {
		const struct hw_ring *ring = &rings[i < used ? i : HW_RING_SHARED];
		if (ring == t->ring)
			continue;
		quiet = quiet && !__atomic_load_n(&ring->busy, __ATOMIC_ACQUIRE);
		*ret_words += __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
	}
	return quiet;
}

static void leave_solo(struct rt_process *p, struct rt_thread *t)
{
	__atomic_store_n(&t->solo, false, __ATOMIC_SEQ_CST);
	__atomic_compare_exchange_n(&p->solo, &t, NULL, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* Solo first, then a look whether that was right: a thread that comes in between ends solo mode. */
static bool become_solo(struct rt_process *p, struct rt_thread *t)
{
	const struct rt_thread *holder = __atomic_load_n(&p->solo, __ATOMIC_ACQUIRE);
	if ((holder && holder != t) || __atomic_load_n(&p->solo_forbidden, __ATOMIC_SEQ_CST))
		return false;
	uint64_t words;
	__atomic_store_n(&t->solo, true, __ATOMIC_SEQ_CST);
	__atomic_store_n(&p->solo, t, __ATOMIC_SEQ_CST);
	if (!issue_membarrier()) {
		__atomic_store_n(&p->solo_forbidden, true, __ATOMIC_SEQ_CST);
	} else if (read_other_rings(p, t, &words) && words == t->others_seen &&
		   __atomic_load_n(&p->solo, __ATOMIC_ACQUIRE) == t) {
		/* The next word is a stamp. */
		t->time_due = t->limit = t->head;
		return true;
	}
	leave_solo(p, t);
	return false;
}

void rt_solo_try(struct rt_process *p, struct rt_thread *t)
{
	uint64_t words, self = sys_thread_pointer(), nobody = 0;
	if (t->solo_words < SOLO_WORDS_MIN)
		t->solo_words = SOLO_WORDS_MIN;
	t->solo_due = t->head + t->solo_words;
	if (sys_no_calls() || t->impatient == HW_LOST_SAMPLED ||
		__atomic_load_n(&p->solo_forbidden, __ATOMIC_RELAXED) ||
		__atomic_load_n(&p->rings_used, __ATOMIC_RELAXED) > SOLO_RINGS_MAX)
		return;
	bool quiet = read_other_rings(p, t, &words), before = words == t->others_seen;
	t->others_seen = words;
	if (!quiet || !before ||
		!__atomic_compare_exchange_n(&p->solo_trial.holder, &nobody, self, false,
			__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	if (become_solo(p, t)) {
		/* All that was written since the last solo began, but what has been stamped. */
		bool was_short = t->head - t->solo_began < 8ull * t->solo_words;
		if (!was_short)
			t->solo_words = SOLO_WORDS_MIN;
		else if (t->solo_words < SOLO_WORDS_MAX)
			t->solo_words *= 2;
		t->solo_began = t->head;
	}
	rt_unlock(&p->solo_trial);
}

void rt_solo_end(struct rt_process *p)
{
	struct rt_thread *holder = __atomic_load_n(&p->solo, __ATOMIC_ACQUIRE);
	if (!holder)
		return;
	__atomic_store_n(&holder->solo, false, __ATOMIC_SEQ_CST);
	if (!sys_no_calls())
		issue_membarrier();
	__atomic_compare_exchange_n(
		&p->solo, &holder, NULL, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

void rt_solo_forbid(struct rt_process *p)
{
	__atomic_store_n(&p->solo_forbidden, true, __ATOMIC_SEQ_CST);
	/* A thread that is just trying has not seen that. */
	if (rt_lock_try(&p->solo_trial))
		rt_unlock(&p->solo_trial);
	rt_solo_end(p);
}
