/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The standard containers with the standard allocator, each filled by a function of its own: blocks
 * and bytes follow from what they hold, through libstdc++'s own frames.
 */
#include "truth.h"
#include <list>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

struct through {
	uint64_t allocations, bytes;
};

static void tell(const char *function, through all, uint64_t live_blocks, uint64_t live_bytes)
{
	truth_say("# expect: through=%s allocations=%lu allocated_bytes=%lu live_blocks=%lu "
		  "live_bytes=%lu",
		function, (unsigned long)all.allocations, (unsigned long)all.bytes,
		(unsigned long)live_blocks, (unsigned long)live_bytes);
}

extern "C" {
TRUTH_FRAME void fill_list(std::list<int> &list, int count)
{
	for (int i = 0; i < count; i++)
		list.push_back(i);
}

TRUTH_FRAME void fill_map(std::map<int, long> &map, int count)
{
	for (int i = 0; i < count; i++)
		map[i * 7919 % count] += i;
}

TRUTH_FRAME void fill_set(std::set<short> &set, int count)
{
	for (int i = 0; i < count; i++)
		set.insert(static_cast<short>(i / 2));
}

/* Adds up the capacities that the vector goes through. */
TRUTH_FRAME through fill_vector(std::vector<double> &vector, int count)
{
	through all = {0, 0};
	for (int i = 0; i < count; i++) {
		size_t before = vector.capacity();
		vector.push_back(i);
		if (vector.capacity() != before) {
			all.allocations++;
			all.bytes += vector.capacity() * sizeof(double);
		}
	}
	return all;
}

TRUTH_FRAME through fill_string(std::string &string, int count)
{
	through all = {0, 0};
	for (int i = 0; i < count; i++) {
		size_t before = string.capacity();
		string += static_cast<char>('a' + i % 26);
		if (string.capacity() != before) {
			all.allocations++;
			all.bytes += string.capacity() + 1;
		}
	}
	return all;
}

TRUTH_FRAME through fill_hash(std::unordered_map<long, long> &hash, int count)
{
	using node = std::__detail::_Hash_node<std::pair<const long, long>, false>;
	through all = {0, 0};
	for (int i = 0; i < count; i++) {
		size_t before = hash.bucket_count();
		hash[i] = i;
		all.allocations++;
		all.bytes += sizeof(node);
		if (hash.bucket_count() != before) {
			all.allocations++;
			all.bytes += hash.bucket_count() * sizeof(void *);
		}
	}
	return all;
}
}

int main()
{
	using list_node = std::_List_node<int>;
	using map_node = std::_Rb_tree_node<std::pair<const int, long>>;
	using set_node = std::_Rb_tree_node<short>;
	static std::list<int> list;
	static std::map<int, long> map;
	static std::set<short> set;
	static std::vector<double> vector;
	static std::string string;
	static std::unordered_map<long, long> hash;

	fill_list(list, 5003);
	fill_map(map, 3001);
	fill_set(set, 4001);
	through in_vector = fill_vector(vector, 10007);
	through in_string = fill_string(string, 10009);
	through in_hash = fill_hash(hash, 2003);
	for (int i = 0; i < 1000; i++)
		list.pop_front();
	map.erase(map.begin(), map.find(1500));

	/* The end is before the destructors of these statics. */
	tell("fill_list", {5003, 5003 * sizeof(list_node)}, list.size(),
		list.size() * sizeof(list_node));
	tell("fill_map", {3001, 3001 * sizeof(map_node)}, map.size(),
		map.size() * sizeof(map_node));
	tell("fill_set", {set.size(), set.size() * sizeof(set_node)}, set.size(),
		set.size() * sizeof(set_node));
	tell("fill_vector", in_vector, 1, vector.capacity() * sizeof(double));
	tell("fill_string", in_string, 1, string.capacity() + 1);
	tell("fill_hash", in_hash, 1 + hash.size(),
		hash.size() * sizeof(std::__detail::_Hash_node<std::pair<const long, long>,
				      false>) +
			hash.bucket_count() * sizeof(void *));
	truth_end(TRUTH_PLAIN);
	_exit(0);
}
