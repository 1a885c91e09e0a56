/*
 * intern_params.h
 *		Items as parameters of the functions that intern them.
 *
 * Each fills a buffer for each parameter of its statement. Where memory is out a buffer says so.
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

/* In order of dictionary partition; and all of one. */
void intern_encode_stacks(const InternWork *work, const uint32_t *indexes, uint32_t count,
						  Buffer *buffers);

#endif
