/*
 * push.h
 *		Decodes a request of Pyroscope's PusherService.Push into a batch.
 *
 * PushRequest: 1 series. RawProfileSeries: 1 labels {1 name, 2 value}, 2 samples {1 raw_profile}.
 *
 * A profile that is invalid is rejected alone; the others are stored.
 */
#ifndef COLLECTOR_PYROSCOPE_PUSH_H
#define COLLECTOR_PYROSCOPE_PUSH_H

#include "pyroscope/request.h"

/*
 * Returns DECODE_OK even if profiles were rejected; the result then contains their number and a
 * message.
 */
DecodeEnd push_decode(const PyroscopeRequest *request, Batch *batch, PyroscopeResult *result);

#endif
