/*
 * worker.h
 *		The worker process, which reads what a hostile file may spoil.
 */
#ifndef COLLECTOR_WORKER_H
#define COLLECTOR_WORKER_H

/*
 * Call it first in main(): where this process was started as a worker it serves and never returns.
 * A program that leaves it out and symbolizes would start itself again.
 */
void symbolizer_worker_main(int argc, char **argv);

#endif
