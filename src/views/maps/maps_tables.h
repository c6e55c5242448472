/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of maps_view.h, of rows of maps_rows.h. Columns that text may hide have names here. */
#ifndef VIEWS_MAPS_MAPS_TABLES_H
#define VIEWS_MAPS_MAPS_TABLES_H

#include "views/maps/maps_rows.h"

/* Columns of growth, the same in all tables. */
enum growth_column {
	GROWN_BYTES,
	GROWN_RATE,
	GROWN_LOW,
	GROWN_HIGH,
	GROWN_DETERMINATION,
	GROWN_SHAPE,
	GROWN_COLUMNS
};

enum maps_owner_column {
	OWNER_PID,
	OWNER_MAPPINGS,
	OWNER_RSS,
	OWNER_GROWTH,
	OWNER_OWNER = OWNER_GROWTH + GROWN_COLUMNS,
	OWNER_WHOSE
};

enum maps_kind_column {
	KIND_PID,
	KIND_FIRST,
	KIND_LAST,
	KIND_GROWTH,
	KIND_KIND = KIND_GROWTH + GROWN_COLUMNS,
	KIND_NODE
};

enum maps_region_column {
	REGION_PID,
	REGION_START,
	REGION_FLAGS,
	REGION_SIZE,
	REGION_RSS,
	REGION_SWAPPED,
	REGION_HUGE,
	REGION_CHANGED,
	REGION_GROWTH,
	REGION_OWNER = REGION_GROWTH + GROWN_COLUMNS,
	REGION_NAME,
	REGION_END,
	REGION_WHOSE,
	REGION_OFFSET,
	REGION_INODE,
	REGION_DEVICE,
	REGION_MAPPINGS,
	REGION_PSS,
	REGION_PRIVATE,
	REGION_DIRTY,
	REGION_FIRST,
	REGION_APPEARED,
	REGION_GONE,
	REGION_MOVED,
	REGION_COMMAND,
	REGION_VALUES,
	REGION_COMPARED,
	REGION_NODES,
	REGION_PAGES
};

extern const struct table_type maps_process_type; /* of struct maps_row */
extern const struct table_type maps_moment_type;  /* of struct maps_moment */
extern const struct table_type maps_owner_type;   /* of struct maps_row */
extern const struct table_type maps_kind_type;    /* of struct maps_total */
extern const struct table_type maps_region_type;  /* of struct maps_row */

#endif
