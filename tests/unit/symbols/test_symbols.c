/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbols against programs that say where they are (samples/sample.h), as compiled and in every
 * state in which files are found: stripped, with debug information elsewhere, replaced, damaged.
 */
#include "symbols/symbols.h"

#include <gnu/libc-version.h>
#include <limits.h>
#include <link.h>
#include <locale.h>
#include <stdarg.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/text.h"
#include "base/util.h"
#include "lib/tap.h"

#define TEXT_MAX 16384

/* One line that a sample printed. */
struct place {
	uint64_t address; /* returned to */
	char chain[512];  /* "NAME:LINE NAME:LINE…" */
};

static struct place places[64];
static size_t place_count;
static char folder[PATH_MAX];

__attribute__((format(printf, 1, 2))) static bool run_quietly(const char *format, ...)
{
	char command[TEXT_MAX];
	va_list args;
	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	strncat(command, " >/dev/null 2>&1", sizeof(command) - strlen(command) - 1);
	return system(command) == 0;
}

static void remove_folder(void)
{
	run_quietly("rm -rf '%s'", folder);
}

/* A folder of its own for the case, gone at its end. */
static void make_folder(void)
{
	snprintf(folder, sizeof(folder), "/tmp/heapwise-test-symbols-XXXXXX");
	CHECK(mkdtemp(folder));
	atexit(remove_folder);
}

static const char *sample_path(const char *name)
{
	static char path[PATH_MAX];
	const char *build = getenv("HW_BUILD_DIR");
	snprintf(path, sizeof(path), "%s/tests/unit/sample_%s", build ? build : "build", name);
	if (access(path, X_OK) != 0)
		SKIP("no %s: its compiler is missing", path);
	return path;
}

static void read_places(const char *sample)
{
	FILE *output = popen(sample, "r");
	CHECK(output);
	char line[TEXT_MAX];
	place_count = 0;
	while (fgets(line, sizeof(line), output)) {
		CHECK(place_count < ARRAY_SIZE(places));
		struct place *place = &places[place_count++];
		char *chain = strchr(line, ' ');
		place->address = strtoull(line, NULL, 16);
		CHECK(chain && place->address);
		line[strcspn(line, "\n")] = '\0';
		snprintf(place->chain, sizeof(place->chain), "%.511s", chain + 1);
	}
	CHECK(pclose(output) == 0 && place_count >= 5);
}

/* A copy of a sample in the case's folder, and what it says of itself. */
static char copy[PATH_MAX + 16];

static void copy_sample(const char *name)
{
	make_folder();
	const char *path = sample_path(name);
	read_places(path);
	snprintf(copy, sizeof(copy), "%s/program", folder);
	CHECK(run_quietly("cp '%s' '%s'", path, copy));
}

static struct symbols_settings *settings;
static struct symbols *symbols;
static uint32_t module;

static void open_module(const char *path, const uint8_t *build_id, size_t build_id_len)
{
	CHECK_OK(symbols_settings_create(&settings));
	CHECK_OK(symbols_create(settings, &symbols));
	CHECK_OK(symbols_add_module(symbols, path, build_id, build_id_len, &module));
	CHECK(symbols_module_state(symbols, module) == SYMBOLS_UNOPENED);
}

static void close_module(void)
{
	symbols_destroy(symbols);
	symbols = NULL;
	symbols_settings_destroy(settings);
	settings = NULL;
}

/* "NAME:LINE NAME:LINE…" with ? for a name that is not known. */
static void describe(const struct symbol *chain, size_t count, struct text *ret)
{
	text_clear(ret);
	for (size_t i = 0; i < count; i++)
		text_printf(ret, "%s%s:%u", i ? " " : "",
			chain[i].function ? chain[i].function : "?", chain[i].line);
}

static void check_place(const struct place *place, const char *file)
{
	const struct symbol *chain;
	size_t count;
	CHECK_OK(symbols_resolve(symbols, module, place->address - 1, &chain, &count));
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	describe(chain, count, &text);
	CHECK_STR(text.data, place->chain);
	for (size_t i = 0; i < count; i++) {
		CHECK(chain[i].inlined == (i + 1 < count));
		CHECK(chain[i].raw_name);
		CHECK_CONTAINS(chain[i].file, file);
	}
}

