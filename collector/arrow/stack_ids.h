/*
 * stack_ids.h
 *		Finds stacks by the ids that samples of the first version have, and makes the stream that
 *		requests stacks from the agent.
 */
#ifndef COLLECTOR_ARROW_STACK_IDS_H
#define COLLECTOR_ARROW_STACK_IDS_H

#include "arrow/work.h"
#include "base/table.h"

#define ARROW_ID_MAX 64 /* limit of the bytes of an id */

typedef struct StackIds
{
	Table table;
} StackIds;

void stack_ids_init(StackIds *ids, Budget *budget);
void stack_ids_fini(StackIds *ids);

/* Finds the batch's index of the stack with this id. Returns false if the id is not known. */
bool stack_ids_find(const StackIds *ids, Span id, uint32_t *stack);

/*
 * Adds a stack; if the id is known already, the first stack stays. The bytes of the id must outlive
 * the table.
 */
bool stack_ids_add(StackIds *ids, ArrowWork *work, Span id, uint32_t stack);

/* Adds all stacks of a stream to the batch. */
bool stack_ids_read(StackIds *ids, ArrowWork *work, Span bytes);

/*
 * Makes the stream that requests the stacks of all ids; the caller frees it. Returns NULL if out of
 * memory.
 */
uint8_t *stack_ids_stream(const StackIds *ids, size_t *length);

#endif
