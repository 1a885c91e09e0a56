/*
 * symbols.h
 *		Names of frames in a query. A location becomes a list of frames; each distinct name
 *		becomes a small number, a symbol.
 *
 * Views merge by function name, regardless of mapping, build and address, so that two deploys can
 * be compared. The filters' granularity may name frames in other ways. A frame without a function
 * is named after its mapping, as in "[libfoo.so]". The filters judge a location's frames once, when
 * it is first met.
 */
#ifndef PFS_SYMBOLS_H
#define PFS_SYMBOLS_H

#include "profstore.h"

#include "base/id_map.h"
#include "tree/frames/filters.h"

#define PFS_NO_SYMBOL PG_UINT32_MAX

typedef struct PfsFrame
{
	uint32 symbol;
	uint32 line; /* index among the location's lines; 0 if the location has none */
} PfsFrame;

/* The frames of one location that are left after hide and show, outermost first. */
typedef struct PfsFrames
{
	const PfsFrame *frames;
	uint32 count;
} PfsFrames;

/* The filters' verdict on a location with all its lines, as bits. */
typedef enum PfsLocationVerdict
{
	PFS_LOCATION_JUDGED = 1,
	PFS_LOCATION_FOCUSED = 2,
	PFS_LOCATION_IGNORED = 4,
	PFS_LOCATION_FRAMED = 8 /* some frame is left after hide and show */
} PfsLocationVerdict;

typedef struct PfsSymbols PfsSymbols;

/*
 * Creates symbols, after pfs_dictionary_begin(). filters must outlive them. Lives in
 * CurrentMemoryContext; data for later queries are in the session cache.
 */
PfsSymbols *pfs_symbols_create(const PfsFilters *filters);

/*
 * Returns the frames of a location, valid until the next call. A location that is not cached is
 * read from its table alone; call pfs_locations_load() first to load many at once.
 */
PfsFrames pfs_symbols_frames(PfsSymbols *symbols, int32 location_id);

/* Like pfs_symbols_frames(), but only for locations met before; otherwise returns false. */
bool pfs_symbols_find(const PfsSymbols *symbols, int32 location_id, PfsFrames *frames);

/*
 * Judges a location and caches the verdict, bits of PfsLocationVerdict. This is cheaper than
 * finding its frames. A location that is not cached is read from its table alone.
 */
uint32 pfs_symbols_judge(PfsSymbols *symbols, int32 location_id);

/* Returns the verdicts by location id; 0 if a location is not judged yet. */
const PfsIdMap *pfs_symbols_verdicts(const PfsSymbols *symbols);

/*
 * Sums of the stacks that the filters dropped, over all stacks judged with these symbols. They are
 * doubles, because all stacks of a selection together may exceed int8 even if the kept ones do not.
 */
typedef struct PfsDropped
{
	double value;
	double base; /* sum of the base, in a comparison */
} PfsDropped;

void pfs_symbols_drop(PfsSymbols *symbols, int64 value, int64 base);

/* Returns the sums of dropped stacks; NULL if there are no filters. */
const PfsDropped *pfs_symbols_dropped(const PfsSymbols *symbols);

/* Returns the symbol of a name; makes a new one if no frame has it so far. */
uint32 pfs_symbol_intern(PfsSymbols *symbols, const char *name);

const PfsFilters *pfs_symbols_filters(const PfsSymbols *symbols);
uint32 pfs_symbol_count(const PfsSymbols *symbols);
const char *pfs_symbol_name(const PfsSymbols *symbols, uint32 symbol);

/*
 * Returns the name as a label of a flame graph, with a zero byte after it. The label is made once.
 */
const text *pfs_symbol_label(PfsSymbols *symbols, uint32 symbol);

#endif
