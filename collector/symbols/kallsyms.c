/*
 * kallsyms.c
 *		Parses, sorts and searches kernel symbols.
 *
 * Symbols of code (text) are kept. Other symbols only mark where a text symbol ends, so that the
 * last function before data does not extend over the data. Addresses are stored as 32 bits, with a
 * table of the few 4 GiB regions in use.
 */
#include "symbols/kallsyms.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "symbols/elf/symbol_name.h"

#define KALLSYMS_MODULE_BYTES 64		   /* above MODULE_NAME_LEN of the kernel */
#define KALLSYMS_SYMBOLS_MAX  (8U << 20)   /* above the count of any kernel */
#define KALLSYMS_NAMES_MAX	  (512U << 20) /* bytes of names */
/* Longest extent of a symbol without an end; distances between modules are larger. */
#define KALLSYMS_SPAN_MAX	  (1U << 20)

#define NO_NAME UINT32_MAX

typedef struct Symbol
{
	uint32_t low;  /* low half of the address */
	uint32_t name; /* offset in names; NO_NAME: the symbol is no code */
	uint16_t module;
} Symbol;

typedef struct Region
{
	uint32_t high; /* high half of the addresses in the region */
	uint32_t first;
} Region;

struct Kallsyms
{
	char *path;
	char *modules_path;
	uint64_t modules_hash; /* hash of the list of modules when the symbols were read */
	bool modules_changed;  /* modules have changed since the symbols were read */
	bool loaded;
	bool outdated;
	int64_t loaded_ns; /* CLOCK_MONOTONIC */
	int64_t reload_min_ns;
	int64_t reload_ns; /* pause before the next reading */
	uint32_t count;
	uint32_t region_count;
	uint32_t module_count;
	size_t names_bytes;
	Symbol *symbols;
	Region *regions;
	char *names;
	char (*modules)[KALLSYMS_MODULE_BYTES]; /* [0] is "" */
};

/* A line that was parsed while loading. */
typedef struct Parsed
{
	uint64_t address;
	uint32_t name;
	uint16_t module;
	char type;
} Parsed;

typedef struct Loader
{
	Parsed *items;
	size_t count;
	size_t room;
	char *names;
	size_t names_bytes;
	size_t names_room;
	char (*modules)[KALLSYMS_MODULE_BYTES];
	uint32_t module_count;
} Loader;

/* Makes room for one more item in an array whose capacity doubles. */
static int
array_grow(void **items, size_t needed, size_t *room, size_t item_bytes)
{
	size_t wanted = *room == 0 ? 4096 : *room;
	void *grown;

	if (needed <= *room)
		return 0;
	while (wanted < needed)
		wanted *= 2;
	grown = realloc(*items, wanted * item_bytes);
	if (grown == NULL)
		return -ENOMEM;
	*items = grown;
	*room = wanted;
	return 0;
}

/*
 * Returns the number of a module. The symbols of a module follow each other in the file, so the
 * last module nearly always matches.
 */
static int
intern_module(Loader *loader, const char *name, uint16_t *module)
{
	void *grown;

	for (uint32_t i = loader->module_count; i > 0; i--)
	{
		if (strcmp(loader->modules[i - 1], name) == 0)
		{
			*module = (uint16_t) (i - 1);
			return 0;
		}
	}
	if (loader->module_count == UINT16_MAX)
	{
		*module = 0;
		return 0;
	}
	grown = realloc(loader->modules, (loader->module_count + 1) * sizeof(*loader->modules));
	if (grown == NULL)
		return -ENOMEM;
	loader->modules = grown;
	*module = (uint16_t) loader->module_count;
	snprintf(loader->modules[loader->module_count++], KALLSYMS_MODULE_BYTES, "%s", name);
	return 0;
}

static bool
is_text(char type)
{
	return strchr("tTwW", type) != NULL;
}

