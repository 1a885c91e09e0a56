/*
 * file.c
 *		file_sd_configs: groups of targets in files, JSON or YAML.
 *
 * Files are checked every few seconds, and read again if they have changed or could not be read. If
 * a file becomes invalid, its old groups stay; if it is removed, they are removed.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "config/file_mark.h"
#include "discovery/discovery.h"

#define LOOK_NS INT64_C(2000000000)

typedef struct FileSettings
{
	ConfigList patterns; /* list of const char * */
	int64_t refresh_ms;	 /* refresh_interval as in Prometheus; here files are checked more often */
} FileSettings;

typedef struct WatchedFile
{
	UT_hash_handle hh; /* keyed by path */
	char *path;
	FileMark mark;		/* version of the file that was read */
	size_t group_count; /* number of groups; their sources are PATH:0, PATH:1 ... */
	bool seen;
	bool is_unreadable; /* the last read failed, which was logged */
} WatchedFile;

typedef struct FileDiscovery
{
	Discovery base;
	const FileSettings *settings;
	WatchedFile *files;
} FileDiscovery;

static bool
read_pattern(ConfigReader *reader, const Node *node, void *field)
{
	const char *dot = node->kind == NODE_SCALAR ? strrchr(node->text, '.') : NULL;
	const char *slash = node->kind == NODE_SCALAR ? strrchr(node->text, '/') : NULL;
	const char *star = node->kind == NODE_SCALAR ? strpbrk(node->text, "*?[") : NULL;

	/* Prometheus accepts no other names and patterns, either. */
	if (dot == NULL ||
		(strcmp(dot, ".json") != 0 && strcmp(dot, ".yml") != 0 && strcmp(dot, ".yaml") != 0))
		return config_fail(reader, node, "Names of files must end in .json, .yml or .yaml");
	if (star != NULL && slash != NULL && star < slash)
		return config_fail(reader, node, "Only the last component of a path may be a pattern");
	return config_read_path(reader, node, field);
}

static bool
read_patterns(ConfigReader *reader, const Node *node, void *field)
{
	return config_read_items(reader, node, sizeof(const char *), read_pattern, field);
}

static bool
sd_file_read_settings(ConfigReader *reader, const Node *node, void *field)
{
	static const ConfigField fields[] = {
		{ "files", read_patterns, offsetof(FileSettings, patterns) },
		{ "refresh_interval", config_read_duration, offsetof(FileSettings, refresh_ms) },
	};
	FileSettings *settings = field;

	return config_read_fields(reader, node, CONFIG_FIELDS(fields), settings) &&
		   (settings->patterns.count > 0 ||
			config_fail(reader, node, "\"files\" needs at least one pattern"));
}

static Discovery *
sd_file_start(const void *settings, const DiscoveryParts *parts)
{
	FileDiscovery *discovery = calloc(1, sizeof(FileDiscovery));

	if (discovery == NULL)
		return NULL;
	discovery->base = (Discovery){ .kind = &file_discovery, .parts = *parts };
	discovery->settings = settings;
	return &discovery->base;
}

/* --- one file --- */

static char *
make_source(const WatchedFile *file, size_t number)
{
	char *source;

	return asprintf(&source, "%s:%zu", file->path, number) < 0 ? NULL : source;
}

static void
remove_groups(FileDiscovery *discovery, const WatchedFile *file, size_t from)
{
	for (size_t i = from; i < file->group_count; i++)
	{
		char *source = make_source(file, i);

		if (source != NULL)
			discovery_remove(&discovery->base, source);
		free(source);
	}
}

static bool
read_groups(ConfigReader *reader, const Node *root, ConfigList *groups)
{
	*groups = (ConfigList){ NULL, 0 };
	return root == NULL || node_is_null(root) ||
		   config_read_items(reader, root, sizeof(GroupSettings), discovery_read_group, groups);
}

