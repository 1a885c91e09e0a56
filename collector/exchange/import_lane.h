/*
 * import_lane.h
 *		A thread of an import: decodes files into batches and stores them through a writer.
 */
#ifndef COLLECTOR_IMPORT_LANE_H
#define COLLECTOR_IMPORT_LANE_H

#include "exchange/import_state.h"

typedef struct ImportLane ImportLane;

/* Starts a lane, which ends by itself. Returns NULL with *failure set if that fails. */
ImportLane *import_lane_start(Import *import, size_t number, Failure *failure);

/* Waits for the lane's end and frees it. */
void import_lane_join(ImportLane *lane);

#endif
