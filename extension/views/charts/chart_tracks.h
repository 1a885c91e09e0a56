/*
 * chart_tracks.h
 *		Tracks of a flame chart: samples of one track ran one after the other, judged only by
 *		their times.
 */
#ifndef PFS_CHART_TRACKS_H
#define PFS_CHART_TRACKS_H

#include "profstore.h"

#include "datatype/timestamp.h"

/* Limit of tracks per series, that is, of samples of one series that overlap. */
#define PFS_MAX_TRACKS 10000

typedef struct PfsTracks PfsTracks;

/* Returns an empty set of tracks, in CurrentMemoryContext. */
PfsTracks *pfs_tracks_create(void);

/* Forgets all tracks, because a new series follows, each of whose samples lasts width_us. */
void pfs_tracks_reset(PfsTracks *tracks, int64 width_us);

/*
 * Returns the number of a sample's track; samples come by ascending time. The best track is the one
 * whose latest sample began closest to one width before this sample, among those whose latest
 * sample began half a width to one and a half widths before. Without such a track the lowest track
 * that is free is chosen, otherwise a new one. Among equally good tracks the lowest number is
 * chosen. Takes time logarithmic in the number of tracks. Raises PROGRAM_LIMIT_EXCEEDED beyond
 * PFS_MAX_TRACKS.
 */
int32 pfs_tracks_choose(PfsTracks *tracks, TimestampTz time);

#endif
