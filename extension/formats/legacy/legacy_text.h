/*
 * legacy_text.h
 *		What readers of the text formats before protobuf share: lines, stacks of addresses, names,
 *		and the map at the end. Knows no server header.
 */
#ifndef PFS_LEGACY_TEXT_H
#define PFS_LEGACY_TEXT_H

#include "formats/legacy/address_table.h"
#include "formats/legacy/name_lines.h"
#include "formats/lines.h"

typedef struct PfsLegacyText
{
	PfsProfile *profile;
	PfsLineReader lines;
	PfsAddressTable addresses;
	PfsNameLines names;
	uint32_t named; /* the location whose names are being read, or PFS_NONE */
} PfsLegacyText;

/* Which addresses of a stack are those that calls return to, one byte behind them or more. */
typedef enum PfsReturns
{
	PFS_RETURNS_NONE,
	PFS_RETURNS_CALLERS, /* all but the leaf's */
	PFS_RETURNS_ALL
} PfsReturns;

void pfs_legacy_begin(PfsLegacyText *text, const uint8_t *bytes, size_t length, PfsProfile *profile,
					  PfsReadError *error);
void pfs_legacy_end(PfsLegacyText *text);

/* Adds a sample type; false where memory or budget are out. Texts are static. */
bool pfs_legacy_add_type(PfsProfile *profile, const char *type, const char *unit);
void pfs_legacy_set_period(PfsProfile *profile, const char *type, const char *unit, int64_t period);

/* A text that is there as long as the profile is. */
PfsText pfs_static_text(const char *text);

/* Adds a frame to the last sample. */
PfsReadStatus pfs_legacy_add_frame(PfsLegacyText *text, uint64_t address);

/* Adds all that is written as 0x… to the last sample, leaf first. */
PfsReadStatus pfs_legacy_add_stack(PfsLegacyText *text, PfsText addresses, PfsReturns returns);

/* Without frames that come second: that of a signal's handler, and a leaf that is there twice. */
void pfs_legacy_drop_second(PfsProfile *profile,
							bool (*drops)(const PfsProfile *profile, const uint32_t *locations,
										  const void *context),
							const void *context);

/* Leafs that are there twice, as an instruction and, one byte before it, as a call. */
void pfs_legacy_drop_double_leafs(PfsProfile *profile);

/* Nothing but blanks, or a comment. */
bool pfs_is_comment(PfsText line);

/*
 * Reads what Go writes in comments below a stack: "#\t0x4a5b\tmain.f+0x12\t/src/main.go:7", several
 * of one address where functions are inlined.
 */
PfsReadStatus pfs_legacy_read_name(PfsLegacyText *text, PfsText line);

/* What stands behind the samples: goes on to the memory map, and gives locations their names. */
PfsReadStatus pfs_legacy_finish(PfsLegacyText *text);

/* A line that is no row of values, or one whose values have no room. */
PfsReadStatus pfs_legacy_no_row(const PfsLegacyText *text, PfsReadStatus status,
								const char *message);

/* A value that was computed, as a whole number; PFS_READ_OUT_OF_RANGE beyond 64 bits. */
PfsReadStatus pfs_legacy_whole(const PfsLegacyText *text, double value, int64_t *result);

/*
 * A heap's sample as it was before sampling at an average of so many bytes: what was seen is
 * divided by the chance to be seen, 1 - e^(-bytes/rate).
 */
PfsReadStatus pfs_legacy_unsample(const PfsLegacyText *text, int64_t rate, int64_t *count,
								  int64_t *bytes);

/* Adds the label "bytes" to the last sample, the size of a block. */
bool pfs_legacy_add_block_size(PfsProfile *profile, int64_t bytes);

#endif
