/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which memory of a held process is searched for pointers, and which is not. */
#include "unit/leak_target.h"

#define STACK (16 * MIB)
#define STACK_BYTES 0x10000ull

static struct leak_roots roots;

static struct paused_thread *add_thread(pid_t tid, uint64_t sp)
{
	const struct paused_thread thread = {
		.tid = tid, .target_tid = tid, .stopped = true, .regs = {.rsp = base + sp}};
	CHECK(paused_threads_push(&target.threads, thread));
	return &target.threads.data[target.threads.len - 1];
}

/* libc, a heap of one block (0x5010, 256 bytes; heap 0x5000 to 0x8000), and the first thread's
 * stack. */
static void start(void)
{
	place_init();
	add_map(0, 1 * MIB, "");
	add_libc(2 * MIB, 4096);
	add_block(0x5010, 0x100);
	words(0x5000)[1] = 0x3000 | 2;
}

static void end(void)
{
	leak_roots_deinit(&roots);
	place_deinit();
}

/* The root of this kind that an address is in; NULL: none. */
static const struct searched_root *root_at(uint64_t offset)
{
	for (size_t i = 0; i < roots.roots.len; i++) {
		const struct searched_root *root = &roots.roots.data[i];
		if (!root->value_count && base + offset >= root->start && base + offset < root->end)
			return root;
	}
	return NULL;
}

static void check_root(uint64_t inside, enum hpw_leak_root kind, uint64_t from, uint64_t to)
{
	const struct searched_root *root = root_at(inside);
	if (!root)
		tap_fail("0x%" PRIx64 " is in no root", inside);
	CHECK_U64(root->place, kind);
	CHECK_U64(root->start - base, from);
	CHECK_U64(root->end - base, to);
}

static const struct searched_root *registers(void)
{
	for (size_t i = 0; i < roots.roots.len; i++)
		if (roots.roots.data[i].place == HPW_LEAK_ROOT_REGISTERS)
			return &roots.roots.data[i];
	return NULL;
}

CASE(mappings, "what was written is searched, but for heaps, devices and what is ours")
{
	start();
	add_map(3 * MIB, 4096, "")->writable = false;
	add_map(4 * MIB, 4096, "/dev/dri/card0");
	add_map(5 * MIB, 4096, "/dev/zero");
	add_map(6 * MIB, 4096, "/memfd:heapwise-rings.x");
	add_map(7 * MIB, 4096, "/usr/lib/libheapwise-rt.so");
	add_map(8 * MIB, 4096, "/memfd:other")->shared = true;
	add_map(9 * MIB, 4096, "[vvar]");
	struct process_map *untouchable = add_map(10 * MIB, 4096, "");
	untouchable->readable = untouchable->writable = false;
	shm->own[0] = (struct hw_span){base + 11 * MIB, base + 11 * MIB + 0x1000};
	add_map(11 * MIB, 0x3000, "");
	add_map(12 * MIB, 4096, "/opt/libheapwise-rt.so-1/libown.so");
	CHECK_OK(leak_roots_find(&place, &roots));
	check_root(0, HPW_LEAK_ROOT_MAPPING, 0, 0x5000);
	CHECK(!root_at(0x5000) && !root_at(0x5010) && !root_at(0x7ff8));
	check_root(0x8000, HPW_LEAK_ROOT_MAPPING, 0x8000, 1 * MIB);
	check_root(2 * MIB, HPW_LEAK_ROOT_DATA, 2 * MIB, 2 * MIB + 4096);
	check_root(5 * MIB, HPW_LEAK_ROOT_MAPPING, 5 * MIB, 5 * MIB + 4096);
	check_root(8 * MIB, HPW_LEAK_ROOT_MAPPING, 8 * MIB, 8 * MIB + 4096);
	check_root(11 * MIB + 0x1000, HPW_LEAK_ROOT_MAPPING, 11 * MIB + 0x1000, 11 * MIB + 0x3000);
	/* Ours is what is called so itself, not what is in a folder of that name. */
	check_root(12 * MIB, HPW_LEAK_ROOT_MAPPING, 12 * MIB, 12 * MIB + 4096);
	/* What the program has taken away from itself it may give back. */
	check_root(3 * MIB, HPW_LEAK_ROOT_MAPPING, 3 * MIB, 3 * MIB + 4096);
	check_root(10 * MIB, HPW_LEAK_ROOT_MAPPING, 10 * MIB, 10 * MIB + 4096);
	static const uint64_t none[] = {4, 6, 7, 9, 11};
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (root_at(none[i] * MIB))
			tap_fail("what is at %" PRIu64 " MiB is searched", none[i]);
	end();
}

CASE(partial, "of a heap that is not known whole only the blocks themselves are no root")
{
	start();
	place.is_partial = true;
	CHECK_OK(leak_roots_find(&place, &roots));
	check_root(0x5000, HPW_LEAK_ROOT_MAPPING, 0, 0x5010);
	CHECK(!root_at(0x5010) && !root_at(0x510f));
	check_root(0x5110, HPW_LEAK_ROOT_MAPPING, 0x5110, 1 * MIB);
	end();
}

