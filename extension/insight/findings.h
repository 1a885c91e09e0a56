/*
 * findings.h
 *		Findings of a deploy: the statistic's answers, as a status for each function.
 */
#ifndef PFS_FINDINGS_H
#define PFS_FINDINGS_H

#include "profstore.h"

#include "insight/function_cells.h"
#include "insight/function_costs.h"
#include "insight/statistic/changes.h"

/* A function that has less than this part of its share on the other side is new or gone. */
#define PFS_MISSING_PART 0.05

typedef enum PfsFindingStatus
{
	PFS_FINDING_NONE, /* no change was found */
	PFS_FINDING_REGRESSION,
	PFS_FINDING_IMPROVEMENT,
	PFS_FINDING_MOVED,	 /* code moved between functions with the same caller */
	PFS_FINDING_PASSING, /* the change was gone in the second half of the time */
	PFS_FINDING_RENAMED,
	PFS_FINDING_NEW,
	PFS_FINDING_GONE
} PfsFindingStatus;

/* A function, by its own code or including its callees. */
typedef struct PfsFinding
{
	PfsFindingStatus status;
	uint32 function; /* number in the costs; PFS_NO_FUNCTION means all code */
	uint32 place;	 /* index among the cells */
	bool is_total;
	bool is_dropped; /* left out, because it is a caller of a function that explains its change */
	PfsChange change;
	double q_value;
	double later_change; /* logarithm, of the second half of the time; NAN: unknown */
	double later_error;
	bool is_later_gone; /* hosts have samples in the second half, and the function has none */
	const char *within; /* a caller whose change this one explains; NULL: none */
} PfsFinding;

typedef struct PfsDeployFindings
{
	PfsDesign design;
	const char *reason; /* reason why there is no answer; NULL if there is one */
	uint32 count;
	PfsFinding *findings; /* findings of functions' own code first, then of totals */
	uint32 tested[2];	  /* number of tests: own values, totals */
	uint32 found[2];
	bool is_many;	/* pfs_changes_are_many() of own values; false for a canary */
	uint32 periods; /* number of periods of the base with samples */
	PfsChangeBasis basis;
	PfsFinding whole; /* cost of a request; its function is PFS_NO_FUNCTION */
	bool has_whole;	  /* rates are known */
	/*
	 * least load of a period of the base: requests if rates are known, otherwise the sum of samples
	 */
	double least_load;
	double most_load; /* largest load of a period of the base */
	double reference; /* logarithm of the change of the median code */
	double reference_error;
	double base_samples;
	double after_samples;
	double whole_after; /* sum of all values after the deploy, of both versions */
} PfsDeployFindings;

typedef struct PfsFindingRules
{
	double min_change;
	double max_rate; /* limit of the rate of false discoveries */
	double quantum;	 /* value of a sample */
	double least_total;
	bool has_canary;
	const char *reason; /* reason why there can be no answer; NULL if there can */
} PfsFindingRules;

/* Judges all functions that have cells. Lives in CurrentMemoryContext. */
PfsDeployFindings *pfs_deploy_findings(const PfsFunctionCells *cells, const PfsHosts *hosts,
									   const PfsFunctionCosts *costs, const char **old_names,
									   const PfsFindingRules *rules);

const char *pfs_finding_name(PfsFindingStatus status);

#endif
