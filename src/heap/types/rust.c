/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/types/rust.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "heap/contents.h"

static const char *const cells[] = {"std::sync::once_lock::OnceLock<",
	"std::sync::lazy_lock::LazyLock<",
	"std::sys::thread_local::", "std::sys::common::thread_local::", "std::lazy::SyncOnceCell<"};
static const char *const counted[] = {
	"alloc::rc::RcInner<", "alloc::rc::RcBox<", "alloc::sync::ArcInner<"};
static const char leaf[] = "alloc::collections::btree::node::LeafNode<";
static const char internal[] = "alloc::collections::btree::node::InternalNode<";

static bool rust_begins(const char *name, const char *with)
{
	return name && !strncmp(name, with, strlen(with));
}

static bool is_named(const struct type *type, const char *with)
{
	return type->is_rust && rust_begins(type->name, with);
}

bool rust_is_leaf(const struct type *type)
{
	return is_named(type, leaf);
}

bool rust_is_internal(const struct type *type)
{
	return is_named(type, internal);
}

bool rust_is_unset(const struct type *type)
{
	return is_named(type, "core::mem::maybe_uninit::MaybeUninit<");
}

bool rust_is_cell(const struct type *type)
{
	bool is = false;
	for (size_t i = 0; i < ARRAY_SIZE(cells) && !is; i++)
		is = is_named(type, cells[i]);
	return is;
}

bool rust_is_counted(const struct type *type)
{
	bool is = false;
	for (size_t i = 0; i < ARRAY_SIZE(counted) && !is; i++)
		is = is_named(type, counted[i]);
	return is;
}

static uint32_t find_composed(struct types *types, const char *begin, const char *rest)
{
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	text_add(&name, begin);
	text_add(&name, rest);
	return name.failed ? TYPE_VOID : types_plain(types, types_find(types, name.data));
}

uint32_t rust_internal_of_leaf(struct types *types, const struct type *type)
{
	return find_composed(types, internal, type->name + strlen(leaf));
}

uint32_t rust_counted_of(struct types *types, const struct type *type, uint32_t implementor)
{
	const char *own = types_get(types, implementor)->name;
	_cleanup_(text_deinit) struct text begin;
	text_init(&begin);
	for (size_t i = 0; own && i < ARRAY_SIZE(counted); i++) {
		if (is_named(type, counted[i])) {
			text_printf(&begin, "%s%s", counted[i], own);
			return begin.failed ? TYPE_VOID : find_composed(types, begin.data, ">");
		}
	}
	return TYPE_VOID;
}

/* Where a word of that name is, wherever in an object. */
static bool find_word(struct types *types, uint32_t plain, const char *name, uint32_t *ret)
{
	uint64_t offset;
	uint32_t type;
	if (!contents_member(types, plain, name, &offset, &type) || offset % 8 ||
		offset > INT32_MAX || types_get(types, types_plain(types, type))->size != 8)
		return false;
	*ret = (uint32_t)offset;
	return true;
}

static bool find_element(struct types *types, uint32_t plain, uint32_t *ret)
{
	uint32_t argument;
	if (!types_argument(types, plain, 0, &argument))
		return false;
	*ret = types_plain(types, argument);
	return types_get(types, *ret)->size != 0;
}

static bool find_buffer(struct types *types, uint32_t plain, struct rust_container *ret)
{
	return find_word(types, plain, "pointer", &ret->pointer) &&
	       find_word(types, plain, "cap", &ret->room) &&
	       find_word(types, plain, "len", &ret->count);
}

static bool find_vec(struct types *types, uint32_t plain, struct rust_container *ret)
{
	ret->form = RUST_BUFFER;
	return find_element(types, plain, &ret->element) && find_buffer(types, plain, ret);
}

static bool find_string(struct types *types, uint32_t plain, struct rust_container *ret)
{
	uint64_t offset;
	uint32_t vec;
	ret->form = RUST_TEXT;
	return contents_member(types, plain, "vec", &offset, &vec) &&
	       find_element(types, types_plain(types, vec), &ret->element) &&
	       types_get(types, ret->element)->size == 1 && find_buffer(types, plain, ret);
}