CASE(first_thread, "a thread has its registers, and its stack from the red zone on")
{
	start();
	add_map(STACK, STACK_BYTES, "[stack]");
	struct paused_thread *thread = add_thread(target.pid, STACK + 0x8000);
	thread->regs.rax = 1;
	thread->regs.r15 = 15;
	CHECK_OK(leak_roots_find(&place, &roots));
	check_root(STACK + 0x8000, HPW_LEAK_ROOT_STACK, STACK + 0x8000 - 128, STACK + STACK_BYTES);
	CHECK(!root_at(STACK) && !root_at(STACK + 0x7f00));
	CHECK(registers() && registers()->value_count == 16);
	CHECK_U64(registers()->values[0], 1);
	CHECK_U64(registers()->values[15], 15);
	leak_roots_deinit(&roots);
	thread->stopped = false; /* of one that goes on nothing but the stack is known */
	CHECK_OK(leak_roots_find(&place, &roots));
	CHECK(!registers());
	check_root(STACK + 0x8000, HPW_LEAK_ROOT_STACK, STACK + 0x8000 - 128, STACK + STACK_BYTES);
	end();
}

CASE(odd_stack_pointers, "a stack pointer anywhere does no harm")
{
	static const uint64_t pointers[] = {0, 1, 4095, STACK - 1, STACK, STACK + 1, STACK + 127,
		STACK + STACK_BYTES - 1, STACK + STACK_BYTES, 0x5010, AREA_BYTES};
	for (size_t i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++) {
		start();
		add_map(STACK, STACK_BYTES, "[stack]");
		add_thread(target.pid, pointers[i])->regs.fs_base = UINT64_MAX - i;
		CHECK_OK(leak_roots_find(&place, &roots));
		const struct searched_root *root = root_at(STACK + STACK_BYTES - 8);
		CHECK(root && root->end == base + STACK + STACK_BYTES && root->start % 8 == 0);
		end();
	}
}

CASE(stack_in_data,
	"data of a module in which a thread's stack lies stays that, and named, all of it")
{
	static const char app[] = "/usr/bin/app";
	const uint64_t data = 5 * MIB + 0x1000;
	start();
	struct process_map *code = add_map(5 * MIB, 0x1000, app);
	code->executable = true;
	code->writable = false;
	code->inode = LIBC_INODE + 1;
	add_map(data, 0x4000, app)->inode = LIBC_INODE + 1;
	add_thread(target.pid, data + 0x2000);
	CHECK_OK(leak_roots_find(&place, &roots));
	check_root(data, HPW_LEAK_ROOT_DATA, data, data + 0x4000);
	check_root(data + 0x3000, HPW_LEAK_ROOT_DATA, data, data + 0x4000);
	end();
}

CASE(leaving, "of a thread that called exit the registers and the stack are those of that call")
{
	start();
	add_map(STACK, STACK_BYTES, "[stack]");
	add_thread(target.pid, STACK + 0x4000)->regs.rbx = 99;
	place.is_leaving = true;
	shm->leaving_tid = (uint32_t)target.pid;
	shm->leaving_sp = base + STACK + 0x9000;
	for (uint64_t i = 0; i < HW_LEAVING_REGISTERS; i++)
		shm->leaving_registers[i] = 100 + i;
	CHECK_OK(leak_roots_find(&place, &roots));
	static const uint64_t expected[16] = {
		[1] = 100, [6] = 101, [12] = 102, [13] = 103, [14] = 104, [15] = 105};
	CHECK(registers());
	for (size_t i = 0; i < 16; i++)
		CHECK_U64(registers()->values[i], expected[i]);
	check_root(STACK + 0x9000, HPW_LEAK_ROOT_STACK, STACK + 0x9000 - 128, STACK + STACK_BYTES);
	CHECK(!root_at(STACK + 0x4000));
	end();
}

#define STACK_END (STACK + 0x1000 + STACK_BYTES)
/* Of usual programs, and of those with thread-local memory that is aligned to pages. */
static const uint64_t descriptors[] = {STACK_END - 0x900, STACK_END - 0x1000};

/* A stack of a thread, above a page that nobody may touch: its descriptor points at itself twice.
 */
static void make_thread_stack(uint64_t descriptor, uint32_t tid)
{
	struct process_map *guard = add_map(STACK, 0x1000, "");
	guard->readable = guard->writable = false;
	add_map(STACK + 0x1000, STACK_BYTES, "");
	words(descriptor)[0] = words(descriptor)[2] = base + descriptor;
	memcpy((char *)words(descriptor) + 0x2d0, &tid, sizeof(tid));
}

CASE(ended_thread,
	"the stack of an ended thread holds nothing, its result only until it was asked for")
{
	for (unsigned i = 0; i < 4; i++) {
		uint64_t descriptor = descriptors[i / 2];
		bool joined = i % 2;
		start();
		make_thread_stack(descriptor, joined ? UINT32_MAX : 0);
		CHECK_OK(leak_roots_find(&place, &roots));
		CHECK(!root_at(STACK + 0x1000) && !root_at(descriptor - 8));
		CHECK(!root_at(descriptor) == joined);
		end();
	}
}

