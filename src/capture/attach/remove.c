/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An attached process gets its slots back at once. Its memory is unmapped when no thread is in an
 * event: a stopped thread is in one if the image's word for it says so, or if it is in the image's
 * code, just before or after. If one is, the process runs on for a moment and is looked at again.
 *
 * The code stays, as functions that only pass on: the program may have kept their addresses (a
 * table of functions that was filled meanwhile, a register in a loop), and a thread may be in the
 * real function that a hook has called. docs/decisions/0039-attach.md has the reasons.
 */
#include "capture/attach/injection.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "capture/attach/filters.h"
#include "capture/attach/inline_write.h"
#include "capture/shared_memory.h"
#include "process/maps.h"
#include "process/proc_info.h"

/* A thread that is in an event leaves it as soon as it is given a processor: within two seconds. */
#define STOPS_COUNT 100
#define PAUSE_NS 20000000
#define PAUSE_STEPS 10
/* Of a stack, from the stack pointer on; below it what a leaf function may use (AMD64 ABI 1.0,
 * section 3.2.2). */
#define STACK_SCANNED (64u << 20)
#define RED_ZONE 128u
#define WINDOW 8192u
/* Rings' memory is unmapped in so many calls at a stop at most. */
#define UNMAPS_AT_ONCE 48u
/* A call is at most so many bytes long (Intel SDM, volume 2, CALL). */
#define CALL_LENGTH 7u

struct removal {
	struct injection in;
	struct attach_image image; /* as this program has it: the same code */
	uint8_t *code;             /* a copy of it */
	struct hw_attach_own own;  /* once ring_bytes is not 0 */
	struct attach_removed *ret;
	bool is_copy; /* of an attached process: nothing is to be unmapped */
};

static bool has_rings(const struct process_maps *maps, const struct hw_attach *s)
{
	const struct process_map *map = s->shared ? process_maps_find(maps, s->shared) : NULL;
	return map && map->start == s->shared && strstr(map->path, SHARED_MEMORY_PREFIX);
}

/* Whether a slot leads to the image still. */
static bool has_hooks(const struct removal *r, const struct hw_attach *s)
{
	for (uint32_t i = 0; i < s->slot_count && i < HW_ATTACH_SLOTS_MAX; i++) {
		uint64_t now;
		if (injection_read(&r->in, s->slots[i].address, &now, sizeof(now)) &&
			now == s->slots[i].hook)
			return true;
	}
	return inline_has_jumps(&r->in);
}

/* Where a process has an image whose settings say that it is attached, or that it is a copy of a
 * process that was: then it has neither the rings nor what was written since. 0: nowhere. */
static uint64_t find_image(struct removal *r, const struct process_maps *maps)
{
	for (size_t i = 0; i < maps->maps.len; i++) {
		const struct process_map *map = &maps->maps.data[i];
		struct hw_attach *s = r->in.settings;
		if (!strstr(map->path, "/memfd:" HW_ATTACH_NAME) || map->offset ||
			!injection_read(&r->in, map->start + r->image.settings, s, sizeof(*s)) ||
			s->magic != HW_ATTACH_MAGIC || s->version != HW_ATTACH_VERSION ||
			s->image != map->start)
			continue;
		r->is_copy = !has_rings(maps, s);
		if (!r->is_copy || has_hooks(r, s))
			return map->start;
	}
	return 0;
}

static bool is_in_code(const struct removal *r, uint64_t word)
{
	return word - r->in.settings->image < r->image.data;
}

/* Whether a word is the address of a hook, or where a call in the image returns to: such a word on
 * a stack may be stale, or a return to come, which finds that nothing is recorded any more. */
static bool is_harmless(const struct removal *r, uint64_t word)
{
	uint64_t at = word - r->in.settings->image;
	for (unsigned i = 0; i < HW_ATTACH_FUNCTIONS; i++) {
		if (r->image.hooks[i] == at)
			return true;
	}
	if (at >= 5 && r->code[at - 5] == 0xe8)
		return true;
	for (uint64_t bytes = 2; bytes <= CALL_LENGTH && bytes <= at; bytes++) {
		if (r->code[at - bytes] == 0xff && (r->code[at - bytes + 1] >> 3 & 7) == 2)
			return true;
	}
	return false;
}

/* Whether a stack has an address in the image's code that is neither: a signal handler may have
 * interrupted a thread there. True also if it can't be read. */