/* Splits "ffffffff81000000 T name\t[module]". Returns false if the line has another form. */
static bool
split_line(char *line, uint64_t *address, char *type, char **name, char **module)
{
	char *end;

	errno = 0;
	*address = strtoull(line, &end, 16);
	if (end == line || errno != 0 || end[0] != ' ' || end[1] == '\0' || end[2] != ' ')
		return false;
	*type = end[1];
	*name = end + 3;
	end = *name + strcspn(*name, "\t\n");
	*module = end; /* empty, if the name ends the line */
	if (*end == '\t' && end[1] == '[')
	{
		*module = end + 2;
		(*module)[strcspn(*module, "]\n")] = '\0';
	}
	*end = '\0';
	return (*name)[0] != '\0';
}

/* Adds the symbol of one line. */
static int
load_line(Loader *loader, char *line)
{
	Parsed parsed = { .name = NO_NAME };
	uint64_t address;
	size_t length;
	char *name;
	char *module;
	int err;

	if (!split_line(line, &address, &parsed.type, &name, &module) || address == 0 ||
		loader->count == KALLSYMS_SYMBOLS_MAX || symbol_name_is_mark(name) ||
		strchr("aA", parsed.type) != NULL)
		return 0;
	parsed.address = address;
	length = strlen(name) + 1;
	err = array_grow((void **) &loader->items, loader->count + 1, &loader->room,
					 sizeof(*loader->items));
	if (err == 0 && is_text(parsed.type))
	{
		if (loader->names_bytes + length > KALLSYMS_NAMES_MAX)
			return 0;
		err = intern_module(loader, module, &parsed.module);
		if (err == 0)
			err = array_grow((void **) &loader->names, loader->names_bytes + length,
							 &loader->names_room, 1);
		if (err == 0)
		{
			parsed.name = (uint32_t) loader->names_bytes;
			memcpy(loader->names + loader->names_bytes, name, length);
			loader->names_bytes += length;
		}
	}
	if (err == 0)
		loader->items[loader->count++] = parsed;
	return err;
}

/*
 * Sorts by address. At one address text symbols come first, and among these the best name:
 * exported, weak, local.
 */
static int
compare_parsed(const void *a, const void *b, void *names)
{
	const Parsed *left = a;
	const Parsed *right = b;
	const char *order = "TWwt";

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	if (left->name == NO_NAME || right->name == NO_NAME)
		return (left->name == NO_NAME) - (right->name == NO_NAME);
	if (left->type != right->type)
		return strchr(order, left->type) < strchr(order, right->type) ? -1 : 1;
	return symbol_name_compare((const char *) names + left->name,
							   (const char *) names + right->name);
}

/*
 * Builds the final arrays, and copies the names that are still used into a pool of exactly their
 * size.
 */
static int
loader_finish(Kallsyms *kallsyms, Loader *loader)
{
	uint32_t regions = 0;
	uint32_t kept = 0;
	size_t names_bytes = 0;

	for (size_t i = 0; i < loader->count; i++)
	{
		const Parsed *item = &loader->items[i];

		if (kept > 0 && (item->address == loader->items[kept - 1].address ||
						 (item->name == NO_NAME && loader->items[kept - 1].name == NO_NAME)))
			continue;
		if (kept == 0 || item->address >> 32 != loader->items[kept - 1].address >> 32)
			regions++;
		if (item->name != NO_NAME)
			names_bytes += strlen(loader->names + item->name) + 1;
		loader->items[kept++] = *item;
	}

	kallsyms->symbols = malloc((kept + 1) * sizeof(*kallsyms->symbols));
	kallsyms->regions = malloc((regions + 1) * sizeof(*kallsyms->regions));
	kallsyms->names = malloc(names_bytes + 1);
	if (kallsyms->symbols == NULL || kallsyms->regions == NULL || kallsyms->names == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < kept; i++)
	{
		const Parsed *item = &loader->items[i];
		uint32_t high = (uint32_t) (item->address >> 32);
		Symbol *symbol = &kallsyms->symbols[i];

		*symbol = (Symbol){ (uint32_t) item->address, NO_NAME, item->module };
		if (item->name != NO_NAME)
		{
			const char *name = loader->names + item->name;
			size_t length = strlen(name) + 1;

			symbol->name = (uint32_t) kallsyms->names_bytes;
			memcpy(kallsyms->names + kallsyms->names_bytes, name, length);
			kallsyms->names_bytes += length;
		}
		if (kallsyms->region_count == 0 ||
			kallsyms->regions[kallsyms->region_count - 1].high != high)
			kallsyms->regions[kallsyms->region_count++] = (Region){ high, i };
	}
	kallsyms->count = kept;
	kallsyms->modules = loader->modules;
	kallsyms->module_count = loader->module_count;
	loader->modules = NULL;
	return 0;
}

