/*
 * writer_figures.h
 *		The figures of a writer, under the same names for all programs.
 */
#ifndef COLLECTOR_WRITER_FIGURES_H
#define COLLECTOR_WRITER_FIGURES_H

#include "program/figures.h"
#include "writer/writer_stats.h"

void writer_figures_add(Figures *figures, const WriterStats *writer);

#endif