static bool may_be_interrupted(
	const struct removal *r, const struct process_maps *maps, uint64_t sp)
{
	const struct process_map *map = process_maps_find(maps, sp);
	_cleanup_free_ uint64_t *window = malloc(WINDOW * sizeof(*window));
	if (!map || !window)
		return true;
	uint64_t at = sp - RED_ZONE < map->start ? map->start : (sp - RED_ZONE) & ~7ull;
	uint64_t end = map->end - at > STACK_SCANNED ? at + STACK_SCANNED : map->end;
	while (end - at >= 8) {
		size_t words = (size_t)(end - at) / 8 < WINDOW ? (size_t)(end - at) / 8 : WINDOW;
		if (!injection_read(&r->in, at, window, words * 8))
			return true;
		for (size_t i = 0; i < words; i++) {
			if (is_in_code(r, window[i]) && !is_harmless(r, window[i]))
				return true;
		}
		at += words * 8;
	}
	return false;
}

/* A row of the image's table of threads. */
struct row {
	uint64_t pointer, busy;
	uint32_t tid;
};

static struct row row_get(const struct hw_attach_layout *layout, const char *rows, uint64_t number)
{
	struct row row;
	const char *at = rows + number * layout->busy_step;
	memcpy(&row.pointer, at, sizeof(row.pointer));
	memcpy(&row.busy, at + layout->busy - layout->busy_pointer, sizeof(row.busy));
	memcpy(&row.tid, at + layout->busy_tid - layout->busy_pointer, sizeof(row.tid));
	return row;
}

/* Whether a thread is there still that has begun an event: a handler or a cancellation may have
 * ended it in between. */
static bool is_alive(const struct injection *in, uint32_t tid)
{
	bool is_other = process_inner_pid(in->pid) != in->pid;
	for (size_t i = 0; i < in->stopped.threads.len; i++) {
		uint32_t one =
			injection_inner_tid(in->pid, in->stopped.threads.data[i].tid, is_other);
		if (one == tid || !one)
			return true;
	}
	return false;
}

/* Whether a thread is in an event, by the image's table; `shared`: the thread pointer of who writes
 * to the shared ring. */
static bool is_busy(const struct removal *r, const char *rows, uint64_t shared)
{
	const struct hw_attach_layout *layout = &r->image.layout;
	bool is_known = !shared;
	for (uint64_t i = 0; i < layout->busy_count; i++) {
		struct row row = row_get(layout, rows, i);
		bool is_of_shared = shared && row.pointer == shared;
		if ((row.busy || is_of_shared) && is_alive(&r->in, row.tid))
			return true;
		is_known |= is_of_shared;
	}
	return !is_known;
}

/* Whether a thread is in the image's code, or in an event. True also if that can't be told. */
static bool is_in_event(const struct removal *r)
{
	const struct hw_attach_layout *layout = &r->image.layout;
	const struct injection *in = &r->in;
	for (size_t i = 0; i < in->stopped.threads.len; i++) {
		const struct stopped_thread *thread = &in->stopped.threads.data[i];
		if (!thread->stopped || is_in_code(r, thread->regs.rip))
			return true;
	}
	size_t bytes = layout->busy_step * layout->busy_count;
	_cleanup_free_ char *rows = malloc(bytes);
	uint64_t shared;
	return !rows ||
	       !injection_read(in, in->settings->memory + layout->busy_pointer, rows, bytes) ||
	       !injection_read(in, in->settings->memory + layout->busy_shared, &shared, 8) ||
	       is_busy(r, rows, shared);
}

/* Whether a signal handler may have interrupted a thread where it is about to begin an event. */
static bool is_interrupted(const struct removal *r, const struct process_maps *maps)
{
	for (size_t i = 0; i < r->in.stopped.threads.len; i++) {
		if (may_be_interrupted(r, maps, r->in.stopped.threads.data[i].regs.rsp))
			return true;
	}
	return false;
}

static bool is_of_fork(const struct removal *r, const struct hw_attach_slot *slot)
{
	uint64_t hook = slot->hook - r->in.settings->image;
	return hook == r->image.hooks[HW_ATTACH_FORK] ||
	       hook == r->image.hooks[HW_ATTACH_FORK_PLAIN];
}

/* Those of fork come last, when no thread is in an event: a handler that interrupts one may still
 * fork. */
