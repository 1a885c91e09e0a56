/*
 * demangler.c
 *		Calls libiberty, and keeps its answers.
 */
#include "symbols/worker/demangler.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "base/hash.h"
#include "symbols/worker/simple_name.h"

#define KEPT_MAX_BYTES 2048 /* of a name and its form; longer ones are rare */
#define OPTIONS		   (DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO)

void
demangler_init(Demangler *demangler)
{
	demangler->seed = hash_seed();
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
		return cplus_demangle(name, OPTIONS);
	plain = strndup(name, (size_t) (mark - name));
	demangled = plain != NULL ? cplus_demangle(plain, OPTIONS) : NULL;
	free(plain);
	if (demangled == NULL || asprintf(&marked, "%s%s", demangled, mark) < 0)
		marked = NULL;
	free(demangled);
	return marked;
}

/* Keeps a form in a slot, in place of an older one. */
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

/* Returns true for names of C++, and not for those of Rust that begin like them. */
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
