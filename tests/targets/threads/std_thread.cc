/* SPDX-License-Identifier: GPL-2.0-or-later */
/* std::thread, std::async and a condition variable: stacks go through libstdc++ and libc's start.
 */
#include "truth.h"
#include <future>
#include <thread>
#include <vector>

TRUTH_SITE_AS(site_in_thread, (size_t bytes), bytes, ::operator new(bytes))
TRUTH_SITE_AS(site_in_task, (size_t bytes), bytes, ::operator new(bytes))

static void end(void *block)
{
	truth_died(truth_tag_of(block), 0);
	::operator delete(block);
}

extern "C" TRUTH_FRAME void work(size_t self)
{
	for (size_t i = 0; i < 300; i++)
		end(site_in_thread(1001 + self));
	site_in_thread(11 + self);
	TRUTH_STAY();
}

extern "C" TRUTH_FRAME size_t task(size_t self)
{
	void *block = site_in_task(2001 + self);
	if (self % 2)
		end(block);
	return self;
}

int main()
{
	std::vector<std::thread> threads;
	for (size_t i = 0; i < 12; i++)
		threads.emplace_back(work, i);
	for (std::thread &thread : threads)
		thread.join();
	std::vector<std::future<size_t>> results;
	for (size_t i = 0; i < 12; i++)
		results.push_back(std::async(std::launch::async, task, i));
	size_t sum = 0;
	for (std::future<size_t> &result : results)
		sum += result.get();
	truth_need(sum == 66, "results");
	truth_say("# expect: path site=site_in_thread chain=site_in_thread<work");
	truth_say("# expect: path site=site_in_task chain=site_in_task<task");
	truth_threads(1 + 12 + 12);
	truth_end(TRUTH_PLAIN);
	return 0;
}
