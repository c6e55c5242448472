/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "base/text.h"
#include "lib/tap.h"
#include "symbols/name.h"
#include "symbols/strings.h"

struct row {
	const char *linkage_name, *expected;
};

static void check_rows(const struct row *rows, size_t count)
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	for (size_t i = 0; i < count; i++) {
		text_clear(&text);
		text_add(&text, "> ");
		name_add_demangled(&text, rows[i].linkage_name);
		CHECK_STR(text.data + 2, rows[i].expected);
	}
}

CASE(names_cxx, "C++ names lose parameters and return types")
{
	static const struct row rows[] = {
		{"_ZN2ns5ClassIiE6methodEv", "ns::Class<int>::method"},
		{"_ZNK2ns3fooEv", "ns::foo"},
		{"_Z3fooIiET_S0_", "foo<int>"},
		{"_ZNK1AcvbEv", "A::operator bool"},
		{"_ZN1AC1Ev", "A::A"},
		{"_ZN1AD0Ev", "A::~A"},
		{"_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f"},
		{"_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()"},
	};
	check_rows(rows, sizeof(rows) / sizeof(*rows));
}

CASE(names_rust, "Rust names lose their hash")
{
	static const struct row rows[] = {
		{"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"},
		{"_RNvC7mycrate3foo", "mycrate::foo"},
	};
	check_rows(rows, sizeof(rows) / sizeof(*rows));
}

CASE(names_whole, "whole names keep parameters and suffixes, and lose a symbol version alone")
{
	static const struct row rows[] = {
		{"_ZN2ns5ClassIiE6methodEv", "ns::Class<int>::method()"},
		{"_Z3fooIiET_S0_", "int foo<int>(int)"},
		{"_ZL5orderi", "order(int)"},
		{"_ZNSt6vectorIiSaIiEE9push_backEOi",
			"std::vector<int, std::allocator<int> >::push_back(int&&)"},
		{"_ZN1A1fEv.cold", "A::f() [clone .cold]"},
		{"_Znwm@@GLIBCXX_3.4", "operator new(unsigned long)"},
		{"_ZN5alloc3vec12Vec$LT$T$GT$4push17h0123456789abcdefE",
			"alloc::vec::Vec<T>::push"},
		{"_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3newCs15kBYyAo9fc_7mycrate",
			"<std::path::PathBuf>::new"},
		{"_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>"},
		{"foo.isra.0", "foo.isra.0"},
		{"memcpy@@GLIBC_2.14", "memcpy"},
	};
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		text_clear(&text);
		name_add_whole(&text, rows[i].linkage_name);
		CHECK_STR(text.data, rows[i].expected);
	}
}

CASE(names_suffixes, "suffixes of copies are cut, other dots and all else stay")
{
	static const struct row rows[] = {
		{"foo.isra.0", "foo"},
		{"foo.part.1.cold", "foo"},
		{"foo.constprop.0.isra.12", "foo"},
		{"foo.lto_priv.3", "foo"},
		{"_ZN1A1fEv.cold", "A::f"},
		{"foo.llvm.1234567", "foo"},
		{"foo.avx2", "foo.avx2"},
		{"foo.colder", "foo.colder"},
		{"foo.part.x", "foo.part.x"},
		{".cold", ".cold"},
		{"memcpy@@GLIBC_2.14", "memcpy"},
		{"printf", "printf"},
		{"_start", "_start"},
		{"_Zebra", "_Zebra"},
		{"", ""},
	};
	check_rows(rows, sizeof(rows) / sizeof(*rows));
}

CASE(names_bomb, "a name that stands for gigabytes is shown as it is")
{
	/* Each template argument list names the one before it twice. */
	_cleanup_(text_deinit) struct text bomb;
	text_init(&bomb);
	text_add(&bomb, "_Z1fI1aIiiE");
	for (int level = 0; level < 36; level++) {
		char back[8];
		snprintf(back, sizeof(back), "S%c_", level < 10 ? '0' + level : 'A' + level - 10);
		text_printf(&bomb, "S_I%s%sE", back, back);
	}
	text_add(&bomb, "Evv");
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	name_add_demangled(&text, bomb.data);
	CHECK_STR(text.data, bomb.data);
}

CASE(names_paths, "paths lose what can be told to be superfluous")
{
	struct strings strings;
	strings_init(&strings);
	static const struct row rows[] = {
		{"/a/b/../c.c", "/a/c.c"},
		{"/a/./b//c.c", "/a/b/c.c"},
		{"/../x.c", "/x.c"},
		{"./x.c", "x.c"},
		{"../x.c", "../x.c"},
		{"a/../../x.c", "../x.c"},
		{"../../x.c", "../../x.c"},
		{"/a/..", "/"},
		{"x.c", "x.c"},
		{"a..b/..c", "a..b/..c"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *path;
		CHECK_OK(strings_keep_path(&strings, rows[i].linkage_name, &path));
		CHECK_STR(path, rows[i].expected);
	}
	strings_deinit(&strings);
}

CASE(names_kept_once, "equal strings are kept once")
{
	struct strings strings;
	strings_init(&strings);
	char spelled[] = "ns::f";
	const char *a, *b, *c;
	CHECK_OK(strings_keep(&strings, spelled, &a));
	CHECK_OK(strings_keep_demangled(&strings, "_ZN2ns1fEv", &b));
	CHECK_OK(strings_keep_demangled(&strings, "_ZN2ns1fEi", &c));
	CHECK(a == b && b == c && a != spelled);
	CHECK_OK(strings_keep(&strings, NULL, &a));
	CHECK(!a);
	strings_deinit(&strings);
}

TAP_MAIN
