/*
 * sample_labels.h
 *		Labels of series in jsonb, and their original form in files: the inverse of
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
	const char *text; /* text of a number: its unit, "" if it has none */
	int64 number;
	bool numeric;
} PfsSampleLabel;

/*
 * The names of the importer's labels, except PFS_NAME_LABEL. Values that are not texts are empty.
 */
PfsLabels pfs_labels_own(Jsonb *labels);

/*
 * Joins the importer's labels, except PFS_NAME_LABEL, with those of a sample, whose texts are the
 * profile's.
 */
Jsonb *pfs_series_labels(const PfsImport *import, const PfsLabels *of_sample);

/* Returns the labels of a series as they were in a file, sorted by name, and their number. */
uint32 pfs_labels_of_series(Jsonb *series_labels, PfsSampleLabel **labels);

/* Value of a label that is a text; NULL if there is none. */
char *pfs_label_value(Jsonb *labels, const char *name);

#endif
