/*
 * rule_set.h
 *		The rules of all binaries, each once, under 16-bit numbers.
 *
 * Compilers use few prologues: some thousand rules cover a whole system. Numbers are not given back
 * one by one, so rows in the kernel stay true; number 0 is PFS_UNWIND_INVALID. No file may add more
 * than its share, which is more than any compiler's output needs: what one makes up is its own
 * loss.
 */
#ifndef COLLECTOR_RULE_SET_H
#define COLLECTOR_RULE_SET_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/table.h"
#include "unwind_types.h"

#define RULE_SET_RECENT 256

typedef struct RuleSet
{
	Budget budget;
	Table rules;  /* of struct pfs_unwind_rule; a rule's number is its position */
	uint32_t end; /* of the share of the file whose rules come now */
	/* numbers of rules that were added last, each in the place that its bytes choose */
	uint16_t recent[RULE_SET_RECENT];
	uint64_t refused; /* rules that found the set, or the share, full */
} RuleSet;

#define RULE_SET_SHARE (PFS_UNWIND_RULES / 4)

/* 0 or -ENOMEM. */
int rule_set_init(RuleSet *set);
void rule_set_fini(RuleSet *set);

/* The rules that follow are another file's, which may add as many; RULE_SET_SHARE as a rule. */
void rule_set_next_file(RuleSet *set, uint32_t share);

/*
 * The rule's number; 0 (invalid) where the set or the file's share is full or memory is out, which
 * is counted.
 */
uint16_t rule_set_add(RuleSet *set, const struct pfs_unwind_rule *rule);

static inline bool
rule_set_is_full(const RuleSet *set)
{
	return set->rules.count >= PFS_UNWIND_RULES;
}

static inline uint32_t
rule_set_count(const RuleSet *set)
{
	return set->rules.count;
}

static inline const struct pfs_unwind_rule *
rule_set_get(const RuleSet *set, uint16_t number)
{
	return table_item(&set->rules, number);
}

#endif
