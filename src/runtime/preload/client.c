/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program calls a function of heapwise/client.h; any thread, any moment. May touch:
 * events, the process's state.
 */
#include "runtime/preload/dump_signal.h"
#include "runtime/preload/hooks.h"
#include "runtime/preload/process.h"
#include "runtime/preload/real.h"
#include "runtime/preload/sampling.h"
#include "runtime/preload/session.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* As heapwise/client.h declares them. */
void heapwise_rt_mark(const char *name);
int heapwise_rt_is_recording(void);
int heapwise_rt_request(uint32_t what, const char *text, char *message, size_t bytes);
int heapwise_rt_start(void);
int heapwise_rt_stop(void);
int heapwise_rt_dump(const char *file);
void heapwise_rt_ignore(int begins);
void heapwise_rt_block_alloc(void *block, size_t size);
void heapwise_rt_block_free(void *block);
/* As heaptrack_api.h of KDE's heaptrack declares them. */
void heaptrack_report_alloc(void *block, size_t size);
void heaptrack_report_realloc(void *old, size_t size, void *block);
void heaptrack_report_free(void *block);

HOOK void heapwise_rt_mark(const char *name)
{
	/* Before the event: should the name be no string, it is not ours to be in its way. */
	uint64_t words[HW_MARK_NAME_WORDS];
	size_t bytes = name ? strnlen(name, HW_MARK_NAME_MAX) : 0;
	if (!bytes)
		return;
	for (size_t i = 0; i < bytes; i++) {
		uint64_t byte = (uint8_t)name[i];
		words[i / 8] = (i % 8 ? words[i / 8] : 0) | byte << (i % 8 * 8);
	}
	rt_event_mark((uint32_t)bytes, words, RT_CALLER().sp);
}

/* A forked child's recording begins with its first event: it is asked for now. */
static bool is_recorded(void)
{
	if (!rt_here.busy && !rt_here.thread->ring)
		rt_thread_start();
	const struct rt_process *p = rt_process;
	return p && __atomic_load_n(&p->state, __ATOMIC_ACQUIRE) == RT_RECORDING;
}

HOOK int heapwise_rt_is_recording(void)
{
	return is_recorded() && !rt_real.front;
}

static void copy_answer(const struct hw_reply *reply, uint32_t what, char *message, size_t bytes)
{
	const char *from = reply->ok && what == HW_ASK_DUMP ? reply->file : reply->message;
	size_t length = bytes ? strnlen(from, bytes - 1) : 0;
	if (length)
		memcpy(message, from, length);
	if (bytes)
		message[length] = 0;
}

/* Request and reply: too large for small stacks. */
struct exchange {
	struct hw_request request;
	struct hw_reply reply;
};

static int ask_collector(struct exchange *x, uint32_t what, const char *text)
{
	size_t length = text ? strnlen(text, HW_REQUEST_TEXT) : 0;
	if (length == HW_REQUEST_TEXT)
		return ENAMETOOLONG;
	if (length)
		memcpy(x->request.text, text, length);
	x->request.what = what;
	x->request.by_plan = 1;
	return rt_session_ask(&x->request, &x->reply);
}

/*
 * For heapwise/client.h and the shims: asks the collector (enum hw_request_what) and waits for the
 * answer, 30 s at most. Any thread, also in a signal handler: if that interrupts an event, the
 * collector goes on without it after a moment. Keeps errno. Returns 0 or an
 * errno, as rt_session_ask(). `message` (NULL: not wanted; `bytes` with the NUL) becomes the reason
 * for a failure as the collector says it, or "", or the answer: of HW_ASK_DUMP the file's name, of
 * HW_ASK_STATUS its lines. A dump's file exists when this returns 0; without `text` it is the next
 * of the process's plan.
 */
HOOK int heapwise_rt_request(uint32_t what, const char *text, char *message, size_t bytes)
{
	if (!message)
		bytes = 0;
	if (bytes)
		*message = 0;
	if (sys_no_calls())
		return ENOSYS;
	if (!is_recorded())
		return ESRCH;
	long at = sys_call6(__NR_mmap, 0, sizeof(struct exchange), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (sys_failed(at))
		return ENOMEM;
	struct exchange *x = (struct exchange *)at;
	int error = ask_collector(x, what, text);
	if (!error && what == HW_ASK_CONFIGURE)
		rt_dump_signal_prepare(rt_process->shm);
	copy_answer(&x->reply, what, message, bytes);
	sys_call(__NR_munmap, at, sizeof(*x), 0);
	return error;
}

HOOK int heapwise_rt_start(void)
{
	return heapwise_rt_request(HW_ASK_START, NULL, NULL, 0);
}

HOOK int heapwise_rt_stop(void)
{
	return heapwise_rt_request(HW_ASK_STOP, NULL, NULL, 0);
}

HOOK int heapwise_rt_dump(const char *file)
{
	return heapwise_rt_request(HW_ASK_DUMP, file, NULL, 0);
}

HOOK void heapwise_rt_ignore(int begins)
{
	rt_event_ignore(begins);
}

/* Blocks of an allocator of the program's own, recorded as if malloc had given them. */
HOOK void heapwise_rt_block_alloc(void *block, size_t size)
{
	if (!block || rt_passes(size))
		return;
	struct rt_caller c = RT_CALLER();
	rt_event_alloc(block, size, HW_MALLOC, c.pc, c.sp, c.rbp);
}

HOOK void heapwise_rt_block_free(void *block)
{
	if (!block || rt_passes_free(block))
		return;
	struct rt_caller c = RT_CALLER();
	rt_event_free(block, HW_FREE, c.pc, c.sp, c.rbp);
}

HOOK void heaptrack_report_alloc(void *block, size_t size)
{
	if (!block || rt_passes(size))
		return;
	struct rt_caller c = RT_CALLER();
	rt_event_alloc(block, size, HW_MALLOC, c.pc, c.sp, c.rbp);
}

HOOK void heaptrack_report_free(void *block)
{
	if (!block || rt_passes_free(block))
		return;
	struct rt_caller c = RT_CALLER();
	rt_event_free(block, HW_FREE, c.pc, c.sp, c.rbp);
}

HOOK void heaptrack_report_realloc(void *old, size_t size, void *block)
{
	struct rt_caller c = RT_CALLER();
	if (old && !rt_passes_free(old))
		rt_event_free(old, HW_FREE, c.pc, c.sp, c.rbp);
	if (block && !rt_passes(size))
		rt_event_alloc(block, size, HW_MALLOC, c.pc, c.sp, c.rbp);
}
