/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/attach/before.h"
#include "capture/attach/injection.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "capture/attach/filters.h"
#include "capture/attach/inline_write.h"
#include "capture/attach/object_table.h"
#include "capture/shared_memory.h"
#include "format/shm.h"
#include "process/maps.h"
#include "process/proc_info.h"

#define PAGE 4096ull
/* Attempts to find the process without a vfork child. */
#define STOPS_MAX 8
/* And without a thread among the bytes of its functions that are to be changed. */
#define STOPS_INLINE_MAX 50
#define STOPS_STEP_NS 1000000
/* PIDFD_THREAD of linux/pidfd.h, which is newer than Debian 12. */
#define OTHER_THREAD O_EXCL
/* glibc's and musl's struct pthread have the thread's id there, from the thread pointer on. */
static const uint64_t tid_offsets[] = {720, 48};

/* One system call of the process; 0 after an error, which is kept. */
static uint64_t do_call(struct injection *in, const char *what, uint64_t number, uint64_t a,
	uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	const uint64_t arguments[6] = {a, b, c, d, e, f};
	return injection_call(in, what, number, arguments);
}

/* What the process is to receive: in its scratch page. */
struct scratch {
	int pair[2];
	char byte;
	struct msghdr message;
	struct iovec part;
	char control[CMSG_SPACE(2 * sizeof(int))];
};

/* Sends descriptors to a socket of the process. */
static bool send_descriptors(int socket, const int descriptors[static 2])
{
	char byte = 0, control[CMSG_SPACE(2 * sizeof(int))] = "";
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(2 * sizeof(int));
	memcpy(CMSG_DATA(header), descriptors, 2 * sizeof(int));
	return sendmsg(socket, &message, MSG_NOSIGNAL) == 1;
}

/* Its end of a socket pair that the process has made. A first thread that has ended has no
 * descriptors any more, but before Linux 6.9 no other can be asked. */
static int take_socket(struct injection *in, int number)
{
	pid_t thread = process_first_live_thread(in->pid);
	bool is_first = thread == in->pid;
	_cleanup_close_ int process =
		(int)syscall(SYS_pidfd_open, thread, is_first ? 0 : OTHER_THREAD);
	int taken = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, number, 0);
	if (taken < 0)
		injection_fail(in,
			is_first ? "its descriptors can't be taken (pidfd_getfd)"
				 : "its first thread has ended, and the descriptors of another "
				   "can't be taken (pidfd_open with PIDFD_THREAD, Linux 6.9)",
			errno);
	return taken;
}

static void receive_in_process(struct injection *in, int socket, int ret[static 2])
{
	struct scratch s = {.byte = 0};
	uint64_t at = in->scratch;
	s.part = (struct iovec){(void *)(at + offsetof(struct scratch, byte)), 1};
	s.message = (struct msghdr){.msg_iov = (void *)(at + offsetof(struct scratch, part)),
		.msg_iovlen = 1,
		.msg_control = (void *)(at + offsetof(struct scratch, control)),
		.msg_controllen = sizeof(s.control)};
	if (!injection_write(in, at, &s, sizeof(s)))
		injection_fail(in, "its memory can't be written to", errno);
	do_call(in, "a message (recvmsg)", SYS_recvmsg, (uint64_t)socket,
		at + offsetof(struct scratch, message), MSG_CMSG_CLOEXEC | MSG_DONTWAIT, 0, 0, 0);
	if (in->error)
		return;
	if (!injection_read(in, at, &s, sizeof(s))) {
		injection_fail(in, "its memory can't be read", errno);
		return;
	}
	struct cmsghdr header;
	memcpy(&header, s.control, sizeof(header));
	if (s.message.msg_controllen < CMSG_LEN(2 * sizeof(int)) ||
		header.cmsg_type != SCM_RIGHTS || header.cmsg_len != CMSG_LEN(2 * sizeof(int)))
		injection_fail(in, "it has no room for two more descriptors", EMFILE);
	else
		memcpy(ret, s.control + sizeof(header), 2 * sizeof(int));
}

