/*
 * text_plan.h
 *		Statements with one text parameter, planned once per session.
 */
#ifndef PFS_TEXT_PLAN_H
#define PFS_TEXT_PLAN_H

#include "profstore.h"

#include "executor/spi.h"

/*
 * Runs a query as the caller, after SPI_connect(). *plan, NULL at first, is kept by the backend.
 * The plan cache renews it when the role or the row policies change.
 */
void pfs_text_plan_run(SPIPlanPtr *plan, const char *query, Datum text);

#endif
