/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which process stands still by itself, and whether it did so all along. */
#include <unistd.h>

#include "capture/collector/lineage.h"
#include "capture/leaks/paused_target.h"
#include "lib/tap.h"

CASE(one_wait, "a process that went on in between has not waited all along, though it waits again")
{
	struct hw_shm shm = {.leaving = HW_LEAVING_HELD, .leaving_quiet = 3};
	struct paused_target target = {.pid = getpid(), .is_waiting = true, .quiet = 3};
	CHECK(paused_target_still_waits(&target, &shm));
	shm.leaving_quiet = 4; /* nobody had answered in time */
	CHECK(!paused_target_still_waits(&target, &shm));
	shm.leaving_quiet = 5; /* its last exit handler, while the state is as it was */
	CHECK(!paused_target_still_waits(&target, &shm));
	shm.leaving_quiet = 3, shm.leaving = HW_LEAVING_NOT;
	CHECK(!paused_target_still_waits(&target, &shm));
}

CASE(not_quiet, "a process that has given up, or was never quiet, is not looked at as it is")
{
	static const uint32_t runs[] = {0, 2, 4};
	for (unsigned i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		struct hw_shm shm = {.leaving = HW_LEAVING_HELD, .leaving_quiet = runs[i]};
		struct paused_target target;
		CHECK(!pause_waiting_target(getpid(), &shm, &target));
	}
}

CASE(lineage, "as many images as LINEAGE_MAX are known, the newest, each by its number")
{
	struct lineage lineage = {.images = NULL};
	for (uint32_t i = 1; i <= LINEAGE_MAX + 5; i++)
		CHECK_U64(lineage_add(&lineage, (pid_t)i, (pid_t)i, i, "x.hpw"), i);
	CHECK(!lineage_at(&lineage, 5));
	for (uint64_t i = 6; i <= LINEAGE_MAX + 5; i += 4093) {
		struct lineage_image *image = lineage_at(&lineage, i);
		CHECK(image && image->pid == (pid_t)i && lineage_number(&lineage, image) == i);
		CHECK(lineage_find(&lineage, (pid_t)i, (pid_t)i, i) == image);
	}
	lineage_deinit(&lineage);
}

TAP_MAIN
