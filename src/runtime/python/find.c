/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: the interpreter is found, until it is settled. May touch: its allocators, the loader's
 * list of objects (in the constructor). */
#include "runtime/preload/check_bridge.h"
#include "runtime/preload/real.h"
#include "runtime/preload/sampling.h"
#include "runtime/python/python.h"

#include <string.h>
#include <sys/single_threaded.h>

struct rt_python rt_python;

/* Of the interpreter; NULL before it is found. */
static struct {
	void (*get)(int domain, struct rt_python_allocator *ret);
	void (*set)(int domain, const struct rt_python_allocator *allocator);
	int (*is_initialised)(void);
	int (*add_pending)(int (*function)(void *), void *argument);
	const char *(*version)(void);
} api;
static bool asked; /* the pending call has been asked for */
static uint32_t calls;

/* Between two looks whether the allocators are ours still. */
#define LOOK_EVERY 64

static void python_note(uint32_t notes)
{
	__atomic_fetch_or(&rt_python.notes, notes, __ATOMIC_RELAXED);
	const struct rt_process *p = rt_process;
	if (rt_process_is_recording(p))
		__atomic_fetch_or(&p->shm->notes, notes, __ATOMIC_RELAXED);
}

static bool has_word(const char *text, const char *word)
{
	size_t bytes = strlen(word);
	while (*text && strncmp(text, word, bytes) != 0)
		text++;
	return *text;
}

/* "3.11.2 (main, …) [GCC …]"; 0: not so. */
static unsigned minor_of(const char *version)
{
	if (strncmp(version, "3.", 2) != 0)
		return 0;
	unsigned minor = 0;
	for (version += 2; *version >= '0' && *version <= '9' && minor < 100; version++)
		minor = minor * 10 + (unsigned)(*version - '0');
	return minor;
}

static bool symbols_resolve(const struct link_map *object)
{
	*(void **)&api.set = rt_real_in(object, "PyMem_SetAllocator");
	if (!api.set)
		return false;
	*(void **)&api.get = rt_real_in(object, "PyMem_GetAllocator");
	*(void **)&api.is_initialised = rt_real_in(object, "Py_IsInitialized");
	*(void **)&api.add_pending = rt_real_in(object, "Py_AddPendingCall");
	*(void **)&api.version = rt_real_in(object, "Py_GetVersion");
	*(void **)&rt_python.thread = rt_real_in(object, "PyGILState_GetThisThreadState");
	return api.get && api.is_initialised && api.add_pending && api.version && rt_python.thread;
}

/* Whether a process of this kind records its blocks. */
static bool is_wanted(void)
{
	const struct rt_process *p = rt_process;
	return rt_process_is_recording(p) && !rt_real.front && !rt_without_heap &&
	       !heapwise_guard_recorded && !p->shm->no_python_objects;
}

/* A stripped interpreter has this symbol, too: it is public. */
static void eval_find(const struct link_map *object)
{
	static const char name[] = "_PyEval_EvalFrameDefault";
	uint64_t start = (uint64_t)rt_real_in(object, name);
	rt_python.eval = (struct rt_python_eval){start, start + rt_real_bytes_in(object, name)};
}

static void python_begin(const struct link_map *object)
{
	if (!is_wanted() || !symbols_resolve(object))
		return;
	const char *version = api.version();
	unsigned minor = minor_of(version);
	bool is_free_threaded = has_word(version, "free-threading");
	/* Older than 3.7, an interpreter resets its allocators when it starts; without a lock all
	 * is different. */
	if (minor < 7 || is_free_threaded) {
		python_note(HW_NOTE_PYTHON_UNKNOWN | minor << HW_NOTE_PYTHON_SHIFT);
		return;
	}
	if (!rt_python_wrap(api.get, api.set))
		return;
	python_note(HW_NOTE_PYTHON | minor << HW_NOTE_PYTHON_SHIFT);
	rt_python.layout = rt_python_layout(minor);
	if (!rt_python.layout)
		python_note(HW_NOTE_PYTHON_UNKNOWN);
	eval_find(object);
	rt_python_check_prepare(object);
	rt_python.unsettled = true;
}

void rt_python_start(void)
{
	for (const struct link_map *o = _r_debug.r_map; o && !api.set; o = o->l_next)
		python_begin(o);
}

void rt_python_notice(const struct link_map *object)
{
	if (api.set || rt_python.found || !has_word(object->l_name, "python"))
		return;
	rt_python.found = (uint64_t)object;
	rt_python.unsettled = true;
}

/* Other threads may be about to call what is replaced, as soon as there are any and an interpreter
 * for them. */
static bool may_wrap(void)
{
	return __libc_single_threaded || !api.is_initialised();
}

void rt_python_look(void)
{
	if (api.set && may_wrap())
		rt_python_wrap(api.get, api.set);
	if (api.set || !rt_python.found)
		return;
	rt_python.unsettled = false;
	python_begin((const struct link_map *)rt_python.found);
}

void rt_python_settle(void)
{
	if (calls++ % LOOK_EVERY == 0)
		rt_python_look();
	if (asked || !api.is_initialised())
		return;
	asked = true;
	if (api.add_pending(rt_python_check, NULL) != 0)
		asked = false;
}

bool rt_python_open(struct rt_process *p)
{
	/* Complete before the rows of codes are published. */
	p->python_walk = (struct rt_python_walk){
		&p->unwinder.stacks, &p->codes, rt_python.layout, &rt_python.deaths};
	if (rt_codes_open(&p->codes, p->shm))
		return true;
	rt_python.has_frames = false;
	python_note(HW_NOTE_PYTHON_NO_ROOM);
	return false;
}

uint32_t rt_python_event_mixed(struct rt_process *p, struct rt_python_chain *chain,
	struct rt_python_mixer *mixer, uint32_t native)
{
	uint64_t thread = rt_python.thread();
	if (!thread || (rt_unlikely(!__atomic_load_n(&p->codes.rows, __ATOMIC_ACQUIRE)) &&
			       !rt_python_open(p)))
		return native;
	const struct rt_python_mixing mixing = {
		&p->unwinder, p->python_walk, rt_python.eval, thread};
	return rt_python_mixed(&mixing, chain, mixer, native);
}

void rt_python_prepare(struct rt_process *p)
{
	uint32_t notes = __atomic_load_n(&rt_python.notes, __ATOMIC_RELAXED);
	if (notes)
		__atomic_fetch_or(&p->shm->notes, notes, __ATOMIC_RELAXED);
}

void rt_python_settled(uint32_t notes)
{
	if (may_wrap())
		rt_python_wrap(api.get, api.set);
	rt_python.unsettled = false;
	python_note(notes);
}
