/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of builds without `watch` (watch_absent.c): nothing is recorded so. */
#include <stddef.h>

#include "capture/watch_recording.h"

struct error *watch_recording_open(
	const struct watch_recording_options *options, struct watch_recording **ret)
{
	(void)options;
	(void)ret;
	return watch_open(NULL, NULL);
}

void watch_recording_close(struct watch_recording *recording)
{
	(void)recording;
}

/* Nobody has a recording to call these with. */
struct watch *watch_recording_watch(struct watch_recording *recording)
{
	(void)recording;
	return NULL;
}

const char *watch_recording_file(const struct watch_recording *recording)
{
	(void)recording;
	return "";
}

struct error *watch_recording_step(
	struct watch_recording *recording, uint64_t *ret_wait_ns, bool *ret_ended)
{
	(void)recording;
	*ret_wait_ns = 0;
	*ret_ended = true;
	return NULL;
}

struct error *watch_recording_finish(struct watch_recording *recording, struct launch_result *ret)
{
	(void)recording;
	*ret = (struct launch_result){.file = NULL};
	return watch_open(NULL, NULL);
}