/* Gives the process two descriptors of ours, through a socket pair: neither needs a name that both
 * can see. */
static void give_descriptors(struct injection *in, const int ours[static 2], int ret[static 2])
{
	int pair[2] = {-1, -1};
	ret[0] = ret[1] = -1;
	do_call(in, "a socket pair", SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
		in->scratch + offsetof(struct scratch, pair), 0, 0);
	if (in->error)
		return;
	if (!injection_read(in, in->scratch + offsetof(struct scratch, pair), pair, sizeof(pair)))
		injection_fail(in, "its memory can't be read", errno);
	_cleanup_close_ int socket = in->error ? -1 : take_socket(in, pair[1]);
	if (socket >= 0 && !send_descriptors(socket, ours))
		injection_fail(in, "descriptors can't be sent to it", errno);
	if (!in->error)
		receive_in_process(in, pair[0], ret);
	for (int i = 0; i < 2; i++) {
		if (pair[i] >= 0)
			injection_call_anyway(in, SYS_close, (uint64_t)pair[i], 0, 0);
	}
}

static void advise_kernel(struct injection *in, uint64_t at, uint64_t bytes, int advice)
{
	injection_call_anyway(in, SYS_madvise, at, bytes, (uint64_t)advice);
}

static void unmap_all(struct injection *in, const struct attach_image *image)
{
	struct hw_attach *s = in->settings;
	if (s->shared)
		injection_call_anyway(in, SYS_munmap, s->shared, s->shared_bytes, 0);
	if (s->memory)
		injection_call_anyway(in, SYS_munmap, s->memory, s->own_bytes, 0);
	if (s->image && !in->is_earlier)
		injection_call_anyway(in, SYS_munmap, s->image, s->image_bytes, 0);
	if (s->tables)
		injection_call_anyway(in, SYS_munmap, s->tables, s->tables_bytes, 0);
	s->shared = s->memory = s->own = s->slot_count = s->tables = 0;
	if (in->is_earlier) /* its code looks there */
		(void)!injection_write(
			in, s->image + image->settings, s, offsetof(struct hw_attach, slots));
}

/* The process may have an image of an earlier time, to which nothing leads but what the program has
 * kept of its functions' addresses. If the code is the same, it is used again. */
static uint64_t find_earlier(
	struct injection *in, const struct attach_plan *plan, const struct attach_image *image)
{
	const struct process_map_vec *maps = &plan->objects.maps.maps;
	_cleanup_free_ char *ours = malloc(image->data), *theirs = malloc(image->data);
	size_t stubs_bytes = (size_t)HW_INLINE_FUNCTIONS * HW_ATTACH_STUB_BYTES;
	if (!ours || !theirs || pread(image->memory, ours, image->data, 0) != (ssize_t)image->data)
		return 0;
	memset(ours + image->stubs, 0, stubs_bytes); /* are as they are, written each time */
	for (size_t i = 0; i < maps->len; i++) {
		if (strstr(maps->data[i].path, "/memfd:" HW_ATTACH_NAME) && !maps->data[i].offset &&
			injection_read(in, maps->data[i].start, theirs, image->data)) {
			memset(theirs + image->stubs, 0, stubs_bytes);
			if (!memcmp(ours, theirs, image->data))
				return maps->data[i].start;
		}
	}
	return 0;
}

/* A forked child has the table of the process that it is a copy of. */
static bool keep_tables(struct injection *in, const struct attach_image *image)
{
	struct hw_attach *s = in->settings;
	uint64_t both[2] = {0, 0};
	static_assert(
		offsetof(struct hw_attach, tables_bytes) == offsetof(struct hw_attach, tables) + 8,
		"side by side");
	if (!s->tables_bytes || !in->is_earlier ||
		!injection_read(in, s->image + image->settings + offsetof(struct hw_attach, tables),
			both, sizeof(both)) ||
		!both[0] || both[1] != s->tables_bytes)
		return false;
	s->tables = both[0];
	return true;
}

