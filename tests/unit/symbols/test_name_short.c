/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of functions as stacks show them. */
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "lib/tap.h"
#include "symbols/known.h"
#include "symbols/name_short.h"

#define STRING "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
#define VECTOR "std::vector<" STRING ", std::allocator<" STRING " > >"
#define PAIR "std::pair<" STRING " const, " VECTOR " >"

static const struct {
	const char *name, *expected;
} names[] = {
	{"", ""},
	{"main", "main"},
	{"call_init", "call_init"},
	{"(below main)", "(below main)"},
	{"std::vector<int, std::allocator<int> >::push_back", "std::vector<int>::push_back"},
	{STRING "::reserve", "std::string::reserve"},
	{"std::map<" STRING ", " VECTOR ", std::less<" STRING " >, std::allocator<" PAIR
	 " > >::operator[]",
		"std::map<std::string,std::vector<std::string>>::operator[]"},
	{"std::__new_allocator<std::_Rb_tree_node<" PAIR " > >::allocate",
		"std::__new_allocator<std::_Rb_tree_node<std::pair<…>>>::allocate"},
	{"std::unique_ptr<app::Node, std::default_delete<app::Node> >::~unique_ptr",
		"std::unique_ptr<app::Node>::~unique_ptr"},
	{"std::make_unique<lang::Node>", "std::make_unique<lang::Node>"},
	{"std::chrono::_V2::system_clock::now", "std::chrono::system_clock::now"},
	{"std::__1::vector<int, std::__1::allocator<int>>::resize", "std::vector<int>::resize"},
	{"std::locale::name[abi:cxx11]", "std::locale::name"},
	{"global tree[abi:cxx11] [grow]", "global tree [grow]"},
	{"global game::tree [a b.so]", "global game::tree [a b.so]"},
	{"int* [3]", "int* [3]"},
	{"std::wstring/u32string buffer (copy-on-write)",
		"std::wstring/u32string buffer (copy-on-write)"},
	{"std::__cxx11::string buffer (copy-on-write)", "std::string buffer (copy-on-write)"},
	{" [x]", " [x]"},
	/* Lambdas, however a compiler writes them. */
	{"main::{lambda(int)#1}::operator()", "main::{lambda#1}"},
	{"lang::load(int)::{lambda()#1}::operator()", "lang::load::{lambda#1}"},
	{"lang::load(int)::<lambda()>", "lang::load::{lambda}"},
	{"A::f(void (*)(int)) const::{lambda(std::vector<int>&)#2}::operator() const",
		"A::f::{lambda#2}"},
	{"std::_Function_handler<void (), lang::load(int)::{lambda()#1}>::_M_invoke",
		"std::_Function_handler<void(),lang::load::{lambda#1}>::_M_invoke"},
	/* Signs of operators are no brackets. */
	{"ns::operator< <int>", "ns::operator<<int>"},
	{"std::operator<< <std::char_traits<char> >", "std::operator<<<std::char_traits<char>>"},
	{"A::operator->", "A::operator->"},
	{"A::operator()", "A::operator()"},
	{"A<int, std::allocator<int> >::operator()", "A<int>::operator()"},
	{"A::operator bool", "A::operator bool"},
	{"A::operator std::basic_string_view<char, std::char_traits<char> >",
		"A::operator std::string_view"},
	{"operator new[]", "operator new[]"},
	{"my_operator<int>::f", "my_operator<int>::f"},
	{"(anonymous namespace)::Shape::make", "(anonymous namespace)::Shape::make"},
	{"f((anonymous namespace)::A)::{lambda()#1}::operator()", "f::{lambda#1}"},
	/* Rust. */
	{"app::load::h0123456789abcdef", "app::load"},
	{"app::load::h0123456789abcdeg", "app::load::h0123456789abcdeg"},
	{"_$LT$app..Tree$u20$as$u20$core..clone..Clone$GT$::clone::h0123456789abcdef",
		"<app::Tree as core::clone::Clone>::clone"},
	{"<alloc::vec::Vec<T> as core::iter::traits::collect::Extend<T>>::extend",
		"<alloc::vec::Vec<T> as core::iter::traits::collect::Extend<T>>::extend"},
	{"app::walk::{{closure}}", "app::walk::{{closure}}"},
	{"<fn(&str) -> app::Tree as core::ops::FnOnce>::call",
		"<fn(&str) -> app::Tree as core::ops::FnOnce>::call"},
	/* Go, JavaScript, Python. */
	{"main.(*Tree).Insert", "main.(*Tree).Insert"},
	{"github.com/google/pprof/profile.(*Profile).Write",
		"github.com/google/pprof/profile.(*Profile).Write"},
	{"Object.<anonymous>", "Object.<anonymous>"},
	/* What is broken. */
	{"a::b<", "a::b<>"},
	{"a::b>>", "a::b>>"},
	{"a::{lambda(", "a::{lambda()"},
	{"a::[abi:", "a::[abi:"},
};