static void put_back_slots(struct removal *r, bool last)
{
	struct injection *in = &r->in;
	const struct hw_attach *s = in->settings;
	for (uint32_t i = 0; i < s->slot_count && i < HW_ATTACH_SLOTS_MAX; i++) {
		const struct hw_attach_slot *slot = &s->slots[i];
		uint64_t now;
		if (is_of_fork(r, slot) != last)
			continue;
		if (!injection_read(in, slot->address, &now, sizeof(now)) || now != slot->hook)
			continue;
		if (injection_write(in, slot->address, &slot->before, sizeof(slot->before)))
			r->ret->slots++;
		else
			r->ret->elsewhere++;
	}
	r->ret->functions += inline_put_back(in, last, &r->ret->functions_left);
}

/* Hooks that begin from now on only pass on. */
static void end_events(struct removal *r)
{
	const struct hw_attach *s = r->in.settings;
	const uint64_t none[3] = {0, 0, 0}; /* own, samples, sampled */
	const uint32_t no = 0;
	static_assert(offsetof(struct hw_attach, sampled) == offsetof(struct hw_attach, own) + 16,
		"one write");
	if (!injection_write(&r->in, s->image + r->image.settings + offsetof(struct hw_attach, own),
		    none, sizeof(none)) ||
		(!r->is_copy && !injection_write(&r->in,
					s->memory + offsetof(struct hw_attach_own, records), &no,
					sizeof(no))))
		injection_fail(&r->in, "its memory can't be written to", errno);
}

/* Unmaps what rings' threads had. Returns whether that was all. */
static bool unmap_rings(struct removal *r)
{
	unsigned count = 0;
	if (!r->own.ring_bytes &&
		!injection_read(&r->in, r->in.settings->memory, &r->own, sizeof(r->own)))
		return true;
	for (size_t i = 0; i < HW_ATTACH_RINGS; i++) {
		if (!r->own.ring_memory[i])
			continue;
		if (count++ == UNMAPS_AT_ONCE)
			return false;
		injection_call_anyway(
			&r->in, SYS_munmap, r->own.ring_memory[i], r->own.ring_bytes, 0);
		r->own.ring_memory[i] = 0;
	}
	return true;
}

/* Returns whether all is unmapped that is to be. */
static bool unmap_all(struct removal *r, const struct process_maps *maps)
{
	const struct hw_attach *s = r->in.settings;
	const uint64_t none = 0;
	uint64_t settings = s->image + r->image.settings;
	if (!unmap_rings(r))
		return false;
	injection_call_anyway(&r->in, SYS_munmap, s->shared, s->shared_bytes, 0);
	if (s->tables && injection_write(&r->in, settings + offsetof(struct hw_attach, tables),
				 &none, sizeof(none)))
		injection_call_anyway(&r->in, SYS_munmap, s->tables, s->tables_bytes, 0);
	/* What is about to begin an event finds zeros, and begins none. */
	bool keeps = is_interrupted(r, maps);
	injection_call_anyway(&r->in, keeps ? SYS_madvise : SYS_munmap, s->memory, s->own_bytes,
		keeps ? MADV_DONTNEED : 0);
	r->ret->code_bytes = s->image_bytes + (keeps ? s->own_bytes : 0);
	/* at_in_event() looks there. */
	bool forgotten =
		keeps || injection_write(&r->in, settings + offsetof(struct hw_attach, memory),
				 &none, sizeof(none));
	return injection_write(&r->in, settings + offsetof(struct hw_attach, shared), &none,
		       sizeof(none)) &&
	       forgotten;
}

static pid_t late_thread(const struct stopped *stopped)
{
	for (size_t i = 0; i < stopped->threads.len; i++) {
		if (!stopped->threads.data[i].stopped)
			return stopped->threads.data[i].tid;
	}
	return 0;
}

/* One stop. Returns whether there is nothing left to do. */
static bool remove_some(struct removal *r, bool first)
{
	struct injection *in = &r->in;
	struct process_maps maps = {.text = NULL};
	bool done = false;
	in->error = stop_process_retry(&in->stopped);
	if (in->error)
		return true;
	if (first) {
		/* Slots may have been added until now. */
		(void)!injection_read(in, in->settings->image + r->image.settings, in->settings,
			sizeof(*in->settings));
		put_back_slots(r, false);
		end_events(r);
	}
	r->ret->late_tid = late_thread(&in->stopped);
	struct error *error =
		r->is_copy ? NULL : process_maps_read(process_first_live_thread(in->pid), &maps);
	if (r->is_copy) {
		put_back_slots(r, true);
		done = true;
	} else if (!error && !is_in_event(r)) {
		put_back_slots(r, true);
		error_destroy(
			injection_read_filters(in)); /* then threads without any do it, or none */
		error = remote_calls_begin(&in->stopped, &in->calls);
		done = !error && unmap_all(r, &maps);
		remote_calls_end(&in->calls);
	}
	process_maps_deinit(&maps);
	error_destroy(error); /* it stays mapped */
	uint64_t paused = stop_end(&in->stopped);
	r->ret->pause.all_ns = paused > r->ret->pause.all_ns ? paused : r->ret->pause.all_ns;
	return done;
}

