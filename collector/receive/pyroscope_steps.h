/*
 * pyroscope_steps.h
 *		Steps of the services that use the decoders of pyroscope/.
 */
#ifndef COLLECTOR_RECEIVE_PYROSCOPE_STEPS_H
#define COLLECTOR_RECEIVE_PYROSCOPE_STEPS_H

#include "pyroscope/request.h"
#include "receive/submit.h"

PyroscopeRequest pyroscope_request(const Receiver *receiver, const Call *call,
								   const DecodeLimits *limits);

/* Handles a decoder's result for a whole request; counts the request if it was decoded. */
void pyroscope_take_result(Receiver *receiver, DecodeEnd end, const PyroscopeResult *result,
						   Decoded *decoded);

/*
 * Decides on a decoded request of which some profiles may be invalid: returns DECODE_INVALID if all
 * are. If only some are, the answer is an error after the others are stored, so that the client
 * drops them.
 */
DecodeEnd pyroscope_judge_rejected(Call *call, const PyroscopeResult *result);

#endif