/* Where the table of unwind entries and, behind it, the image are to be, for jumps to reach it;
 * an earlier image is where it is. */
static uint64_t find_place(
	struct injection *in, const struct attach_plan *plan, const struct attach_image *image)
{
	struct process_maps maps = {.text = NULL};
	struct hw_attach *s = in->settings;
	size_t entries = plan->frames.len;
	if (in->error || !plan->inlined.functions.len)
		return 0;
	s->tables_bytes = entries ? align_up(frame_table_bytes(entries), PAGE) : 0;
	uint64_t bytes = s->tables_bytes + (in->is_earlier ? 0 : image->bytes);
	if (!bytes || keep_tables(in, image))
		return 0;
	in->error = process_maps_read(in->pid, &maps);
	uint64_t place = in->error ? 0 : inline_find_place(&maps, &plan->inlined, bytes);
	process_maps_deinit(&maps);
	if (!place && !in->error && !in->is_earlier)
		injection_fail(in, "there is no room near its allocator's functions", ENOMEM);
	return place;
}

/* The table belongs below the program; without a place there stacks do without. */
static void map_tables(struct injection *in, const struct attach_plan *plan, uint64_t place)
{
	struct hw_attach *s = in->settings;
	if (in->error || !s->tables_bytes || s->tables || !place ||
		place > plan->inlined.code_start)
		return;
	s->tables = do_call(in, "memory", SYS_mmap, place, s->tables_bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, (uint64_t)-1, 0);
}

/* place: where it has to be; 0: anywhere. */
static void map_image(
	struct injection *in, const struct attach_image *image, int descriptor, uint64_t place)
{
	struct hw_attach *s = in->settings;
	uint64_t fixed = place ? MAP_FIXED_NOREPLACE : 0;
	s->image_bytes = image->bytes;
	if (s->image)
		return;
	s->image = do_call(in, "to map code", SYS_mmap, place, image->bytes, PROT_READ | PROT_EXEC,
		MAP_PRIVATE | fixed, (uint64_t)descriptor, 0);
	if (s->image)
		do_call(in, "to map data", SYS_mmap, s->image + image->data,
			image->bytes - image->data, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
			(uint64_t)descriptor, image->data);
}

/* Wiped by fork, so that a child records nothing; the shared memory is not even there in a child.
 */
static void map_memory(struct injection *in, const struct attach_image *image, int descriptor)
{
	struct hw_attach *s = in->settings;
	s->own_bytes = image->layout.own_bytes;
	s->memory = do_call(in, "memory", SYS_mmap, 0, s->own_bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, (uint64_t)-1, 0);
	s->own = s->memory;
	if (s->own) {
		do_call(in, "memory that fork wipes", SYS_madvise, s->own, s->own_bytes,
			MADV_WIPEONFORK, 0, 0, 0);
		advise_kernel(in, s->own, s->own_bytes, MADV_DONTDUMP);
		advise_kernel(in, s->own, s->own_bytes, MADV_NOHUGEPAGE);
	}
	s->shared_bytes = HW_SHM_BYTES;
	s->shared = do_call(in, "to map the shared memory", SYS_mmap, 0, s->shared_bytes,
		PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, (uint64_t)descriptor, 0);
	if (s->shared) {
		do_call(in, "memory that fork leaves out", SYS_madvise, s->shared, s->shared_bytes,
			MADV_DONTFORK, 0, 0, 0);
		advise_kernel(in, s->shared, s->shared_bytes, MADV_DONTDUMP);
	}
}

/* Code that is no caller of its own: the image, and what the plan found. */
static void set_inner(struct hw_attach *s, const struct attach_plan *plan, uint64_t code_bytes)
{
	if (!plan->inner_count)
		return;
	s->inner[s->inner_count++] = (struct hw_attach_range){s->image, s->image + code_bytes};
	for (size_t i = 0; i < plan->inner_count; i++)
		s->inner[s->inner_count++] = plan->inner[i];
}

