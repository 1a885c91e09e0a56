/*
 * stack_ids.h
 *		Stacks by the ids that samples of the first version have, and the stream that asks for
 *		them.
 */
#ifndef COLLECTOR_ARROW_STACK_IDS_H
#define COLLECTOR_ARROW_STACK_IDS_H

#include "arrow/work.h"
#include "base/table.h"

#define ARROW_ID_MAX 64 /* bytes */

typedef struct StackIds
{
	Table table;
} StackIds;

void stack_ids_init(StackIds *ids, Budget *budget);
void stack_ids_fini(StackIds *ids);

/* The batch's index of an id's stack; false where it is not known. */
bool stack_ids_find(const StackIds *ids, Span id, uint32_t *stack);

/* The first answer counts. The bytes of the id outlive the table. */
bool stack_ids_add(StackIds *ids, ArrowWork *work, Span id, uint32_t stack);

/* All of a stream's stacks into the batch. */
bool stack_ids_read(StackIds *ids, ArrowWork *work, Span bytes);

/* The stream that asks for all of them; NULL without memory. */
uint8_t *stack_ids_stream(const StackIds *ids, size_t *length);

#endif
