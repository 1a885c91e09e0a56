/*
 * chart_tracks.h
 *		Tracks of a flame chart: what ran one after the other, by the times of samples alone.
 */
#ifndef PFS_CHART_TRACKS_H
#define PFS_CHART_TRACKS_H

#include "profstore.h"

#include "datatype/timestamp.h"

/* Tracks of a series; as many samples may overlap. */
#define PFS_MAX_TRACKS 10000

typedef struct PfsTracks PfsTracks;

/* Lives in CurrentMemoryContext. */
PfsTracks *pfs_tracks_create(void);

/* Forgets all tracks: the next sample is of another series, and samples of it last so long. */
void pfs_tracks_reset(PfsTracks *tracks, int64 width_us);

/*
 * The number of a sample's track; samples come by ascending time. It is the track whose latest
 * sample began closest to a width before, and between half and one and a half widths; else the
 * least that is free; else a new one. Of equally good tracks the least is taken. Costs the
 * logarithm of the number of tracks. Raises PROGRAM_LIMIT_EXCEEDED beyond PFS_MAX_TRACKS.
 */
int32 pfs_tracks_choose(PfsTracks *tracks, TimestampTz time);

#endif
