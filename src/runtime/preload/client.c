/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program calls a function of heapwise/client.h; any thread, any moment. May touch:
 * events, the process's state.
 */
#include "runtime/core/ring.h"
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
void heapwise_rt_pool_create(void *pool, const char *name);
void heapwise_rt_pool_alloc(void *pool, void *block, size_t size);
void heapwise_rt_pool_free(void *pool, void *block);
void heapwise_rt_pool_reset(void *pool);
void heapwise_rt_pool_destroy(void *pool);
void heapwise_rt_pool_trim(void *pool, void *start, size_t size);
void heapwise_rt_pool_move(void *pool, void *to);
int heapwise_rt_pool_exists(void *pool);
/* As heaptrack_api.h of KDE's heaptrack declares them. */
void heaptrack_report_alloc(void *block, size_t size);
void heaptrack_report_realloc(void *old, size_t size, void *block);
void heaptrack_report_free(void *block);

/* Before the event: should the name be no string, it is not ours to be in its way. */
static uint32_t copy_name(const char *name, uint64_t words[HW_MARK_NAME_WORDS])
{
	size_t bytes = name ? strnlen(name, HW_MARK_NAME_MAX) : 0;
	for (size_t i = 0; i < bytes; i++) {
		uint64_t byte = (uint8_t)name[i];
		words[i / 8] = (i % 8 ? words[i / 8] : 0) | byte << (i % 8 * 8);
	}
	return (uint32_t)bytes;
}

HOOK void heapwise_rt_mark(const char *name)
{
	uint64_t words[HW_MARK_NAME_WORDS];
	uint32_t bytes = copy_name(name, words);
	if (bytes)
		rt_event_mark(bytes, words, RT_CALLER().sp);
}

/* A forked child's recording begins with its first event: it is asked for now. */
static bool is_recorded(void)
{
	if (!rt_here.busy && !rt_here.thread->ring)
		rt_thread_start();
	return rt_process_is_recording(rt_process);
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

/* A block of malloc may contain those that are reported, and have the address of the first. */
static void note_own_blocks(void)
{
	if (is_recorded())
		rt_process_note(HW_NOTE_BLOCKS);
}

/* Blocks of an allocator of the program's own, recorded as if malloc had given them. */
static inline __attribute__((always_inline)) void report_alloc(
	void *block, size_t size, struct rt_caller c)
{
	if (!block || rt_passes(size))
		return;
	note_own_blocks();
	rt_event_alloc(block, size, HW_MALLOC, c.pc, c.sp, c.rbp);
}

static inline __attribute__((always_inline)) void report_free(void *block, struct rt_caller c)
{
	if (block && !rt_passes_free(block))
		rt_event_free(block, HW_FREE, c.pc, c.sp, c.rbp);
}

HOOK void heapwise_rt_block_alloc(void *block, size_t size)
{
	report_alloc(block, size, RT_CALLER());
}

HOOK void heapwise_rt_block_free(void *block)
{
	report_free(block, RT_CALLER());
}

HOOK void heaptrack_report_alloc(void *block, size_t size)
{
	report_alloc(block, size, RT_CALLER());
}

HOOK void heaptrack_report_free(void *block)
{
	report_free(block, RT_CALLER());
}

HOOK void heaptrack_report_realloc(void *old, size_t size, void *block)
{
	struct rt_caller c = RT_CALLER();
	report_free(old, c);
	report_alloc(block, size, c);
}

HOOK void heapwise_rt_pool_create(void *pool, const char *name)
{
	uint64_t words[HW_MARK_NAME_WORDS];
	const struct rt_pool_words event = {.what = HW_POOL_CREATE,
		.name_bytes = copy_name(name, words),
		.pool = (uint64_t)pool,
		.name = words};
	note_own_blocks();
	rt_event_pool(&event, RT_CALLER());
}

HOOK void heapwise_rt_pool_alloc(void *pool, void *block, size_t size)
{
	struct rt_caller c = RT_CALLER();
	if (!block || rt_passes(size) || rt_here.ignores)
		return;
	rt_mode_look(true);
	if (rt_mode != RT_MODE_EXACT && !rt_sampling_records(rt_pool_block(block), size))
		return;
	note_own_blocks();
	rt_event_pool(&(const struct rt_pool_words){.what = HW_POOL_ALLOC,
			      .pool = (uint64_t)pool,
			      .address = (uint64_t)block,
			      .size = size},
		c);
}

HOOK void heapwise_rt_pool_free(void *pool, void *block)
{
	struct rt_caller c = RT_CALLER();
	if (!block || rt_passes_free(rt_pool_block(block)))
		return;
	rt_mode_look(true);
	if (rt_mode != RT_MODE_EXACT && !rt_sampling_records_free(rt_pool_block(block)))
		return;
	rt_event_pool(
		&(const struct rt_pool_words){
			.what = HW_POOL_FREE, .pool = (uint64_t)pool, .address = (uint64_t)block},
		c);
}

static inline __attribute__((always_inline)) void report_pool(
	enum hw_pool_what what, void *pool, void *address, size_t size, struct rt_caller c)
{
	const struct rt_pool_words event = {
		.what = what, .pool = (uint64_t)pool, .address = (uint64_t)address, .size = size};
	rt_event_pool(&event, c);
}

HOOK void heapwise_rt_pool_reset(void *pool)
{
	report_pool(HW_POOL_RESET, pool, NULL, 0, RT_CALLER());
}

HOOK void heapwise_rt_pool_destroy(void *pool)
{
	report_pool(HW_POOL_DESTROY, pool, NULL, 0, RT_CALLER());
}

HOOK void heapwise_rt_pool_trim(void *pool, void *start, size_t size)
{
	report_pool(HW_POOL_TRIM, pool, start, size, RT_CALLER());
}

HOOK void heapwise_rt_pool_move(void *pool, void *to)
{
	report_pool(HW_POOL_MOVE, pool, to, 0, RT_CALLER());
}

HOOK int heapwise_rt_pool_exists(void *pool)
{
	static const char digits[16] = "0123456789abcdef";
	char text[17] = "";
	for (unsigned i = 0; i < 16; i++)
		text[i] = digits[(uint64_t)pool >> (60 - 4 * i) & 15];
	return !heapwise_rt_request(HW_ASK_POOL, text, NULL, 0);
}
