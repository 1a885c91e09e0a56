/*
 * flame_table.c
 *		Keeps rows in an array, which is written to a file whenever it is full, and texts by their
 *		numbers.
 */
#include "views/flame_table.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/arrays.h"
#include "base/hash.h"
#include "base/id_map.h"
#include "base/memory_peak.h"
#include "base/temp_file.h"
#include "dictionary/cache/dictionary.h"

#define FIRST_ROWS 256

/* Source position of a row; 0: unknown. */
typedef struct Source
{
	const text *file;
	const text *mapping;
	int32 line;
} Source;

/* Columns of a row; in a comparison a RightSide follows each. */
typedef struct PackedRow
{
	int64 value;
	int64 self;
	uint32 label;
	uint32 source;
	int32 level;
	bool truncated;
} PackedRow;

typedef struct RightSide
{
	int64 value;
	int64 self;
} RightSide;

/* A text of a cache, and its copy. */
typedef struct TextCopy
{
	const text *original;
	const text *copy;
	char status;
} TextCopy;

#define SH_PREFIX		   text_copies
#define SH_ELEMENT_TYPE	   TextCopy
#define SH_KEY_TYPE		   const text *
#define SH_KEY			   original
#define SH_HASH_KEY(tb, k) pfs_hash64((uint64) (uintptr_t) (k))
#define SH_EQUAL(tb, a, b) ((a) == (b))
#define SH_SCOPE		   static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct PfsFlameTable
{
	MemoryContext context;
	bool is_diff;
	bool has_sources;
	Size row_bytes;

	const text **labels;
	uint32 label_count;
	uint32 label_capacity;
	/* for each symbol, 1 + the number of its label, or 0 if it has none yet */
	uint32 *symbol_labels;
	uint32 symbol_count;
	const text *last_text; /* the latest label without a symbol, and its number */
	uint32 last_label;
	PfsIdMap location_sources; /* location → number of the source of its first line */
	Source *sources;
	uint32 source_count;
	uint32 source_capacity;
	text_copies_hash *copies; /* copies of texts that several sources share */

	char *rows;
	Size used; /* bytes of rows in the array */
	Size capacity;
	BufFile *file; /* earlier rows; NULL: all rows are in the array */
	uint64 file_rows;
	uint64 row_count;

	uint64 next; /* ordinal of the row to be read next */
	Size at;	 /* offset of that row in the array, in bytes */
};

PfsFlameTable *
pfs_flame_table_begin(bool is_diff, bool has_sources)
{
	PfsFlameTable *table = palloc0(sizeof(PfsFlameTable));

	table->context = table->location_sources.context = CurrentMemoryContext;
	table->is_diff = is_diff;
	table->has_sources = has_sources;
	table->row_bytes = sizeof(PackedRow) + (is_diff ? sizeof(RightSide) : 0);
	table->capacity = FIRST_ROWS * table->row_bytes;
	table->rows = palloc(table->capacity);
	table->copies = text_copies_create(CurrentMemoryContext, 256, NULL);
	PFS_RESERVE(table->sources, table->source_capacity, 1);
	table->sources[table->source_count++] = (Source){ NULL, NULL, 0 };
	return table;
}

void
pfs_flame_table_end(PfsFlameTable *table)
{
	if (table->file != NULL)
		BufFileClose(table->file);
	table->file = NULL;
}

static const text *
copy_text(MemoryContext context, const text *original)
{
	text *copy = MemoryContextAlloc(context, VARSIZE_ANY(original));

	memcpy(copy, original, VARSIZE_ANY(original));
	return copy;
}

static uint32
flame_table_add_label(PfsFlameTable *table, const text *label)
{
	PFS_RESERVE_IN(table->context, table->labels, table->label_capacity,
				   (uint64) table->label_count + 1);
	table->labels[table->label_count] = copy_text(table->context, label);
	return table->label_count++;
}

/*
 * Returns the number of a row's label, and adds the label if it is new. Labels of symbols are found
 * by symbol.
 */
static uint32
label_of(PfsFlameTable *table, const PfsFlameRow *row)
{
	uint32 symbol = row->symbol;
	uint32 known = table->symbol_count;

	if (symbol == PFS_NO_SYMBOL)
	{
		if (table->last_text != row->label_text)
			table->last_label = flame_table_add_label(table, row->label_text);
		table->last_text = row->label_text;
		return table->last_label;
	}
	if (unlikely(symbol >= known))
	{
		PFS_RESERVE_IN(table->context, table->symbol_labels, table->symbol_count,
					   (uint64) symbol + 1);
		memset(table->symbol_labels + known, 0,
			   (Size) (table->symbol_count - known) * sizeof(uint32));
	}
	if (table->symbol_labels[symbol] == 0)
		table->symbol_labels[symbol] = 1 + flame_table_add_label(table, row->label_text);
	return table->symbol_labels[symbol] - 1;
}

/*
 * Returns the copy of a text that several sources may share; makes it at the first call for the
 * text.
 */
static const text *
share_text(PfsFlameTable *table, const text *original)
{
	TextCopy *entry;
	bool found;

	if (original == NULL)
		return NULL;
	entry = text_copies_insert(table->copies, original, &found);
	if (!found)
		entry->copy = copy_text(table->context, original);
	return entry->copy;
}

