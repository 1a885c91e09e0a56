/*
 * symbols.h
 *		Names of frames for a query: every location becomes a run of frames, every name a small number.
 *
 * Views merge by function name, whatever the binary, build or address, since that is what makes two deploys comparable;
 * unless the filters' granularity names frames otherwise. A symbol is a distinct name. The filters judge a location's
 * frames once, when it is met. A frame without a function is named after its binary and address, as in
 * "libfoo.so 0x1a2b".
 */
#ifndef PFS_SYMBOLS_H
#define PFS_SYMBOLS_H

#include "profstore.h"

#include "query/filters.h"

#define PFS_NO_SYMBOL PG_UINT32_MAX

typedef struct PfsFrame
{
	uint32 symbol;
	uint32 line; /* index among the location's lines; 0 where it has none */
} PfsFrame;

/* The frames of one location that hide and show leave, outermost first, and the verdict over all its names. */
typedef struct PfsFrames
{
	const PfsFrame *frames;
	uint32 count;
	bool focused;
	bool ignored;
} PfsFrames;

typedef struct PfsSymbols PfsSymbols;

/*
 * Lives in CurrentMemoryContext, or, where other queries can use it as well, as long as names do. filters must outlive it.
 * pfs_dictionary_begin has been called.
 */
PfsSymbols *pfs_symbols_create(const PfsFilters *filters);

/*
 * The frames of a location; what it points to holds until the next call. One that is met for the first time is resolved,
 * and read from its table if it is not cached, by itself: who knows which will be met loads them before (dictionary.h).
 */
PfsFrames pfs_symbols_frames(PfsSymbols *symbols, int32 location_id);

/* Whether the location has been met. */
bool pfs_symbols_have(const PfsSymbols *symbols, int32 location_id);

/* The symbol of a name; a new one if no frame has it so far. */
uint32 pfs_symbol_intern(PfsSymbols *symbols, const char *name);

const PfsFilters *pfs_symbols_filters(const PfsSymbols *symbols);
uint32 pfs_symbol_count(const PfsSymbols *symbols);
const char *pfs_symbol_name(const PfsSymbols *symbols, uint32 symbol);

#endif
