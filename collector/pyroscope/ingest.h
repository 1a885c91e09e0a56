/*
 * ingest.h
 *		Decodes a request of Pyroscope's /ingest into a batch: a profile of one application, either
 *		as the body or as a part of multipart/form-data.
 */
#ifndef COLLECTOR_PYROSCOPE_INGEST_H
#define COLLECTOR_PYROSCOPE_INGEST_H

#include "pyroscope/request.h"

DecodeEnd ingest_decode(const PyroscopeRequest *request, Batch *batch, PyroscopeResult *result);

#endif
