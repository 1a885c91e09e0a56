/*
 * figures.h
 *		Counters and gauges of a running program, for its page /metrics and for its reports to the
 *		database.
 */
#ifndef COLLECTOR_FIGURES_H
#define COLLECTOR_FIGURES_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* More than any of the programs has, which test_metrics checks. */
#define FIGURES_MAX 192

/* All texts are literals. */
typedef struct Figure
{
	const char *name; /* lower-case identifier; that of a counter ends with _total */
	const char *help;
	const char *type;	/* "counter" or "gauge" */
	const char *reason; /* label "reason"; NULL: none. Figures of one name follow each other. */
	uint64_t value;
} Figure;

typedef struct Figures
{
	Figure items[FIGURES_MAX];
	size_t count;
} Figures;

/* Appends a figure; does nothing if there is no room. */
static inline void
figures_add(Figures *figures, Figure figure)
{
	if (figures->count < FIGURES_MAX)
		figures->items[figures->count++] = figure;
}

static inline void
figures_add_counter(Figures *figures, const char *name, const char *help, uint64_t value)
{
	figures_add(figures, (Figure){ name, help, "counter", NULL, value });
}

static inline void
figures_add_gauge(Figures *figures, const char *name, const char *help, uint64_t value)
{
	figures_add(figures, (Figure){ name, help, "gauge", NULL, value });
}

/* Adds the figures of a program. Any thread may call it, at any time. */
typedef void (*FiguresFill)(void *context, Figures *figures);

/*
 * Figures that one thread publishes from time to time, and others read. The publisher never waits
 * longer than a copy takes.
 */
typedef struct FiguresSnapshot
{
	pthread_mutex_t lock;
	Figures figures;
} FiguresSnapshot;

void figures_snapshot_init(FiguresSnapshot *snapshot);

/* Replaces the published figures, and adds the time at which they were taken. */
void figures_publish(FiguresSnapshot *snapshot, const Figures *figures);

/* A FiguresFill whose context is a FiguresSnapshot. */
void figures_fill_published(void *context, Figures *figures);

#endif