static void check_places(enum symbols_state state)
{
	for (size_t i = 0; i < place_count; i++)
		check_place(&places[i], "samples/sample_c");
	CHECK_U64(symbols_module_state(symbols, module), state);
}

static void check_sample(const char *name)
{
	const char *path = sample_path(name);
	read_places(path);
	open_module(path, NULL, 0);
	check_places(SYMBOLS_DWARF);
	CHECK_STR(symbols_module_debug_path(symbols, module), path);
	close_module();
}

#define SAMPLE_CASES(form, title)                                                                  \
	CASE(symbols_c_##form, "C: " title)                                                        \
	{                                                                                          \
		check_sample("c_" #form);                                                          \
	}                                                                                          \
	CASE(symbols_cc_##form, "C++: " title)                                                     \
	{                                                                                          \
		check_sample("cc_" #form);                                                         \
	}

SAMPLE_CASES(gcc5, "gcc, optimised, DWARF 5")
SAMPLE_CASES(gcc4, "gcc, optimised, DWARF 4, at fixed addresses")
SAMPLE_CASES(gcc0, "gcc, not optimised")
SAMPLE_CASES(gccz, "gcc, compressed, unused sections dropped")
SAMPLE_CASES(lto, "gcc, link-time optimised")
SAMPLE_CASES(split, "gcc, split DWARF")
SAMPLE_CASES(clang5, "clang, DWARF 5, without .debug_aranges")
SAMPLE_CASES(clang4, "clang, DWARF 4, without .debug_aranges")

/* The outermost function of a place: the last name of its chain. */
static void outermost_name(const struct place *place, char *ret, size_t size)
{
	const char *last = strrchr(place->chain, ' ');
	/* Names hold spaces only in "(anonymous namespace)". */
	while (last && strncmp(last, " namespace)", 11) == 0) {
		const char *before = last;
		for (last = NULL; before > place->chain && !last;)
			if (*--before == ' ')
				last = before;
	}
	snprintf(ret, size, "%s", last ? last + 1 : place->chain);
	*strrchr(ret, ':') = '\0';
}

/* `only`: the one function that is expected to have a name; NULL: all. */
static void check_outermost(enum symbols_state state, const char *only)
{
	size_t named = 0;
	for (size_t i = 0; i < place_count; i++) {
		const struct symbol *chain;
		size_t count;
		CHECK_OK(symbols_resolve(symbols, module, places[i].address - 1, &chain, &count));
		CHECK_U64(count, 1);
		CHECK(!chain->file && chain->line == 0 && !chain->inlined);
		char name[512];
		outermost_name(&places[i], name, sizeof(name));
		if (!only || strcmp(name, only) == 0)
			CHECK_STR(chain->function, name);
		else
			CHECK_STR(chain->function, NULL);
		named += chain->function != NULL;
	}
	CHECK(named > 0);
	CHECK_U64(symbols_module_state(symbols, module), state);
}

CASE(symbols_symtab, "without debug information functions have their names")
{
	copy_sample("cc_gcc5");
	CHECK(run_quietly("strip -g '%s'", copy));
	open_module(copy, NULL, 0);
	check_outermost(SYMBOLS_SYMTAB, NULL);
	close_module();
}

CASE(symbols_dynsym, "stripped, exported functions have their names and no others")
{
	copy_sample("c_gcc0");
	CHECK(run_quietly("strip '%s'", copy));
	open_module(copy, NULL, 0);
	for (size_t i = 0; i < place_count; i++) {
		const struct symbol *chain;
		size_t count;
		CHECK_OK(symbols_resolve(symbols, module, places[i].address - 1, &chain, &count));
		char name[512];
		outermost_name(&places[i], name, sizeof(name));
		bool is_static =
			strcmp(name, "outer_function") == 0 || strcmp(name, "seldom_run") == 0;
		CHECK_STR(chain->function, is_static ? NULL : name);
	}
	CHECK_U64(symbols_module_state(symbols, module), SYMBOLS_DYNSYM);
	close_module();
}

CASE(symbols_mini, "packed local symbols in .gnu_debugdata are found")
{
	copy_sample("c_gcc5");
	if (!run_quietly("xz --version"))
		SKIP("xz is not installed");
	CHECK(run_quietly("cd '%s' && objcopy --only-keep-debug program mini && strip -g mini && "
			  "xz mini && strip program && "
			  "objcopy --add-section .gnu_debugdata=mini.xz program",
		folder));
	open_module(copy, NULL, 0);
	check_outermost(SYMBOLS_SYMTAB, NULL);
	close_module();
}

/* Moves the debug information of the copy to `to`, below its folder, and links it by name. */
static void split_debug(const char *to)
{
	CHECK(run_quietly("cd '%s' && mkdir -p $(dirname %s) && "
			  "objcopy --only-keep-debug program %s && strip program && "
			  "objcopy --add-gnu-debuglink=%s program",
		folder, to, to, to));
}

CASE(symbols_link, "a debug file is found by its link, beside the program and in .debug")
{
	static const char *const names[] = {"program.debug", ".debug/program.debug"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		copy_sample("c_gcc5");
		split_debug(names[i]);
		open_module(copy, NULL, 0);
		check_places(SYMBOLS_DWARF);
		CHECK_CONTAINS(symbols_module_debug_path(symbols, module), names[i]);
		close_module();
		remove_folder();
	}
}

CASE(symbols_link_folder, "a debug file is found by its link in a debug folder")
{
	copy_sample("c_gcc5");
	split_debug("program.debug");
	CHECK(run_quietly(
		"cd '%s' && mkdir -p debug%s && mv program.debug debug%s", folder, folder, folder));
	char debug[PATH_MAX + 16];
	snprintf(debug, sizeof(debug), "%s/debug", folder);
	open_module(copy, NULL, 0);
	CHECK_OK(symbols_settings_debug_folders(settings, debug));
	check_places(SYMBOLS_DWARF);
	close_module();
}

CASE(symbols_link_crc, "without build-ids the link's checksum decides")
{
	copy_sample("c_noid");
	split_debug("program.debug");
	open_module(copy, NULL, 0);
	check_places(SYMBOLS_DWARF);
	close_module();
	CHECK(run_quietly("echo | tee -a '%s/program.debug'", folder));
	open_module(copy, NULL, 0);
	const struct symbol *chain;
	size_t count;
	CHECK_OK(symbols_resolve(symbols, module, places[0].address - 1, &chain, &count));
	CHECK(count == 1 && !chain->file);
	CHECK_U64(symbols_module_state(symbols, module), SYMBOLS_DYNSYM);
	close_module();
}

/* The copy's build-id, as readelf prints it. */
static size_t read_build_id(uint8_t *ret, size_t size, char *ret_hex, size_t hex_size)
{
	char command[TEXT_MAX];
	snprintf(command, sizeof(command), "readelf -n '%s'", copy);
	FILE *output = popen(command, "r");
	CHECK(output);
	char line[TEXT_MAX], *hex = NULL;
	while (!hex && fgets(line, sizeof(line), output))
		if ((hex = strstr(line, "Build ID: ")))
			snprintf(ret_hex, hex_size, "%s", hex + strlen("Build ID: "));
	pclose(output);
	CHECK(hex);
	ret_hex[strcspn(ret_hex, "\n")] = '\0';
	size_t len = 0;
	for (unsigned byte; len < size && sscanf(ret_hex + 2 * len, "%2x", &byte) == 1;)
		ret[len++] = (uint8_t)byte;
	CHECK(len > 8);
	return len;
}

static uint8_t build_id[64];
static size_t build_id_len;

/* Copies a sample and moves its debug information to a debug folder, by build-id. */
static void split_by_build_id(char *ret_debug, size_t size)
{
	char hex[160];
	copy_sample("cc_gcc5");
	build_id_len = read_build_id(build_id, sizeof(build_id), hex, sizeof(hex));
	CHECK(run_quietly("cd '%s' && mkdir -p debug/.build-id/%.2s && "
			  "objcopy --only-keep-debug program debug/.build-id/%.2s/%s.debug && "
			  "strip program",
		folder, hex, hex, hex + 2));
	snprintf(ret_debug, size, "%s/debug", folder);
}

CASE(symbols_build_id, "a debug file is found by build-id, also when the program is gone")
{
	char debug[PATH_MAX + 16];
	split_by_build_id(debug, sizeof(debug));
	for (int round = 0; round < 2; round++) {
		open_module(copy, build_id, build_id_len);
		CHECK_OK(symbols_settings_debug_folders(settings, debug));
		check_places(SYMBOLS_DWARF);
		CHECK_CONTAINS(symbols_module_debug_path(symbols, module), "/.build-id/");
		close_module();
		unlink(copy);
	}
}

CASE(symbols_own_build_id, "without a recorded build-id the file's own is used")
{
	char debug[PATH_MAX + 16];
	split_by_build_id(debug, sizeof(debug));
	open_module(copy, NULL, 0);
	CHECK_OK(symbols_settings_debug_folders(settings, debug));
	check_places(SYMBOLS_DWARF);
	close_module();
}

static void check_unknown(enum symbols_state state)
{
	const struct symbol *chain;
	size_t count;
	CHECK_OK(symbols_resolve(symbols, module, 0x1234, &chain, &count));
	CHECK_U64(count, 1);
	CHECK(!chain->function && !chain->raw_name && !chain->file && !chain->line);
	CHECK_U64(symbols_module_state(symbols, module), state);
	CHECK(!symbols_module_debug_path(symbols, module));
	close_module();
}

CASE(symbols_changed, "a file with another build-id than recorded is never used")
{
	copy_sample("c_gcc5");
	char hex[160];
	build_id_len = read_build_id(build_id, sizeof(build_id), hex, sizeof(hex));
	open_module(copy, build_id, build_id_len);
	check_places(SYMBOLS_DWARF);
	close_module();
	build_id[build_id_len - 1] ^= 1;
	open_module(copy, build_id, build_id_len);
	check_unknown(SYMBOLS_CHANGED);
	open_module(copy, build_id, build_id_len - 1);
	check_unknown(SYMBOLS_CHANGED);
	CHECK(run_quietly("objcopy -R .note.gnu.build-id '%s'", copy));
	open_module(copy, build_id, build_id_len);
	check_unknown(SYMBOLS_CHANGED);
}

CASE(symbols_missing, "what is no ELF file has no names")
{
	static const char *const paths[] = {
		"/nowhere/program", "/dev/zero", "/tmp", "/etc/passwd", "[vdso]", "", "\n"};
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		open_module(paths[i], NULL, 0);
		check_unknown(SYMBOLS_MISSING);
	}
	make_folder();
	snprintf(copy, sizeof(copy), "%s/fifo", folder);
	CHECK(run_quietly("mkfifo '%s'", copy));
	open_module(copy, NULL, 0);
	check_unknown(SYMBOLS_MISSING);
}

CASE(symbols_modules, "modules are apart, answers stay where they are, bad numbers are errors")
{
	const char *path = sample_path("c_gcc5");
	read_places(path);
	open_module("/nowhere/program", NULL, 0);
	uint32_t second;
	CHECK_OK(symbols_add_module(symbols, path, NULL, 0, &second));
	const struct symbol *chain, *again;
	size_t count;
	uint64_t address = places[0].address - 1;
	CHECK_OK(symbols_resolve(symbols, second, address, &chain, &count));
	CHECK(chain->function);
	for (uint64_t other = 0; other < 5000; other++)
		CHECK_OK(symbols_resolve(symbols, second, other, &again, &count));
	CHECK_OK(symbols_resolve(symbols, second, address, &again, &count));
	CHECK(again == chain);
	CHECK_ERROR(symbols_resolve(symbols, 2, 1, &chain, &count), ERROR_INTERNAL, "no module");
	check_unknown(SYMBOLS_MISSING);
}

/* Asks a damaged file for every place; any answer will do. */
static void ask_places(void)
{
	open_module(copy, NULL, 0);
	for (size_t i = 0; i < place_count; i++) {
		const struct symbol *chain;
		size_t count;
		CHECK_OK(symbols_resolve(symbols, module, places[i].address - 1, &chain, &count));
		CHECK(count >= 1);
	}
	close_module();
}

static void write_copy(const uint8_t *data, size_t len)
{
	/* A new file: the old one may still be mapped by a library. */
	unlink(copy);
	FILE *file = fopen(copy, "w");
	CHECK(file && fwrite(data, 1, len, file) == len && fclose(file) == 0);
}

CASE(symbols_truncated, "a file cut off anywhere gives no crash")
{
	copy_sample("c_gcc5");
	_cleanup_free_ uint8_t *data = NULL;
	size_t len;
	CHECK_OK(read_file(copy, 1 << 24, &data, &len));
	for (size_t cut = 0; cut < len; cut += cut < 512 ? 7 : 211) {
		write_copy(data, cut);
		ask_places();
	}
}

static void damage(const char *sample, unsigned rounds)
{
	copy_sample(sample);
	_cleanup_free_ uint8_t *data = NULL;
	size_t len;
	CHECK_OK(read_file(copy, 1 << 24, &data, &len));
	_cleanup_free_ uint8_t *damaged = malloc(len);
	for (uint64_t round = 0; round < rounds; round++) {
		memcpy(damaged, data, len);
		/* Equal on every run; few bytes, so that most of the file still makes sense. */
		for (uint64_t i = 0; i < 1 + round % 40; i++) {
			uint64_t random = hash_u64(round * 64 + i + 1);
			damaged[random % len] = (uint8_t)(random >> 56);
		}
		write_copy(damaged, len);
		ask_places();
	}
}

CASE(symbols_damaged, "a damaged file gives no crash")
{
	damage("cc_gcc5", 400);
	remove_folder();
	damage("cc_clang4", 200);
}

/* Opens the C library as it is in this process; where it begins. */
static uint64_t open_libc(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[TEXT_MAX], *path = NULL;
	unsigned long start = 0;
	while (!path && maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "/libc.so.6")) {
			start = strtoul(line, NULL, 16);
			path = strchr(line, '/');
		}
	if (maps)
		fclose(maps);
	if (!path)
		SKIP("not linked with glibc's libc.so.6");
	path[strcspn(path, "\n")] = '\0';
	open_module(path, NULL, 0);
	return start;
}

CASE(symbols_real, "a library of the distribution has the names of what it exports")
{
	uint64_t address = (uint64_t)(uintptr_t)&gnu_get_libc_version - open_libc() + 1;
	const struct symbol *chain;
	size_t count;
	CHECK_OK(symbols_resolve(symbols, module, address, &chain, &count));
	CHECK_CONTAINS(chain[count - 1].function, "gnu_get_libc_version");
	close_module();
}

static long own_numbers[5];
static const int own_line = __LINE__ - 1;

/* A variable of this program that is known by its name and by the line it stands on. */
static void check_variable(
	const char *path, const volatile void *place, size_t offset, const char *name, int line)
{
	open_module(path, NULL, 0);
	uint64_t address = (uint64_t)(uintptr_t)place - (uint64_t)_r_debug.r_map->l_addr;
	struct symbol_variable variable;
	CHECK_OK(symbols_variable(symbols, module, address + offset, &variable));
	CHECK_STR(variable.name, name);
	CHECK_U64(variable.offset, offset);
	if (line) {
		CHECK_CONTAINS(variable.file, "test_symbols.c");
		CHECK_U64(variable.line, (uint64_t)line);
	} else {
		CHECK(!variable.file);
	}
	close_module();
}

CASE(symbols_variables, "variables have names, those of functions too, and lines where DWARF is")
{
	static volatile short inner[3];
	int inner_line = __LINE__ - 1;
	inner[0] = (short)own_numbers[0];
	check_variable("/proc/self/exe", own_numbers, 0, "own_numbers", own_line);
	check_variable(
		"/proc/self/exe", own_numbers, 5 * sizeof(long) - 1, "own_numbers", own_line);
	check_variable("/proc/self/exe", inner, 4, "inner", inner_line);
	make_folder();
	char bare[PATH_MAX + 16];
	snprintf(bare, sizeof(bare), "%s/bare", folder);
	CHECK(run_quietly("strip --strip-debug -o '%s' /proc/%d/exe", bare, (int)getpid()));
	check_variable(bare, inner, 2, "inner", 0);
	CHECK(run_quietly("strip -o '%s' /proc/%d/exe", bare, (int)getpid()));
	open_module(bare, NULL, 0);
	struct symbol_variable variable;
	CHECK_OK(symbols_variable(symbols, module,
		(uint64_t)(uintptr_t)own_numbers - (uint64_t)_r_debug.r_map->l_addr, &variable));
	CHECK(!variable.name && !variable.file);
	CHECK_ERROR(symbols_variable(symbols, module + 1, 0, &variable), ERROR_INTERNAL, "module");
	close_module();
}

CASE(symbols_aliases, "a function has all the names that the symbol table has for it")
{
	uint64_t address = (uint64_t)(uintptr_t)&duplocale - open_libc() + 1;
	const char *const *names = NULL;
	size_t count = 0, plain = 0, underscored = 0;
	CHECK_OK(symbols_aliases(symbols, module, address, &names, &count));
	for (size_t i = 0; i < count; i++) {
		plain += strcmp(names[i], "duplocale") == 0;
		underscored += strcmp(names[i], "__duplocale") == 0;
	}
	CHECK_U64(plain, 1);
	CHECK_U64(underscored, 1);
	CHECK_OK(symbols_aliases(symbols, module, 1, &names, &count));
	CHECK_U64(count, 0);
	CHECK_ERROR(symbols_aliases(symbols, module + 1, 1, &names, &count), ERROR_INTERNAL,
		"no module");
	close_module();
}

/* The vdso as the dynamic linker sees it: the value of a symbol in it; 0: none. */
static uint64_t vdso_value(const char *name)
{
	const struct link_map *map = _r_debug.r_map;
	while (map && strcmp(map->l_name, SYMBOLS_VDSO) != 0)
		map = map->l_next;
	const ElfW(Sym) *table = NULL;
	const char *strings = NULL;
	const uint32_t *hash = NULL;
	for (const ElfW(Dyn) *d = map ? map->l_ld : NULL; d && d->d_tag != DT_NULL; d++) {
		const char *at = (const char *)(map->l_addr + d->d_un.d_ptr);
		if (d->d_tag == DT_SYMTAB)
			table = (const ElfW(Sym) *)at;
		else if (d->d_tag == DT_STRTAB)
			strings = at;
		else if (d->d_tag == DT_HASH)
			hash = (const uint32_t *)at;
	}
	for (uint32_t i = 1; table && strings && hash && i < hash[1]; i++)
		if (strcmp(strings + table[i].st_name, name) == 0)
			return table[i].st_value;
	return 0;
}

CASE(symbols_vdso, "the vdso's names come from the one of this process, if it is the same")
{
	uint64_t address = vdso_value("__vdso_clock_gettime");
	if (!address)
		SKIP("no vdso with a table of symbols");
	const struct symbol *chain;
	size_t count;
	open_module(SYMBOLS_VDSO, NULL, 0);
	CHECK_OK(symbols_resolve(symbols, module, address + 1, &chain, &count));
	CHECK_CONTAINS(chain[count - 1].function, "clock_gettime");
	close_module();
	static const uint8_t other[20] = {1, 2, 3};
	open_module(SYMBOLS_VDSO, other, sizeof(other));
	CHECK_OK(symbols_resolve(symbols, module, address + 1, &chain, &count));
	CHECK(!chain[count - 1].function);
	CHECK_U64(symbols_module_state(symbols, module), SYMBOLS_CHANGED);
	close_module();
}

TAP_MAIN
