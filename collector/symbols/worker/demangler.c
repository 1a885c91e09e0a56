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

struct LooseForm
{
	LooseForm *next;
	char *text;
};

void
demangler_init(Demangler *demangler, DemanglerLimit limit)
{
	demangler->seed = hash_seed();
	demangler->limit = limit;
}

/* Demangles a name without mark. */
static char *
demangle_plain(const char *name)
{
	bool is_d = strncmp(name, "_D", 2) == 0;
	char *demangled;

	/* libiberty's demangler of D calls itself for each letter of a type */
	if (is_d && strlen(name) > D_NAME_MAX)
		return NULL;
	demangled = cplus_demangle(name, OPTIONS);
	/* Debian 13's libiberty tries D by itself, Debian 12's does not */
	return demangled == NULL && is_d ? dlang_demangle(name, OPTIONS) : demangled;
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

/* Returns the form of a name in a style, which the caller frees. */
static char *
demangle_in_style(const char *name, NameStyle style)
{
	char *text = demangle(name);

	if (text != NULL && style == NAME_STYLE_SIMPLE && is_cpp(name))
		simple_name(text);
	return text;
}

/*
 * Frees a form at the next demangler_release(), because an answer that is being written may contain
 * it. Returns false if memory is exhausted.
 */
static bool
demangler_loosen(Demangler *demangler, char *text)
{
	LooseForm *loose = malloc(sizeof(*loose));

	if (loose == NULL)
		return false;
	*loose = (LooseForm){ demangler->loose, text };
	demangler->loose = loose;
	return true;
}

void
demangler_release(Demangler *demangler)
{
	if (demangler->limit != NULL && demangler->is_limited)
		demangler->limit(false);
	demangler->is_limited = false;
	while (demangler->loose != NULL)
	{
		LooseForm *loose = demangler->loose;

		demangler->loose = loose->next;
		free(loose->text);
		free(loose);
	}
}

/*
 * Stores a form in a slot, replacing an older one; the slot then owns text. Returns false if the
 * form is not stored, because it is long or memory is exhausted.
 */
static bool
demangler_keep(Demangler *demangler, Demangled *slot, const char *name, char *text, NameStyle style)
{
	bool is_long = strlen(name) + (text != NULL ? strlen(text) : 0) > KEPT_MAX_BYTES;
	char *mangled = is_long ? NULL : strdup(name);

	if (mangled == NULL || (slot->text != NULL && !demangler_loosen(demangler, slot->text)))
	{
		free(mangled);
		return false;
	}
	free(slot->mangled);
	*slot = (Demangled){ mangled, text, style };
	return true;
}

const char *
demangler_name(Demangler *demangler, const char *name, NameStyle style)
{
	uint64_t hash = hash_bytes(demangler->seed, name, strlen(name));
	Demangled *slot = &demangler->kept[hash % DEMANGLED_KEPT];
	char *text;

	/* names that are not mangled are in slots, too, because C functions recur */
	if (slot->mangled != NULL && slot->style == style && strcmp(slot->mangled, name) == 0)
		return slot->text;
	/* one limit for all names of an answer, because a hostile file chooses their number */
	if (demangler->limit != NULL && !demangler->is_limited)
		demangler->limit(true);
	demangler->is_limited = true;
	text = demangle_in_style(name, style);
	if (demangler_keep(demangler, slot, name, text, style) || text == NULL ||
		demangler_loosen(demangler, text))
		return text;
	free(text);
	return NULL;
}
