/*
 * perf_map.c
 *		Parses lines of perf maps and the names in them.
 */
#include "jit/perf_map.h"

#include <stdlib.h>
#include <string.h>

#define ADDRESS_MAX (UINT64_C(1) << 56)
#define DIGITS_MAX	16

/* Parses a hexadecimal number and the spaces after it. */
static bool
perf_map_take_number(char **line, uint64_t *number)
{
	char *at = *line;
	char *first;

	if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
		at += 2;
	first = at;
	*number = 0;
	for (;; at++)
	{
		unsigned digit;

		if (*at >= '0' && *at <= '9')
			digit = (unsigned) (*at - '0');
		else if ((*at | 0x20) >= 'a' && (*at | 0x20) <= 'f')
			digit = (unsigned) ((*at | 0x20) - 'a' + 10);
		else
			break;
		/* More digits do not fit into 64 bits. */
		if (at - first == DIGITS_MAX)
			return false;
		*number = *number << 4 | digit;
	}
	if (at == first || (*at != ' ' && *at != '\t'))
		return false;
	*line = at + strspn(at, " \t");
	return true;
}

bool
perf_map_parse_line(char *line, PerfMapLine *parsed)
{
	uint64_t size;
	size_t length;

	line += strspn(line, " \t");
	if (!perf_map_take_number(&line, &parsed->start) || !perf_map_take_number(&line, &size))
		return false;
	length = strlen(line);
	/* Some writers end lines with CR LF. */
	if (length > 0 && line[length - 1] == '\r')
		line[--length] = '\0';
	if (length == 0 || size == 0 || size > ADDRESS_MAX || parsed->start > ADDRESS_MAX - size)
		return false;
	parsed->end = parsed->start + size;
	parsed->name = line;
	return true;
}

/* Removes ":number" from the end of text. Returns false if text does not end so. */
static bool
map_line_cut_number(char *text, int32_t *number)
{
	char *colon = strrchr(text, ':');
	char *end;
	long parsed;

	if (colon == NULL || colon[1] < '0' || colon[1] > '9')
		return false;
	parsed = strtol(colon + 1, &end, 10);
	if (*end != '\0' || parsed > INT32_MAX)
		return false;
	*colon = '\0';
	*number = (int32_t) parsed;
	return true;
}

/* Parses "name file:line:column" and removes the mark of the compiler's tier. */
static void
name_javascript(char *text, CodeName *name)
{
	char *file;
	int32_t column;

	name->runtime = "[javascript]";
	/* V8 marks the tier that compiled the function by one character before the name. */
	if (text[0] != '\0' && strchr("*~^+", text[0]) != NULL)
		text++;
	file = strchr(text, ' ');
	if (file != NULL)
	{
		*file++ = '\0';
		/* if there is only one number, it is the line */
		if (map_line_cut_number(file, &column) && !map_line_cut_number(file, &name->start_line))
			name->start_line = column;
		name->line = name->start_line;
		name->file = file;
	}
	name->name = text[0] != '\0' ? text : "(anonymous)";
}

/* Parses "name:file". */
static void
name_python(char *text, CodeName *name)
{
	char *file = strrchr(text, ':');

	name->runtime = "[python]";
	if (file != NULL && file != text)
	{
		*file = '\0';
		name->file = file + 1;
	}
	name->name = text[0] != '\0' ? text : "(anonymous)";
}

/* Parses "$module:function/arity". */
static bool
name_erlang(char *text, CodeName *name)
{
	if (text[0] != '$' || strchr(text, ':') == NULL || strrchr(text, '/') == NULL)
		return false;
	name->runtime = "[erlang]";
	name->name = text + 1;
	return true;
}

/*
 * Parses "TRACE-number$name$line", a trace, or "JIT$name", a function. Top-level code has its
 * script's path as name. Stubs ("JIT$$name") belong to no function.
 */
static bool
name_php(char *text, CodeName *name)
{
	static const char part[] = "TRACE-";
	static const char whole[] = "JIT$";
	char *line;

	if (strncmp(text, whole, strlen(whole)) == 0)
		text += strlen(whole);
	else if (strncmp(text, part, strlen(part)) == 0)
	{
		text += strlen(part);
		text += strspn(text, "0123456789");
		line = strrchr(text, '$');
		if (text[0] != '$' || line < text + 2 || line[1] == '\0' ||
			line[1 + strspn(line + 1, "0123456789")] != '\0')
			return false;
		*line = '\0';
		text++;
	}
	else
		return false;
	if (text[0] == '\0' || text[0] == '$')
		return false;
	name->runtime = "[php]";
	name->name = text;
	return true;
}

/* Removes the optimization tier that .NET appends to a name. */
static void
cut_tier(char *text)
{
	static const char *const tiers[] = {
		"[Tier0]",	   "[Tier1]",		   "[Tier1-OSR]",	 "[Tier-0]",		   "[Tier-1]",
		"[Optimized]", "[OptimizedTier1]", "[MinOptJitted]", "[PreJIT]",		   "[Unknown]",
		"[FullOpts]",  "[Instrumented]",   "[QuickJitted]",	 "[OptimizedTier1OSR]"
	};
	size_t length = strlen(text);

	for (size_t i = 0; i < sizeof(tiers) / sizeof(tiers[0]); i++)
	{
		size_t tier = strlen(tiers[i]);

		if (length > tier && strcmp(text + length - tier, tiers[i]) == 0)
		{
			text[length - tier] = '\0';
			return;
		}
	}
}

CodeName
perf_map_name(char *text)
{
	static const char *const scripts[] = { "JS:", "LazyCompile:", "Function:", "Script:", "Eval:" };
	CodeName name = { .runtime = "[jit]", .name = text, .file = "" };

	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++)
	{
		if (strncmp(text, scripts[i], strlen(scripts[i])) == 0)
		{
			name_javascript(text + strlen(scripts[i]), &name);
			return name;
		}
	}
	if (strncmp(text, "py::", 4) == 0)
		name_python(text + 4, &name);
	else if (!name_erlang(text, &name) && !name_php(text, &name))
		cut_tier(text);
	return name;
}
