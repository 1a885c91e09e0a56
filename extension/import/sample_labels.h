/*
 * sample_labels.h
 *		Labels of series as the server has them, and what they were in files: the way back from
 *		formats/series_labels.h.
 */
#ifndef PFS_SAMPLE_LABELS_H
#define PFS_SAMPLE_LABELS_H

#include "profstore.h"

#include "utils/jsonb.h"

#include "import/import_request.h"

/* A label in the server's encoding. */
typedef struct PfsSampleLabel
{
	const char *key;
	const char *text; /* of a number: its unit, "" for none */
	int64 number;
	bool numeric;
} PfsSampleLabel;

/*
 * What the importer's labels are called, all but PFS_NAME_LABEL; values that are no text are empty.
 */
PfsLabels pfs_labels_own(Jsonb *labels);

/*
 * The importer's labels but PFS_NAME_LABEL, and those of a sample, whose texts are the profile's.
 */
Jsonb *pfs_series_labels(const PfsImport *import, const PfsLabels *of_sample);

/* What a series' labels were in a file, in the order of their names; returns the number. */
uint32 pfs_labels_of_series(Jsonb *series_labels, PfsSampleLabel **labels);

/* Value of a label that is a text, NULL where there is none. */
char *pfs_label_value(Jsonb *labels, const char *name);

#endif
