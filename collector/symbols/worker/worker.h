/*
 * worker.h
 *		Starts the worker process, which reads files that may be hostile.
 */
#ifndef COLLECTOR_WORKER_H
#define COLLECTOR_WORKER_H

#include <stdbool.h>

/*
 * Must be the first call of main(). In a process that was started as a worker it serves requests
 * and does not return; otherwise it returns at once.
 */
void symbolizer_worker_main(int argc, char **argv);

/*
 * Returns true if this program can be started again as a worker. Returns false if main() did not
 * call symbolizer_worker_main(), or if this process is a worker itself: the started program would
 * then do this program's work, and start itself without end.
 */
bool symbolizer_worker_can_start(void);

#endif
