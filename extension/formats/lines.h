/*
 * lines.h
 *		Functions that readers of text formats share: lines, numbers, frames identified by name.
 *		Includes no server header.
 */
#ifndef PFS_LINES_H
#define PFS_LINES_H

#include "formats/text_index.h"

#define PFS_KERNEL_FILE "[kernel.kallsyms]"

typedef struct PfsLineReader
{
	const char *bytes;
	size_t length;
	const PfsBudget *budget;
	PfsReadError *error;
	size_t at;	  /* offset of the next line */
	size_t begin; /* offset of the last line read */
} PfsLineReader;

/* Set the error, with the position of the last line read, and return the status. */
PfsReadStatus pfs_line_fail(const PfsLineReader *reader, PfsReadStatus status, const char *message);
PfsReadStatus pfs_line_refused(const PfsLineReader *reader); /* status of the budget */

/* Returns the number, from 1, of the line that contains a byte. */
uint64_t pfs_line_number(const char *bytes, size_t offset);

/* Counts the last line read as one that was not understood. */
void pfs_line_skip(const PfsLineReader *reader, PfsSkipped *skipped);

/*
 * Returns the length of the byte order mark that some tools write before UTF-8; 0 if there is none.
 */
size_t pfs_byte_order_mark(const char *bytes, size_t length);

/* Skips the byte order mark. */
void pfs_skip_byte_order_mark(PfsLineReader *reader);

/*
 * Returns the next line without its end (LF or CR LF); false after the last one. A line of 4 GB or
 * more is cut.
 */
bool pfs_next_line(PfsLineReader *reader, PfsText *line);

static inline bool
pfs_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static inline bool
pfs_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Removes blanks at both ends. */
PfsText pfs_trim(PfsText text);

/* Removes the first word from a text and returns it; empty at the end. */
PfsText pfs_cut_word(PfsText *text);

/* Returns the part from begin to end, which are offsets in the text. */
static inline PfsText
pfs_part(PfsText text, uint32_t begin, uint32_t end)
{
	return (PfsText){ text.data + begin, end - begin };
}

/*
 * Parses a complete decimal number with an optional sign. Returns PFS_READ_MALFORMED if the text is
 * not a number, PFS_READ_OUT_OF_RANGE beyond 64 bits.
 */
PfsReadStatus pfs_parse_int64(PfsText text, int64_t *number);

/* Frames that are identified by name and file become functions and locations on first use. */
typedef struct PfsFrameTable
{
	PfsProfile *profile;
	PfsTextIndex names; /* indexes of functions */
	PfsTextIndex files; /* indexes of mappings */
	PfsTextIndex keys;	/* indexes of locations, by keys that their makers choose */
} PfsFrameTable;

void pfs_frames_init(PfsFrameTable *frames, PfsProfile *profile);
void pfs_frames_fini(PfsFrameTable *frames);

/* Return the number of a function or a mapping; PFS_NONE if out of memory. */
uint32_t pfs_frames_function(PfsFrameTable *frames, PfsText name);
uint32_t pfs_frames_mapping(PfsFrameTable *frames, PfsText file);

/*
 * Returns the number of the location with a key. A new one, for which *is_new is set, is the last
 * of profile->locations; its fields are 0, without a mapping, for the caller to fill in. Returns
 * PFS_NONE if out of memory.
 */
uint32_t pfs_frames_location(PfsFrameTable *frames, PfsText key, bool *is_new);

/*
 * Add a line to the last location, a sample, or a frame to the last sample. Return false if out of
 * memory.
 */
bool pfs_add_line(PfsProfile *profile, uint32_t function);
PfsProfileSample *pfs_add_sample(PfsProfile *profile);
bool pfs_add_frame(PfsProfile *profile, uint32_t location);

/*
 * Reads one stack per line, root first, frames joined by ";", then a blank and a number, as
 * folded() and flamegraph.pl do.
 */
PfsReadStatus pfs_folded_read(const char *bytes, size_t length, PfsProfile *profile,
							  PfsReadError *error);

/* Reads the output of "perf script". */
PfsReadStatus pfs_perf_script_read(const char *bytes, size_t length, PfsProfile *profile,
								   PfsReadError *error);

#endif
