/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libbpf, which only `watch` needs: see base/library.h. */
#ifndef CAPTURE_BPF_LIBRARY_H
#define CAPTURE_BPF_LIBRARY_H

#include <bpf/libbpf.h>

#include "base/error.h"
#include "base/library.h"

#define BPF_FUNCTIONS(X)                                                                           \
	X(libbpf_set_print)                                                                        \
	X(bpf_object__open_mem)                                                                    \
	X(bpf_object__load)                                                                        \
	X(bpf_object__close)                                                                       \
	X(bpf_object__find_map_by_name)                                                            \
	X(bpf_object__find_program_by_name)                                                        \
	X(bpf_map__fd)                                                                             \
	X(bpf_map__set_max_entries)                                                                \
	X(bpf_program__fd)                                                                         \
	X(bpf_program__set_autoload)                                                               \
	X(bpf_program__set_expected_attach_type)                                                   \
	X(ring_buffer__new)                                                                        \
	X(ring_buffer__consume)                                                                    \
	X(ring_buffer__epoll_fd)                                                                   \
	X(ring_buffer__free)

struct bpf_library {
	BPF_FUNCTIONS(LIBRARY_MEMBER)
};

/* Loads it, and has it print nothing. ERROR_ENVIRONMENT: it is not there. */
struct error *bpf_library_load(struct bpf_library *ret) must_check_;

#endif
