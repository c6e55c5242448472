/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/older.h"

#include <string.h>
#include <sys/mman.h>

#define PAGE 4096u
#define BLOCKS_BYTES (OLDER_BLOCKS_MAX * sizeof(struct older_block))
#define ALL_BYTES (PAGE + BLOCKS_BYTES + OLDER_NAMES_BYTES)

bool older_list_open(struct older_list *ret)
{
	*ret = (struct older_list){.head = NULL};
	char *at = mmap(NULL, ALL_BYTES, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return false;
	ret->head = (struct older_head *)at;
	ret->blocks = (struct older_block *)(at + PAGE);
	ret->names = at + PAGE + BLOCKS_BYTES;
	return true;
}

void older_list_close(struct older_list *list)
{
	if (list->head)
		munmap(list->head, ALL_BYTES);
	list->head = NULL;
}

static void set_state(struct older_list *list, enum older_state state)
{
	__atomic_store_n(&list->head->state, (uint32_t)state, __ATOMIC_RELEASE);
}

void older_list_set_blocks(struct older_list *list, uint64_t count)
{
	list->head->blocks = count;
	set_state(list, OLDER_BLOCKS);
}

uint32_t older_list_add_name(struct older_list *list, const char *name)
{
	struct older_head *head = list->head;
	size_t bytes = strlen(name) + 1;
	if (head->types == OLDER_TYPES_MAX || bytes > OLDER_NAMES_BYTES - head->name_bytes)
		return 0;
	memcpy(list->names + head->name_bytes, name, bytes);
	head->name_bytes += bytes;
	return ++head->types;
}

void older_list_set_types(struct older_list *list)
{
	set_state(list, OLDER_TYPES);
}

void older_list_give_up(struct older_list *list, enum hpw_older why)
{
	if (!list->head || older_list_state(list) != OLDER_MAKING)
		return;
	list->head->why = why;
	set_state(list, OLDER_NONE);
}
