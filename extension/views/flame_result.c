/*
 * flame_result.c
 *		Nodes as rows of Grafana's flame-graph panel.
 */
#include "views/flame_result.h"

enum
{
	COL_ORD,
	COL_LEVEL,
	COL_VALUE,
	COL_SELF,
	COL_LABEL,
	COL_TRUNCATED,
	COL_FILE,
	COL_LINE,
	COL_MAPPING,
	COL_COUNT,
	COL_VALUE_RIGHT = COL_COUNT,
	COL_SELF_RIGHT,
	COL_DIFF_COUNT
};

static Datum
text_or_null(const text *value, bool *is_null)
{
	*is_null = value == NULL;
	return PointerGetDatum(value);
}

void
pfs_flame_result_put(const PfsResult *result, PfsSourceTable *sources, int32 ord,
					 const PfsFlameRow *row, bool is_diff)
{
	Datum values[COL_DIFF_COUNT];
	bool nulls[COL_DIFF_COUNT] = { false };
	PfsSourceTexts source = { NULL, NULL, 0 };

	if (row->node != NULL)
		source = pfs_source_texts(sources, row->node->location, row->node->line);
	values[COL_ORD] = Int32GetDatum(ord);
	values[COL_LEVEL] = Int32GetDatum(row->level);
	values[COL_VALUE] = Int64GetDatum(is_diff ? row->total.base : row->total.value);
	values[COL_SELF] = Int64GetDatum(is_diff ? row->self.base : row->self.value);
	values[COL_LABEL] = PointerGetDatum(row->label_text);
	values[COL_TRUNCATED] = BoolGetDatum(row->node == NULL);
	values[COL_FILE] = text_or_null(source.file, &nulls[COL_FILE]);
	values[COL_LINE] = Int32GetDatum(source.line);
	nulls[COL_LINE] = source.line == 0;
	values[COL_MAPPING] = text_or_null(source.mapping, &nulls[COL_MAPPING]);
	values[COL_VALUE_RIGHT] = Int64GetDatum(row->total.value);
	values[COL_SELF_RIGHT] = Int64GetDatum(row->self.value);
	pfs_result_put(result, values, nulls);
}

int32
pfs_flame_result_put_all(const PfsResult *result, int32 ord, PfsFlameScan *flame, bool is_diff)
{
	PfsSourceTable *sources = pfs_source_table();
	PfsFlameRow row;

	while (pfs_flame_scan_next(flame, &row))
		pfs_flame_result_put(result, sources, ord++, &row, is_diff);
	return ord;
}
