/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * koute/bytehound#119: exceptions leave C functions that call back (qsort, bsearch,
 * dl_iterate_phdr, pthread_once) and the frames a recorder has just seen there.
 */
#include "stress.h"
#include <link.h>

TRUTH_SITE(site_in_callback)

static int compare(const void *a, const void *b)
{
	(void)b;
	truth_free(site_in_callback(167));
	if (*(const int *)a == 13)
		throw 13;
	return *(const int *)a - *(const int *)b;
}

static int each(struct dl_phdr_info *info, size_t bytes, void *data)
{
	(void)info, (void)bytes, (void)data;
	truth_free(site_in_callback(173));
	throw 14;
}

static void once()
{
	truth_free(site_in_callback(179));
	throw 15;
}

template <typename Call> static int thrown(Call call)
{
	try {
		call();
	} catch (int number) {
		return number;
	}
	return 0;
}

static void *body(void *argument)
{
	for (int i = 0; i < 30; i++) {
		int numbers[16] = {13, 2, 5, 1, 9, 4, 13, 7, 0, 3, 6, 8, 10, 11, 12, 14};
		int key = 13;
		truth_need(
			thrown([&] { qsort(numbers, 16, sizeof(int), compare); }) == 13, "qsort");
		truth_need(thrown([&] {
			if (!bsearch(&key, numbers, 16, sizeof(int), compare))
				throw 1;
		}) == 13,
			"bsearch");
		truth_need(thrown([] { dl_iterate_phdr(each, nullptr); }) == 14, "dl_iterate_phdr");
		pthread_once_t control = PTHREAD_ONCE_INIT;
		truth_need(thrown([&] { pthread_once(&control, once); }) == 15, "pthread_once");
	}
	return argument;
}

int main()
{
	stress_threads(1, body, nullptr);
	truth_end(TRUTH_PLAIN);
	return 0;
}
