/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Heaps of Go's runtime, also damaged ones, synthesised. */
#include <elf.h>

#include "allocator_image.h"
#include "heap/heap_scan.h"
#include "lib/tap.h"

/* Go's spans: runtime.mheap, mspan */

#define GO_DATA (LIBRARY + 0x1000)
#define GO_LIST (GO_DATA + 0x318)
#define GO_SPANS 0x7d0000000000ull
#define GO_ABOUT (GO_SPANS + 0x1000)
#define GO_BITS (GO_SPANS + 0x3000)
#define GO_ARENA 0x7e0000000000ull

/* Offsets of the versions. */
static const struct go_layout {
	const char *versions;
	unsigned elements, bits, count, class, size;
	bool is_short; /* numbers of elements have two bytes */
} go_layouts[] = {
	{"1.12 to 1.20", 56, 72, 96, 98, 104, false},
	{"1.21", 56, 72, 104, 106, 112, false},
	{"from 1.22 on", 50, 64, 96, 98, 104, true},
};

/* Describes a span of so many pages; state 1: of elements, 2: of others. */
static uint64_t go_span(struct allocator_image *image, const struct go_layout *layout,
	unsigned number, uint64_t start, uint64_t pages, unsigned state)
{
	uint64_t about = GO_ABOUT + 0xa0ull * number;
	uint8_t byte = (uint8_t)state;
	core_builder_word(&image->core, GO_SPANS + 8ull * number, about);
	core_builder_word(&image->core, about + 24, start);
	core_builder_word(&image->core, about + 32, pages);
	core_builder_bytes(&image->core, about + layout->class + 1, &byte, 1);
	return about;
}

static uint64_t go_elements(struct allocator_image *image, const struct go_layout *layout,
	uint64_t about, uint16_t elements, uint16_t next, uint8_t class, uint64_t size)
{
	uint64_t start = core_builder_read(&image->core, about + 24);
	uint64_t bits = GO_BITS + (about - GO_ABOUT) / 0xa0 * 64;
	size_t width = layout->is_short ? 2 : 8;
	uint64_t numbers[2] = {next, elements};
	core_builder_bytes(&image->core, about + 48, &numbers[0], width);
	core_builder_bytes(&image->core, about + layout->elements, &numbers[1], width);
	core_builder_word(&image->core, about + layout->bits, bits);
	core_builder_bytes(&image->core, about + layout->count, &next, 2);
	core_builder_bytes(&image->core, about + layout->class, &class, 1);
	core_builder_word(&image->core, about + layout->size, size);
	core_builder_word(&image->core, about + layout->size + 8, start + elements * size);
	return bits;
}

/* Spans of small elements, of a large one, of a stack, and one that is no more. */
static struct allocator_image *begin_go(const struct go_layout *layout)
{
	struct allocator_image *image = allocator_image_begin();
	struct core_piece *head =
		core_builder_add(&image->core, GO_SPANS, 0x4000, PF_R | PF_W, NULL, 0);
	core_builder_add(&image->core, GO_ARENA, 0x20000, PF_R | PF_W, NULL, 0);
	head = core_builder_add(&image->core, LIBRARY, 0x1000, PF_R, "/usr/bin/app", 0);
	core_builder_module(head, 0x2000);
	core_builder_add(&image->core, GO_DATA, 0x1000, PF_R | PF_W, "/usr/bin/app", 0x1000);
	core_builder_add(&image->core, TLS, TLS_BYTES, PF_R | PF_W, NULL, 0);
	core_builder_word(&image->core, GO_LIST, GO_SPANS);
	core_builder_word(&image->core, GO_LIST + 8, 4);
	core_builder_word(&image->core, GO_LIST + 16, 100);
	uint64_t small = go_span(image, layout, 0, GO_ARENA + 0x4000, 1, 1);
	core_builder_word(
		&image->core, go_elements(image, layout, small, 5, 2, 2 * 40 + 1, 1536), 1u << 3);
	for (unsigned i = 0; i < 5; i++)
		allocator_image_expect(image, GO_ARENA + 0x4000 + 1536 * i, 1536,
			i < 2 || i == 3 ? BLOCK_USED : BLOCK_FREE);
	uint64_t large = go_span(image, layout, 1, GO_ARENA + 0x6000, 5, 1);
	go_elements(image, layout, large, 1, 1, 0, 5 * 8192);
	allocator_image_expect(image, GO_ARENA + 0x6000, 5ull * 8192, BLOCK_USED);
	go_span(image, layout, 2, GO_ARENA, 1, 2);
	go_span(image, layout, 3, GO_ARENA + 0x4000, 1, 0);
	return image;
}