CASE(living_thread, "the stack of a thread that lives is no ended one's")
{
	for (unsigned i = 0; i < 2; i++) {
		start();
		make_thread_stack(descriptors[i], 4711);
		const uint64_t sp = STACK + 0x3000;
		add_thread(target.pid + 1, sp)->regs.fs_base = base + descriptors[i];
		CHECK_OK(leak_roots_find(&place, &roots));
		check_root(sp, HPW_LEAK_ROOT_STACK, sp - 128, STACK_END);
		CHECK(!root_at(STACK + 0x1000));
		end();
	}
}

#define LOADER (32 * MIB)
#define LINK 0x2c0ull

/* A ring of words: the head, then the links of descriptors, each with the previous one behind. */
static void make_list(uint64_t head, const uint64_t *links, size_t count)
{
	for (size_t i = 0; i <= count; i++) {
		uint64_t at = i ? links[i - 1] + LINK : head;
		words(at)[0] = base + (i < count ? links[i] + LINK : head);
		words(at)[1] = base + (i > 1      ? links[i - 2] + LINK
					      : i ? head
						  : links[count - 1] + LINK);
	}
}

/* The same thread stack as libc describes it, with other memory around. */
static void make_described(uint64_t start, uint64_t descriptor, uint64_t end, int32_t tid)
{
	words(descriptor)[0] = words(descriptor)[2] = base + descriptor;
	memcpy((char *)words(descriptor) + 0x2d0, &tid, sizeof(tid));
	words(descriptor)[0x690 / 8] = base + start;
	words(descriptor)[0x698 / 8] = end - start;
}

static void start_with_loader(void)
{
	start();
	add_map(STACK, 4 * STACK_BYTES, "");
	add_map(LOADER, 4096, "/lib64/ld-linux-x86-64.so.2")->inode = 5;
}

CASE(listed_threads, "libc's lists tell stacks that have no guard and share a mapping")
{
	const uint64_t living = STACK + STACK_BYTES - 0x940,
		       ended = STACK + 2 * STACK_BYTES - 0x940, sp = STACK + 0x8000;
	const uint64_t used[] = {living}, cached[] = {ended};
	start_with_loader();
	make_described(STACK, living, STACK + STACK_BYTES, 4711);
	make_described(STACK + STACK_BYTES, ended, STACK + 2 * STACK_BYTES, -1);
	make_list(LOADER + 0x100, used, 1);
	make_list(LOADER + 0x120, cached, 1);
	add_thread(target.pid + 1, sp)->regs.fs_base = base + living;
	CHECK_OK(leak_roots_find(&place, &roots));
	check_root(sp, HPW_LEAK_ROOT_STACK, sp - 128, STACK + STACK_BYTES);
	CHECK(!root_at(STACK) && !root_at(STACK + STACK_BYTES) && !root_at(ended));
	check_root(STACK + 2 * STACK_BYTES, HPW_LEAK_ROOT_MAPPING, STACK + 2 * STACK_BYTES,
		STACK + 4 * STACK_BYTES);
	end();
}

CASE(broken_lists, "lists that are none, or do not lead back, tell nothing and come to an end")
{
	const uint64_t ends[] = {STACK + STACK_BYTES - 0x940, STACK + 2 * STACK_BYTES - 0x940,
		STACK + 3 * STACK_BYTES - 0x940};
	for (unsigned way = 0; way < 5; way++) {
		start_with_loader();
		for (unsigned i = 0; i < 3; i++)
			make_described(STACK + i * STACK_BYTES, ends[i],
				STACK + (i + 1) * STACK_BYTES, -1);
		make_list(LOADER + 0x100, ends, 3);
		if (way == 1) /* a ring without the head */
			words(ends[2] + LINK)[0] = base + ends[1] + LINK;
		else if (way == 2) /* out of all memory */
			words(ends[1] + LINK)[0] = 0x7ffffffff000;
		else if (way == 3) /* no descriptor */
			words(ends[2])[2] = 0;
		else if (way == 4) /* the way back is another one */
			words(ends[1] + LINK)[1] = base + ends[1] + LINK;
		CHECK_OK(leak_roots_find(&place, &roots));
		CHECK((root_at(STACK) != NULL) == (way != 0));
		end();
	}
}

CASE(maps, "for vtables there are the readable parts of files, and which of them is code")
{
	start();
	struct process_map *code = add_map(8 * MIB, 4096, "/usr/bin/app");
	code->inode = 9, code->writable = false, code->executable = true;
	code = add_map(9 * MIB, 4096, "/usr/bin/app");
	code->inode = 9, code->writable = false, code->readable = false;
	CHECK_OK(leak_roots_find(&place, &roots));
	CHECK_U64(roots.maps.len, 2);
	CHECK(roots.maps.data[0].kind == SEARCH_MAP_FILE);
	CHECK(roots.maps.data[1].kind == SEARCH_MAP_FILE_CODE &&
		roots.maps.data[1].start == base + 8 * MIB);
	end();
}

TAP_MAIN
