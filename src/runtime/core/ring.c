/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see ring.h. May touch: the same.
 *
 * Waiting is bounded by the collector's progress, not by a fixed time: as long as it moves,
 * exactness is worth the sleep; when it has not moved for RT_WAIT_MAX_NS the program goes on, and
 * events are dropped without waiting until it moves again. Where the waiting thread itself has its
 * turn late, because others want the processors, so has the collector: that time does not count.
 */
#include "runtime/core/ring.h"

#include "runtime/core/extent.h"

#include <linux/futex.h>

#define WAIT_STEP_NS 50000000
/* About a second: a pause takes some 40 to 140 cycles, a look some 10. */
#define SPINS_MAX 20000000

static uint64_t tail_of(const struct rt_thread *t)
{
	uint64_t tail = __atomic_load_n(&t->ring->tail, __ATOMIC_ACQUIRE);
	/* A defective collector must not make the runtime write over what it may still read, nor
	 * out of the ring. */
	return t->head - tail <= t->size ? tail : t->head - t->size;
}

/* On to the next lap; a pad fills the rest of this one, if there is a rest. Needs one free word
 * then. */
static void wrap_lap(struct rt_thread *t)
{
	if (t->head != t->lap_end)
		t->words[t->head] = HW_R_PAD;
	t->head = t->lap_end;
	t->lap_end += t->size;
	t->words -= t->size;
	__atomic_store_n(&t->ring->head, t->head, __ATOMIC_RELEASE);
}

/* The collector comes by often while there is much to do, and seldom while there is nothing. */
static void call_collector(struct rt_thread *t, uint64_t tail)
{
	if (t->head - tail >= t->size / RT_CALL_PART &&
		!__atomic_load_n(&t->shm->doorbell, __ATOMIC_RELAXED))
		__atomic_store_n(&t->shm->doorbell, 1, __ATOMIC_RELAXED);
}

/* Sets limit from tail, near enough that the collector is called in time; true if `count` words fit
 * now. */
static bool update_limit(struct rt_thread *t, uint32_t count)
{
	uint64_t tail = tail_of(t), free_until = tail + t->size;
	call_collector(t, tail);
	if (t->head + count > t->lap_end) {
		if (t->head == free_until)
			return false;
		wrap_lap(t);
	}
	t->limit = t->lap_end < free_until ? t->lap_end : free_until;
	uint64_t call_at = t->head + t->size / RT_CALL_PART;
	t->limit = call_at < t->limit ? call_at : t->limit;
	return t->head + count <= t->limit;
}

static void sleep_on_tail(struct rt_thread *t, uint32_t count)
{
	struct hw_ring *ring = t->ring;
	uint32_t seen = (uint32_t)__atomic_load_n(&ring->tail, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->waiting, 1, __ATOMIC_SEQ_CST);
	if (tail_of(t) + t->size < t->head + count) {
		struct sys_timespec step = {0, WAIT_STEP_NS};
		sys_call4(__NR_futex, &ring->tail, FUTEX_WAIT, seen, &step);
	}
	__atomic_store_n(&ring->waiting, 0, __ATOMIC_RELAXED);
}

static uint64_t progress_of(const struct rt_thread *t)
{
	return __atomic_load_n(&t->shm->progress, __ATOMIC_RELAXED);
}

/* Whether `count` words are free, wherever they are. */
static bool has_free(struct rt_thread *t, uint32_t count)
{
	return t->head + count - tail_of(t) <= t->size;
}

/* What is waited for. */
typedef bool room_test(struct rt_thread *t, uint32_t count);

/* As wait_for_room() without system calls and without a clock. */
static bool spin_for_room(struct rt_thread *t, uint32_t count, room_test *has_room)
{
	uint64_t progress = progress_of(t);
	for (unsigned tries = 0; tries < SPINS_MAX; tries++) {
		if (has_room(t, count))
			return true;
		__builtin_ia32_pause();
		uint64_t seen = progress_of(t);
		if (seen != progress)
			tries = 0;
		progress = seen;
	}
	__atomic_store_n(&t->shm->stalled_at, progress + 1, __ATOMIC_RELAXED);
	return false;
}

static bool wait_for_room(struct rt_thread *t, uint32_t count, room_test *has_room)
{
	uint64_t progress = progress_of(t);
	/* One thread's fruitless wait is enough for all. */
	if (__atomic_load_n(&t->shm->stalled_at, __ATOMIC_RELAXED) == progress + 1)
		return false;
	if (sys_no_calls())
		return spin_for_room(t, count, has_room);
	uint64_t began = sys_now_ns(), now = began, idle = 0;
	bool room = false;
	while (!(room = has_room(t, count))) {
		uint64_t before = now;
		sleep_on_tail(t, count);
		now = sys_now_ns();
		idle += rt_wait_step(now - before, WAIT_STEP_NS);
		uint64_t seen = progress_of(t);
		if (seen != progress) {
			progress = seen;
			idle = 0;
		} else if (idle > RT_WAIT_MAX_NS) {
			__atomic_store_n(&t->shm->stalled_at, progress + 1, __ATOMIC_RELAXED);
			break;
		}
	}
	uint64_t waited = now - began;
	t->ring->wait_ns += waited;
	t->ring->waits++;
	if (waited > t->ring->longest_wait_ns)
		t->ring->longest_wait_ns = waited;
	return room;
}

