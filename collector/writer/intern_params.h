/*
 * intern_params.h
 *		Encodes items as parameters of the interning functions.
 *
 * Each function fills one buffer for each parameter of its statement. On out of memory the failed
 * flag of a buffer is set.
 */
#ifndef COLLECTOR_INTERN_PARAMS_H
#define COLLECTOR_INTERN_PARAMS_H

#include "writer/intern_items.h"

void intern_encode_series(const InternWork *work, const uint32_t *indexes, uint32_t count,
						  Buffer *buffers);
void intern_encode_mappings(const InternWork *work, const uint32_t *indexes, uint32_t count,
							Buffer *buffers);
void intern_encode_functions(const InternWork *work, const uint32_t *indexes, uint32_t count,
							 Buffer *buffers);
void intern_encode_locations(const InternWork *work, const uint32_t *indexes, uint32_t count,
							 Buffer *buffers);

/* Encode stacks that are sorted by dictionary partition, and stacks of one partition. */
void intern_encode_stacks(const InternWork *work, const uint32_t *indexes, uint32_t count,
						  Buffer *buffers);

#endif
