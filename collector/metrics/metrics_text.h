/*
 * metrics_text.h
 *		Figures in the text formats of Prometheus and OpenMetrics.
 */
#ifndef COLLECTOR_METRICS_TEXT_H
#define COLLECTOR_METRICS_TEXT_H

#include <stdbool.h>

#include "database/wire.h"
#include "program/figures.h"

/* Content type of each format. */
#define METRICS_CONTENT		 "text/plain; version=0.0.4; charset=utf-8"
#define METRICS_OPEN_CONTENT "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* Returns whether the value of a request's header "accept" names OpenMetrics. */
bool metrics_accepts_open(const char *accept, size_t length);

/* Appends all figures under the names profstore_PART_NAME. */
void metrics_print(Buffer *text, const char *part, const Figures *figures, bool is_open);

#endif
