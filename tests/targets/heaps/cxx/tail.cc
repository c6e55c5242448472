// SPDX-License-Identifier: GPL-2.0-or-later
// A pointer that an earlier owner left behind the end of an object: what it leads to is lost.
#include "account.h"

ACCOUNT_DEFINE;

namespace
{
struct Object {
	virtual ~Object() = default;
	long numbers[3] = {1, 2, 3};
};
} // namespace

static Object *object;

static __attribute__((noinline)) void leave_behind()
{
	/* The allocator gives 40 bytes for both. */
	void **before = static_cast<void **>(malloc(40));
	void *lost = calloc(1, 100);
	account(lost, 100, 'd', "lost");
	before[4] = lost;
	__asm__ volatile("" : : "r"(before) : "memory");
	free(before);
	object = new Object;
	account(object, sizeof(Object), 'r', "(anonymous namespace)::Object");
}

static __attribute__((noinline)) void forget()
{
	char stack[32 << 10];
	memset(stack, 0, sizeof(stack));
	__asm__ volatile("" : : "r"(stack) : "memory");
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	setvbuf(stdout, nullptr, _IONBF, 0);
	leave_behind();
	forget();
	account_end();
	return object == nullptr;
}