static pg_noinline uint32
add_sources(PfsFlameTable *table, PfsSourceTable *sources, int32 location_id)
{
	uint32 first = table->source_count;
	uint32 count = Max(pfs_location_get(location_id)->line_count, 1);

	PFS_RESERVE_IN(table->context, table->sources, table->source_capacity, (uint64) first + count);
	for (uint32 line = 0; line < count; line++)
	{
		PfsSourceTexts texts = pfs_source_texts(sources, location_id, line);

		table->sources[table->source_count++] =
			(Source){ share_text(table, texts.file), share_text(table, texts.mapping), texts.line };
	}
	return first;
}

static uint32
source_of(PfsFlameTable *table, PfsSourceTable *sources, const PfsFrameNode *node)
{
	uint32 *slot;

	if (node == NULL || node->location == 0 || !table->has_sources)
		return 0;
	slot = pfs_id_map_slot(&table->location_sources, node->location);
	if (*slot == 0)
		*slot = add_sources(table, sources, node->location);
	return *slot + node->line;
}

static void
flame_table_write_rows(PfsFlameTable *table)
{
	if (table->file == NULL)
		table->file = BufFileCreateTemp(false);
	BufFileWrite(table->file, table->rows, table->used);
	table->file_rows += table->used / table->row_bytes;
	table->used = 0;
}

/*
 * Makes room for one more row: doubles the array, or writes its rows to the file if that would
 * exceed work_mem.
 */
static pg_noinline void
flame_table_make_room(PfsFlameTable *table)
{
	MemoryContext caller = MemoryContextSwitchTo(table->context);

	pfs_memory_look();
	if (table->capacity > (Size) work_mem * 1024 / 2)
		flame_table_write_rows(table);
	else
	{
		table->capacity *= 2;
		table->rows = repalloc_huge(table->rows, table->capacity);
	}
	MemoryContextSwitchTo(caller);
}

void
pfs_flame_table_put(PfsFlameTable *table, PfsSourceTable *sources, const PfsFlameRow *row)
{
	PackedRow *packed;

	if (table->used == table->capacity)
		flame_table_make_room(table);
	packed = (PackedRow *) (table->rows + table->used);
	packed->label = label_of(table, row);
	packed->source = source_of(table, sources, row->node);
	packed->level = row->level;
	packed->truncated = row->node == NULL;
	packed->value = table->is_diff ? row->total.base : row->total.value;
	packed->self = table->is_diff ? row->self.base : row->self.value;
	if (table->is_diff)
		*(RightSide *) (packed + 1) = (RightSide){ row->total.value, row->self.value };
	table->used += table->row_bytes;
	table->row_count++;
}

void
pfs_flame_table_rewind(PfsFlameTable *table)
{
	if (table->file != NULL)
	{
		if (table->file_rows < table->row_count)
			flame_table_write_rows(table);
		pfs_temp_file_seek(table->file, 0);
	}
	table->next = 0;
	table->at = table->file != NULL ? table->used : 0;
}

/* Reads the next rows from the file into the array. */
static void
read_rows(PfsFlameTable *table)
{
	uint64 left = (table->row_count - table->next) * table->row_bytes;

	CHECK_FOR_INTERRUPTS();
	table->used = (Size) Min(left, table->capacity);
	pfs_temp_file_read(table->file, table->rows, table->used);
	table->at = 0;
}

bool
pfs_flame_table_next(PfsFlameTable *table, Datum *values, bool *nulls)
{
	const PackedRow *packed;
	const Source *source;

	if (table->next == table->row_count)
		return false;
	if (table->at == table->used)
		read_rows(table);
	packed = (const PackedRow *) (table->rows + table->at);
	source = &table->sources[packed->source];
	values[PFS_FLAME_ORD] = Int32GetDatum((int32) table->next);
	values[PFS_FLAME_LEVEL] = Int32GetDatum(packed->level);
	values[PFS_FLAME_VALUE] = Int64GetDatum(packed->value);
	values[PFS_FLAME_SELF] = Int64GetDatum(packed->self);
	values[PFS_FLAME_LABEL] = PointerGetDatum(table->labels[packed->label]);
	values[PFS_FLAME_TRUNCATED] = BoolGetDatum(packed->truncated);
	values[PFS_FLAME_FILE] = PointerGetDatum(source->file);
	nulls[PFS_FLAME_FILE] = source->file == NULL;
	values[PFS_FLAME_LINE] = Int32GetDatum(source->line);
	nulls[PFS_FLAME_LINE] = source->line == 0;
	values[PFS_FLAME_MAPPING] = PointerGetDatum(source->mapping);
	nulls[PFS_FLAME_MAPPING] = source->mapping == NULL;
	if (table->is_diff)
	{
		const RightSide *right = (const RightSide *) (packed + 1);

		values[PFS_FLAME_VALUE_RIGHT] = Int64GetDatum(right->value);
		values[PFS_FLAME_SELF_RIGHT] = Int64GetDatum(right->self);
	}
	table->next++;
	table->at += table->row_bytes;
	return true;
}
