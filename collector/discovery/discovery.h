/*
 * discovery.h
 *		Service discovery: the interface that all kinds implement.
 *
 * A discovery runs in the thread of its client: its functions are called when it is due, and when
 * its requests end. It never waits. It reports the targets that it found as groups.
 */
#ifndef COLLECTOR_DISCOVERY_H
#define COLLECTOR_DISCOVERY_H

#include <stdint.h>

#include "discovery/target_group.h"
#include "http_client/http_client.h"

typedef struct DiscoverySink
{
	/*
	 * Receives a group, and owns it from then on. Returns false if the sink has no room for the
	 * group at present; a group without targets always has room.
	 */
	bool (*update)(void *context, TargetGroup *group);
	void *context;
} DiscoverySink;

typedef struct DiscoveryParts
{
	HttpClient *client;
	const char *job; /* name of the job, for the log */
	DiscoverySink sink;
} DiscoveryParts;

typedef struct Discovery Discovery;

/* A kind of discovery: its settings in the configuration, and its functions. */
typedef struct DiscoveryKind
{
	const char *key; /* key of the list of its settings */

	/* Reads one item of that list into zeroed memory of settings_bytes. */
	ConfigRead read;
	size_t settings_bytes;

	/* Returns NULL if out of memory. settings outlive the discovery. */
	Discovery *(*start)(const void *settings, const DiscoveryParts *parts);
	void (*tick)(Discovery *discovery, int64_t now_ns);
	void (*stop)(Discovery *discovery);
} DiscoveryKind;

/* The structure of each kind begins with this one. */
struct Discovery
{
	const DiscoveryKind *kind;
	DiscoveryParts parts;
	int64_t due_ns; /* CLOCK_MONOTONIC, when tick must be called; INT64_MAX: never */
};

extern const DiscoveryKind static_discovery;
extern const DiscoveryKind file_discovery;
extern const DiscoveryKind http_discovery;
extern const DiscoveryKind dns_discovery;
extern const DiscoveryKind kubernetes_discovery;
extern const DiscoveryKind consul_discovery;

/* All kinds; NULL ends the array. */
extern const DiscoveryKind *const discovery_kinds[];

/*
 * Passes a group to the sink. An incomplete group is logged and dropped, so the previous one stays.
 * Returns false if the sink refused the group, which the sink logs; the caller may discover it
 * again later.
 */
bool discovery_update(Discovery *discovery, TargetGroup *group);

/* Logs why targets could not be discovered. */
void discovery_warn(const Discovery *discovery, const char *where, const char *detail);

/* Passes a group without targets, which removes the group that this source had before. */
void discovery_remove(Discovery *discovery, const char *source);

/* Targets and their labels as written in a configuration, used by static and file discovery. */
typedef struct GroupSettings
{
	ConfigList targets; /* list of const char *: addresses */
	ConfigList labels;	/* list of ConfigPair */
} GroupSettings;

bool discovery_read_group(ConfigReader *reader, const Node *node, void *group_settings);

/*
 * Makes a group from the settings. If name is not NULL, the group also gets a meta label of this
 * name and value. Returns NULL if out of memory.
 */
TargetGroup *discovery_make_group(const GroupSettings *settings, const char *source,
								  const BatchLabel *meta);

#endif
