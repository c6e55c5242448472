/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of types as people and compilers write them. */
#include "base/cleanup.h"
#include "lib/tap.h"
#include "symbols/types_spelling.h"

static const struct {
	const char *name, *spelling;
} spellings[] = {
	{"node", "node"},
	{"struct node", "node"},
	{"structure", "structure"},
	{"std::vector<int, std::allocator<int> >", "std::vector<int>"},
	{"std::vector<int>", "std::vector<int>"},
	{"std::vector< std::vector<int,std::allocator<int>>,std::allocator<std::vector<int>> >",
		"std::vector<std::vector<int>>"},
	{"std::map<int, long int, std::less<int>, std::allocator<std::pair<int const, long int> > "
	 ">",
		"std::map<int,long>"},
	{"std::map<int, long, std::greater<int> >", "std::map<int,long,std::greater<int>>"},
	{"std::pair<int const, unsigned long>", "std::pair<const int,unsigned long>"},
	{"std::pair<const int, long unsigned int>", "std::pair<const int,unsigned long>"},
	{"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
		"std::string"},
	{"std::__cxx11::basic_string<wchar_t, std::char_traits<wchar_t>, std::allocator<wchar_t> >",
		"std::basic_string<wchar_t>"},
	{"std::basic_string_view<char, std::char_traits<char> >", "std::string_view"},
	{"std::__1::basic_ostream<char, std::__1::char_traits<char> >", "std::ostream"},
	{"std::chrono::_V2::system_clock", "std::chrono::system_clock"},
	{"std::basic_stringlike<char>", "std::basic_stringlike<char>"},
	{"std::allocator<char>", "std::allocator<char>"},
	{"std::array<short int, 5ul>", "std::array<short,5>"},
	{"std::function<void (char const*, unsigned int)>",
		"std::function<void(const char*,unsigned)>"},
	{"(anonymous namespace)::Shape", "(anonymous namespace)::Shape"},
	{"a<char *, char const * const>", "a<char*,const char*const>"},
	{"x<long double, signed char>", "x<long double,signed char>"},
	{"vector<", "vector<>"},
	{"a>>b,)", "a>>b,)"},
	{"<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<", NULL},
	{"", ""},
};

CASE(spellings, "all ways to write a name have one spelling")
{
	for (size_t i = 0; i < sizeof(spellings) / sizeof(*spellings); i++) {
		_cleanup_(text_deinit) struct text text;
		text_init(&text);
		types_spell(spellings[i].name, &text);
		CHECK(!text.failed);
		if (spellings[i].spelling)
			CHECK_STR(text.data ? text.data : "", spellings[i].spelling);
	}
}

CASE(comparing, "names are compared by it, with namespaces and without")
{
	CHECK(types_compare("geo::Circle", "Circle") == TYPES_ENDS_SO);
	CHECK(types_compare("Circle", "Circle") == TYPES_SAME);
	CHECK(types_compare("geo::SemiCircle", "Circle") == TYPES_OTHER);
	CHECK(types_compare("std::vector<geo::Circle>", "Circle") == TYPES_OTHER);
	CHECK(types_compare("a::list<int, std::allocator<int> >", "list<int>") == TYPES_ENDS_SO);
	CHECK(types_compare("geo::Circle", "") == TYPES_OTHER);
}

TAP_MAIN
