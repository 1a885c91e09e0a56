/*
 * pprof_write.h
 *		A profile in the format of pprof, made of the dictionary's rows.
 *
 * Things get numbers in the order in which they are met, so equal samples in equal order become
 * equal bytes. Mappings have no place in memory: addresses are those of files, which "0 to the
 * end" says.
 */
#ifndef PFS_PPROF_WRITE_H
#define PFS_PPROF_WRITE_H

#include "profstore.h"

#include "lib/stringinfo.h"

#include "import/sample_labels.h"
#include "tree/symbols.h"

typedef struct PfsPprofWriter PfsPprofWriter;

/* Lives in CurrentMemoryContext. The frames of locations are those that symbols leaves. */
PfsPprofWriter *pfs_pprof_begin(PfsSymbols *symbols);

/* Adds a sample. Locations are ids, leaf first, which symbols has loaded. */
void pfs_pprof_add(PfsPprofWriter *writer, const int32 *location_ids, uint32 count, int64 value,
				   const PfsSampleLabel *labels, uint32 label_count);

/* What stands in the profile beside its samples; texts are in the server's encoding. */
typedef struct PfsPprofHeader
{
	const char *sample_type;
	const char *sample_unit;
	const char *period_type;
	const char *period_unit;
	int64 period;
	int64 time_ns;			  /* 0: not known */
	int64 duration_ns;		  /* 0: not known */
	const char *default_type; /* the notes of imported files; "" where there is none */
	const char *doc_url;
	const char *drop_frames;
	const char *keep_frames;
	const char *const *comments;
	uint32 comment_count;
} PfsPprofHeader;

/* The bytes, not compressed. */
StringInfo pfs_pprof_end(PfsPprofWriter *writer, const PfsPprofHeader *header);

#endif
