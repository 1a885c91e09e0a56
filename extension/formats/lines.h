/*
 * lines.h
 *		What the readers of text formats share: lines, numbers, frames that are known by name.
 *		Knows no server header.
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
	size_t at;	  /* of the next line */
	size_t begin; /* of the line that was read last */
} PfsLineReader;

/* Set the error, at the line that was read last, and return the status. */
PfsReadStatus pfs_line_fail(const PfsLineReader *reader, PfsReadStatus status, const char *message);
PfsReadStatus pfs_line_refused(const PfsLineReader *reader); /* of memory */

/* The number, from 1 on, of the line in which a byte is. */
uint64_t pfs_line_number(const char *bytes, size_t offset);

/* Counts the line that was read last as one that is not understood. */
void pfs_line_skip(const PfsLineReader *reader, PfsSkipped *skipped);

/* Length of the three bytes that some tools begin a text in UTF-8 with; 0 without. */
size_t pfs_byte_order_mark(const char *bytes, size_t length);

/* Goes over them. */
void pfs_skip_byte_order_mark(PfsLineReader *reader);

/*
 * The next line without its end (LF or CR LF); false behind the last. A line of 4 GB or more is
 * cut.
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

/* Without blanks at both ends. */
PfsText pfs_trim(PfsText text);

/* The part from begin up to end, which are offsets in it. */
static inline PfsText
pfs_part(PfsText text, uint32_t begin, uint32_t end)
{
	return (PfsText){ text.data + begin, end - begin };
}

/*
 * A whole decimal number that may have a sign: PFS_READ_MALFORMED where the text is none,
 * PFS_READ_OUT_OF_RANGE beyond 64 bits.
 */
PfsReadStatus pfs_parse_int64(PfsText text, int64_t *number);

/*
 * Frames that are known by name and file alone become functions and locations as they are met.
 */
typedef struct PfsFrameTable
{
	PfsProfile *profile;
	PfsTextIndex names; /* of functions */
	PfsTextIndex files; /* of mappings */
	PfsTextIndex keys;	/* of locations: what their makers tell them apart by */
} PfsFrameTable;

void pfs_frames_init(PfsFrameTable *frames, PfsProfile *profile);
void pfs_frames_fini(PfsFrameTable *frames);

/* Number of a function, or of a mapping; PFS_NONE where memory is out. */
uint32_t pfs_frames_function(PfsFrameTable *frames, PfsText name);
uint32_t pfs_frames_mapping(PfsFrameTable *frames, PfsText file);

/*
 * Number of the location of a key; a new one is the last of profile->locations with all fields 0
 * and no mapping, for the caller to fill in, and sets *is_new. PFS_NONE where memory is out.
 */
uint32_t pfs_frames_location(PfsFrameTable *frames, PfsText key, bool *is_new);

/* Adds a line, a sample, a frame of the last sample; false where memory is out. */
bool pfs_add_line(PfsProfile *profile, uint32_t function);
PfsProfileSample *pfs_add_sample(PfsProfile *profile);
bool pfs_add_frame(PfsProfile *profile, uint32_t location);

/*
 * One stack a line, root first, frames joined by ";", then a blank and a number: as folded() and
 * flamegraph.pl have it.
 */
PfsReadStatus pfs_folded_read(const char *bytes, size_t length, PfsProfile *profile,
							  PfsReadError *error);

/* The text that "perf script" prints. */
PfsReadStatus pfs_perf_script_read(const char *bytes, size_t length, PfsProfile *profile,
								   PfsReadError *error);

#endif