/* Where libc has the ids of threads: where all that have stopped have theirs. */
static uint64_t find_tid_offset(const struct injection *in)
{
	bool is_other = process_inner_pid(in->pid) != in->pid;
	for (size_t o = 0; o < sizeof(tid_offsets) / sizeof(tid_offsets[0]); o++) {
		bool all = true;
		for (size_t i = 0; i < in->stopped.threads.len && all; i++) {
			const struct stopped_thread *thread = &in->stopped.threads.data[i];
			uint32_t there;
			all = !thread->stopped ||
			      (injection_read(in, thread->regs.fs_base + tid_offsets[o], &there,
				       sizeof(there)) &&
				      there == injection_inner_tid(in->pid, thread->tid, is_other));
		}
		if (all)
			return tid_offsets[o];
	}
	return 0;
}

/* Adds a slot to the settings and changes it. */
static bool change_slot(
	struct injection *in, const struct attach_image *image, const struct linked_slot *slot)
{
	struct hw_attach *s = in->settings;
	if (s->slot_count >= HW_ATTACH_SLOTS_MAX)
		return false;
	s->slots[s->slot_count++] = (struct hw_attach_slot){
		slot->address, slot->value, s->image + image->hooks[slot->function]};
	return true;
}

static void write_settings(struct injection *in, const struct attach_image *image)
{
	const struct hw_attach *s = in->settings;
	size_t bytes = offsetof(struct hw_attach, slots) + s->slot_count * sizeof(s->slots[0]);
	const struct hw_attach_own own = {.records = 1, .shared = s->shared};
	if (!in->error && (!injection_write(in, s->image + image->settings, s, bytes) ||
				  !injection_write(in, s->own, &own,
					  offsetof(struct hw_attach_own, ring_bytes))))
		injection_fail(in, "its memory can't be written to", errno);
}

/* From the last on, if one fails: then all before it are as they were. */
static void write_slots(struct injection *in)
{
	const struct hw_attach *s = in->settings;
	uint32_t done = 0;
	for (; done < s->slot_count && !in->error; done++) {
		if (!injection_write(in, s->slots[done].address, &s->slots[done].hook, 8))
			injection_fail(in, "its tables of functions can't be written to", errno);
	}
	size_t left = 0;
	if (!in->error)
		return;
	while (done-- > 0)
		(void)!injection_write(in, s->slots[done].address, &s->slots[done].before, 8);
	(void)inline_put_back(in, false, &left);
	(void)inline_put_back(in, true, &left);
}

/* Another command may have attached it meanwhile. */
static void check_alone(struct injection *in)
{
	struct process_maps maps = {.text = NULL};
	if (in->error)
		return;
	in->error = process_maps_read(process_first_live_thread(in->pid), &maps);
	for (size_t i = 0; !in->error && i < maps.maps.len; i++) {
		if (strstr(maps.maps.data[i].path, SHARED_MEMORY_PREFIX))
			in->error = error_create(ERROR_ENVIRONMENT,
				"process %d was attached by another command just now",
				(int)in->pid);
	}
	process_maps_deinit(&maps);
}

/* From now on it is known that the process is observed, whether it allocates or not. */
static void note_attached(struct injection *in, int shared)
{
	const uint32_t notes = HW_NOTE_ATTACHED;
	if (!in->error && pwrite(shared, &notes, sizeof(notes), offsetof(struct hw_shm, notes)) !=
				  (ssize_t)sizeof(notes))
		injection_fail(in, "the shared memory can't be written to", errno);
}

/* While it was examined it ran on: what has been bound since is what it was bound to. */
static void collect_slots(
	struct injection *in, const struct attach_plan *plan, const struct attach_image *image)
{
	for (size_t i = 0; i < plan->slots.len && !in->error; i++) {
		struct linked_slot slot = plan->slots.data[i];
		uint64_t now;
		if (!injection_read(in, slot.address, &now, sizeof(now)))
			continue; /* unloaded */
		if (now != slot.value && !(slot.is_lazy && now == plan->real[slot.function]))
			continue;
		slot.value = now;
		change_slot(in, image, &slot);
	}
}

