/*
 * demangler.c
 *		Calls libiberty, and caches its answers.
 */
#include "symbols/worker/demangler.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "base/hash.h"
#include "symbols/worker/simple_name.h"

/* limit of a name and its demangled form together; longer ones are rare */
#define KEPT_MAX_BYTES 2048
/* limit of a name of D, because libiberty's reader of these recurses without one */
#define D_NAME_MAX	   4096
#define OPTIONS		   (DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO)

void
demangler_init(Demangler *demangler)
{
	demangler->seed = hash_seed();
}

/* Demangles a name without mark. libiberty finds out every scheme by itself but that of D. */
static char *
demangle_plain(const char *name)
{
	char *demangled = cplus_demangle(name, OPTIONS);

	if (demangled == NULL && strncmp(name, "_D", 2) == 0 && strlen(name) <= D_NAME_MAX)
		demangled = dlang_demangle(name, OPTIONS);
	return demangled;
}

/* Demangles a name that may have the mark of a stub. */
static char *
demangle(const char *name)
{
	const char *mark = strchr(name, '@');
	char *plain;
	char *demangled;
	char *marked;

	if (mark == NULL)
		return demangle_plain(name);
	plain = strndup(name, (size_t) (mark - name));
	demangled = plain != NULL ? demangle_plain(plain) : NULL;
	free(plain);
	if (demangled == NULL || asprintf(&marked, "%s%s", demangled, mark) < 0)
		marked = NULL;
	free(demangled);
	return marked;
}

/* Stores a form in a slot, replacing an older one. */
static void
keep(Demangled *slot, const char *name, const char *text)
{
	if (strlen(name) + (text != NULL ? strlen(text) : 0) > KEPT_MAX_BYTES)
		return;
	free(slot->mangled);
	free(slot->text);
	slot->mangled = strdup(name);
	slot->text = text != NULL ? strdup(text) : NULL;
	if (slot->mangled != NULL && (slot->text != NULL || text == NULL))
		return;
	free(slot->mangled);
	free(slot->text);
	*slot = (Demangled){ NULL, NULL };
}

/* Returns the full form of a name, which the caller frees. */
static char *
demangler_full_name(Demangler *demangler, const char *name)
{
	uint64_t hash = hash_bytes(demangler->seed, name, strlen(name));
	Demangled *slot = &demangler->kept[hash % DEMANGLED_KEPT];
	char *text;

	if (slot->mangled != NULL && strcmp(slot->mangled, name) == 0)
		return slot->text != NULL ? strdup(slot->text) : NULL;
	text = demangle(name);
	keep(slot, name, text);
	return text;
}

/* Returns true for mangled names of C++, but not for those of Rust, which begin like them. */
static bool
is_cpp(const char *name)
{
	char *rust;

	if (strncmp(name, "_Z", 2) != 0)
		return false;
	rust = rust_demangle(name, OPTIONS);
	free(rust);
	return rust == NULL;
}

char *
demangler_name(Demangler *demangler, const char *name, NameStyle style)
{
	char *text = demangler_full_name(demangler, name);

	if (text != NULL && style == NAME_STYLE_SIMPLE && is_cpp(name))
		simple_name(text);
	return text;
}
