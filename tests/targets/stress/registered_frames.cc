/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ray-project/ray#48671 (libgcc's object_mutex): unwind tables of generated code are registered and
 * withdrawn while threads throw; libgcc sorts them, in malloc, under its lock.
 */
#include "stress.h"
extern "C" void __register_frame(void *);
extern "C" void __deregister_frame(void *);

/* One CIE, one FDE and the end: the AMD64 ABI's table of a function that pushes nothing. */
struct __attribute__((packed)) table {
	uint32_t cie_length = 20, cie_id = 0;
	uint8_t version = 1, augmentation[3] = {'z', 'R', 0}, code_factor = 1, data_factor = 0x78,
		return_register = 16, augmentation_bytes = 1, encoding = 0,
		cfi[5] = {0x0c, 7, 8, 0x90, 1}, cie_end[2] = {0, 0};
	uint32_t fde_length = 24, cie_distance = 28;
	uint64_t begin, bytes = 64;
	uint8_t fde_augmentation = 0, fde_end[3] = {0, 0, 0};
	uint32_t end = 0;
};
static_assert(sizeof(table) == 24 + 28 + 4, "as a linker would lay it out");

TRUTH_SITE(site_beside)

static char code[64 * 64];
static volatile int over;

static void *throwing(void *argument)
{
	while (!over) {
		try {
			truth_free(site_beside(149));
			throw 1;
		} catch (int) {
			truth_free(site_beside(151));
		}
	}
	return argument;
}

int main()
{
	pthread_t threads[3];
	for (pthread_t &thread : threads)
		truth_need(!pthread_create(&thread, nullptr, throwing, nullptr), "create");
	for (int round = 0; round < 20; round++) {
		static table tables[16];
		for (size_t i = 0; i < 16; i++) {
			tables[i].begin = (uint64_t)code + 64 * i;
			__register_frame(&tables[i]);
			truth_free(site_beside(157));
		}
		usleep(200);
		for (size_t i = 0; i < 16; i++)
			__deregister_frame(&tables[i]);
	}
	over = 1;
	for (pthread_t &thread : threads)
		pthread_join(thread, nullptr);
	truth_end(TRUTH_PLAIN);
	return 0;
}