/* Those of calls to come. `image`: where it is; 0: not yet known. */
static void check_filters(struct injection *in, uint64_t image)
{
	if (!in->error && in->is_filtered)
		in->error = attach_filters_check(
			&in->filters, in->pid, remote_calls_at(&in->calls), image);
}

static void inject_stopped(struct injection *in, const struct attach_plan *plan,
	const struct attach_image *image, int shared)
{
	struct hw_attach *s = in->settings;
	const int ours[2] = {image->memory, shared};
	int theirs[2] = {-1, -1};
	uint64_t place;
	*s = (struct hw_attach){.magic = HW_ATTACH_MAGIC,
		.version = HW_ATTACH_VERSION,
		.operators = plan->operators,
		.find_object = plan->find_object,
		.program_headers = plan->objects.program_headers,
		.program_header_count = plan->objects.program_header_count};
	memcpy(s->real, plan->real, sizeof(s->real));
	check_filters(in, 0);
	s->image = in->error ? 0 : find_earlier(in, plan, image);
	in->is_earlier = s->image;
	in->scratch = do_call(in, "memory", SYS_mmap, 0, PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0);
	if (in->scratch)
		give_descriptors(in, ours, theirs);
	place = find_place(in, plan, image);
	map_image(in, image, theirs[0], place ? place + s->tables_bytes : 0);
	map_tables(in, plan, place);
	check_filters(in, s->image);
	map_memory(in, image, theirs[1]);
	s->samples = plan->samples ? s->own : 0;
	s->sampled = plan->inner_count || plan->inlined.functions.len ? 0 : s->samples;
	for (int i = 0; i < 2; i++) {
		if (theirs[i] >= 0)
			injection_call_anyway(in, SYS_close, (uint64_t)theirs[i], 0, 0);
	}
	if (in->scratch)
		injection_call_anyway(in, SYS_munmap, in->scratch, PAGE, 0);
	if (!in->error) {
		s->tid_offset = find_tid_offset(in);
		collect_slots(in, plan, image);
		set_inner(s, plan, image->data);
		inline_prepare(in, &plan->inlined, image);
		if (plan->table.len)
			inline_write_frames(in, &plan->frames, &plan->table.data[0].row);
	}
	if (!plan->find_object)
		object_table_write(in, &plan->table, s->own, image->layout.objects);
	note_attached(in, shared);
	write_settings(in, image);
	if (!in->error)
		inline_write_jumps(in);
	if (!in->error)
		write_slots(in);
	if (in->error)
		unmap_all(in, image);
	remote_calls_end(&in->calls);
}

/* Threads that run 32-bit code, or none that can do calls. */
static void check_stopped(
	struct injection *in, uint64_t budget_ns, struct before *before, struct attach_pause *pause)
{
	pause->stop_ns = stop_now_ns() - in->stopped.since_ns;
	if (stop_is_32bit(&in->stopped))
		in->error = error_create(ERROR_INPUT, "process %d runs 32-bit code", (int)in->pid);
	else if (budget_ns && pause->stop_ns > budget_ns)
		in->error = error_create(ERROR_ENVIRONMENT,
			"it took %.1f ms to stop the %zu threads of process %d, more than the %.0f "
			"ms that it may stand still; nothing was changed. Try again when the "
			"machine "
			"is less busy, or allow more (--pause)",
			(double)pause->stop_ns / 1e6, in->stopped.threads.len, (int)in->pid,
			(double)budget_ns / 1e6);
	else
		check_alone(in);
	if (!in->error)
		in->error = injection_read_filters(in);
	if (!in->error)
		before_take(before, &in->stopped);
	if (!in->error)
		in->error = remote_calls_begin(&in->stopped, &in->calls);
}

