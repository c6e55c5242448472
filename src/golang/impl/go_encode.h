/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Buckets as a profile.proto (github.com/google/pprof, proto/profile.proto), as runtime/pprof
 * writes them: see go_profile_encode(). */
#ifndef GO_ENCODE_H
#define GO_ENCODE_H

#include "golang/go_profile.h"
#include "golang/impl/go_buckets.h"
#include "golang/impl/go_functions.h"

/* The program's file and where its code is. */
struct go_mapping {
	const char *path;
	uint64_t start, end, offset;
};

struct error *go_encode(const struct go_buckets *buckets, const struct go_functions *functions,
	const struct go_mapping *mapping, uint64_t rate, const struct go_encoding *encoding,
	struct buf *out) must_check_;

#endif