CASE(go, "heaps of Go: spans of small and large elements, beside those of stacks")
{
	for (size_t i = 0; i < sizeof(go_layouts) / sizeof(go_layouts[0]); i++) {
		printf("# %s\n", go_layouts[i].versions);
		allocator_image_check(begin_go(&go_layouts[i]), HEAP_GO);
	}
}

CASE(go_overlap, "Go: a span that lies in another is damage, and is not told")
{
	struct allocator_image *image = begin_go(&go_layouts[0]);
	uint64_t about = go_span(image, &go_layouts[0], 3, GO_ARENA + 0x8000, 1, 1);
	go_elements(image, &go_layouts[0], about, 1, 1, 0, 8192);
	image->damage[0] = "spans of Go overlap";
	image->damaged = 1;
	allocator_image_check(image, HEAP_GO);
}

/* Words that no span of Go's has. */
CASE(go_damage, "Go: a list with a span that does not agree with itself is none")
{
	static const struct {
		unsigned at;
		uint64_t value;
	} wrong[] = {{24, GO_ARENA + 0x4008}, {24, 0x7d8000000000ull}, {32, 0}, {32, 1ull << 40},
		{48, 6}, {56, 0}, {56, 2000}, {56, UINT64_MAX}, {72, 0}, {104, 0}, {104, 1544},
		{104, UINT64_MAX}, {112, GO_ARENA}};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct allocator_image *image = begin_go(&go_layouts[0]);
		core_builder_word(&image->core, GO_ABOUT + wrong[i].at, wrong[i].value);
		image->count = 0;
		allocator_image_check(image, HEAP_GO);
	}
}

/* A list has room for more spans than there may be, or a span more elements than its page has, or
 * larger ones than any class. */
CASE(go_large, "Go: what is larger than the runtime has it is no span, and no list of such")
{
	static const struct {
		uint64_t at, value;
	} wrong[] = {{GO_LIST + 16, (1ull << 31) + 1}, {GO_ABOUT + 32, (1ull << 34) + 1},
		{GO_ABOUT + 56, 1025}, {GO_ABOUT + 104, 32768 + 8}};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct allocator_image *image = begin_go(&go_layouts[0]);
		core_builder_word(&image->core, wrong[i].at, wrong[i].value);
		image->count = 0;
		allocator_image_check(image, HEAP_GO);
	}
}

#define VAIN_SPANS 0x100000ull
#define VAIN_LISTS 17u

CASE(go_in_vain,
	"Go: where very many spans are in lists that are none it is said, and none is looked for")
{
	struct allocator_image *image = allocator_image_begin();
	core_builder_add(&image->core, GO_SPANS, 8 * VAIN_SPANS + 0x8000, PF_R | PF_W, NULL, 0);
	core_builder_add(&image->core, GO_ARENA, 0x20000, PF_R | PF_W, NULL, 0);
	struct core_piece *head =
		core_builder_add(&image->core, LIBRARY, 0x1000, PF_R, "/usr/bin/app", 0);
	core_builder_module(head, 0x2000);
	core_builder_add(&image->core, GO_DATA, 0x1000, PF_R | PF_W, "/usr/bin/app", 0x1000);
	core_builder_add(&image->core, TLS, TLS_BYTES, PF_R | PF_W, NULL, 0);
	/* All lead to the same span, the last one nowhere. */
	uint64_t about = GO_SPANS + 8 * VAIN_SPANS + 0x1000;
	uint8_t of_others = 2;
	core_builder_word(&image->core, about + 24, GO_ARENA);
	core_builder_word(&image->core, about + 32, 1);
	core_builder_bytes(&image->core, about + go_layouts[0].class + 1, &of_others, 1);
	for (uint64_t i = 0; i + 1 < VAIN_SPANS; i++)
		core_builder_word(&image->core, GO_SPANS + 8 * i, about);
	for (unsigned i = 0; i < VAIN_LISTS; i++) {
		uint64_t words[3] = {GO_SPANS, VAIN_SPANS, VAIN_SPANS};
		core_builder_bytes(&image->core, GO_DATA + 24 * i, words, sizeof(words));
	}
	image->damage[0] = "too many lists look like Go's spans but are not: the search for a Go "
			   "heap was given up";
	image->damaged = 1;
	allocator_image_check(image, HEAP_GO);
}

TAP_MAIN
