/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see process.h. May touch: the same, and the loader's lock-free object search
 * (_dl_find_object).
 *
 * Starting up happens inside the first allocation of a process, often long before main and before
 * libc has set up its environment, so all of it is raw system calls with all signals blocked.
 */
#include "runtime/preload/process.h"
#include "runtime/preload/check_bridge.h"
#include "runtime/preload/clear.h"
#include "runtime/preload/dump_signal.h"
#include "runtime/preload/frees.h"
#include "runtime/preload/leave.h"
#include "runtime/preload/mappings.h"
#include "runtime/preload/memory.h"
#include "runtime/preload/real.h"
#include "runtime/preload/sampling.h"
#include "runtime/preload/session.h"
#include "runtime/preload/solo.h"
#include "runtime/python/python.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* In struct pthread, from the thread pointer on: glibc keeps the kernel's thread id there
 * since 2.10 (nptl/descr.h). Checked before it is believed. */
#define LIBC_TID_OFFSET 720
/* Of thread-local memory that the loader lays below thread pointers. */
#define LOCAL_BYTES_MAX (16ull << 20)

/* Identifies the version in the file: the command has the same text. */
static __attribute__((used, section(".heapwise.version"))) const char version[] = HW_VERSION;

static struct rt_thread no_thread; /* all zero, for ever */

__thread struct rt_here rt_here __attribute__((tls_model("initial-exec"))) = {.thread = &no_thread};

struct rt_process *rt_process;

struct rt_origin rt_origin;

#define HEAD_BYTES 4096

/* What the main program is called if not by its file's name; "": by that. */
#define PROGRAM_NAME_BYTES 1024
static char program_name[PROGRAM_NAME_BYTES];

static bool started_before; /* in this process or in one that it was forked from */
static bool libc_keeps_tid;
static bool declined; /* there is no room for the runtime, nor for a child's recording */

/* The first page of this process's memory, once more: forked children keep it. Not to be written
 * to; NULL: there is none. */
static struct hw_shm *kept_page;

/* Maps what the collector sent, and has done with the descriptor. */
static bool map_shared_memory(struct rt_process *p, int memory)
{
	bool shared = rt_memory_share(p, memory);
	/* By this page the collector knows a forked child that has not done anything yet. */
	long page = sys_call6(__NR_mmap, 0, HEAD_BYTES, PROT_READ, MAP_SHARED, memory, 0);
	kept_page = sys_failed(page) ? NULL : (struct hw_shm *)page;
	sys_call(__NR_close, memory, 0, 0);
	if (shared && (!kept_page || (p->shm->sample_bytes && !rt_memory_places()))) {
		rt_memory_unshare(p);
		return false;
	}
	return shared;
}