static struct error *refuse_vfork(const struct injection *in, pid_t tid)
{
	return error_create(ERROR_ENVIRONMENT,
		"thread %d of process %d waits for its vfork child, which runs in the process's "
		"memory "
		"until it executes another program or ends; nothing was changed. Try again when it "
		"has",
		(int)tid, (int)in->pid);
}

/* Stops the process while it has no vfork child. */
static struct error *stop_alone(struct injection *in)
{
	for (int tries = 0; tries < STOPS_MAX; tries++) {
		pid_t tid = injection_wait_for_vfork(in);
		if (tid)
			return refuse_vfork(in, tid);
		struct error *error = stop_process_retry(&in->stopped);
		if (error)
			return error;
		tid = injection_vfork(in);
		if (!tid)
			return NULL;
		stop_end(&in->stopped);
		if (tries + 1 == STOPS_MAX)
			return refuse_vfork(in, tid);
	}
	return NULL;
}

static struct error *refuse_obstacle(const struct injection *in, const char *what, pid_t tid)
{
	return error_create(ERROR_ENVIRONMENT,
		"process %d: its allocator's functions can't be changed now, as thread %d %s "
		"(in %d attempts); nothing was changed. Try again",
		(int)in->pid, (int)tid, what, STOPS_INLINE_MAX);
}

/* Stops it while no thread is where its functions are to be changed, either. */
static struct error *stop_clear(struct injection *in, const struct inline_plan *plan)
{
	for (int tries = 0;; tries++) {
		pid_t tid = 0;
		struct error *error = stop_alone(in);
		if (error || !plan->functions.len)
			return error;
		const char *obstacle = inline_find_obstacle(in, plan, &tid);
		if (!obstacle)
			return NULL;
		if (tries + 1 == STOPS_INLINE_MAX)
			error = refuse_obstacle(in, obstacle, tid);
		stop_end(&in->stopped);
		if (error)
			return error;
		nanosleep(&(struct timespec){0, STOPS_STEP_NS}, NULL);
	}
}

/* What is done in a thread of its own. */
struct inject_work {
	const struct attach_plan *plan;
	const struct attach_image *image;
	int shared;
	uint64_t budget_ns;
	struct before *before;
	struct attached *ret;
};

static struct error *inject_in_thread(void *context)
{
	const struct inject_work *work = context;
	struct attached *ret = work->ret;
	struct injection in;
	in.error = injection_begin(work->plan->pid, &in);
	in.is_filtered = work->plan->is_filtered;
	if (!in.error)
		in.error = stop_clear(&in, &work->plan->inlined);
	if (!in.error) {
		check_stopped(&in, work->budget_ns, work->before, &ret->pause);
		if (!in.error)
			inject_stopped(&in, work->plan, work->image, work->shared);
		ret->image = in.settings->image;
		ret->own = in.settings->memory;
	}
	return injection_end(&in, &ret->pause);
}

struct error *attach_inject(const struct attach_plan *plan, const struct attach_image *image,
	int shared, uint64_t budget_ns, struct before *before, struct attached *ret)
{
	struct inject_work work = {plan, image, shared, budget_ns, before, ret};
	*ret = (struct attached){
		.pid = plan->pid, .settings = image->settings, .data = image->data};
	return before_run(before, inject_in_thread, &work);
}

/* Adds a slot as it is now, or replaces what was known of its place: it is another object's now, or
 * was bound since. Returns false if the process has changed it meanwhile, or there is no room. */
static bool renew_slot(
	struct injection *in, const struct attach_image *image, const struct linked_slot *slot)
{
	struct hw_attach *s = in->settings;
	uint64_t now;
	if (!injection_read(in, slot->address, &now, sizeof(now)) || now != slot->value)
		return false;
	for (uint32_t i = 0; i < s->slot_count; i++) {
		if (s->slots[i].address != slot->address)
			continue;
		s->slots[i].before = slot->value;
		s->slots[i].hook = s->image + image->hooks[slot->function];
		return true;
	}
	return change_slot(in, image, slot);
}