static bool find_ring(struct types *types, uint32_t plain, struct rust_container *ret)
{
	ret->form = RUST_RING;
	if (!find_element(types, plain, &ret->element) ||
		!find_word(types, plain, "pointer", &ret->pointer) ||
		!find_word(types, plain, "cap", &ret->room))
		return false;
	ret->ends = find_word(types, plain, "tail", &ret->begin);
	return find_word(types, plain, "head", ret->ends ? &ret->count : &ret->begin) &&
	       (ret->ends || find_word(types, plain, "len", &ret->count));
}

static bool find_table(struct types *types, uint32_t plain, struct rust_container *ret)
{
	ret->form = RUST_TABLE;
	return find_element(types, plain, &ret->element) &&
	       find_word(types, plain, "pointer", &ret->pointer) &&
	       find_word(types, plain, "bucket_mask", &ret->room) &&
	       find_word(types, plain, "items", &ret->count);
}

static const struct {
	const char *name; /* with its arguments after it, or whole */
	bool (*find)(struct types *types, uint32_t plain, struct rust_container *ret);
} containers[] = {
	{"alloc::vec::Vec<", find_vec},
	{"alloc::string::String", find_string},
	{"alloc::collections::vec_deque::VecDeque<", find_ring},
	{"hashbrown::raw::RawTable<", find_table},
};

static bool rust_owns(const char *name)
{
	return rust_begins(name, "alloc::boxed::Box<");
}

/* "&str", "alloc::boxed::Box<str, …>", and not "&[(&str, u32)]". */
static bool rust_is_text(const char *name)
{
	static const char *const beginnings[] = {"&mut ", "&", "*const ", "*mut "};
	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++) {
		size_t len = strlen(beginnings[i]);
		if (!strncmp(name, beginnings[i], len))
			return !strcmp(name + len, "str");
	}
	const char *open = strchr(name, '<');
	return open && !strncmp(open + 1, "str", 3) && (open[4] == ',' || open[4] == '>');
}

/* Pointers of two words. */
static bool find_wide(
	struct types *types, uint32_t plain, const struct type *type, struct rust_container *ret)
{
	const struct type_member *first = NULL, *second = NULL;
	for (uint32_t i = 0; i < type->member_count; i++) {
		const struct type_member *member = &type->members[i];
		const char *name = member->name ? member->name : "";
		if (!strcmp(name, "data_ptr") || !strcmp(name, "pointer"))
			first = member;
		else if (!strcmp(name, "length") || !strcmp(name, "vtable"))
			second = member;
	}
	if (type->size != 16 || !first || !second)
		return false;
	bool is_trait = !strcmp(second->name, "vtable");
	uint32_t pointer = types_plain(types, first->type), at[2] = {0, 0};
	if (is_trait != !strcmp(first->name, "pointer") ||
		types_get(types, pointer)->kind != TYPE_POINTER || first->bits % 64 ||
		second->bits % 64 || first->bits > 64 || second->bits > 64)
		return false;
	at[0] = (uint32_t)(first->bits / 8);
	at[1] = (uint32_t)(second->bits / 8);
	const char *name = types_get(types, plain)->name;
	ret->element = types_plain(types, types_target(types, pointer));
	bool is_str = name && rust_is_text(name) && types_get(types, ret->element)->size == 1;
	ret->form = is_trait ? RUST_TRAIT : is_str ? RUST_STR : RUST_SLICE;
	ret->pointer = at[0];
	*(is_trait ? &ret->room : &ret->count) = at[1];
	ret->is_held = name && rust_owns(name);
	return true;
}

bool rust_container_find(struct types *types, uint32_t plain, struct rust_container *ret)
{
	const struct type type = *types_get(types, plain);
	if (!type.is_rust || type.kind != TYPE_STRUCT || type.is_declared || !type.name)
		return false;
	*ret = (struct rust_container){.pointer = RUST_NOWHERE,
		.count = RUST_NOWHERE,
		.room = RUST_NOWHERE,
		.begin = RUST_NOWHERE};
	for (size_t i = 0; i < ARRAY_SIZE(containers); i++) {
		const char *name = containers[i].name;
		bool is_template = strchr(name, '<') != NULL;
		if (is_template ? rust_begins(type.name, name) : !strcmp(type.name, name))
			return containers[i].find(types, plain, ret);
	}
	return find_wide(types, plain, &type, ret);
}
