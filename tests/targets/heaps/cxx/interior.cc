/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that only pointers into them hold: such as compilers and libraries make as a matter of
 * course, and others that look a little like these.
 *
 * What is called "near" is of another size than the words in it say, by less than some allocators
 * give more than was asked for; "inexact", by less than all do.
 */
#include <new>
#include <string>

#include "account.h"

ACCOUNT_DEFINE;

#define KEPT_MAX 64u

static void *kept[KEPT_MAX];
static unsigned kept_count;

static void keep(void *pointer)
{
	kept[kept_count++] = pointer;
}

/* What only the block holds is as it is. */
static void hang_on(void *block, size_t offset, char leak, const char *type = "held")
{
	void *held = calloc(1, 48);
	account(held, 48, leak, type);
	memcpy(static_cast<char *>(block) + offset, &held, sizeof(held));
}

namespace
{
struct First {
	long first = 1;
	virtual ~First() = default;
	virtual long one()
	{
		return first;
	}
};
struct Second {
	long second = 2;
	virtual ~Second() = default;
	virtual long two()
	{
		return second;
	}
};
struct Third {
	long third = 3;
	virtual ~Third() = default;
	virtual long three()
	{
		return third;
	}
};
struct Several : First, Second, Third {
	void *more = nullptr;
	long payload[4] = {};
	long two() override
	{
		return payload[1];
	}
};
struct Virtual : virtual Second, virtual Third {
	void *more = nullptr;
	long own = 4;
	long three() override
	{
		return own;
	}
};

/* Nothing virtual: only debug information says what the second base is. */
struct Left {
	Left *left = nullptr;
	long number = 8;
};
struct Right {
	Right *right = nullptr;
	long number = 9;
};
struct Both : Left, Right {
	void *more = nullptr;
};

struct Holding {
	void *more = nullptr;
	long number = 5;
	long other = 6;
	~Holding()
	{
		free(more);
	}
};
struct Small {
	int number = 7;
	~Small()
	{
		kept_count += static_cast<unsigned>(number);
	}
};
} // namespace

static Both *known[4];

/* Of a size and a kind; filled with what is no pointer. */
static void *get(size_t size, char leak, const char *type)
{
	void *block = malloc(size);
	memset(block, 0x55, size);
	account(block, size, leak, type);
	return block;
}

static void *inside(void *block, size_t offset)
{
	return static_cast<char *>(block) + offset;
}

static __attribute__((noinline)) void keep_objects()
{
	Several *several = new Several;
	account(several, sizeof(*several), 'r', "second base");
	hang_on(&several->more, 0, 'r');
	keep(static_cast<Second *>(several));
	several = new Several;
	account(several, sizeof(*several), 'r', "third base");
	keep(static_cast<Third *>(several));
	several = new Several;
	account(several, sizeof(*several), 'p', "object by a member");
	hang_on(&several->more, 0, 'p');
	keep(&several->payload[1]);
	Virtual *object = new Virtual;
	account(object, sizeof(*object), 'r', "virtual base");
	hang_on(&object->more, 0, 'r');
	keep(static_cast<Third *>(object));
	for (Both *&each : known) {
		each = new Both;
		account(each, sizeof(*each), 'r', "known");
		each->left = known[0];
		each->right = known[0];
		hang_on(&each->more, 0, 'r');
	}
	Both *both = new Both;
	both->left = known[0];
	both->right = known[1];
	account(both, sizeof(*both), 'p', "plain base");
	hang_on(&both->more, 0, 'p', "plain base");
	keep(static_cast<Right *>(both));
	/* Nothing is in front that an object begins with. */
	void *block = get(64, 'p', "object in a block");
	keep(new (inside(block, 16)) Second);
}

/* The block begins with the number of elements. */
template <class T> static T *new_array(size_t count, char leak)
{
	T *array = new T[count];
	account(reinterpret_cast<size_t *>(array) - 1, sizeof(size_t) + count * sizeof(T), leak,
		"array");
	keep(array);
	return array;
}

static __attribute__((noinline)) void keep_arrays()
{
	for (size_t count : {1u, 3u, 17u, 100u, 20000u})
		hang_on(&new_array<Holding>(count, 'r')[count - 1].more, 0, 'r');
	for (size_t count : {1u, 5u, 31u, 1000u})
		new_array<Small>(count, 'r');
	hang_on(&new_array<Holding>(10, 'p')[0].more, 0, 'p');
	kept[kept_count - 1] = inside(kept[kept_count - 1], sizeof(Holding));
	/* Numbers of which no elements are as large as the rest. */
	for (size_t count : {0u, 7u, 11u, 90u, 1000u}) {
		const char *type = count == 7 || count == 11 ? "near" : "no array";
		char *block = static_cast<char *>(get(8 + 80, 'p', type));
		memcpy(block, &count, sizeof(count));
		hang_on(block, 80, 'p', type);
		keep(block + 8);
	}
}

/* The block begins with how long the rest is, or something else. */
static void keep_length(size_t size, size_t length, size_t into, char leak, const char *type)
{
	char *block = static_cast<char *>(get(size, leak, type));
	memcpy(block, &length, sizeof(length));
	if (size > 64)
		hang_on(block, 56, leak, leak == 'r' ? "held" : type);
	keep(block + into);
}

static __attribute__((noinline)) void keep_lengths()
{
	for (size_t size : {16u, 17u, 48u, 99u, 512u, 4000u, 300000u, 1u << 20})
		keep_length(size, size - 8, 8, 'r', "length");
	keep_length(512, 512 - 8, 16, 'p', "no length");
	keep_length(512, 528, 8, 'p', "no length");
	keep_length(512, ~0ul, 8, 'p', "no length");
	keep_length(512, ~7ul, 8, 'p', "no length");
	keep_length(512, 512 - 40, 8, 'p', "near");
	keep_length(62, 62 - 9, 8, 'p', "inexact");
}

/* A string of libstdc++ as it was before C++11: length, capacity and a count before its text. */
static void keep_string(size_t length, size_t capacity, size_t size, char leak, const char *type)
{
	size_t words[3] = {length, capacity, 0};
	char *block = static_cast<char *>(get(size, leak, type));
	memcpy(block, words, sizeof(words));
	memset(block + 24, 'x', size - 24);
	keep(block + 24);
}

static __attribute__((noinline)) void keep_strings()
{
	keep_string(5, 5, 30, 'r', "old string");
	keep_string(70, 100, 125, 'r', "old string");
	keep_string(0, 5000, 5025, 'r', "old string");
	keep_string(101, 100, 125, 'p', "no string");
	keep_string(70, 128, 125, 'p', "no string");
	keep_string(70, ~0ul, 125, 'p', "no string");
	keep_string(70, ~0ul - 24, 125, 'p', "no string");
	keep_string(70, 79, 125, 'p', "near");
	keep_string(70, 99, 125, 'p', "inexact");
	std::string *text = new std::string(300, 't');
	account(text, sizeof(*text), 'r', "std::string");
	account(text->data() - 24, 24 + text->capacity() + 1, 'r', "old string");
	keep(text);
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
	keep_objects();
	keep_arrays();
	keep_lengths();
	keep_strings();
	forget();
	account_end();
	return 0;
}
