/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as what a filter sees and the filter itself: it ends, and reads nothing else. */
#include <stdlib.h>
#include <string.h>

#include "process/seccomp_filters.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seccomp_data seen;
	uint32_t action;
	if (size < sizeof(seen))
		return 0;
	memcpy(&seen, data, sizeof(seen));
	size_t length = (size - sizeof(seen)) / sizeof(struct sock_filter);
	/* Of exactly that size, for the address sanitizer. */
	struct sock_filter *code = malloc(length * sizeof(*code) + !length);
	if (code && length)
		memcpy(code, data + sizeof(seen), length * sizeof(*code));
	if (code)
		(void)!seccomp_filter_run(code, length, &seen, &action);
	free(code);
	return 0;
}
