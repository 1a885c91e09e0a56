/*
 * text_plan.h
 *		Statements of one text parameter that are planned once in a session.
 */
#ifndef PFS_TEXT_PLAN_H
#define PFS_TEXT_PLAN_H

#include "profstore.h"

#include "executor/spi.h"

/*
 * Runs a query as the caller, within SPI_connect; *plan, NULL at first, stays with the backend. The
 * plan cache renews it when the role or the row policies change.
 */
void pfs_text_plan_run(SPIPlanPtr *plan, const char *query, Datum text);

#endif
