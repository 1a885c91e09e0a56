/*
 * flame_result.c
 *		Returns nodes as rows of Grafana's flame-graph panel.
 */
#include "views/flame_result.h"

#include "views/flame_table.h"

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
	Datum values[PFS_FLAME_DIFF_COUNT];
	bool nulls[PFS_FLAME_DIFF_COUNT] = { false };
	PfsSourceTexts source = { NULL, NULL, 0 };

	if (result->taker != NULL)
	{
		pfs_flame_table_put(result->taker, sources, row);
		return;
	}
	if (row->node != NULL)
		source = pfs_source_texts(sources, row->node->location, row->node->line);
	values[PFS_FLAME_ORD] = Int32GetDatum(ord);
	values[PFS_FLAME_LEVEL] = Int32GetDatum(row->level);
	values[PFS_FLAME_VALUE] = Int64GetDatum(is_diff ? row->total.base : row->total.value);
	values[PFS_FLAME_SELF] = Int64GetDatum(is_diff ? row->self.base : row->self.value);
	values[PFS_FLAME_LABEL] = PointerGetDatum(row->label_text);
	values[PFS_FLAME_TRUNCATED] = BoolGetDatum(row->node == NULL);
	values[PFS_FLAME_FILE] = text_or_null(source.file, &nulls[PFS_FLAME_FILE]);
	values[PFS_FLAME_LINE] = Int32GetDatum(source.line);
	nulls[PFS_FLAME_LINE] = source.line == 0;
	values[PFS_FLAME_MAPPING] = text_or_null(source.mapping, &nulls[PFS_FLAME_MAPPING]);
	values[PFS_FLAME_VALUE_RIGHT] = Int64GetDatum(row->total.value);
	values[PFS_FLAME_SELF_RIGHT] = Int64GetDatum(row->self.value);
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
