/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs when: see limit.h. May touch: the same. */
#include "runtime/guard/limit.h"

#include "runtime/guard/sums.h"

#define MAPPINGS_USUAL 65530  /* Linux's DEFAULT_MAX_MAP_COUNT */
#define LIMIT_ADDRESS_SPACE 9 /* RLIMIT_AS */

void guard_limit_set(enum hw_check_limit why)
{
	sums_add_limit(why);
}

uint64_t guard_max_mappings(void)
{
	char text[24];
	long fd = sys_call(__NR_open, "/proc/sys/vm/max_map_count", 02000000 /* O_CLOEXEC */, 0);
	if (sys_failed(fd))
		return MAPPINGS_USUAL;
	long got = sys_call(__NR_read, fd, text, sizeof(text));
	sys_call(__NR_close, fd, 0, 0);
	uint64_t most = 0;
	for (long i = 0; i < got && text[i] >= '0' && text[i] <= '9'; i++)
		most = most * 10 + (uint64_t)(text[i] - '0');
	return most ? most : MAPPINGS_USUAL;
}

uint64_t guard_address_limit(void)
{
	uint64_t limits[2] = {UINT64_MAX, UINT64_MAX}; /* soft, hard */
	sys_call4(__NR_prlimit64, 0, LIMIT_ADDRESS_SPACE, NULL, limits);
	return limits[0];
}
