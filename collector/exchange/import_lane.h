/*
 * import_lane.h
 *		One of the threads that import: from files to batches, and through a writer into the
 *		database.
 */
#ifndef COLLECTOR_IMPORT_LANE_H
#define COLLECTOR_IMPORT_LANE_H

#include "exchange/import_state.h"

typedef struct ImportLane ImportLane;

/* Starts a lane, which ends by itself. NULL, with *failure, where it cannot be. */
ImportLane *import_lane_start(Import *import, size_t number, Failure *failure);

/* Waits for its end. */
void import_lane_join(ImportLane *lane);

#endif
