/*
 * jfr_settings.h
 *		Determines from a recording's settings what its execution samples measure. Includes no
 *		server header.
 *
 * A setting belongs to a type of event, because equal names differ in meaning between types:
 *
 *   jdk.ExecutionSample   period     JDK: time between samples of a thread, "20 ms"
 *                         interval   async-profiler: nanoseconds or counted events
 *                                    between samples; 0: the event's default
 *                         wall       async-profiler: nanoseconds between samples of wall
 *                                    time, which are taken in addition
 *   jdk.ActiveRecording   event      async-profiler: cpu, wall, page-faults, ...
 */
#ifndef PFS_JFR_SETTINGS_H
#define PFS_JFR_SETTINGS_H

#include "formats/profile.h"

typedef enum PfsJfrOwner
{
	PFS_JFR_OWNER_EXECUTION, /* jdk.ExecutionSample */
	PFS_JFR_OWNER_RECORDING, /* jdk.ActiveRecording */
	PFS_JFR_OWNER_OTHER
} PfsJfrOwner;

/* Settings of a recording. Zeroed if no setting was read. */
typedef struct PfsJfrSettings
{
	bool is_set; /* any other setting is set */
	bool has_interval;
	bool has_wall;
	int64_t period_ns; /* 0 if the setting was not read, as in the following fields */
	int64_t interval;
	int64_t wall_ns;
	PfsText event;
} PfsJfrSettings;

void pfs_jfr_take_setting(PfsJfrSettings *settings, PfsJfrOwner owner, PfsText name, PfsText value);

typedef enum PfsJfrUnit
{
	PFS_JFR_CPU,
	PFS_JFR_WALL,
	PFS_JFR_EVENTS
} PfsJfrUnit;

typedef struct PfsJfrMeasure
{
	PfsJfrUnit unit;
	int64_t amount; /* amount of one sample: nanoseconds, or events */
} PfsJfrMeasure;

/*
 * Returns what an execution sample measures. In a recording of CPU time and wall time, the samples
 * of wall time are those with a thread state.
 */
PfsJfrMeasure pfs_jfr_execution_measure(const PfsJfrSettings *settings, bool has_state);

/* Returns the nanoseconds of a sample of wall time. */
int64_t pfs_jfr_wall_period(const PfsJfrSettings *settings);

#endif
