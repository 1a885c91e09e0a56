/*
 * profile.h
 *		A profile in memory, between a file and the tables: filled in by the readers of all
 *		formats.
 *
 * No file of this room includes a server header, so that all are tested and fuzzed alone.
 * Memory comes from the caller's allocator and is charged to a budget, so that a small file cannot
 * demand a large amount. Texts are not terminated; they point into the bytes of the file, which
 * must outlive the profile, or into the profile's own copies. Texts of pprof are clean
 * (clean_text.h); those of text formats are unchanged.
 */
#ifndef PFS_PROFILE_H
#define PFS_PROFILE_H

#include "formats/memory.h"

#define PFS_NONE UINT32_MAX

/* Limits of one profile, in addition to those of its memory. */
#define PFS_PROFILE_MAX_DEPTH		 65536 /* locations in a stack */
#define PFS_PROFILE_MAX_LINES		 4096  /* functions inlined at one location */
#define PFS_PROFILE_MAX_SAMPLE_TYPES 64
#define PFS_PROFILE_MAX_LABELS		 256 /* labels of a sample */

typedef enum PfsReadStatus
{
	PFS_READ_OK = 0,
	PFS_READ_MALFORMED,	   /* bytes that the format does not allow */
	PFS_READ_OUT_OF_RANGE, /* a number that does not fit into the tables */
	PFS_READ_TOO_LARGE,	   /* a limit was exceeded */
	PFS_READ_NO_MEMORY
} PfsReadStatus;

typedef struct PfsReadError
{
	const char *message; /* static text in PostgreSQL's message style, without the place */
	size_t offset;		 /* offset of the byte at which the error was seen */
	uint64_t line;		 /* line of text that contains it, from 1; 0: not text */
	const char *hint;	 /* advice as a full sentence, static; or NULL */
} PfsReadError;

/*
 * Returns the memory budget for a profile of length bytes. Real, dense profiles need 2 to 8 times
 * their size.
 */
static inline size_t
pfs_profile_budget_bytes(size_t length)
{
	return (size_t) 4 * 1024 * 1024 + length * 16;
}

typedef struct PfsText
{
	const char *data;
	uint32_t length;
} PfsText;

typedef struct PfsProfileMapping
{
	PfsText build_id;
	PfsText file;
} PfsProfileMapping;

typedef struct PfsProfileFunction
{
	PfsText name;
	PfsText system_name;
	PfsText filename;
	int32_t start_line;
} PfsProfileFunction;

typedef struct PfsProfileLine
{
	uint32_t function;
	int32_t line;
} PfsProfileLine;

typedef struct PfsProfileLocation
{
	uint32_t mapping; /* index, or PFS_NONE */
	uint32_t first_line;
	uint32_t line_count; /* innermost first */
	uint64_t address;	 /* in the mapping's file if that is known; see pfs_file_address() */
} PfsProfileLocation;

typedef struct PfsProfileLabel
{
	PfsText key;
	PfsText text; /* for a label that is a number, its unit */
	int64_t number;
	bool numeric;
} PfsProfileLabel;

typedef struct PfsProfileSample
{
	/*
	 * index of the first frame in location_indexes, leaf first; samples may share frames, unless
	 * there are drop_frames
	 */
	size_t first_location;
	uint32_t location_count;
	uint32_t first_label;
	uint32_t label_count;
	int64_t time_offset_ns; /* relative to the profile's time */
} PfsProfileSample;

static inline PfsReadError
pfs_error_at(const char *message, size_t offset)
{
	return (PfsReadError){ .message = message, .offset = offset };
}

/* Lines or events of a file that were left out because they were not understood. */
typedef struct PfsSkipped
{
	uint64_t count;
	uint64_t first_line; /* line number; 0: not text */
	size_t first_offset;
} PfsSkipped;

typedef struct PfsValueType
{
	PfsText type;
	PfsText unit;
} PfsValueType;

/* U+FFFD, the replacement of bytes that are not valid text. */
#define PFS_REPLACEMENT		  "\xEF\xBF\xBD"
#define PFS_REPLACEMENT_BYTES (sizeof(PFS_REPLACEMENT) - 1)

/* A profile. Counts stand beside their arrays; PFS_GROW() computes capacities from them. */
typedef struct PfsProfile
{
	PfsBudget *budget;
	/* replacement of bytes that are not valid text: PFS_REPLACEMENT, or the caller's choice */
	const char *replacement;
	PfsScratch texts;	 /* texts that contain replacements */
	int64_t time_ns;	 /* since 1970; 0: unknown */
	int64_t duration_ns; /* 0: unknown */
	int64_t period;
	PfsValueType period_type;
	/* drop_frames and keep_frames: regular expressions on function names, "" if there are none */
	PfsText drop_frames;
	PfsText keep_frames;
	PfsText doc_url;

	const char *name; /* name of the profile type, if the format has one; static, or NULL */

	/*
	 * Set before reading, for a flight recording that an agent of Pyroscope pushes: it gets
	 * Pyroscope's sample types, and ids as numeric labels (jfr_read.h).
	 */
	bool is_pushed;
	PfsSkipped skipped;

	uint32_t type_count;
	PfsValueType *types;
	uint32_t default_type; /* index; PFS_NONE if the file names none */
	uint32_t comment_count;
	PfsText *comments;
	uint32_t mapping_count;
	PfsProfileMapping *mappings;
	uint32_t function_count;
	PfsProfileFunction *functions;
	uint32_t line_count;
	PfsProfileLine *lines;
	uint32_t location_count;
	PfsProfileLocation *locations;
	uint32_t label_count;
	PfsProfileLabel *labels;
	size_t location_index_count;
	uint32_t *location_indexes;
	uint32_t sample_count;
	PfsProfileSample *samples;
	int64_t *values; /* type_count values for each sample */
} PfsProfile;

/* Returns the reason of a refused allocation: PFS_READ_TOO_LARGE or PFS_READ_NO_MEMORY. */
PfsReadStatus pfs_budget_status(const PfsBudget *budget, PfsReadError *error);

void pfs_profile_init(PfsProfile *profile, PfsBudget *budget);
void pfs_profile_fini(PfsProfile *profile);

bool pfs_text_equals(PfsText text, const char *other);

/*
 * Returns true if there are samples but none has a frame, so the file lacks its essential content.
 */
bool pfs_profile_lacks_frames(const PfsProfile *profile);

/*
 * Converts an address in a process to one in a file. If the loader chose the position of the
 * mapping (between 4 GiB and the upper half), that position is subtracted. Addresses of programs
 * with fixed addresses and of the kernel are unchanged. The result is the ELF address if segments
 * are at their offsets in the file.
 */
uint64_t pfs_file_address(uint64_t address, uint64_t start, uint64_t limit, uint64_t offset);

/*
 * Reads the uncompressed pprof format. After PFS_READ_OK every index in the profile is valid;
 * otherwise error describes the failure. In both cases the caller calls pfs_profile_fini().
 */
PfsReadStatus pfs_pprof_read(const uint8_t *bytes, size_t length, PfsProfile *profile,
							 PfsReadError *error);

#endif
