/*
 * jfr_settings.h
 *		What the samples of execution in a recording measure, by its settings. Knows no server
 *		header.
 *
 * A setting belongs to a type of event: the same name means another thing for each.
 *
 *		jdk.ExecutionSample   period           JDK: the time between samples of a thread, "20 ms"
 *		                      interval         async-profiler: nanoseconds, or events counted,
 *		                                       between samples; 0: the default of the event
 *		                      wall             async-profiler: the same of samples of wall time,
 *		                                       taken beside the others
 *		jdk.ActiveRecording   event            async-profiler: cpu, wall, page-faults, ...
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

/* Zeroed: none was read. */
typedef struct PfsJfrSettings
{
	bool is_set; /* one of the others is */
	bool has_interval;
	bool has_wall;
	int64_t period_ns; /* 0: not set, also below */
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
	int64_t amount; /* that a sample stands for: nanoseconds, or events */
} PfsJfrMeasure;

/*
 * What a sample of execution measures. In a recording of processor time and wall time, the samples
 * of wall time are those with a thread state.
 */
PfsJfrMeasure pfs_jfr_execution_measure(const PfsJfrSettings *settings, bool has_state);

/* Nanoseconds that a sample of wall time stands for. */
int64_t pfs_jfr_wall_period(const PfsJfrSettings *settings);

#endif
