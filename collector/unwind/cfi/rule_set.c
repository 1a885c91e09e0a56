/*
 * rule_set.c
 *		Gives numbers to unwind rules.
 */
#include "unwind/cfi/rule_set.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"

static bool
rule_equal(const void *item, const void *key)
{
	return memcmp(item, key, sizeof(struct pfs_unwind_rule)) == 0;
}

int
rule_set_init(RuleSet *set)
{
	static const struct pfs_unwind_rule invalid = { .kind = PFS_UNWIND_INVALID };

	memset(set, 0, sizeof(*set));
	set->budget.limit_bytes = SIZE_MAX;
	table_init(&set->rules, &set->budget, sizeof(struct pfs_unwind_rule));
	rule_set_next_file(set, RULE_SET_SHARE);
	/* the invalid rule gets number 0 */
	(void) rule_set_add(set, &invalid);
	return set->rules.count == 1 ? 0 : -ENOMEM;
}

void
rule_set_fini(RuleSet *set)
{
	table_fini(&set->rules);
}

void
rule_set_next_file(RuleSet *set, uint32_t share)
{
	uint32_t left = PFS_UNWIND_RULES - set->rules.count;

	set->end = set->rules.count + (left < share ? left : share);
}

/*
 * Returns the slot of a rule in the cache of recent rules, in which nine of ten rows find their
 * rule.
 */
static uint16_t *
recent_place(RuleSet *set, const struct pfs_unwind_rule *rule)
{
	uint64_t words[2];

	_Static_assert(sizeof(words) == sizeof(*rule), "a rule is two words");
	memcpy(words, rule, sizeof(words));
	return &set->recent[(words[0] * HASH_MULTIPLIER + words[1]) * HASH_MULTIPLIER >> 32 &
						(RULE_SET_RECENT - 1)];
}

uint16_t
rule_set_add(RuleSet *set, const struct pfs_unwind_rule *rule)
{
	uint16_t *recent = recent_place(set, rule);
	uint64_t hash;
	uint32_t number;

	/* a zeroed slot leads to rule 0, which is compared like any other */
	if (*recent < set->rules.count && rule_equal(rule_set_get(set, *recent), rule))
		return *recent;
	hash = hash_bytes(set->rules.seed, rule, sizeof(*rule));
	if (!table_find(&set->rules, hash, rule_equal, rule, &number))
	{
		/* the share of the file, or the whole set, is used up */
		if (set->rules.count >= set->end || table_reserve(&set->rules) != 0)
		{
			set->refused++;
			return 0;
		}
		number = set->rules.count;
		memcpy(table_append(&set->rules, hash), rule, sizeof(*rule));
	}
	*recent = (uint16_t) number;
	return *recent;
}
