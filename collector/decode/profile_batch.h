/*
 * profile_batch.h
 *		Adds a profile in memory to a batch.
 */
#ifndef COLLECTOR_PROFILE_BATCH_H
#define COLLECTOR_PROFILE_BATCH_H

#include "decode/request.h"
#include "formats/profile.h"

typedef struct ProfileBatch
{
	const DecodeRequest *request;
	Batch *batch;
	DecodeResult *result;
	int64_t time_us; /* time of the profile */
} ProfileBatch;

/*
 * Returns DECODE_OK, DECODE_NO_ROOM, DECODE_SERVER or DECODE_NO_MEMORY, with the batch changed as
 * by decode_profile().
 */
DecodeEnd profile_to_batch(const ProfileBatch *to, const PfsProfile *profile);

#endif
