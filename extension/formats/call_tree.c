/*
 * call_tree.c
 *		Builds the tree and its samples. Nodes have larger numbers than their callers, so a pass
 *		from the last node to the first visits each stack before its prefixes.
 */
#include "formats/call_tree.h"

#include <string.h>

/* Limit of the frames of all samples; samples share them in the profile. */
#define FRAMES_MAX (UINT64_C(1) << 26)

/* Marks a root as the first number of a pair, because roots and nodes are numbered separately. */
#define ROOT_BIT (UINT32_C(1) << 31)

void
pfs_calls_init(PfsCallTree *tree, PfsProfile *profile)
{
	*tree = (PfsCallTree){ .profile = profile };
	pfs_text_index_init(&tree->names, profile->budget);
	pfs_text_index_init(&tree->files, profile->budget);
	pfs_pairs_init(&tree->functions, profile->budget);
	pfs_pairs_init(&tree->places, profile->budget);
	pfs_pairs_init(&tree->index, profile->budget);
}

void
pfs_calls_fini(PfsCallTree *tree)
{
	PfsAllocator allocator = tree->profile->budget->allocator;
	void *arrays[] = { tree->nodes, tree->roots, tree->values, tree->empty_values };

	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
		if (arrays[i] != NULL)
			allocator.realloc(allocator.context, arrays[i], 0);
	pfs_text_index_fini(&tree->names);
	pfs_text_index_fini(&tree->files);
	pfs_pairs_fini(&tree->functions);
	pfs_pairs_fini(&tree->places);
	pfs_pairs_fini(&tree->index);
}

/* Makes room for the values of one more node or root, all 0. */
static bool
tree_add_values(const PfsCallTree *tree, int64_t **values, uint32_t count)
{
	uint32_t types = tree->profile->type_count;

	/* PFS_GROW() must be called for each entry. */
	for (size_t at = (size_t) count * types; at < ((size_t) count + 1) * types; at++)
	{
		if (!PFS_GROW(tree->profile->budget, *values, at))
			return false;
		(*values)[at] = 0;
	}
	return true;
}

uint32_t
pfs_calls_root(PfsCallTree *tree)
{
	/* Numbers of roots leave the highest bit free for ROOT_BIT. */
	if (tree->root_count == ROOT_BIT ||
		!PFS_GROW(tree->profile->budget, tree->roots, tree->root_count) ||
		!tree_add_values(tree, &tree->empty_values, tree->root_count))
		return PFS_NONE;
	tree->roots[tree->root_count] = (PfsCallRoot){ .label_count = 0 };
	return tree->root_count++;
}

static uint32_t
tree_find_function(PfsCallTree *tree, PfsText name, PfsText file)
{
	PfsProfile *profile = tree->profile;
	uint32_t name_number = pfs_text_number(&tree->names, name);
	uint32_t file_number = pfs_text_number(&tree->files, file);
	uint32_t number = name_number == PFS_NONE || file_number == PFS_NONE
						  ? PFS_NONE
						  : pfs_pair_number(&tree->functions, name_number, file_number);

	/* A number equal to the count is new: both grow together. */
	if (number == PFS_NONE || number < profile->function_count)
		return number;
	if (!PFS_GROW(profile->budget, profile->functions, profile->function_count))
		return PFS_NONE;
	profile->functions[profile->function_count++] =
		(PfsProfileFunction){ .name = name, .system_name = name, .filename = file };
	return number;
}

uint32_t
pfs_calls_frame(PfsCallTree *tree, PfsText name, PfsText file, int32_t line)
{
	PfsProfile *profile = tree->profile;
	uint32_t function = tree_find_function(tree, name, file);
	uint32_t number =
		function == PFS_NONE ? PFS_NONE : pfs_pair_number(&tree->places, function, (uint32_t) line);

	if (number == PFS_NONE || number < profile->location_count)
		return number;
	if (!PFS_GROW(profile->budget, profile->locations, profile->location_count) ||
		!PFS_GROW(profile->budget, profile->lines, profile->line_count))
		return PFS_NONE;
	/* Each location has one line, so the two arrays grow together. */
	profile->locations[profile->location_count++] = (PfsProfileLocation){
		.mapping = PFS_NONE, .first_line = profile->line_count, .line_count = 1
	};
	profile->lines[profile->line_count++] = (PfsProfileLine){ function, line };
	return number;
}

static uint32_t
find_node(PfsCallTree *tree, uint32_t first, const PfsCallNode *node)
{
	PfsProfile *profile = tree->profile;
	uint32_t before = tree->index.count;
	uint32_t number = pfs_pair_number(&tree->index, first, node->location);

	if (number == PFS_NONE || number < before)
		return number;
	/*
	 * Numbers of nodes leave the highest bit free, so that a root's mark differs from all of them.
	 */
	if (number == ROOT_BIT || !PFS_GROW(profile->budget, tree->nodes, number) ||
		!tree_add_values(tree, &tree->values, number))
		return PFS_NONE;
	tree->nodes[number] = *node;
	return number;
}

uint32_t
pfs_calls_child(PfsCallTree *tree, uint32_t parent, uint32_t location)
{
	/* The array may move when a node is added, so the new node is built before. */
	const PfsCallNode *caller = &tree->nodes[parent];
	const PfsCallNode node = { parent, caller->root, location, caller->depth + 1 };

	return find_node(tree, parent, &node);
}

