/*
 * chart_lanes.h
 *		Lanes of a flame chart: what ran one after the other, by the times of samples alone.
 */
#ifndef PFS_CHART_LANES_H
#define PFS_CHART_LANES_H

#include "profstore.h"

#include "datatype/timestamp.h"

/* Lanes of a series; as many samples may overlap. */
#define PFS_MAX_LANES 10000

typedef struct PfsLanes PfsLanes;

/* Lives in CurrentMemoryContext. */
PfsLanes *pfs_lanes_create(void);

/* Forgets all lanes: the next sample is of another series, and samples of it last so long. */
void pfs_lanes_reset(PfsLanes *lanes, int64 width_us);

/*
 * The number of a sample's lane, for samples by ascending time: the one whose latest sample began closest to a width before, and
 * between half and one and a half; else the least that is free, else a new one. Of lanes that are as good the least. Takes time that grows
 * with the logarithm of the number of lanes. Raises PROGRAM_LIMIT_EXCEEDED beyond PFS_MAX_LANES.
 */
int32 pfs_lanes_choose(PfsLanes *lanes, TimestampTz time);

#endif