/* Frees all symbols. */
static void
kallsyms_discard(Kallsyms *kallsyms)
{
	free(kallsyms->symbols);
	free(kallsyms->regions);
	free(kallsyms->names);
	free(kallsyms->modules);
	kallsyms->symbols = NULL;
	kallsyms->regions = NULL;
	kallsyms->names = NULL;
	kallsyms->modules = NULL;
	kallsyms->count = 0;
	kallsyms->region_count = 0;
	kallsyms->module_count = 0;
	kallsyms->names_bytes = 0;
}

/*
 * Hashes names, sizes and addresses of "NAME SIZE REFERENCES USERS STATE ADDRESS". The number of
 * references changes often and is left out. A kernel without modules has no such file.
 */
static uint64_t
hash_modules(const char *path)
{
	FILE *file = fopen(path, "re");
	uint64_t hash = HASH_OFFSET;
	char *line = NULL;
	size_t line_room = 0;

	if (file == NULL)
		return hash;
	while (getline(&line, &line_room, file) > 0)
	{
		const char *address;
		size_t name_and_size;

		line[strcspn(line, "\n")] = '\0';
		name_and_size = strcspn(line, " ");
		name_and_size +=
			line[name_and_size] == ' ' ? 1 + strcspn(line + name_and_size + 1, " ") : 0;
		address = strstr(line, " 0x");
		hash = hash_bytes(hash, line, name_and_size);
		if (address != NULL)
			hash = hash_bytes(hash, address, strcspn(address + 1, " ") + 1);
	}
	free(line);
	fclose(file);
	return hash;
}

/* Reads all symbols. On failure there are none until the next reading. */
static void
kallsyms_load(Kallsyms *kallsyms)
{
	Loader loader = { 0 };
	FILE *file = fopen(kallsyms->path, "re");
	char *line = NULL;
	size_t line_room = 0;
	uint16_t proper;
	int err = 0;

	kallsyms_discard(kallsyms);
	kallsyms->loaded = true;
	kallsyms->outdated = false;
	kallsyms->modules_changed = false;
	/*
	 * Read the modules before the symbols, so that the next check notices a change between both
	 * readings.
	 */
	kallsyms->modules_hash = hash_modules(kallsyms->modules_path);
	kallsyms->loaded_ns = clock_ns(CLOCK_MONOTONIC);
	if (file == NULL)
		return;
	err = intern_module(&loader, "", &proper);
	while (err == 0 && getline(&line, &line_room, file) > 0)
		err = load_line(&loader, line);
	if (err == 0 && loader.count > 0)
	{
		qsort_r(loader.items, loader.count, sizeof(*loader.items), compare_parsed, loader.names);
		err = loader_finish(kallsyms, &loader);
	}
	if (err != 0)
		kallsyms_discard(kallsyms);
	free(line);
	free(loader.items);
	free(loader.names);
	free(loader.modules);
	fclose(file);
}

int
kallsyms_create(const char *path, const char *modules, int64_t reload_ns, Kallsyms **kallsyms)
{
	Kallsyms *made = calloc(1, sizeof(*made));

	if (made == NULL)
		return -ENOMEM;
	made->path = strdup(path);
	made->modules_path = strdup(modules);
	if (made->path == NULL || made->modules_path == NULL)
	{
		kallsyms_free(made);
		return -ENOMEM;
	}
	made->reload_min_ns = reload_ns;
	made->reload_ns = reload_ns;
	*kallsyms = made;
	return 0;
}