/* A child that reaches no collector is counted where its parent's collector looks. */
static void count_in_parent(void)
{
	if (!kept_page ||
		sys_failed(sys_call(__NR_mprotect, kept_page, HEAD_BYTES, PROT_READ | PROT_WRITE)))
		return;
	__atomic_fetch_add(&kept_page->unsent_notices, 1, __ATOMIC_RELAXED);
	sys_call(__NR_mprotect, kept_page, HEAD_BYTES, PROT_READ);
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Whether a path leads to the file that this process executes, and is not the kernel's name for an
 * open one. (A script's does not: its interpreter is executed.) */
static bool is_program(const char *path)
{
	struct stat named, executed;
	return strncmp(path, "/proc/", 6) && strncmp(path, "/dev/", 5) &&
	       !sys_failed(sys_call(__NR_stat, path, &named, 0)) &&
	       !sys_failed(sys_call(__NR_stat, "/proc/self/exe", &executed, 0)) &&
	       named.st_ino == executed.st_ino && named.st_dev == executed.st_dev;
}

/*
 * A program that was started by a link of another name than its file's goes by the link's
 * (redis-server, which is redis-check-rdb). Asked when the image starts: later the path may lead
 * elsewhere.
 */
static void name_program(void)
{
	const char *given = (const char *)getauxval(AT_EXECFN);
	char file[PROGRAM_NAME_BYTES];
	if (!given || !is_program(given))
		return;
	long n = sys_call(__NR_readlink, "/proc/self/exe", file, sizeof(file) - 1);
	file[sys_failed(n) ? 0 : n] = 0;
	if (sys_failed(n) || !strcmp(last_part(file), last_part(given)))
		return;
	size_t bytes = strlen(given) + 1, folder = 0;
	if (*given != '/') {
		long got = sys_call(__NR_getcwd, file, sizeof(file), 0);
		if (sys_failed(got) || *file != '/')
			return;
		folder = got > 2 ? (size_t)got : 1; /* "/" ends with one */
	}
	if (folder + bytes > sizeof(program_name))
		return;
	memcpy(program_name, file, folder);
	if (folder)
		program_name[folder - 1] = '/';
	memcpy(program_name + folder, given, bytes);
}

/*
 * glibc 2.35 and later: finds an object without any lock (dlfcn/dlfcn.h, elf/dl-find_object.c). Of
 * a main program that the kernel mapped with gaps between its parts it gives the part alone,
 * without the unwind table (and without the ELF header, where the build-id is).
 */
static bool find_object(uint64_t address, struct rt_found *ret)
{
	struct dl_find_object found;
	if (_dl_find_object((void *)address, &found))
		return false;
	bool is_main = !*found.dlfo_link_map->l_name;
	*ret = (struct rt_found){.start = (uint64_t)found.dlfo_map_start,
		.end = (uint64_t)found.dlfo_map_end,
		.bias = found.dlfo_link_map->l_addr,
		.path = is_main ? program_name : found.dlfo_link_map->l_name,
		.eh_frame_hdr = found.dlfo_eh_frame,
		.identity = found.dlfo_link_map};
	rt_python_notice(found.dlfo_link_map);
	uint64_t table = (uint64_t)found.dlfo_eh_frame;
	if (rt_unlikely(table && table - ret->start >= ret->end - ret->start && is_main))
		rt_found_whole(ret, (const void *)getauxval(AT_PHDR), getauxval(AT_PHNUM));
	return true;
}

/* The object that comes before this library in every search for malloc. */
static uint32_t malloc_notes(void)
{
	if (!rt_real.front)
		return 0;
	return HW_NOTE_OWN_MALLOC | (rt_real.front == _r_debug.r_map ? 0 : HW_NOTE_IN_FRONT);
}

/* How far below thread pointers an object has its thread-local memory: the same in all threads, and
 * in those of forked children, since it was loaded with the program. */
static uint64_t find_local(uint64_t address)
{
	struct dl_find_object found;
	void *local = NULL;
	if (_dl_find_object((void *)address, &found) ||
		dlinfo(found.dlfo_link_map, RTLD_DI_TLS_DATA, &local) || !local)
		return 0;
	uint64_t distance = (uint64_t)sys_thread_pointer() - (uint64_t)local;
	return distance <= LOCAL_BYTES_MAX ? distance : 0;
}

static uint64_t *ring_words(const struct rt_process *p, uint32_t ring)
{
	return p->ring_data + (hw_ring_start(ring) - hw_ring_start(p->first_ring));
}

/* Found when the program starts, and what for. */
static uint64_t allocator_local, local_of;

static void process_fill(struct rt_process *p)
{
	struct hw_shm *shm = p->shm;
	char *base = (char *)shm;
	p->pid = (int32_t)sys_call(__NR_getpid, 0, 0, 0);
	p->modules.shm = shm;
	p->modules.table = (struct hw_module *)(base + HW_SHM_MODULES);
	p->modules.strings = base + HW_SHM_STRINGS;
	p->modules.find = find_object;
	p->rules.modules = &p->modules;
	p->unwinder.modules = &p->modules;
	p->unwinder.rules = &p->rules;
	rt_memory_report(shm);
	if (!rt_real.exit) /* else this is a child, and its parent has resolved all of them */
		rt_real_resolve();
	shm->allocator = (uint64_t)rt_clear_allocator();
	if (local_of != shm->allocator) {
		local_of = shm->allocator;
		allocator_local = find_local(shm->allocator);
	}
	shm->allocator_local = allocator_local;
	shm->notes |= HW_NOTE_ATTACHED | malloc_notes() |
		      (rt_real.cxx_is_plain ? 0 : (uint32_t)HW_NOTE_OPERATORS);
	rt_leave_learn(shm);
	rt_clear_prepare(shm);
	rt_sampling_prepare(p, kept_page);
	rt_dump_signal_prepare(shm);
	rt_mappings_prepare(p);
	if (!p->shm->sample_bytes)
		rt_frees_prepare(p->shm->free_stacks);
	else
		rt_frees_end(); /* a child's parent may have examined them */
	rt_solo_prepare(p);
	rt_python_prepare(p);
	p->shared.chain = &p->shared_chain;
	p->shared.mixer = &p->shared_mixer;
	rt_walk_init(&p->shared.walk, p->shared_frames, NULL);
	rt_ring_attach(&p->shared, shm, HW_RING_SHARED, ring_words(p, HW_RING_SHARED), 0);
}

static uint32_t tid_of_libc(void)
{
	uint32_t tid;
	memcpy(&tid, (const char *)sys_thread_pointer() + LIBC_TID_OFFSET, sizeof(tid));
	return tid;
}

uint32_t rt_thread_id(void)
{
	if (!sys_no_calls())
		return (uint32_t)sys_call(__NR_gettid, 0, 0, 0);
	return libc_keeps_tid ? tid_of_libc() : 0;
}

/* What was forbidden to this process before it began. */
static void look_for_limits(void)
{
	if (sys_no_calls())
		return;
	int tsc = PR_TSC_ENABLE;
	sys_call(__NR_prctl, PR_GET_TSC, &tsc, 0);
	if (tsc == PR_TSC_SIGSEGV)
		sys_forbid(SYS_NO_TSC);
	libc_keeps_tid = tid_of_libc() == (uint32_t)sys_call(__NR_gettid, 0, 0, 0);
}

void rt_process_confine(uint32_t what)
{
	if (what & SYS_NO_CALLS && !sys_no_calls()) {
		struct rt_thread *t = rt_here.thread->ring ? rt_here.thread : rt_thread_start();
		if (t && t->ring)
			rt_walk_reach(&t->walk, (uint64_t)__builtin_frame_address(0));
		if (t)
			rt_memory_threads_all();
	}
	rt_process_note(HW_NOTE_SANDBOXED);
	bool ours = rt_as_event_begin((uint64_t)__builtin_frame_address(0));
	if (rt_process_is_recording(rt_process))
		rt_solo_forbid(rt_process);
	rt_as_event_end(ours);
	sys_forbid(what);
}

void rt_process_note(enum hw_note note)
{
	bool ours = rt_as_event_begin((uint64_t)__builtin_frame_address(0));
	const struct rt_process *p = rt_process;
	if (rt_process_is_recording(p) &&
		!(__atomic_load_n(&p->shm->notes, __ATOMIC_RELAXED) & (uint32_t)note))
		__atomic_fetch_or(&p->shm->notes, (uint32_t)note, __ATOMIC_RELAXED);
	rt_as_event_end(ours);
}

void rt_process_count_unsent(void)
{
	bool ours = rt_as_event_begin((uint64_t)__builtin_frame_address(0));
	const struct rt_process *p = rt_process;
	if (rt_process_is_recording(p))
		__atomic_fetch_add(&p->shm->unsent_notices, 1, __ATOMIC_RELAXED);
	rt_as_event_end(ours);
}

void rt_process_leave(void)
{
	if (!sys_no_calls()) {
		rt_memory_unshare(rt_process);
		rt_memory_advise(MADV_DONTNEED);
	} else {
		__atomic_store_n(&rt_process->state, RT_PASSIVE, __ATOMIC_RELEASE);
		rt_here.thread = &no_thread;
	}
}

void rt_process_note_wait(struct hw_shm *shm, uint64_t waited_ns)
{
	uint64_t longest = __atomic_load_n(&shm->longest_wait_ns, __ATOMIC_RELAXED);
	while (waited_ns > longest && !__atomic_compare_exchange_n(&shm->longest_wait_ns, &longest,
					      waited_ns, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* Reports to the collector, once, that there is no room for the runtime. */
static void report_no_room(void)
{
	if (__atomic_exchange_n(&declined, true, __ATOMIC_RELAXED))
		return;
	int memory = rt_session_join(HW_HELLO_START);
	if (memory >= 0)
		sys_call(__NR_close, memory, 0, 0);
	rt_mode = RT_MODE_EXACT;
}

/* One thread starts the recording, others that come at the same time wait for it, within reason. */
static bool process_start(void)
{
	if (!rt_process && !rt_memory_may_be_had()) {
		report_no_room();
		return false;
	}
	if (!rt_memory_process())
		return false;
	struct rt_process *p = rt_process;
	uint32_t state = RT_NONE;
	look_for_limits();
	if (!__atomic_compare_exchange_n(
		    &p->state, &state, RT_STARTING, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
		for (int tries = 0; state == RT_STARTING && tries < 100000; tries++) {
			sys_call(__NR_sched_yield, 0, 0, 0);
			state = __atomic_load_n(&p->state, __ATOMIC_ACQUIRE);
		}
		return state == RT_RECORDING;
	}
	bool shared = false;
	if (!sys_no_calls()) {
		uint64_t began = sys_now_ns();
		if (!started_before)
			name_program();
		int memory = rt_session_join(started_before ? HW_HELLO_FORK : HW_HELLO_START);
		if (memory < 0 && started_before && rt_session_unreachable())
			count_in_parent();
		started_before = true;
		shared = memory >= 0 && map_shared_memory(p, memory);
		if (shared)
			rt_process_note_wait(p->shm, sys_now_ns() - began);
	}
	if (shared)
		process_fill(p);
	else
		rt_mode = RT_MODE_EXACT;
	__atomic_store_n(&p->state, shared ? RT_RECORDING : RT_PASSIVE, __ATOMIC_RELEASE);
	if (shared && heapwise_guard_recorded)
		heapwise_guard_recorded();
	return shared;
}

static bool ring_claim(struct rt_process *p, struct hw_ring *ring, uint32_t number)
{
	uint32_t free_state = HW_RING_FREE;
	if (__atomic_load_n(&ring->state, __ATOMIC_RELAXED) != HW_RING_FREE ||
		!__atomic_compare_exchange_n(&ring->state, &free_state, HW_RING_ACTIVE, false,
			__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	uint32_t used = __atomic_load_n(&p->rings_used, __ATOMIC_RELAXED);
	while (used <= number && !__atomic_compare_exchange_n(&p->rings_used, &used, number + 1,
					 false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
	return true;
}

void rt_thread_follow_mode(struct rt_thread *t)
{
	/* Few events: order them all, and wait for nothing. */
	t->stamped = rt_mode == RT_MODE_SAMPLE;
	t->impatient = t->stamped ? HW_LOST_SAMPLED : HW_LOST_STALLED;
}

/* NULL: all are taken, or there is no memory for one more. */
static struct rt_thread *ring_take(struct rt_process *p, uint32_t tid)
{
	struct hw_ring *rings = (struct hw_ring *)((char *)p->shm + HW_SHM_RINGS);
	for (uint32_t i = p->first_ring; i < HW_RING_SHARED; i++) {
		if (!ring_claim(p, &rings[i], i))
			continue;
		struct rt_thread *t = rt_memory_thread(i);
		if (!t) {
			__atomic_store_n(&rings[i].state, HW_RING_FREE, __ATOMIC_RELEASE);
			return NULL;
		}
		t->unwinder = &p->unwinder;
		rings[i].own = (uint64_t)t; /* its memory begins with it */
		t->changes = rt_here.changes;
		rt_ring_attach(t, p->shm, i, ring_words(p, i), tid);
		rt_thread_follow_mode(t);
		return t;
	}
	return NULL;
}

static bool rings_are_full(const struct rt_process *p)
{
	return __atomic_load_n(&p->rings_full, __ATOMIC_RELAXED) ==
	       __atomic_load_n(&p->shm->rings_freed, __ATOMIC_ACQUIRE) + 1;
}

/*
 * NULL: all rings are taken, perhaps by threads that have ended: the collector is asked to look.
 * The thread does not wait for its answer: there is the shared ring, and a thread's next event asks
 * again.
 */
static struct rt_thread *ring_find(struct rt_process *p)
{
	uint32_t freed = __atomic_load_n(&p->shm->rings_freed, __ATOMIC_ACQUIRE);
	struct rt_thread *t = ring_take(p, rt_thread_id());
	if (!t) {
		__atomic_store_n(&p->rings_full, freed + 1, __ATOMIC_RELAXED);
		__atomic_store_n(&p->shm->ring_wanted, 1, __ATOMIC_RELAXED);
	}
	return t;
}

struct rt_thread *rt_thread_start(void)
{
	struct rt_process *p = rt_process;
	uint32_t state = p ? __atomic_load_n(&p->state, __ATOMIC_ACQUIRE) : RT_NONE;
	if (state == RT_PASSIVE || declined || (state == RT_RECORDING && rt_real.front))
		return NULL;
	if (state == RT_RECORDING && rings_are_full(p))
		return &p->shared;
	bool quiet = sys_no_calls();
	uint64_t signals = quiet ? 0 : sys_signals_block();
	struct rt_thread *t = NULL;
	if (state == RT_RECORDING || process_start()) {
		/* Of a heap whose allocator is not hooked nothing is recorded, rather than some of
		 * it. */
		t = rt_real.front ? NULL : ring_find(rt_process);
		if (t)
			rt_here.thread = t;
		if (t && quiet)
			rt_walk_trust(&t->walk, (uint64_t)__builtin_frame_address(0),
				sys_thread_pointer());
		if (!t && !rt_real.front)
			t = &rt_process->shared;
	}
	if (!quiet)
		sys_signals_restore(signals);
	return t;
}

static void withdraw_rules(void *context, uint64_t start, uint64_t end)
{
	rt_rules_withdraw(context, start, end);
}

void rt_process_review_modules(void)
{
	struct rt_process *p = rt_process;
	if (p && __atomic_load_n(&p->state, __ATOMIC_ACQUIRE) == RT_RECORDING)
		rt_modules_review(&p->modules, withdraw_rules, &p->rules);
}

/*
 * A program that never allocates is recorded too, as one that never allocates. And the program's
 * own path is asked for while it can be.
 */
static __attribute__((constructor)) void start_at_load(void)
{
	if (!rt_process || __atomic_load_n(&rt_process->state, __ATOMIC_ACQUIRE) == RT_NONE)
		rt_thread_start();
	rt_session_publish();
	rt_leave_prepare();
	const struct link_map *program = _r_debug.r_map;
	if (program && rt_process &&
		__atomic_load_n(&rt_process->state, __ATOMIC_ACQUIRE) == RT_RECORDING)
		rt_modules_at(&rt_process->modules, (uint64_t)program->l_ld);
	rt_python_start();
}