/* Records that go before the next event: the time, if nothing else tells it, how many events were
 * dropped here, and how deep the stack is. */
static uint32_t words_before(const struct rt_thread *t, bool time)
{
	return (time ? 2 : 0) + (t->lost ? 1 : 0) + (t->stack_pending ? 1 : 0);
}

static void put_before(struct rt_thread *t, bool time)
{
	if (time) {
		t->untimed_since = sys_tsc_fenced();
		t->words[t->head++] = HW_R_TIME;
		t->words[t->head++] = t->untimed_since;
		t->time_due = t->head + RT_TIME_EVERY;
	}
	if (t->lost) {
		t->words[t->head++] = HW_R_LOST | t->lost << 8;
		t->lost = 0;
	}
	if (t->stack_pending) {
		t->words[t->head++] = HW_R_STACK | t->stack_pending << 8;
		t->stack_pending = 0;
	}
}

bool rt_ring_wait(struct rt_thread *t, uint32_t count)
{
	rt_extent_renew(t);
	bool unstamped = !rt_stamps(t), time = unstamped && t->head >= t->time_due;
	uint32_t wanted = count + words_before(t, time);
	if (!update_limit(t, wanted) && (t->impatient || !wait_for_room(t, wanted, update_limit))) {
		t->lost++;
		t->limit = t->head; /* whatever comes next has to pass here too */
		rt_ring_count_lost(t->shm, t->impatient);
		return false;
	}
	put_before(t, time);
	/* Makes sure to be asked again when it is time for the next stamp. */
	if (unstamped && t->limit > t->time_due && t->time_due >= t->head + count)
		t->limit = t->time_due;
	if (t->has_changed)
		t->limit = t->head;
	return true;
}

bool rt_ring_wait_half(struct rt_thread *t)
{
	uint32_t count = t->size / 2;
	return has_free(t, count) || wait_for_room(t, count, has_free);
}

void rt_ring_recover(struct rt_thread *t)
{
	t->head = t->ring->head;
	t->limit = t->head;
	uint64_t lap = t->head & ~(uint64_t)(t->size - 1);
	t->lap_end = lap + t->size;
	t->words = t->data - lap;
	t->last_address = 0;
	t->lost = 0;
	t->time_due = t->stack_due = t->head;
	t->stack_pending = 0;
}

void rt_ring_abandon(struct rt_thread *t)
{
	rt_walk_forget(&t->walk);
	rt_ring_recover(t);
	t->solo = false; /* it may just have been trying */
	__atomic_store_n(&t->ring->busy, 0, __ATOMIC_RELEASE);
}

/* Many threads are gone before the collector could ask the kernel what they are called. */
static void put_thread_name(char name[16])
{
	if (sys_no_calls() || sys_call(__NR_prctl, 16 /* PR_GET_NAME */, name, 0))
		name[0] = 0;
}

/* Later events are a new producer's. */
static void begin_generation(struct rt_thread *t)
{
	struct hw_ring *ring = t->ring;
	t->stamped = t->solo = false;
	t->solo_words = 0;
	t->solo_due = t->others_seen = t->solo_began = 0;
	__atomic_store_n(&ring->began, t->head, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->generation, hw_generation_next(ring->generation, t->changes),
		__ATOMIC_RELEASE);
}

void rt_ring_renew(struct rt_thread *t, uint32_t changes)
{
	struct hw_ring *ring = t->ring;
	rt_ring_recover(t);
	t->changes = changes;
	t->has_changed = false;
	__atomic_store_n(&ring->longest_wait_ns, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->wait_ns, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->waits, 0, __ATOMIC_RELAXED);
	begin_generation(t);
}

void rt_ring_attach(
	struct rt_thread *t, struct hw_shm *shm, uint32_t index, uint64_t *data, uint32_t tid)
{
	struct hw_ring *ring = (struct hw_ring *)((char *)shm + HW_SHM_RINGS) + index;
	t->shm = shm;
	t->size = hw_ring_words(index);
	t->data = data;
	t->ring = ring;
	rt_ring_recover(t);
	t->impatient = HW_LOST_STALLED;
	t->stack_top = t->stack_below = t->stack_room = 0;
	__atomic_store_n(&ring->stack_top, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->moving, 0, __ATOMIC_RELAXED);
	t->stack_asked = __atomic_load_n(&ring->stack_asked, __ATOMIC_RELAXED) - 1;
	put_thread_name(ring->name);
	/* The collector may look already. */
	__atomic_store_n(&ring->busy, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->tid, tid, __ATOMIC_RELAXED);
	begin_generation(t);
}
