/*
 * pprof_write.h
 *		Writes a profile in pprof's format from rows of the dictionary.
 *
 * Objects are numbered in the order of first use, so equal samples in equal order give equal bytes.
 * Addresses are those of files, not of a process, so the range of each mapping is from 0 to the
 * end.
 */
#ifndef PFS_PPROF_WRITE_H
#define PFS_PPROF_WRITE_H

#include "profstore.h"

#include "lib/stringinfo.h"

#include "import/sample_labels.h"
#include "tree/frames/symbols.h"

typedef struct PfsPprofWriter PfsPprofWriter;

/*
 * Begins a profile in CurrentMemoryContext. symbols decides which frames of locations are written.
 */
PfsPprofWriter *pfs_pprof_begin(PfsSymbols *symbols);

/* Adds a sample. Locations are ids, leaf first, which are loaded already. */
void pfs_pprof_add(PfsPprofWriter *writer, const int32 *location_ids, uint32 count, int64 value,
				   const PfsSampleLabel *labels, uint32 label_count);

/* Fields of the profile beside its samples. Texts are in the server's encoding. */
typedef struct PfsPprofHeader
{
	const char *sample_type;
	const char *sample_unit;
	const char *period_type;
	const char *period_unit;
	int64 period;
	int64 time_ns;	   /* 0: unknown */
	int64 duration_ns; /* 0: unknown */
	/* default_type and the fields after it are notes of imported files; "" if there are none */
	const char *default_type;
	const char *doc_url;
	const char *drop_frames;
	const char *keep_frames;
	const char *const *comments;
	uint32 comment_count;
} PfsPprofHeader;

/* Returns the bytes, uncompressed. */
StringInfo pfs_pprof_end(PfsPprofWriter *writer, const PfsPprofHeader *header);

#endif
