/*
 * profile_batch.h
 *		A profile in memory into a batch.
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
	int64_t time_us; /* of the profile */
} ProfileBatch;

/* As decode_profile: DECODE_OK, DECODE_NO_ROOM, DECODE_SERVER or DECODE_NO_MEMORY. */
DecodeEnd profile_to_batch(const ProfileBatch *to, const PfsProfile *profile);

#endif
