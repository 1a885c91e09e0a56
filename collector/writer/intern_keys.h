/*
 * intern_keys.h
 *		Cache keys of items: their complete content; for stacks, hashes of 128 bits.
 *
 * Each function appends to an empty key. On out of memory key->failed is set.
 */
#ifndef COLLECTOR_INTERN_KEYS_H
#define COLLECTOR_INTERN_KEYS_H

#include "writer/intern_items.h"

void intern_series_key(const InternWork *work, uint32_t index, Buffer *key);
void intern_mapping_key(const InternWork *work, uint32_t index, Buffer *key);
void intern_function_key(const InternWork *work, uint32_t index, Buffer *key);
void intern_location_key(const InternWork *work, uint32_t index, Buffer *key);
void intern_stack_key(const InternWork *work, uint32_t index, Buffer *key);

#endif
