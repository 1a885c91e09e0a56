/*
 * symbols.h
 *		Names of frames for a query.
 *
 * A location becomes a run of frames, a distinct name a small number, a symbol.
 *
 * Views merge by function name, whatever the mapping, build or address: that makes two deploys
 * comparable. The filters' granularity may name frames otherwise. A frame without a function is
 * named after its mapping, as in "[libfoo.so]". The filters judge a location's frames once, when it
 * is met.
 */
#ifndef PFS_SYMBOLS_H
#define PFS_SYMBOLS_H

#include "profstore.h"

#include "base/id_map.h"
#include "tree/filters.h"

#define PFS_NO_SYMBOL PG_UINT32_MAX

typedef struct PfsFrame
{
	uint32 symbol;
	uint32 line; /* index among the location's lines; 0 where it has none */
} PfsFrame;

/* The frames of one location that hide and show leave, outermost first. */
typedef struct PfsFrames
{
	const PfsFrame *frames;
	uint32 count;
} PfsFrames;

/* What the filters say of one location, whose frames are all its lines: bits. */
typedef enum PfsLocationVerdict
{
	PFS_LOCATION_JUDGED = 1,
	PFS_LOCATION_FOCUSED = 2,
	PFS_LOCATION_IGNORED = 4,
	PFS_LOCATION_FRAMED = 8 /* hide and show leave some frame */
} PfsLocationVerdict;

typedef struct PfsSymbols PfsSymbols;

/*
 * pfs_dictionary_begin has been called; filters must outlive the symbols. Lives in
 * CurrentMemoryContext; what later queries can use stays in the session cache.
 */
PfsSymbols *pfs_symbols_create(const PfsFilters *filters);

/*
 * The frames of a location, which hold until the next call. A location that is not cached is read
 * from its table by itself; many are loaded at once before (pfs_locations_load).
 */
PfsFrames pfs_symbols_frames(PfsSymbols *symbols, int32 location_id);

/* The same of a location that has been met; false of any other. */
bool pfs_symbols_find(const PfsSymbols *symbols, int32 location_id, PfsFrames *frames);

/*
 * Judges a location and remembers the verdict, bits of PfsLocationVerdict. Costs less than its
 * frames. A location that is not cached is read from its table by itself.
 */
uint32 pfs_symbols_judge(PfsSymbols *symbols, int32 location_id);

/* The verdicts by location id; 0: not yet judged. */
const PfsIdMap *pfs_symbols_verdicts(const PfsSymbols *symbols);

/*
 * What the filters have dropped, of all stacks that were judged with these symbols. Doubles: the
 * whole of a selection may be more than fits int8 where what is kept of it does.
 */
typedef struct PfsDropped
{
	double value;
	double base; /* of a comparison */
} PfsDropped;

void pfs_symbols_drop(PfsSymbols *symbols, int64 value, int64 base);

/* NULL where there are no filters. */
const PfsDropped *pfs_symbols_dropped(const PfsSymbols *symbols);

/* The symbol of a name; a new one if no frame has it so far. */
uint32 pfs_symbol_intern(PfsSymbols *symbols, const char *name);

const PfsFilters *pfs_symbols_filters(const PfsSymbols *symbols);
uint32 pfs_symbol_count(const PfsSymbols *symbols);
const char *pfs_symbol_name(const PfsSymbols *symbols, uint32 symbol);

/* The name as a label of a flame graph, with a zero byte behind it; made once. */
const text *pfs_symbol_label(PfsSymbols *symbols, uint32 symbol);

#endif