static struct error *removal_begin(struct removal *r, pid_t pid)
{
	struct error *error = injection_begin(pid, &r->in);
	r->in.is_filtered = attach_is_filtered(pid) > 0;
	if (!error)
		error = attach_image_open(&r->image);
	if (error)
		return error;
	r->code = malloc(r->image.data);
	if (!r->code)
		return error_no_memory();
	if (pread(r->image.memory, r->code, r->image.data, 0) != (ssize_t)r->image.data)
		return error_errno(ERROR_ENVIRONMENT, errno, "can't read the image's code");
	struct process_maps maps = {.text = NULL};
	error = process_maps_read(process_first_live_thread(pid), &maps);
	if (!error && !find_image(r, &maps))
		error = error_create(ERROR_INPUT,
			"process %d is not attached, or by another version of heapwise", (int)pid);
	process_maps_deinit(&maps);
	return error;
}

/* The process runs on for a moment. */
static void wait_a_moment(const struct recorder_meanwhile *meanwhile)
{
	for (int i = 0; i < PAUSE_STEPS; i++) {
		nanosleep(&(struct timespec){0, PAUSE_NS / PAUSE_STEPS}, NULL);
		if (meanwhile && meanwhile->go_on)
			meanwhile->go_on(meanwhile->context);
	}
}

static struct error *remove_image(pid_t pid, const struct recorder_meanwhile *meanwhile,
	bool copies_only, struct attach_removed *ret)
{
	*ret = (struct attach_removed){.slots = 0};
	struct removal r = {.image = {.memory = -1}, .ret = ret};
	struct error *error = removal_begin(&r, pid);
	if (!error && copies_only && !r.is_copy)
		error = error_create(ERROR_INPUT, "process %d is no copy", (int)pid);
	bool done = false;
	if (!error) /* a child in the same memory may be about to call a hook */
		(void)!injection_wait_for_vfork(&r.in);
	for (int i = 0; !error && !done && i < STOPS_COUNT; i++) {
		if (i)
			wait_a_moment(meanwhile);
		done = remove_some(&r, i == 0);
	}
	if (!error && !r.in.error && !done)
		ret->left_bytes = r.in.settings->own_bytes + r.in.settings->shared_bytes;
	free(r.code);
	attach_image_close(&r.image);
	if (error) {
		error_destroy(r.in.error);
		r.in.error = error;
	}
	return injection_end(&r.in, NULL);
}

bool attach_has_image(pid_t pid)
{
	struct process_maps maps = {.text = NULL};
	struct error *error = process_maps_read(process_first_live_thread(pid), &maps);
	bool has = error;
	for (size_t i = 0; !has && i < maps.maps.len; i++)
		has = strstr(maps.maps.data[i].path, "/memfd:" HW_ATTACH_NAME);
	process_maps_deinit(&maps);
	error_destroy(error);
	return has;
}

struct remove_work {
	pid_t pid;
	const struct recorder_meanwhile *meanwhile;
	bool copies_only;
	struct attach_removed *ret;
};

static struct error *remove_in_thread(void *context)
{
	const struct remove_work *work = context;
	return remove_image(work->pid, work->meanwhile, work->copies_only, work->ret);
}

struct error *attach_remove(
	pid_t pid, const struct recorder_meanwhile *meanwhile, struct attach_removed *ret)
{
	struct remove_work work = {pid, meanwhile, false, ret};
	*ret = (struct attach_removed){.slots = 0};
	return injection_run(pid, remove_in_thread, &work);
}

struct error *attach_remove_copy(pid_t pid, struct attach_removed *ret)
{
	struct remove_work work = {pid, NULL, true, ret};
	*ret = (struct attach_removed){.slots = 0};
	return injection_run(pid, remove_in_thread, &work);
}
