/*
 * series_labels.h
 *		Labels of samples in files become labels of series. Knows no server header.
 *
 * A series has texts under names of [A-Za-z_][A-Za-z0-9_]*. In files a key is any text, may come
 * twice, and values may be numbers with units. So a key that is such a name keeps it; of others,
 * what may not be in a name becomes "_"; a key whose name is another's goes to name_2, as does the
 * second value of a key; one that the importer's own labels have goes to exported_key; and a number
 * becomes its digits. The label PFS_LABEL_KINDS tells what of this was done, as JSON:
 * {"name": {"key": "what it was", "unit": "bytes"}}, where unit says that it was a number. It is
 * there only where something was done. import/sample_labels.h leads back.
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

/* Memory for what a profile becomes; goes with the scratch. */
typedef struct PfsMaking
{
	PfsBudget *budget;
	PfsScratch scratch;
} PfsMaking;

/* NULL where memory or budget are out. */
void *pfs_making_alloc(PfsMaking *making, size_t bytes);

/*
 * The labels that a series has of its samples, beside those of the importer, whose names are not
 * taken. Labels come in the order of their keys; keys and texts are clean. False where memory or
 * budget are out.
 */
bool pfs_labels_of_sample(PfsMaking *making, const PfsLabels *own, const PfsProfileLabel *labels,
						  uint32_t count, PfsLabels *result);

/* Value of the importer's label of that name, NULL where there is none. */
const PfsText *pfs_label_find(const PfsLabels *labels, const char *name);

#endif