static void shorten(const char *name, struct text *ret)
{
	text_clear(ret);
	text_add(ret, "");
	name_add_short(ret, name);
	CHECK(!ret->failed);
}

CASE(short_names, "what nobody reads in a name is left out")
{
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		shorten(names[i].name, &text);
		CHECK_STR(text.data ? text.data : "", names[i].expected);
	}
}

static size_t letters(const char *text)
{
	size_t count = 0;
	for (; *text; text++)
		count += ((unsigned char)*text & 0xc0) != 0x80;
	return count;
}

CASE(one_line, "no name is longer than a line, whatever is in it")
{
	_cleanup_(text_deinit) struct text text, name;
	text_init(&text);
	text_init(&name);
	static const char *const parts[] = {"a_rather_long_namespace::", "B<", "std::vector<int>, ",
		"(", "operator<", "{lambda(int)#1}", "a_name_that_has_no_end_and_no_sign"};
	for (size_t part = 0; part < sizeof(parts) / sizeof(*parts); part++) {
		text_clear(&name);
		text_add(&name, "x::");
		for (int i = 0; i < 300; i++)
			text_add(&name, parts[part]);
		shorten(name.data, &text);
		CHECK(letters(text.data) <= NAME_SHORT_MAX);
		CHECK(text.len > 10);
	}
	/* The innermost scopes are what tells functions apart. */
	shorten("first::second_of_many::third_of_many_more::fourth_of_even_more::fifth_of_all::"
		"sixth_and_last::method",
		&text);
	CHECK_STR(text.data,
		"…::third_of_many_more::fourth_of_even_more::fifth_of_all::sixth_and_last::method");
}

CASE(rust, "Rust is known by the linkage name, or by what no other language writes")
{
	CHECK(name_is_rust("core::fmt::write", "_ZN4core3fmt5write17h0123456789abcdefE"));
	CHECK(name_is_rust("core::fmt::write", "_RNvNtC4core3fmt5write"));
	CHECK(name_is_rust("core::fmt::write::h0123456789abcdef", NULL));
	CHECK(name_is_rust("<T as core::Clone>::clone", NULL));
	CHECK(!name_is_rust("core::write", "_ZN4core5writeEv"));
	CHECK(!name_is_rust("core::write", NULL));
	CHECK(!name_is_rust("main", "main"));
}

