/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/watch/bpf_library.h"

#include <assert.h>

#include "base/util.h"

static const char *const names[] = {BPF_FUNCTIONS(LIBRARY_NAME)};

static_assert(sizeof(struct bpf_library) == sizeof(names), "one pointer a name");

struct error *bpf_library_load(struct bpf_library *ret)
{
	const struct library library = {.file = "libbpf.so.1",
		.package = "libbpf1",
		.names = names,
		.len = ARRAY_SIZE(names)};
	struct error *error = library_load(&library, ret);
	if (!error)
		ret->libbpf_set_print(NULL);
	return error;
}
