/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program's own code in templates of std: a hash of its type keeps a block of 77 bytes each
 * time, a comparison one of 88, and a function that std::function calls one of 99. */
#include <cstdlib>
#include <functional>
#include <map>
#include <unordered_map>

struct User {
	int number;
	bool operator==(const User &other) const
	{
		return number == other.number;
	}
};

static void *volatile kept;

namespace std
{
template <> struct hash<User> {
	__attribute__((noinline)) size_t operator()(const User &user) const
	{
		kept = malloc(77);
		return size_t(user.number);
	}
};
template <> struct less<User> {
	__attribute__((noinline)) bool operator()(const User &a, const User &b) const
	{
		kept = malloc(88);
		return a.number < b.number;
	}
};
} // namespace std

int main()
{
	std::unordered_map<User, int> users;
	std::map<User, int> sorted;
	std::function<void(int)> each = [](int) { kept = malloc(99); };
	for (int i = 0; i < 10; i++) {
		users[User{i}] = i;
		sorted[User{i}] = i;
		each(i);
	}
	return 0;
}
