/*
 * map_probe.h
 *		Reads on in a process's perf map, with a deadline: the file is the process's, and may be on
 *		a file system of its own making.
 *
 * The map of a process is /tmp/perf-PID.map in its own mount namespace, PID being its number in its
 * own pid namespace. Anyone may have made a file of that name: it counts where it is a regular
 * file, and its owner the process's or root.
 */
#ifndef COLLECTOR_MAP_PROBE_H
#define COLLECTOR_MAP_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/prober.h"

#define MAP_PROBE_BYTES (256 * 1024) /* that are read at once */

/* The end of what was read before: whether it stands there still tells a map that was rewritten. */
#define MAP_PROBE_TAIL 64

typedef struct MapProbe
{
	Probe probe;
	uint32_t pid;
	int fd; /* of the map as far as it is known; -1: to be opened. The probe's while it runs */
	dev_t device;
	ino_t inode;
	uint64_t offset; /* up to which it was read */
	char tail[MAP_PROBE_TAIL];
	size_t tail_length;
	bool look_for_another; /* is there another file of that name? */
	/* what comes out */
	int error;		/* -errno: there is no map, or none that counts */
	bool rewritten; /* all that was read is void; what follows begins the map */
	bool more;		/* there is more to read at once */
	size_t length;
	char *bytes; /* room for MAP_PROBE_BYTES, lent for a reading; the probe's where it comes late */
} MapProbe;

/* A probe of the process's map, which was never read. NULL without memory. */
MapProbe *map_probe_create(uint32_t pid);
void map_probe_free(MapProbe *probe); /* accepts NULL */

/*
 * Reads on into bytes. As prober_run: but for 0 neither probe nor bytes are the caller's any more.
 */
int map_probe_read(Prober *prober, MapProbe *probe, char *bytes, uint64_t wait_ns);

#endif
