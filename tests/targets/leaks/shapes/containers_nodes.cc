// SPDX-License-Identifier: GPL-2.0-or-later
/* Containers of nodes: map, set, list, deque, unordered_map. Nodes hold each other, and the
 * container's own head, in both directions, always by their starts. All of a lost container is
 * indirect behind its object; all of a held one is reachable. */
#include "leaks.h"
#include <deque>
#include <list>
#include <map>
#include <new>
#include <set>
#include <unordered_map>

enum { ELEMENTS = 300 };

/* An allocator that has its blocks counted by role. Tag: a class with the roles' static functions.
 */
template <class T, class Tag> struct counted {
	using value_type = T;
	template <class U> struct rebind {
		using other = counted<U, Tag>;
	};
	counted() = default;
	template <class U> counted(const counted<U, Tag> &)
	{
	}
	T *allocate(size_t n)
	{
		return (T *)Tag::allocate(n * sizeof(T));
	}
	void deallocate(T *block, size_t n)
	{
		Tag::free(block, n * sizeof(T));
	}
	template <class U> bool operator==(const counted<U, Tag> &) const
	{
		return true;
	}
	template <class U> bool operator!=(const counted<U, Tag> &) const
	{
		return false;
	}
};

#define TAG(name)                                                                                  \
	LEAK_ROLE_AS(name##_object, (size_t bytes), bytes, operator new(bytes))                    \
	LEAK_ROLE_AS(name##_nodes, (size_t bytes), bytes, operator new(bytes))                     \
	struct name##_tag {                                                                        \
		static void *allocate(size_t bytes)                                                \
		{                                                                                  \
			return name##_nodes(bytes);                                                \
		}                                                                                  \
		static void free(void *block, size_t bytes)                                        \
		{                                                                                  \
			leak_died(&leak_of_##name##_nodes, bytes);                                 \
			operator delete(block);                                                    \
		}                                                                                  \
	};
#define TAGS(name) TAG(lost_##name) TAG(kept_##name)

TAGS(map)
TAGS(set)
TAGS(list)
TAGS(deque)
TAGS(unordered)

using entry = std::pair<const long, long>;
template <class Tag> using map = std::map<long, long, std::less<long>, counted<entry, Tag>>;
template <class Tag> using set = std::multiset<short, std::less<short>, counted<short, Tag>>;
template <class Tag> using list = std::list<long, counted<long, Tag>>;
template <class Tag> using deque = std::deque<long, counted<long, Tag>>;
template <class Tag>
using unordered =
	std::unordered_map<long, long, std::hash<long>, std::equal_to<long>, counted<entry, Tag>>;

static void *volatile kept[5];

template <class Container> static void fill(Container *container)
{
	for (size_t i = 0; i < ELEMENTS; i++)
		container->insert(container->end(), typename Container::value_type());
}

template <class Map> static void fill_map(Map *container)
{
	for (long i = 0; i < ELEMENTS; i++)
		(*container)[i * 37 % 1009] = i;
}

#define MAKE(name, filler)                                                                         \
	TRUTH_FRAME static void *make_lost_##name()                                                \
	{                                                                                          \
		using type = name<lost_##name##_tag>;                                              \
		type *object = new (lost_##name##_object(sizeof(type))) type();                    \
		filler(object);                                                                    \
		return object;                                                                     \
	}                                                                                          \
	TRUTH_FRAME static void *make_kept_##name()                                                \
	{                                                                                          \
		using type = name<kept_##name##_tag>;                                              \
		type *object = new (kept_##name##_object(sizeof(type))) type();                    \
		filler(object);                                                                    \
		return object;                                                                     \
	}
MAKE(map, fill_map)
MAKE(set, fill)
MAKE(list, fill)
MAKE(deque, fill)
MAKE(unordered, fill_map)

TRUTH_FRAME static void story()
{
	make_lost_map();
	make_lost_set();
	make_lost_list();
	make_lost_deque();
	make_lost_unordered();
	kept[0] = make_kept_map();
	kept[1] = make_kept_set();
	kept[2] = make_kept_list();
	kept[3] = make_kept_deque();
	kept[4] = make_kept_unordered();
}

#define TELL(name)                                                                                 \
	LEAKS_HEAD(lost_##name##_object, lost_##name##_nodes);                                     \
	LEAKS_ARE(LEAK_REACHABLE, kept_##name##_object);                                           \
	LEAKS_ARE(LEAK_REACHABLE, kept_##name##_nodes)

int main()
{
	story();
	TELL(map);
	TELL(set);
	TELL(list);
	TELL(deque);
	TELL(unordered);
	leaks_end();
	return 0;
}
