/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Strings of libstdc++ before C++11 (built with _GLIBCXX_USE_CXX11_ABI=0), of characters of one,
 * two and four bytes: shared ones, long ones, one with room behind its text, one that may be
 * written to. Beside them blocks that look much like such and are none: "plain".
 */
#include <string>

#include "account.h"

ACCOUNT_DEFINE;

struct Held {
	std::string shared, again, written, roomy, large;
	std::wstring wide, single;
	std::u16string of_16;
	std::u32string of_32;
	char *plain[4];
};
extern Held *held;
Held *held;
extern std::string global;
std::string global;
extern std::wstring wide_global;
std::wstring wide_global;

template <class Of> static void note(const Of &of, const char *name)
{
	using Character = typename Of::value_type;
	account(reinterpret_cast<const char *>(of.data()) - 24,
		24 + (of.capacity() + 1) * sizeof(Character), 'r', name);
}

/* Three words, then bytes: the pointer leads to these. */
static char *plain(std::size_t length, std::size_t capacity, std::size_t owners, const char *bytes)
{
	std::size_t words[3] = {length, capacity, owners};
	char *block = static_cast<char *>(calloc(1, 24 + capacity + 1));
	memcpy(block, words, sizeof(words));
	memcpy(block + 24, bytes, strlen(bytes));
	account(block, 24 + capacity + 1, 'r', "plain");
	return block + 24;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, nullptr, _IONBF, 0);
	account_open(argc, argv);
	held = static_cast<Held *>(calloc(1, sizeof(Held)));
	new (held) Held();
	held->shared = "shared by two";
	held->again = held->shared;
	held->written = "written to";
	held->written[0] = 'W';
	held->roomy.reserve(500);
	held->roomy = "room behind it";
	held->large = std::string(10000, 'l');
	held->wide = L"wide \u20ac";
	held->of_16 = u"16 bits each \U0001f600";
	held->of_32 = U"32 \U0001f600";
	held->single = L"1";
	global = "held by a global";
	wide_global = L"held by a wide global";
	note(held->shared, "std::string");
	note(held->written, "std::string");
	note(held->roomy, "std::string");
	note(held->large, "std::string");
	note(global, "std::string");
	note(held->wide, "wide");
	note(wide_global, "wide");
	note(held->of_32, "wide");
	note(held->of_16, "16");
	note(held->single, "one wide character");
	held->plain[0] = plain(50, 40, 0, "longer than its room");
	held->plain[1] = plain(10, 40, 0, "ends later than it says");
	held->plain[2] = plain(10, 100, 0x7fffffff, "0123456789");
	held->plain[3] = plain(10, 60, 0, "\1\2\3\4\5\6\7\1\2\3");
	account_end();
	return 0;
}
