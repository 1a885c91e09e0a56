/*
 * sampler_figures.h
 *		Returns figures of a sampler's sources by name.
 */
#ifndef COLLECTOR_TEST_SAMPLER_FIGURES_H
#define COLLECTOR_TEST_SAMPLER_FIGURES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "kernel/sampler.h"

/* Returns the figure with that name, which some source must have. */
static inline uint64_t
figure_of(const Sampler *sampler, const char *name)
{
	SourceFigure figures[SAMPLER_FIGURES_MAX];
	uint64_t counters[PFS_COUNTER_COUNT];
	size_t count;
	size_t i = 0;

	assert_int_equal(sampler_counters(sampler, counters), 0);
	count = sampler_figures(sampler, counters, figures);
	while (i < count && strcmp(figures[i].name, name) != 0)
		i++;
	assert_true(i < count);
	return figures[i].value;
}

#endif