/* Passes a file's groups to the sink. Returns false if the sink had no room for one. */
static bool
tell_groups(FileDiscovery *discovery, WatchedFile *file, const ConfigList *groups)
{
	const BatchLabel meta = { "__meta_filepath", file->path };
	const GroupSettings *settings = groups->items;
	bool all_taken = true;

	for (size_t i = 0; i < groups->count; i++)
	{
		char *source = make_source(file, i);

		if (source != NULL)
			all_taken &= discovery_update(&discovery->base,
										  discovery_make_group(&settings[i], source, &meta));
		free(source);
	}
	/* Groups beyond the present number are those of the former content. */
	remove_groups(discovery, file, groups->count);
	file->group_count = groups->count;
	return all_taken;
}

/*
 * Processes all groups of a file, or none. Returns false if the file must be read again, because it
 * was unreadable or the sink had no room for a group. An invalid file is not read again.
 */
static bool
sd_file_read_file(FileDiscovery *discovery, WatchedFile *file)
{
	Failure failure;
	Document document;
	ConfigReader reader = { &document, &failure, "" };
	ConfigList groups;
	ExitCode code = document_read_regular(&document, file->path, &failure);
	bool was_read = code != EXIT_IO;
	bool all_taken = true;

	/* A file that cannot be opened is logged once, a malformed one after each change. */
	if (code == EXIT_OK && read_groups(&reader, document.root, &groups))
		all_taken = tell_groups(discovery, file, &groups);
	else if (was_read || !file->is_unreadable)
		discovery_warn(&discovery->base, file->path, failure.detail);
	file->is_unreadable = !was_read;
	document_free(&document);
	/* If this is false, the file is read again at the next check. */
	return was_read && all_taken;
}

/* --- all of them --- */

static WatchedFile *
sd_file_find_or_add(FileDiscovery *discovery, const char *path)
{
	WatchedFile *file;

	HASH_FIND_STR(discovery->files, path, file);
	if (file != NULL)
		return file;
	file = calloc(1, sizeof(WatchedFile));
	if (file == NULL || (file->path = strdup(path)) == NULL)
	{
		free(file);
		return NULL;
	}
	HASH_ADD_KEYPTR(hh, discovery->files, file->path, strlen(file->path), file);
	return file;
}

static void
look_at(FileDiscovery *discovery, const char *path)
{
	WatchedFile *file = sd_file_find_or_add(discovery, path);
	FileMark mark = file_mark(path);

	if (file == NULL)
		return;
	file->seen = true;
	if (file_marks_equal(&mark, &file->mark))
		return;

	/* the mark was taken before the reading, so the next check notices a change in between */
	if (sd_file_read_file(discovery, file))
		file->mark = mark;
}

static void
sd_file_forget(FileDiscovery *discovery, WatchedFile *file)
{
	HASH_DEL(discovery->files, file);
	free(file->path);
	free(file);
}

/* Expands the patterns, checks all files, and removes the groups of files that match no pattern. */
static void
sd_file_tick(Discovery *base, int64_t now_ns)
{
	FileDiscovery *discovery = (FileDiscovery *) base;
	const char *const *patterns = discovery->settings->patterns.items;
	WatchedFile *file;
	WatchedFile *next;

	base->due_ns = now_ns + LOOK_NS;
	for (file = discovery->files; file != NULL; file = file->hh.next)
		file->seen = false;
	for (size_t i = 0; i < discovery->settings->patterns.count; i++)
	{
		glob_t found;

		if (glob(patterns[i], 0, NULL, &found) == 0)
			for (size_t j = 0; j < found.gl_pathc; j++)
				look_at(discovery, found.gl_pathv[j]);
		globfree(&found);
	}
	HASH_ITER(hh, discovery->files, file, next)
	{
		if (file->seen)
			continue;
		remove_groups(discovery, file, 0);
		sd_file_forget(discovery, file);
	}
}

static void
sd_file_stop(Discovery *base)
{
	FileDiscovery *discovery = (FileDiscovery *) base;
	WatchedFile *file;
	WatchedFile *next;

	HASH_ITER(hh, discovery->files, file, next)
	{
		sd_file_forget(discovery, file);
	}
	free(discovery);
}

const DiscoveryKind file_discovery = { .key = "file_sd_configs",
									   .read = sd_file_read_settings,
									   .settings_bytes = sizeof(FileSettings),
									   .start = sd_file_start,
									   .tick = sd_file_tick,
									   .stop = sd_file_stop };
