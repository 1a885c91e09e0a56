/*
 * series_labels.h
 *		Turns labels of samples in files into labels of series. Includes no server header.
 *
 * A series has texts under names of [A-Za-z_][A-Za-z0-9_]*. In files a key is any text and may
 * occur twice, and values may be numbers with units. A key that is a legal name keeps it. In other
 * keys each illegal character becomes "_". A key whose name is in use becomes name_2, as does the
 * second value of a key. A key that the importer's own labels have becomes exported_key. A number
 * becomes its digits. The label PFS_LABEL_KINDS records these changes as JSON: {"name": {"key":
 * "original key", "unit": "bytes"}}; unit marks a number. It exists only if something was changed.
 * import/sample_labels.h reverts the changes.
 */
#ifndef PFS_SERIES_LABELS_H
#define PFS_SERIES_LABELS_H

#include "formats/profile.h"

#define PFS_LABEL_KINDS "__pprof__"

/* A label of a series. */
typedef struct PfsLabel
{
	PfsText name;
	PfsText value;
} PfsLabel;

typedef struct PfsLabels
{
	PfsLabel *labels;
	uint32_t count;
} PfsLabels;

/* Memory for the results. It is freed with the scratch. */
typedef struct PfsMaking
{
	PfsBudget *budget;
	PfsScratch scratch;
} PfsMaking;

/* Returns NULL if out of memory or budget. */
void *pfs_making_alloc(PfsMaking *making, size_t bytes);

/*
 * Makes the labels that a series has because of its samples. They come in addition to the
 * importer's labels, whose names stay reserved. The labels are sorted by key; keys and texts are
 * clean. Returns false if out of memory or budget.
 */
bool pfs_labels_of_sample(PfsMaking *making, const PfsLabels *own, const PfsProfileLabel *labels,
						  uint32_t count, PfsLabels *result);

/* Returns the value of the importer's label of that name, NULL if there is none. */
const PfsText *pfs_label_find(const PfsLabels *labels, const char *name);

#endif