/* The settings are written first, so that what is changed can be put back. */
static size_t add_slots(struct injection *in, const struct attached *attached,
	const struct attach_image *image, const struct attach_plan *plan)
{
	struct hw_attach *s = in->settings;
	size_t changed = 0;
	uint64_t at = attached->image + attached->settings;
	if (!injection_read(in, at, s, sizeof(*s)) || s->magic != HW_ATTACH_MAGIC) {
		injection_fail(in, "it has no image any more", ESRCH);
		return 0;
	}
	if (!s->own)
		return 0; /* it has been let go meanwhile */
	if (!plan->find_object)
		object_table_write(in, &plan->table, s->own, image->layout.objects);
	_cleanup_free_ bool *is_new = calloc(plan->slots.len + 1, sizeof(*is_new));
	for (size_t i = 0; is_new && i < plan->slots.len; i++)
		is_new[i] = renew_slot(in, image, &plan->slots.data[i]);
	if (!is_new || !injection_write(in, at, s, sizeof(*s))) {
		injection_fail(in, "its memory can't be written to", errno);
		return 0;
	}
	for (size_t i = 0; i < plan->slots.len; i++) {
		const struct linked_slot *slot = &plan->slots.data[i];
		uint64_t hook = s->image + image->hooks[slot->function];
		changed += is_new[i] && injection_write(in, slot->address, &hook, sizeof(hook));
	}
	return changed;
}

struct add_work {
	const struct attached *attached;
	const struct attach_image *image;
	const struct attach_plan *plan;
	size_t *ret_changed;
};

static struct error *add_in_thread(void *context)
{
	const struct add_work *work = context;
	struct injection in;
	in.error = injection_begin(work->attached->pid, &in);
	if (!in.error)
		in.error = stop_alone(&in);
	if (!in.error)
		*work->ret_changed = add_slots(&in, work->attached, work->image, work->plan);
	return injection_end(&in, NULL);
}

struct error *attach_inject_more(const struct attached *attached, const struct attach_image *image,
	const struct attach_plan *plan, size_t *ret_changed)
{
	struct add_work work = {attached, image, plan, ret_changed};
	*ret_changed = 0;
	return plan->slots.len || !plan->find_object
		       ? injection_run(plan->pid, add_in_thread, &work)
		       : NULL;
}

bool attach_is_there(const struct attached *attached)
{
	struct injection in;
	uint64_t magic = 0;
	in.error = injection_begin(attached->pid, &in);
	bool is = !in.error &&
		  injection_read(&in, attached->image + attached->settings, &magic, 8) &&
		  magic == HW_ATTACH_MAGIC;
	error_destroy(injection_end(&in, NULL));
	return is;
}

static int own_open(const struct attached *attached, int flags)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)process_first_live_thread(attached->pid));
	return attached->own ? open(path, flags | O_CLOEXEC) : -1;
}

uint64_t attach_asked(const struct attached *attached)
{
	uint64_t both[2] = {0, 0};
	_cleanup_close_ int memory = own_open(attached, O_RDONLY);
	_Static_assert(
		offsetof(struct hw_attach_own, looked) == offsetof(struct hw_attach_own, asked) + 8,
		"side by side");
	off_t at = (off_t)(attached->own + offsetof(struct hw_attach_own, asked));
	if (memory < 0 || pread(memory, both, sizeof(both), at) != sizeof(both))
		return 0;
	return both[0] == both[1] ? 0 : both[0];
}

void attach_answer(const struct attached *attached, uint64_t asked)
{
	_cleanup_close_ int memory = own_open(attached, O_RDWR);
	off_t at = (off_t)(attached->own + offsetof(struct hw_attach_own, looked));
	if (memory >= 0)
		(void)!pwrite(memory, &asked, sizeof(asked), at);
}
