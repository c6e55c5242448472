/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that resources of std::pmr give out: in some of it there is nothing but text, or numbers.
 * Blocks with the same words in which something is wrong are "plain".
 */
#include <memory_resource>
#include <string>
#include <vector>

#include "account.h"

ACCOUNT_DEFINE;

/* Says what it gives. */
struct Upstream : std::pmr::memory_resource {
	const char *name;
	explicit Upstream(const char *of) : name(of)
	{
	}
	void *do_allocate(size_t bytes, size_t align) override
	{
		void *block = aligned_alloc(align < 16 ? 16 : align, (bytes + 15) & ~15ul);
		/* Of its own tables a pool resource has smaller ones. */
		account(block, bytes, 'r', bytes >= 800 ? name : "other");
		return block;
	}
	void do_deallocate(void *block, size_t, size_t) override
	{
		free(block);
	}
	bool do_is_equal(const memory_resource &other) const noexcept override
	{
		return this == &other;
	}
};

struct Held {
	Upstream for_buffers{"buffer"}, for_pools{"chunk"};
	std::pmr::monotonic_buffer_resource buffers{1024, &for_buffers};
	std::pmr::unsynchronized_pool_resource pools{&for_pools};
	void *texts[200], *numbers[200];
	void *plain[2];
};
extern Held *held;
Held *held;

/* What a newest chunk says of its size is wrong. */
static void *plain_buffer()
{
	std::size_t *words = static_cast<std::size_t *>(calloc(1, 1024));
	account(words, 1024, 'r', "plain");
	words[126] = 2048 | 4;
	std::size_t *resource = static_cast<std::size_t *>(calloc(9, 8));
	account(resource, 72, 'r', "other");
	resource[1] = reinterpret_cast<std::size_t>(words) + 1000;
	resource[2] = 8;
	resource[7] = reinterpret_cast<std::size_t>(words + 126);
	return resource;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, nullptr, _IONBF, 0);
	account_open(argc, argv);
	held = new Held();
	account(held, sizeof(*held), 'r', "other");
	for (unsigned i = 0; i < 200; i++) {
		std::size_t len = 5 + i * 7 % 60;
		held->texts[i] = held->buffers.allocate(len, 1);
		memset(held->texts[i], 'a' + static_cast<int>(i % 26), len);
		held->numbers[i] = held->pools.allocate(56, 8);
		for (unsigned k = 0; k < 7; k++)
			static_cast<double *>(held->numbers[i])[k] = i + k / 8.0;
	}
	held->plain[0] = plain_buffer();
	account_end();
	return 0;
}
