/*
 * pod_lines.c
 *		Parses lines of the pod watch.
 */
#include "kubernetes/pod_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int
pod_lines_init(PodLines *lines, PodTable *table)
{
	*lines = (PodLines){ .table = table, .line = malloc(POD_LINE_BYTES) };
	return lines->line != NULL ? 0 : -ENOMEM;
}

void
pod_lines_fini(PodLines *lines)
{
	free(lines->line);
	lines->line = NULL;
}

void
pod_lines_begin(PodLines *lines)
{
	lines->length = 0;
	lines->synced = false;
	pod_table_begin(lines->table);
}

static const char *
after_word(const char *line, const char *word)
{
	size_t length = strlen(word);

	return strncmp(line, word, length) == 0 ? line + length : NULL;
}

/* Applies one line: "pod …", "gone …" or "synced". */
static int
pod_lines_take_line(PodLines *lines, const char *line, uint64_t now_ns)
{
	const char *rest;
	int result;

	if ((rest = after_word(line, "pod ")) != NULL)
	{
		result = pod_table_set(lines->table, rest);
		/* 1 means that the pod is new or has changed. */
		lines->news |= result == 1;
		lines->refused += result == -ENOSPC || result == -ENOMEM;
		return result == -EINVAL ? result : 0;
	}
	if ((rest = after_word(line, "gone ")) != NULL)
		pod_table_remove(lines->table, rest, now_ns);
	else if (strcmp(line, "synced") == 0)
	{
		lines->synced = true;
		/* Pods that were not listed before this line are gone. */
		pod_table_end(lines->table, now_ns);
	}
	else
		return -EINVAL;
	return 0;
}

int
pod_lines_take(PodLines *lines, const char *bytes, size_t length, uint64_t now_ns)
{
	for (size_t i = 0; i < length; i++)
	{
		/* The program writes neither longer lines nor zero bytes. */
		if (lines->length == POD_LINE_BYTES || bytes[i] == '\0')
			return -EINVAL;
		lines->line[lines->length++] = bytes[i];
		if (bytes[i] != '\n')
			continue;
		lines->line[lines->length - 1] = '\0';
		lines->length = 0;
		if (pod_lines_take_line(lines, lines->line, now_ns) != 0)
			return -EINVAL;
	}
	return 0;
}
