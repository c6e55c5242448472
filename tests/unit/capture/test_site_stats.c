/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Figures of sites as the collector writes them and a reader reads them, in one chunk or several.
 */
#include "capture/recorder/site_stats.h"
#include "lib/tap.h"
#include "model/build.h"
#include "sources/recording/hpw_footer.h"

#define SITES 10u

static struct tally_site sites[SITES];
static const struct tally tally = {.sites = sites, .site_count = SITES};

static void fill(void)
{
	for (uint32_t i = 0; i < SITES; i++)
		sites[i] = (struct tally_site){.allocations = i + 1,
			.allocated_bytes = 1000 * i,
			.max_size = 7 * i,
			.max_failed_size = 11 * i};
}

/* Reads the chunk of so many sites from one on. */
static struct error *read_chunk(struct hpw_footer *footer, uint32_t first, uint32_t rows)
{
	struct buf buf;
	buf_init(&buf);
	CHECK(site_stats_put(&buf, &tally, first, rows));
	const struct hpw_payload payload = {.data = buf.data, .len = buf.len};
	struct error *error = hpw_footer_decode(footer, HPW_SITE_STATS, &payload);
	buf_deinit(&buf);
	return error;
}

static void check_sites(const struct hpw_footer *footer)
{
	CHECK(footer->has_sites);
	CHECK_U64(footer->sites.len, SITES);
	for (uint32_t i = 0; i < SITES; i++) {
		CHECK_U64(footer->sites.data[i].allocations, i + 1);
		CHECK_U64(footer->sites.data[i].allocated_bytes, 1000 * i);
		CHECK_U64(footer->sites.data[i].max_size, 7 * i);
		CHECK_U64(footer->sites.data[i].max_failed_size, 11 * i);
	}
}

CASE(one_and_several,
	"figures are the same from one chunk and from several, and the last ones count")
{
	struct hpw_footer footer;
	hpw_footer_init(&footer);
	fill();
	CHECK_OK(read_chunk(&footer, 0, SITES));
	check_sites(&footer);
	for (int again = 0; again < 2; again++) {
		for (uint32_t first = 0; first < SITES; first += 3)
			CHECK_OK(read_chunk(&footer, first, 3));
		check_sites(&footer);
	}
	CHECK_OK(read_chunk(&footer, 0, SITES));
	check_sites(&footer);
	hpw_footer_deinit(&footer);
}

CASE(into_model, "figures of known sites are in the model, as long as they count")
{
	struct hpw_footer footer;
	struct model *model;
	hpw_footer_init(&footer);
	CHECK_OK(build_create(&model));
	for (uint32_t i = 0; i < SITES - 3; i++)
		CHECK_OK(build_site(model, (struct site_id){i}, (struct stack_id){0}, KIND_CALLOC));
	footer.into = model;
	fill();
	sites[2].live_blocks = 5;
	CHECK_OK(read_chunk(&footer, 0, 4));
	CHECK_OK(read_chunk(&footer, 4, SITES - 4));
	CHECK_U64(footer.sites_len, SITES);
	CHECK_U64(footer.sites.len, 3);
	CHECK_U64(footer.sites.data[0].allocations, SITES - 2);
	for (uint32_t i = 0; i < SITES - 3; i++) {
		const struct site *site = build_site_at(model, (struct site_id){i});
		CHECK(site->kind == KIND_CALLOC);
		CHECK_U64(site->allocations, i + 1);
		CHECK_U64(site->kept_blocks, i == 2 ? 5 : 0);
	}
	CHECK_OK(read_chunk(&footer, 0, 2)); /* begins again */
	CHECK_U64(footer.sites_len, 2);
	CHECK_U64(build_site_at(model, (struct site_id){1})->allocations, 2);
	CHECK_U64(build_site_at(model, (struct site_id){2})->allocations, 0);
	CHECK_U64(build_site_at(model, (struct site_id){2})->kept_blocks, 0);
	sites[2].live_blocks = 0;
	hpw_footer_deinit(&footer);
	model_destroy(model);
}

CASE(gap, "where one of several chunks is missing the figures are not known")
{
	struct hpw_footer footer;
	hpw_footer_init(&footer);
	fill();
	CHECK_OK(read_chunk(&footer, 0, 3));
	struct error *error = read_chunk(&footer, 6, 3);
	CHECK(error);
	error_destroy(error);
	CHECK(!footer.has_sites);
	error = read_chunk(&footer, 3, 3);
	CHECK(error);
	error_destroy(error);
	CHECK(!footer.has_sites);
	hpw_footer_deinit(&footer);
}

TAP_MAIN
