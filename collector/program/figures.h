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

/* test_metrics checks that no program has more figures. */
#define FIGURES_MAX 192

/* All texts are literals. */
typedef struct Figure
{
	const char *name; /* lower-case identifier; that of a counter ends with _total */
	const char *help;
	const char *type; /* "counter" or "gauge" */
	/* value of the label "reason"; NULL: no label. Figures with one name are adjacent. */
	const char *reason;
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

/* Adds a program's figures. Any thread may call it at any time. */
typedef void (*FiguresFill)(void *context, Figures *figures);

/*
 * Figures that one thread publishes from time to time and other threads read. The lock is held only
 * while figures are copied.
 */
typedef struct FiguresSnapshot
{
	pthread_mutex_t lock;
	Figures figures;
} FiguresSnapshot;

void figures_snapshot_init(FiguresSnapshot *snapshot);

/* Replaces the published figures, and adds the present time as a figure. */
void figures_publish(FiguresSnapshot *snapshot, const Figures *figures);

/* A FiguresFill whose context is a FiguresSnapshot. */
void figures_fill_published(void *context, Figures *figures);

#endif
