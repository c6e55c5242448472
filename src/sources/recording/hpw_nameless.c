/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who a process was, without what it is called. */
#include "base/cleanup.h"
#include "base/util.h"
#include "format/hpw.h"
#include "sources/recording/hpw_small.h"
#include "sources/recording/hpw_target.h"

static bool names_nothing(uint64_t key)
{
	static const enum hpw_target_key kept[] = {HPW_TARGET_PID, HPW_TARGET_PPID,
		HPW_TARGET_TSC_START, HPW_TARGET_TSC_HZ, HPW_TARGET_MODE, HPW_TARGET_SAMPLE_BYTES,
		HPW_TARGET_FORKED, HPW_TARGET_OUTER_PID, HPW_TARGET_OUTER_PPID,
		HPW_TARGET_INSTRUCTIONS, HPW_TARGET_MAPPINGS, HPW_TARGET_MODE_CHANGES,
		HPW_TARGET_ATTACHED_NS, HPW_TARGET_WATCHED};
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (kept[i] == key)
			return true;
	return false;
}

struct error *hpw_target_nameless(struct cursor *from, struct buf *to)
{
	while (cursor_left(from)) {
		struct hpw_target_pair pair;
		struct error *error = hpw_target_next(from, &pair);
		if (error)
			return error;
		if (!names_nothing(pair.key))
			continue;
		buf_varint(to, pair.key);
		buf_varint(to, pair.len);
		buf_bytes(to, pair.bytes, pair.len);
	}
	return to->failed ? error_no_memory() : NULL;
}

static struct error *copy_row(struct cursor *from, struct buf *to)
{
	_cleanup_(buf_deinit) struct buf kept;
	struct hpw_payload target, summary;
	buf_init(&kept);
	struct error *error = hpw_small_next(from, &target);
	if (!error)
		error = hpw_small_next(from, &summary);
	if (error)
		return error;
	struct cursor pairs = hpw_payload_cursor(&target);
	error = hpw_target_nameless(&pairs, &kept);
	if (error)
		return error;
	buf_varint(to, kept.len);
	buf_bytes(to, kept.data, kept.len);
	buf_varint(to, summary.len);
	buf_bytes(to, summary.data, summary.len);
	return to->failed ? error_no_memory() : NULL;
}

struct error *hpw_small_nameless(struct cursor *from, struct buf *to)
{
	struct error *error = NULL;
	while (!error && cursor_left(from))
		error = copy_row(from, to);
	return error;
}
