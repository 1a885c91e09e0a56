/*
 * worker.h
 *		The worker process, which reads what a hostile file may spoil.
 */
#ifndef COLLECTOR_WORKER_H
#define COLLECTOR_WORKER_H

#include <stdbool.h>

/*
 * Call it first in main(): where this process was started as a worker it serves and never returns.
 */
void symbolizer_worker_main(int argc, char **argv);

/*
 * A worker is this program, started again. False where that would not serve, but do all over what
 * this program does, and start itself again: main() did not call the above, or this process was
 * started as a worker.
 */
bool symbolizer_worker_can_start(void);

#endif
