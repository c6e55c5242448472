/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbols/known.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/util.h"
#include "symbols/name_short.h"

static const char *const allocators[] = {
	"malloc",
	"calloc",
	"realloc",
	"reallocarray",
	"posix_memalign",
	"aligned_alloc",
	"memalign",
	"valloc",
	"pvalloc",
	"operator new",
	"operator new[]",
	"__libc_malloc",
	"__libc_calloc",
	"__libc_realloc",
	"__libc_memalign",
};

static const char *const allocator_modules[] = {
	"libheapwise-rt.so", "libjemalloc.so", "libtcmalloc", "libmimalloc"};
static const char *const runtime_modules[] = {"libc.so", "libc-", "libstdc++.so", "libgcc_s.so",
	"libpthread.so", "libm.so", "ld-linux", "libc++.so", "libc++abi.so"};
static const char *const runtime_functions[] = {"std::", "__gnu_cxx::", "__gnu_debug::",
	"__cxxabiv1::", "operator new", "operator delete", "__cxa_"};

static const char *known_beginning(const char *text, const char *const *beginnings, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strncmp(text, beginnings[i], strlen(beginnings[i])) == 0)
			return beginnings[i];
	return NULL;
}

bool known_allocator(const char *function)
{
	for (size_t i = 0; i < ARRAY_SIZE(allocators); i++)
		if (strcmp(function, allocators[i]) == 0)
			return true;
	return false;
}

bool known_allocator_module(const char *name)
{
	return known_beginning(name, allocator_modules, ARRAY_SIZE(allocator_modules)) != NULL;
}

/* "python3.11", "python3.11-dbg", "libpython3.11d.so.1.0", but no "libpython-config" or
 * "pythonista". */
bool known_python_module(const char *name)
{
	static const char lead[] = "python", debug[] = "-dbg";
	name += strncmp(name, "lib", 3) == 0 ? 3 : 0;
	if (strncmp(name, lead, sizeof(lead) - 1) != 0)
		return false;
	name += sizeof(lead) - 1;
	while (isdigit((unsigned char)*name) || (*name == '.' && isdigit((unsigned char)name[1])))
		name++;
	name += strspn(name, "dmt");
	if (strncmp(name, debug, sizeof(debug) - 1) == 0)
		name += sizeof(debug) - 1;
	return !*name || strcmp(name, ".so") == 0 || strncmp(name, ".so.", 4) == 0;
}

const char *known_runtime_function(const char *function)
{
	return known_beginning(function, runtime_functions, ARRAY_SIZE(runtime_functions));
}

bool known_runtime_module(const char *name)
{
	return known_beginning(name, runtime_modules, ARRAY_SIZE(runtime_modules)) != NULL;
}

/* Ends of the names of functions that return memory for their callers to use. */
static const char *const wrapper_ends[] = {
	"alloc", "alloc0", "alloc_n", "alloc0_n", "allocate", "strdup", "strndup", "memdup"};

/* Length of a name without template arguments at its end. */
static size_t without_arguments(const char *name)
{
	size_t len = strlen(name), open = 0;
	if (len == 0 || name[len - 1] != '>')
		return len;
	for (size_t i = len; i > 0; i--) {
		open += name[i - 1] == '>';
		open -= name[i - 1] == '<';
		if (open == 0)
			return i - 1;
	}
	return len;
}

static bool known_ends_with(const char *name, size_t len, const char *end)
{
	size_t end_len = strlen(end);
	if (len < end_len)
		return false;
	for (size_t i = 0; i < end_len; i++)
		if (tolower((unsigned char)name[len - end_len + i]) != end[i])
			return false;
	return true;
}

/* Programs and libraries whose allocating functions have names of several forms: those that begin
 * so and have "alloc" somewhere after that. */
static const char *const families[] = {"sqlite3", "ngx_", "PyMem_", "PyObject_", "_PyMem_",
	"_PyObject_", "ztry", "zmalloc", "je_", "tc_", "mi_", "sk_", "xmalloc", "jv_mem_",
	"Perl_safesys", "g_try_", "mallocWithAlarm", "dbMalloc"};