void
kallsyms_free(Kallsyms *kallsyms)
{
	if (kallsyms == NULL)
		return;
	kallsyms_discard(kallsyms);
	free(kallsyms->path);
	free(kallsyms->modules_path);
	free(kallsyms);
}

/*
 * Finds the index of the last symbol at or before an address. Returns false if its region has none.
 */
static bool
kallsyms_search(const Kallsyms *kallsyms, uint64_t address, uint32_t *index)
{
	uint32_t high_half = (uint32_t) (address >> 32);

	for (uint32_t i = 0; i < kallsyms->region_count; i++)
	{
		uint32_t low = kallsyms->regions[i].first;
		uint32_t high =
			i + 1 < kallsyms->region_count ? kallsyms->regions[i + 1].first : kallsyms->count;
		uint32_t first = low;

		if (kallsyms->regions[i].high != high_half)
			continue;
		while (low < high)
		{
			uint32_t middle = low + (high - low) / 2;

			if (kallsyms->symbols[middle].low <= (uint32_t) address)
				low = middle + 1;
			else
				high = middle;
		}
		*index = low - 1;
		return low > first;
	}
	return false;
}

static bool
find_loaded(const Kallsyms *kallsyms, uint64_t address, KernelSymbol *symbol)
{
	const Symbol *found;
	uint32_t index;

	if (!kallsyms_search(kallsyms, address, &index))
		return false;
	found = &kallsyms->symbols[index];
	if (found->name == NO_NAME || (uint32_t) address - found->low >= KALLSYMS_SPAN_MAX)
		return false;
	symbol->name = kallsyms->names + found->name;
	symbol->module = kallsyms->modules[found->module];
	symbol->start = address - ((uint32_t) address - found->low);
	return true;
}

void
kallsyms_outdate(Kallsyms *kallsyms)
{
	kallsyms->outdated = true;
}

void
kallsyms_follow_modules(Kallsyms *kallsyms)
{
	if (kallsyms->loaded && !kallsyms->modules_changed)
		kallsyms->modules_changed = hash_modules(kallsyms->modules_path) != kallsyms->modules_hash;
}

/* Returns true if the address may have been reused by other code. */
static bool
is_doubtful(const Kallsyms *kallsyms, const KernelSymbol *symbol)
{
	if (symbol->module[0] == '\0')
		return false;
	return strcmp(symbol->module, "bpf") == 0 ? kallsyms->outdated : kallsyms->modules_changed;
}

bool
kallsyms_find(Kallsyms *kallsyms, uint64_t address, KernelSymbol *symbol)
{
	int64_t age_ns;
	bool found;

	if (!kallsyms->loaded)
		kallsyms_load(kallsyms);
	found = find_loaded(kallsyms, address, symbol);
	if (found && !is_doubtful(kallsyms, symbol))
		return true;
	age_ns = clock_ns(CLOCK_MONOTONIC) - kallsyms->loaded_ns;
	if (age_ns < (kallsyms->outdated || kallsyms->modules_changed ? kallsyms->reload_min_ns
																  : kallsyms->reload_ns))
		return false;
	kallsyms_load(kallsyms);
	found = find_loaded(kallsyms, address, symbol);
	kallsyms->reload_ns = found ? kallsyms->reload_min_ns : kallsyms->reload_ns * 2;
	if (kallsyms->reload_ns > KALLSYMS_RELOAD_MAX_NS)
		kallsyms->reload_ns = KALLSYMS_RELOAD_MAX_NS;
	return found;
}

bool
kallsyms_has_addresses(Kallsyms *kallsyms)
{
	if (!kallsyms->loaded)
		kallsyms_load(kallsyms);
	return kallsyms->count > 0;
}

size_t
kallsyms_bytes(const Kallsyms *kallsyms)
{
	return sizeof(*kallsyms) + kallsyms->count * sizeof(*kallsyms->symbols) +
		   kallsyms->region_count * sizeof(*kallsyms->regions) + kallsyms->names_bytes +
		   kallsyms->module_count * sizeof(*kallsyms->modules);
}
