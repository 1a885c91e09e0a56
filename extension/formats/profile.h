/*
 * profile.h
 *		A profile in memory, on its way from a file to the tables: what the readers of all formats
 *		fill in.
 *
 * The room (profile, gunzip, *_read) knows no server header, so that it is tested and fuzzed
 * alone. Memory comes from the caller's allocator and is counted against a budget: a small file
 * cannot ask for much. Texts are not terminated; they point into the bytes that were read, which
 * must outlive the profile, or into copies of its own. Those of pprof are clean (clean_text.h),
 * those of text formats are what they are.
 */
#ifndef PFS_PROFILE_H
#define PFS_PROFILE_H

#include "formats/memory.h"

#define PFS_NONE UINT32_MAX

/* Limits of one profile, beside those that its memory sets. */
#define PFS_PROFILE_MAX_DEPTH		 65536 /* locations of a stack */
#define PFS_PROFILE_MAX_LINES		 4096  /* functions that are inlined at one location */
#define PFS_PROFILE_MAX_SAMPLE_TYPES 64
#define PFS_PROFILE_MAX_LABELS		 256 /* of a sample */

typedef enum PfsReadStatus
{
	PFS_READ_OK = 0,
	PFS_READ_MALFORMED,	   /* bytes that the format does not allow */
	PFS_READ_OUT_OF_RANGE, /* a number that has no room in the tables */
	PFS_READ_TOO_LARGE,	   /* beyond a limit */
	PFS_READ_NO_MEMORY
} PfsReadStatus;

typedef struct PfsReadError
{
	const char *message; /* static text, PostgreSQL message style */
	size_t offset;		 /* of the byte at which it was seen */
	uint64_t line;		 /* the same in lines of text, from 1 on; 0: not text */
	const char *hint;	 /* static text, a sentence; or NULL */
} PfsReadError;

/*
 * Memory that the objects of a profile of so many bytes may take: of dense real ones they take 2 to
 * 8 times its bytes.
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
	uint32_t mapping; /* or PFS_NONE */
	uint32_t first_line;
	uint32_t line_count; /* innermost first */
	uint64_t address; /* in the mapping's file as far as that can be told; see pfs_file_address */
} PfsProfileLocation;

typedef struct PfsProfileLabel
{
	PfsText key;
	PfsText text; /* of a number: its unit */
	int64_t number;
	bool numeric;
} PfsProfileLabel;

typedef struct PfsProfileSample
{
	size_t first_location; /* in location_indexes, leaf first; without drop_frames shared, maybe */
	uint32_t location_count;
	uint32_t first_label;
	uint32_t label_count;
	int64_t time_offset_ns; /* from the profile's time */
} PfsProfileSample;

static inline PfsReadError
pfs_error_at(const char *message, size_t offset)
{
	return (PfsReadError){ .message = message, .offset = offset };
}

/* Lines or events of a file that were left out, since they were not understood. */
typedef struct PfsSkipped
{
	uint64_t count;
	uint64_t first_line; /* 0: not text */
	size_t first_offset;
} PfsSkipped;

typedef struct PfsValueType
{
	PfsText type;
	PfsText unit;
} PfsValueType;

/* U+FFFD: stands for what is no text. */
#define PFS_REPLACEMENT		  "\xEF\xBF\xBD"
#define PFS_REPLACEMENT_BYTES (sizeof(PFS_REPLACEMENT) - 1)

/* Counts beside the arrays; capacities are the readers' own. */
typedef struct PfsProfile
{
	PfsBudget *budget;
	const char *replacement; /* for bytes that are no text: PFS_REPLACEMENT, or the caller's */
	PfsScratch texts;		 /* those that were replaced */
	int64_t time_ns;		 /* since 1970; 0: not known */
	int64_t duration_ns;	 /* 0: not known */
	int64_t period;
	PfsValueType period_type;
	PfsText drop_frames; /* regular expressions on function names, "" for none */
	PfsText keep_frames;
	PfsText doc_url;

	const char *name; /* of the profile type where the format has one; static, or NULL */
	PfsSkipped skipped;

	uint32_t type_count;
	PfsValueType *types;
	uint32_t default_type; /* index; PFS_NONE where the file names none */
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
	int64_t *values; /* type_count for each sample */
} PfsProfile;

/* What a refusal means: PFS_READ_TOO_LARGE or PFS_READ_NO_MEMORY. */
PfsReadStatus pfs_budget_status(const PfsBudget *budget, PfsReadError *error);

void pfs_profile_init(PfsProfile *profile, PfsBudget *budget);
void pfs_profile_fini(PfsProfile *profile);

bool pfs_text_equals(PfsText text, const char *other);

/* Whether there are samples, and none has a frame: what a file is read for is not in it. */
bool pfs_profile_lacks_frames(const PfsProfile *profile);

/*
 * Address in a file of an address in a process: by the mapping's place where the loader chose it
 * (between 4 GiB and the upper half), as it is for programs with fixed addresses and for the
 * kernel. It is the ELF address where segments lie at their offsets in the file.
 */
uint64_t pfs_file_address(uint64_t address, uint64_t start, uint64_t limit, uint64_t offset);

/*
 * Reads the format of pprof, not compressed. On PFS_READ_OK the profile is whole: every index in
 * it is one of its arrays'. Otherwise error says why; in both cases pfs_profile_fini gives the
 * memory back.
 */
PfsReadStatus pfs_pprof_read(const uint8_t *bytes, size_t length, PfsProfile *profile,
							 PfsReadError *error);

#endif
