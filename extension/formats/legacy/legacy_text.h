/*
 * legacy_text.h
 *		Functions that readers of the text formats before protobuf share: lines, stacks of
 *		addresses, names, and the map at the end. Includes no server header.
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
	uint32_t named; /* location whose names are being read, or PFS_NONE */
} PfsLegacyText;

/*
 * Which addresses of a stack are return addresses. A return address lies at least one byte after
 * the call.
 */
typedef enum PfsReturns
{
	PFS_RETURNS_NONE,
	PFS_RETURNS_CALLERS, /* all addresses except that of the leaf */
	PFS_RETURNS_ALL
} PfsReturns;

void pfs_legacy_begin(PfsLegacyText *text, const uint8_t *bytes, size_t length, PfsProfile *profile,
					  PfsReadError *error);
void pfs_legacy_end(PfsLegacyText *text);

/* Adds a sample type with static texts. Returns false if out of memory or budget. */
bool pfs_legacy_add_type(PfsProfile *profile, const char *type, const char *unit);
void pfs_legacy_set_period(PfsProfile *profile, const char *type, const char *unit, int64_t period);

/* Returns the text of a string that outlives the profile. */
PfsText pfs_static_text(const char *text);

/* Adds a frame to the last sample. */
PfsReadStatus pfs_legacy_add_frame(PfsLegacyText *text, uint64_t address);

/* Adds all addresses written as 0x... to the last sample, leaf first. */
PfsReadStatus pfs_legacy_add_stack(PfsLegacyText *text, PfsText addresses, PfsReturns returns);

/* Removes the second frame of each stack for which drops() returns true. */
void pfs_legacy_drop_second(PfsProfile *profile,
							bool (*drops)(const PfsProfile *profile, const uint32_t *locations,
										  const void *context),
							const void *context);

/*
 * Removes second frames that repeat the leaf, as the return address one byte after the leaf's
 * instruction.
 */
void pfs_legacy_drop_double_leafs(PfsProfile *profile);

/* Returns true for blank lines and comments. */
bool pfs_is_comment(PfsText line);

/*
 * Reads Go's comment below a stack: "#\t0x4a5b\tmain.f+0x12\t/src/main.go:7"; an address has
 * several if functions were inlined.
 */
PfsReadStatus pfs_legacy_read_name(PfsLegacyText *text, PfsText line);

/* Reads the part after the samples: skips to the memory map, and gives locations their names. */
PfsReadStatus pfs_legacy_finish(PfsLegacyText *text);

/* Sets the error for a line that is not a row of values, or that has a value out of range. */
PfsReadStatus pfs_legacy_no_row(const PfsLegacyText *text, PfsReadStatus status,
								const char *message);

/* Converts a computed value to an integer. Returns PFS_READ_OUT_OF_RANGE beyond 64 bits. */
PfsReadStatus pfs_legacy_whole(const PfsLegacyText *text, double value, int64_t *result);

/*
 * Scales a heap's sample to the values before sampling at an average of rate bytes: divides by the
 * probability of being sampled, 1 - e^(-bytes/rate).
 */
PfsReadStatus pfs_legacy_unsample(const PfsLegacyText *text, int64_t rate, int64_t *count,
								  int64_t *bytes);

/* Adds the label "bytes", the size of a block, to the last sample. */
bool pfs_legacy_add_block_size(PfsProfile *profile, int64_t bytes);

#endif
