/*
 * answers.h
 *		Answers to what is at an address: which of two is better, and stored locations that get a
 *		better one; internal to the room.
 *
 * A location gets its better answer as the transaction that brought it commits, under the lock on
 * the row of profstore.epoch, whose names it counts up. So that row is locked for the moment of a
 * commit only, writers with several answers come one after the other and compare with what the one
 * before has left, and no two wait for each other. Until then the transaction itself sees the
 * location as it was. A prepared transaction keeps its locks until it is committed.
 */
#ifndef PFS_ANSWERS_H
#define PFS_ANSWERS_H

#include "profstore.h"

/* Lines of a location, innermost first. */
typedef struct PfsAnswer
{
	uint32 count;
	const int32 *function_ids;
	const int32 *lines; /* 0: not known */
} PfsAnswer;

/* The greater one is better. */
typedef enum PfsAnswerRank
{
	PFS_ANSWER_NONE,
	PFS_ANSWER_SYMBOL, /* a function without a line, as a symbol table tells */
	PFS_ANSWER_SOURCE  /* a line, or inlined calls: DWARF's */
} PfsAnswerRank;

/*
 * Without a build ID it is not certain that two answers are about the same code: any is as good as
 * any other then, and better than none.
 */
PfsAnswerRank pfs_answer_rank(const PfsAnswer *answer, bool has_build_id);

bool pfs_answers_are_equal(const PfsAnswer *a, const PfsAnswer *b);

/*
 * The location gets this answer unless it has one as good by then, or was told one as good by this
 * transaction. What a subtransaction tells goes with its abort. The commit raises, under REPEATABLE
 * READ, T_R_SERIALIZATION_FAILURE where another one came first.
 */
void pfs_answer_tell(int32 location_id, const PfsAnswer *answer, bool has_build_id);

/*
 * Called once when the module is loaded, after series_seen: commits lock the row of the epoch
 * before others, as collect_dictionary() does.
 */
void pfs_answers_init(void);

#endif
