/*
 * intern_keys.h
 *		The bytes by which the caches know items: their whole contents, of a stack 128 bits of hash.
 *
 * Each appends to an empty key. Where memory is out the key says so.
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
