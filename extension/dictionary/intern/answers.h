/*
 * answers.h
 *		Answers to "which functions and lines are at an address": ranks them, and improves
 *		stored locations; internal to the room.
 *
 * A location gets its better answer when the transaction that brought it commits, under the lock on
 * the row of profstore.epoch, whose names it increments. So that row is locked only for the moment
 * of a commit; writers with better answers run one after the other, each compares with the result
 * of the one before, and no two wait for each other. Until its commit the transaction itself sees
 * the location unchanged. A prepared transaction keeps its locks until it is committed.
 */
#ifndef PFS_ANSWERS_H
#define PFS_ANSWERS_H

#include "profstore.h"

/* Lines of a location, innermost first. */
typedef struct PfsAnswer
{
	uint32 count;
	const int32 *function_ids;
	const int32 *lines; /* 0: unknown */
} PfsAnswer;

/* Ranks of answers; a greater rank is better. */
typedef enum PfsAnswerRank
{
	PFS_ANSWER_NONE,
	PFS_ANSWER_UNNAMED, /* the start of a function without a symbol */
	PFS_ANSWER_SYMBOL,	/* a function without a line, as from a symbol table */
	PFS_ANSWER_SOURCE	/* a line, or inlined calls, as from DWARF */
} PfsAnswerRank;

/*
 * Ranks an answer. Without a build ID two answers may be about different code, so all of them have
 * the same rank, which is better than none.
 */
PfsAnswerRank pfs_answer_rank(const PfsAnswer *answer, bool has_build_id);

bool pfs_answers_are_equal(const PfsAnswer *a, const PfsAnswer *b);

/*
 * Records an answer for a location. At commit the location gets it, unless its stored answer then
 * has an equal or better rank, or this transaction has recorded a better one. Answers of a
 * subtransaction are dropped with its abort. Under REPEATABLE READ the commit raises
 * T_R_SERIALIZATION_FAILURE if another transaction has improved the location first.
 */
void pfs_answer_tell(int32 location_id, const PfsAnswer *answer, bool has_build_id);

/*
 * Called once when the module is loaded, after pfs_series_seen_init(): commits must lock the
 * epoch's row before other rows, as collect_dictionary() does.
 */
void pfs_answers_init(void);

#endif
