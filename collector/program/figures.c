/*
 * figures.c
 *		Figures that one thread publishes for others.
 */
#include "program/figures.h"

#include "base/clock.h"

void
figures_snapshot_init(FiguresSnapshot *snapshot)
{
	pthread_mutex_init(&snapshot->lock, NULL);
	snapshot->figures.count = 0;
}

void
figures_publish(FiguresSnapshot *snapshot, const Figures *figures)
{
	pthread_mutex_lock(&snapshot->lock);
	snapshot->figures = *figures;
	figures_add_gauge(&snapshot->figures, "figures_timestamp_seconds",
					  "When these figures were taken, in seconds since 1970.",
					  (uint64_t) (clock_ns(CLOCK_REALTIME) / NS_PER_S));
	pthread_mutex_unlock(&snapshot->lock);
}

void
figures_fill_published(void *context, Figures *figures)
{
	FiguresSnapshot *snapshot = context;

	pthread_mutex_lock(&snapshot->lock);
	for (size_t i = 0; i < snapshot->figures.count; i++)
		figures_add(figures, snapshot->figures.items[i]);
	pthread_mutex_unlock(&snapshot->lock);
}
