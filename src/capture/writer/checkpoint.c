/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/writer/checkpoint.h"

#include "base/checksum.h"

#include <endian.h>
#include <string.h>

#define PLACE_BYTES_MIN 4096u
/* Writing one is followed by this many times as long a pause. */
#define PAUSE_FACTOR 50

void checkpoints_init(struct checkpoints *checkpoints, uint64_t now_ns)
{
	memset(checkpoints, 0, sizeof(*checkpoints));
	checkpoints->due_ns = now_ns + CHECKPOINT_FIRST_NS;
	buf_init(&checkpoints->content);
}

void checkpoints_deinit(struct checkpoints *checkpoints)
{
	buf_deinit(&checkpoints->content);
}

bool checkpoints_due(const struct checkpoints *checkpoints, uint64_t now_ns, uint64_t steps)
{
	return !checkpoints->given_up && now_ns >= checkpoints->due_ns &&
	       steps != checkpoints->steps;
}

struct buf *checkpoints_begin(struct checkpoints *checkpoints, uint64_t now_ns)
{
	static const struct hpw_checkpoint_head empty;
	checkpoints->began_ns = now_ns;
	buf_clear(&checkpoints->content);
	buf_bytes(&checkpoints->content, &empty, sizeof(empty));
	return &checkpoints->content;
}

/* Says before the state how long it is, and sums it up. */
static void checkpoint_put_head(struct buf *content, uint64_t number)
{
	struct hpw_checkpoint_head head = {
		.number = htole64(number), .bytes = htole64(content->len - sizeof(head))};
	memcpy(content->data, &head, sizeof(head));
	size_t from = offsetof(struct hpw_checkpoint_head, number);
	head.checksum = htole64(checksum64(content->data + from, content->len - from));
	memcpy(content->data, &head.checksum, sizeof(head.checksum));
}

/* One that has room and does not hold the latest state; NULL: there is none. */
static struct checkpoint_place *find_place(struct checkpoints *c, size_t bytes)
{
	for (size_t i = 0; i < c->count; i++) {
		if (c->places[i].bytes >= bytes && c->places[i].number != c->number)
			return &c->places[i];
	}
	return NULL;
}

/* *ret: NULL if there are too many, or the file has failed. */
static struct error *make_place(
	struct checkpoints *c, struct writer *writer, size_t bytes, struct checkpoint_place **ret)
{
	*ret = NULL;
	if (c->count == CHECKPOINT_PLACES)
		return NULL;
	struct checkpoint_place *place = &c->places[c->count];
	size_t room = bytes + bytes / 2 < PLACE_BYTES_MIN ? PLACE_BYTES_MIN : bytes + bytes / 2;
	*place = (struct checkpoint_place){.bytes = (uint32_t)room};
	struct error *error = writer_place(writer, HPW_CHECKPOINT, place->bytes, &place->at);
	if (!error && place->at)
		*ret = &c->places[c->count++];
	return error;
}

static struct error *write_state(struct checkpoints *c, struct writer *writer)
{
	const struct buf *content = &c->content;
	c->given_up = true; /* unless it turns out well */
	if (content->failed || content->len > HPW_CHECKPOINT_MAX || writer->stopped)
		return NULL;
	struct checkpoint_place *place = find_place(c, content->len);
	struct error *error = place ? NULL : make_place(c, writer, content->len, &place);
	if (!place)
		return error;
	checkpoint_put_head(&c->content, c->number + 1);
	place->number = 0;
	if (writer_put(writer, place->at, content->data, content->len))
		return NULL;
	place->number = ++c->number;
	c->given_up = false;
	return NULL;
}

struct error *checkpoints_end(
	struct checkpoints *checkpoints, struct writer *writer, uint64_t steps, uint64_t now_ns)
{
	struct checkpoints *c = checkpoints;
	struct error *error = write_state(c, writer);
	c->steps = steps;
	uint64_t pause = (now_ns - c->began_ns) * PAUSE_FACTOR,
		 bytes = c->content.len * (1000000000ull / CHECKPOINT_BYTES_A_SECOND);
	pause = pause < bytes ? bytes : pause;
	c->due_ns = now_ns + (pause < CHECKPOINT_NS ? CHECKPOINT_NS : pause);
	return error;
}

void checkpoints_finish(const struct checkpoints *checkpoints, struct writer *writer)
{
	for (size_t i = 0; i < checkpoints->count; i++)
		writer_give_back(writer, checkpoints->places[i].at, checkpoints->places[i].bytes);
}
