// SPDX-License-Identifier: GPL-2.0-or-later
// Strings that are laid out as libc++ has them, in both orders that it may be built with: what
// stands beside a long one makes it look like one of libstdc++'s. The addresses of all texts.
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace std
{
inline namespace __1
{
template <class Char> struct char_traits;
template <class Char> struct allocator;
template <class Char, class Traits, class Allocator> struct basic_string {
	static const unsigned long least = 22;
#ifdef TURNED
	struct __long {
		Char *__data_;
		unsigned long __size_, __cap_;
	};
	struct __short {
		Char __data_[23];
		unsigned char __size_;
	};
	static const unsigned long is_long = 1ul << 63;
	static const unsigned times = 1;
#else
	struct __long {
		unsigned long __cap_, __size_;
		Char *__data_;
	};
	struct __short {
		unsigned char __size_;
		Char __data_[23];
	};
	static const unsigned long is_long = 1;
	static const unsigned times = 2;
#endif
	union __rep {
		__long __l;
		__short __s;
	} __r_;

	void set(const char *text)
	{
		size_t len = strlen(text), room = (len + 16) & ~15ul;
		if (len <= least) {
			__r_.__s.__size_ = static_cast<unsigned char>(len * times);
			memcpy(__r_.__s.__data_, text, len + 1);
			return;
		}
		__r_.__l.__data_ = new char[room];
		__r_.__l.__size_ = len;
		__r_.__l.__cap_ = room | is_long;
		memcpy(__r_.__l.__data_, text, len + 1);
		printf("%p\n", static_cast<void *>(__r_.__l.__data_));
	}
};
using string = basic_string<char, char_traits<char>, allocator<char>>;
} // namespace __1
} // namespace std

struct Row {
	long number;
	std::string name;
};

struct Table {
	std::string brief, longest, none;
	Row rows[5];
};

static Table *table;

int main()
{
	table = new Table{};
	table->brief.set("twenty-two characters.");
	table->longest.set("a text that is too long for the string itself");
	for (int i = 0; i < 5; i++) {
		char text[64];
		snprintf(text, sizeof(text), "a text of a row that is too long for it, number %d",
			i);
		table->rows[i].number = i;
		table->rows[i].name.set(text);
	}
	printf("ready\n");
	fflush(stdout);
	pause();
}