/* Of these the beginning is enough. */
static const char *const wholes[] = {"xmemdup", "g_strdup", "_PyObject_GC_New", "_PyObject_New"};

static bool has_alloc(const char *name)
{
	static const char word[] = "alloc";
	for (; *name; name++)
		if (known_ends_with(name, strnlen(name, strlen(word)), word))
			return true;
	return false;
}

/* A #[global_allocator]'s own function, of whichever crate: "<app::Counting as
 * core::alloc::global::GlobalAlloc>::alloc". */
static bool is_rust_allocator(const char *function)
{
	return strstr(function, " as core::alloc::global::GlobalAlloc>::") != NULL;
}

bool known_wrapper(const char *function)
{
	size_t len = without_arguments(function);
	if (is_rust_allocator(function))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(wrapper_ends); i++)
		if (known_ends_with(function, len, wrapper_ends[i]))
			return true;
	if (known_beginning(function, wholes, ARRAY_SIZE(wholes)))
		return true;
	const char *family = known_beginning(function, families, ARRAY_SIZE(families));
	return family && has_alloc(function);
}

/* Crates that come with Rust; "__rustc": what the compiler makes itself (of 1.87 and later). */
static const char *const rust_crates[] = {"std::", "core::", "alloc::", "hashbrown::",
	"panic_unwind::", "__rustc::", "std[", "core[", "alloc["};
/* Where their sources lie. */
static const char *const rust_folders[] = {"/rustc/", "/library/std/src/", "/library/core/src/",
	"/library/alloc/src/", "/library/panic_unwind/src/", "/hashbrown-", "/hashbrown/src/"};

/* The last word of "T as core::clone::Clone" up to its '>', whichever they are. */
static const char *trait_of(const char *self)
{
	size_t depth = 0;
	for (const char *at = self; *at; at++) {
		depth += *at == '<';
		if (*at == '>' && at > self && at[-1] != '-' && depth-- == 0)
			return NULL;
		if (!depth && strncmp(at, " as ", 4) == 0)
			return at + 4;
	}
	return NULL;
}

/* "T", "[T]", "&mut F" and "u8", which belong to no crate, or one of Rust's own. */
static bool is_rust_type(const char *type)
{
	static const char *const leads[] = {"mut ", "const ", "dyn ", "&", "*", "[", "("};
	for (const char *lead; (lead = known_beginning(type, leads, ARRAY_SIZE(leads)));)
		type += strlen(lead);
	size_t word = 0;
	while (isalnum((unsigned char)type[word]) || type[word] == '_')
		word++;
	return strncmp(type + word, "::", 2) != 0 ||
	       known_beginning(type, rust_crates, ARRAY_SIZE(rust_crates)) != NULL;
}

/* An implementation of one of Rust's traits for a type of the program is the program's. */
static bool is_rust_std(const char *function)
{
	if (*function == '_' && function[1] == '<')
		function++;
	if (*function != '<')
		return known_beginning(function, rust_crates, ARRAY_SIZE(rust_crates)) != NULL ||
		       strncmp(function, "__rust_", 7) == 0 ||
		       strcmp(function, "rust_panic") == 0 || strncmp(function, "__rdl_", 6) == 0 ||
		       strncmp(function, "__rg_", 5) == 0;
	const char *trait = trait_of(function + 1);
	if (!is_rust_type(function + 1))
		return false;
	return !trait || known_beginning(trait, rust_crates, ARRAY_SIZE(rust_crates)) != NULL;
}

static bool is_rust(const char *function, const char *linkage_name, const char *file)
{
	for (size_t i = 0; file && i < ARRAY_SIZE(rust_folders); i++)
		if (strstr(file, rust_folders[i]))
			return true;
	return strncmp(function, "__rust_", 7) == 0 || strncmp(function, "__rdl_", 6) == 0 ||
	       strncmp(function, "__rg_", 5) == 0 || strncmp(function, "__rustc::", 9) == 0 ||
	       name_is_rust(function, linkage_name);
}