uint32_t
pfs_calls_top(PfsCallTree *tree, uint32_t root, uint32_t location)
{
	const PfsCallNode node = { PFS_NONE, root, location, 1 };

	/* A root's number with the mark is no node's number. */
	return find_node(tree, root | ROOT_BIT, &node);
}

static PfsReadStatus
tree_refused(const PfsCallTree *tree, PfsReadError *error)
{
	error->offset = 0;
	return pfs_budget_status(tree->profile->budget, error);
}

/*
 * Writes the stack of a node, and records for each node on it where that node's own stack begins.
 */
static bool
add_stack(PfsCallTree *tree, size_t *begins, uint32_t node)
{
	PfsProfile *profile = tree->profile;

	/* From the leaf to the outermost caller, as the profile stores frames. */
	for (uint32_t at = node; at != PFS_NONE; at = tree->nodes[at].parent)
	{
		if (!PFS_GROW(profile->budget, profile->location_indexes, profile->location_index_count))
			return false;
		/* The caller's stack is the rest of this one, so it needs no frames of its own. */
		if (begins[at] == SIZE_MAX)
			begins[at] = profile->location_index_count;
		profile->location_indexes[profile->location_index_count++] = tree->nodes[at].location;
	}
	return true;
}

static bool
add_labels(PfsProfile *profile, const PfsCallRoot *root)
{
	for (uint32_t i = 0; i < root->label_count; i++)
	{
		if (!PFS_GROW(profile->budget, profile->labels, profile->label_count))
			return false;
		profile->labels[profile->label_count++] = root->labels[i];
	}
	return true;
}

/* Adds a sample below a root. Returns false if out of memory. */
static bool
tree_add_sample(PfsCallTree *tree, const PfsCallNode *node, size_t first_location,
				const int64_t *values)
{
	PfsProfile *profile = tree->profile;
	const PfsCallRoot *root = &tree->roots[node->root];
	/* Samples with one stack prefix share frames; their labels are copied for each sample. */
	const PfsProfileSample sample = { .first_location = first_location,
									  .location_count = node->depth,
									  .first_label = profile->label_count,
									  .label_count = root->label_count };
	size_t first_value = (size_t) profile->sample_count * profile->type_count;

	if (!add_labels(profile, root) ||
		!PFS_GROW(profile->budget, profile->samples, profile->sample_count))
		return false;
	for (uint32_t i = 0; i < profile->type_count; i++)
	{
		if (!PFS_GROW(profile->budget, profile->values, first_value + i))
			return false;
		profile->values[first_value + i] = values[i];
	}
	profile->samples[profile->sample_count++] = sample;
	return true;
}

static bool
has_value(const PfsCallTree *tree, const int64_t *values)
{
	for (uint32_t i = 0; i < tree->profile->type_count; i++)
		if (values[i] != 0)
			return true;
	return false;
}

static PfsReadStatus
add_empty_samples(PfsCallTree *tree, PfsReadError *error)
{
	for (uint32_t root = 0; root < tree->root_count; root++)
	{
		const int64_t *values = pfs_calls_empty_values(tree, root);
		const PfsCallNode none = { .root = root };

		/* Values of a root itself are those of stacks without frames. */
		if (has_value(tree, values) && !tree_add_sample(tree, &none, 0, values))
			return tree_refused(tree, error);
	}
	return PFS_READ_OK;
}

static PfsReadStatus
tree_too_large(PfsReadError *error, const char *message)
{
	*error = pfs_error_at(message, 0);
	return PFS_READ_TOO_LARGE;
}

/*
 * Adds the samples from the last node to the first. The stack of a node contains those of its
 * callers, so the first node met on a path writes the frames for all of them.
 */
static PfsReadStatus
add_samples(PfsCallTree *tree, size_t *begins, PfsReadError *error)
{
	uint64_t frame_count = 0;

	for (uint32_t node = tree->index.count; node-- > 0;)
	{
		pfs_pause(tree->profile->budget->pause);
		/* A node without values is only a caller of others. */
		if (!has_value(tree, pfs_calls_values(tree, node)))
			continue;
		/*
		 * The profile stores shared frames once, but later steps read them once per sample, so
		 * their sum is limited.
		 */
		frame_count += tree->nodes[node].depth;
		if (tree->nodes[node].depth > PFS_PROFILE_MAX_DEPTH)
			return tree_too_large(error, "stack has too many frames");
		if (frame_count > FRAMES_MAX)
			return tree_too_large(error, "profile has too many frames");
		/* If another node's stack contained this one, its begin is known. */
		if ((begins[node] == SIZE_MAX && !add_stack(tree, begins, node)) ||
			!tree_add_sample(tree, &tree->nodes[node], begins[node], pfs_calls_values(tree, node)))
			return tree_refused(tree, error);
	}
	return PFS_READ_OK;
}

PfsReadStatus
pfs_calls_samples(PfsCallTree *tree, PfsReadError *error)
{
	PfsBudget *budget = tree->profile->budget;
	size_t *begins = NULL;
	PfsReadStatus status = PFS_READ_OK;

	for (uint32_t i = 0; status == PFS_READ_OK && i < tree->index.count; i++)
	{
		if (PFS_GROW(budget, begins, i))
			begins[i] = SIZE_MAX;
		else
			status = tree_refused(tree, error);
	}
	if (status == PFS_READ_OK)
		status = add_samples(tree, begins, error);
	if (status == PFS_READ_OK)
		status = add_empty_samples(tree, error);
	if (begins != NULL)
		budget->allocator.realloc(budget->allocator.context, begins, 0);
	return status;
}