static const struct {
	const char *function, *linkage_name, *file;
	enum known_part part;
} parts[] = {
	{"main", NULL, NULL, KNOWN_PROGRAM},
	{"std::vector<int, std::allocator<int> >::push_back", NULL, NULL, KNOWN_STD},
	{"void std::__invoke_impl<void, app::f>", NULL, NULL, KNOWN_STD},
	{"__gnu_cxx::new_allocator<int>::allocate", NULL, NULL, KNOWN_STD},
	{"app::f<std::vector<int> >", NULL, NULL, KNOWN_PROGRAM},
	{"stdlike::f", NULL, NULL, KNOWN_PROGRAM},
	{"operator+", NULL, "/usr/include/c++/12/bits/basic_string.h", KNOWN_STD},
	/* A program of C++ may call a namespace as it likes. */
	{"core::Engine::start", "_ZN4core6Engine5startEv", NULL, KNOWN_PROGRAM},
	{"alloc::pool", NULL, "src/alloc.cc", KNOWN_PROGRAM},
	{"core::fmt::write", "_ZN4core3fmt5write17h0123456789abcdefE", NULL, KNOWN_STD},
	{"alloc::vec::Vec<T>::push", NULL, "/rustc/90c5418/library/alloc/src/vec/mod.rs",
		KNOWN_STD},
	{"<alloc::alloc::Global>::alloc_impl_runtime", NULL, NULL, KNOWN_STD},
	{"<alloc::vec::Vec<T> as core::iter::Extend<T>>::extend", NULL, NULL, KNOWN_STD},
	{"<I as core::iter::traits::collect::IntoIterator>::into_iter", NULL, NULL, KNOWN_STD},
	{"<[T] as alloc::slice::Concat<U>>::concat", NULL, NULL, KNOWN_STD},
	{"<app::Tree as core::clone::Clone>::clone", NULL, NULL, KNOWN_PROGRAM},
	{"<alloc::vec::Vec<u8> as app::Read>::read", NULL, NULL, KNOWN_PROGRAM},
	{"<app::Tree>::grow", NULL, NULL, KNOWN_PROGRAM},
	{"__rust_alloc", NULL, NULL, KNOWN_STD},
	{"__rustc::__rdl_alloc", NULL, NULL, KNOWN_STD},
	{"__rustc::rust_panic", "_RNvCs5F2npea56WE_7___rustc10rust_panic", NULL, KNOWN_STD},
	{"panic_unwind::imp::panic", "_RNvNtCs5F2npea56WE_12panic_unwind3imp5panic", NULL,
		KNOWN_STD},
	{"panic_unwind::real_imp::panic", NULL, "/build/rustc/library/panic_unwind/src/gcc.rs",
		KNOWN_STD},
	{"panic_unwind::f", "_ZN12panic_unwind1fEv", NULL, KNOWN_PROGRAM},
	{"<std::alloc::System as core::alloc::global::GlobalAlloc>::alloc", NULL, NULL, KNOWN_STD},
	{"<app::Counting as core::alloc::global::GlobalAlloc>::realloc", NULL, NULL,
		KNOWN_ALLOCATOR},
	{"runtime.mallocgc", NULL, NULL, KNOWN_RUNTIME},
	{"main.(*Tree).Insert", NULL, NULL, KNOWN_PROGRAM},
	{"operator new", NULL, NULL, KNOWN_ALLOCATOR},
	{"xmalloc", NULL, NULL, KNOWN_ALLOCATOR},
	{"g_malloc0_n", NULL, NULL, KNOWN_ALLOCATOR},
	{"sk_malloc_flags", NULL, NULL, KNOWN_ALLOCATOR},
	{"PyObject_Malloc", NULL, NULL, KNOWN_ALLOCATOR},
	{"_PyMem_RawCalloc", NULL, NULL, KNOWN_ALLOCATOR},
	{"_PyObject_GC_NewVar", NULL, NULL, KNOWN_ALLOCATOR},
	{"sqlite3DbMallocRawNN", NULL, NULL, KNOWN_ALLOCATOR},
	{"sqlite3MemMalloc", NULL, NULL, KNOWN_ALLOCATOR},
	{"ngx_palloc_large", NULL, NULL, KNOWN_ALLOCATOR},
	{"ztrymalloc_usable_internal", NULL, NULL, KNOWN_ALLOCATOR},
	{"mi_malloc_aligned", NULL, NULL, KNOWN_ALLOCATOR},
	{"PyList_New", NULL, NULL, KNOWN_PROGRAM},
	{"ngx_create_pool", NULL, NULL, KNOWN_PROGRAM},
	{"sqlite3VdbeExec", NULL, NULL, KNOWN_PROGRAM},
	{"session_new", NULL, NULL, KNOWN_PROGRAM},
	{"std::hash<User>::operator()", NULL, "/src/app/user.cc", KNOWN_PROGRAM},
	{"std::less<User>::operator()", NULL, "/src/app/user.h", KNOWN_PROGRAM},
	{"std::less<User>::operator()", NULL, NULL, KNOWN_STD},
	{"std::less<User>::operator()", NULL, "/usr/include/c++/12/bits/stl_function.h", KNOWN_STD},
	{"std::less<User>::operator()", NULL, "/usr/lib/llvm-14/include/c++/v1/less.h", KNOWN_STD},
	{"std::string::reserve", NULL, "/b/gcc-12/src/libstdc++-v3/include/bits/basic_string.tcc",
		KNOWN_STD},
	{"std::hash<app::User>::operator()", NULL, NULL, KNOWN_PROGRAM},
	{"std::hash<std::vector<User> >::operator()", NULL, NULL, KNOWN_STD},
	{"std::hash<User*>::operator()", NULL, NULL, KNOWN_STD},
	{"std::hash<internal::Key>::operator()", NULL, NULL, KNOWN_PROGRAM},
	{"std::hash<charset>::operator()", NULL, NULL, KNOWN_PROGRAM},
	{"std::hash<char16_t>::operator()", NULL, NULL, KNOWN_STD},
	{"std::hash<int::Odd>::operator()", NULL, NULL, KNOWN_PROGRAM},
	{"std::hash<unsigned long>::operator()", NULL, NULL, KNOWN_STD},
	{"std::formatter<app::Point, char>::format", NULL, NULL, KNOWN_PROGRAM},
	{"_start", NULL, NULL, KNOWN_RUNTIME},
	{"start_thread", NULL, NULL, KNOWN_PROGRAM},
	{"test_malloc_twice", NULL, NULL, KNOWN_PROGRAM},
};

CASE(known_parts, "names say whose code a frame is")
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		const struct known_code code = {
			parts[i].function, parts[i].linkage_name, parts[i].file, NULL};
		enum known_part part = known_part_of(&code);
		if (part != parts[i].part)
			CHECK_STR(parts[i].function, "is another part");
	}
}

CASE(python_modules, "files of Python's interpreter are known by their names, others are not")
{
	static const char *const known[] = {"python", "python3", "python3.11", "python3.8-dbg",
		"python3.8dm", "python3.13t", "libpython3.11.so.1.0", "libpython3.13t.so.1.0",
		"libpython3.so"};
	static const char *const others[] = {"libpython-config", "pythonista", "python3.11-config",
		"_ctypes.cpython-311-x86_64-linux-gnu.so", "libboost_python311.so.1.74.0",
		"ipython3", "libpython3.11.solid", "python3.", "lib", ""};
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!known_python_module(known[i]))
			CHECK_STR(known[i], "is not known");
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (known_python_module(others[i]))
			CHECK_STR(others[i], "is known");
}

TAP_MAIN