/* After a return type, which names of other tools may have: "void std::f<int>". */
static const char *without_return_type(const char *function)
{
	size_t end = strcspn(function, "<(");
	for (size_t i = end; i > 0; i--)
		if (function[i - 1] == ' ')
			return strncmp(function + i, "std::", 5) == 0 ||
					       strncmp(function + i, "__gnu_cxx::", 11) == 0
				       ? function + i
				       : function;
	return function;
}

/* Where the sources of C++'s own library lie, installed or as it was built. */
static bool is_in_library(const char *file)
{
	static const char *const folders[] = {
		"/c++/", "/libstdc++-v3/", "/libsupc++/", "/libcxx/", "/libcxxabi/"};
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		if (strstr(file, folders[i]))
			return true;
	return false;
}

/* Whether the first argument after '<' is a type of the program: of no other the library has its
 * own. Pointers have it, whatever they point to. */
static bool is_own_type(const char *type)
{
	static const char *const names[] = {"std::", "__gnu_cxx::"};
	static const char *const words[] = {"bool", "char", "wchar_t", "char8_t", "char16_t",
		"char32_t", "short", "int", "long", "unsigned", "signed", "float", "double", "void",
		"__int128", "decltype"};
	size_t depth = 0, end = 0;
	for (; type[end] && (depth || !strchr(",>", type[end])); end++) {
		depth += type[end] == '<';
		depth -= type[end] == '>';
	}
	size_t first = 0; /* word of it */
	while (isalnum((unsigned char)type[first]) || type[first] == '_')
		first++;
	bool is_others = known_beginning(type, names, ARRAY_SIZE(names)) != NULL;
	for (size_t i = 0; i < ARRAY_SIZE(words) && type[first] != ':'; i++)
		is_others |= strlen(words[i]) == first && !strncmp(type, words[i], first);
	return end && type[end - 1] != '*' && !is_others;
}

/* A specialisation of a template of std:: that the program has written: its source is the
 * program's. Without sources those templates tell that no other code can define for a type. */
static bool is_own_of_std(const struct known_code *code, const char *function)
{
	static const char *const templates[] = {"std::hash<", "std::formatter<"};
	if (strncmp(function, "std::", 5) != 0 ||
		(code->module && known_runtime_module(code->module)) ||
		is_rust(function, code->linkage_name, code->file))
		return false;
	if (code->file)
		return code->file[0] == '/' && !is_in_library(code->file);
	const char *template = known_beginning(function, templates, ARRAY_SIZE(templates));
	return template && is_own_type(function + strlen(template));
}

/* What calls main, or the function of a thread. */
static bool is_start(const char *function, const char *module)
{
	static const char *const names[] = {"_start", "__libc_start_main", "__libc_start_main_impl",
		"__libc_start_call_main", "__clone3"};
	static const char *const common[] = {"start_thread", "clone", "clone3"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(function, names[i]) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(common); i++)
		if (strcmp(function, common[i]) == 0)
			return module && known_runtime_module(module);
	return false;
}

enum known_part known_part_of(const struct known_code *code)
{
	static const char *const go[] = {"runtime.", "runtime/", "internal/runtime/"};
	const char *function = without_return_type(code->function);
	const char *file = code->file;
	if (known_allocator(function))
		return KNOWN_ALLOCATOR;
	if (is_own_of_std(code, function))
		return KNOWN_PROGRAM;
	if (known_runtime_function(function) || (file && strstr(file, KNOWN_RUNTIME_FOLDER)))
		return KNOWN_STD;
	if (is_rust(function, code->linkage_name, file) && is_rust_std(function))
		return KNOWN_STD;
	if (known_beginning(function, go, ARRAY_SIZE(go)) || is_start(function, code->module))
		return KNOWN_RUNTIME;
	return known_wrapper(function) ? KNOWN_ALLOCATOR : KNOWN_PROGRAM;
}
