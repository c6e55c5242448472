/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/error.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "lib/tap.h"

CASE(error_text, "errors carry their code and text")
{
	_cleanup_error_ struct error *error = error_create(ERROR_INPUT, "chunk %d is damaged", 17);
	CHECK_U64(error->code, ERROR_INPUT);
	CHECK_STR(error->message, "chunk 17 is damaged");
	error = error_prefix(error, "%s", "a.hpw");
	CHECK_STR(error->message, "a.hpw: chunk 17 is damaged");
}

CASE(error_of_errno, "an errno value is told in words")
{
	_cleanup_error_ struct error *error =
		error_errno(ERROR_ENVIRONMENT, ENOSPC, "write %s", "x");
	CHECK_STR(error->message, "write x: No space left on device");
}

CASE(error_no_memory, "the out-of-memory error is static and survives every use")
{
	struct error *error = error_no_memory();
	CHECK_U64(error->code, ERROR_ENVIRONMENT);
	CHECK(error_prefix(error, "more") == error);
	error_destroy(error);
	CHECK_STR(error_no_memory()->message, "out of memory");
	CHECK(!error_prefix(NULL, "nothing"));
	error_destroy(NULL);
}

CASE(cleanup_and_steal, "a stolen pointer is not freed by its scope")
{
	char *stolen;
	{
		_cleanup_free_ char *owned = strdup("kept");
		stolen = steal_ptr(owned);
		CHECK(!owned);
	}
	CHECK_STR(stolen, "kept");
	free(stolen);
	int fds[2];
	CHECK(pipe(fds) == 0);
	{
		_cleanup_close_ int closed = fds[1];
		_cleanup_close_ int none = -1;
		CHECK(closed >= 0 && none < 0);
	}
	char byte;
	CHECK_U64(read(fds[0], &byte, 1), 0);
	close(fds[0]);
}

CASE(small_helpers, "min and max nest and evaluate once; alignment is to powers of two")
{
	int calls = 0;
	CHECK_U64(min(++calls, 5), 1);
	CHECK_U64(calls, 1);
	CHECK_U64(max(min(3u, 9u), min(7u, 4u)), 4);
	CHECK_U64(align_up(17, 16), 32);
	CHECK_U64(align_up(32, 16), 32);
	CHECK_U64(align_up(0, 16), 0);
	CHECK(is_pow2(1) && is_pow2(1ull << 63) && !is_pow2(0) && !is_pow2(12));
}

TAP_MAIN
