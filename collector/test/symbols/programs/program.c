/*
 * Functions that are inlined into each other, split into hot and cold parts, and cloned for
 * constant arguments.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared.h"

#define ALWAYS static inline __attribute__((always_inline))

typedef struct Node
{
	struct Node *left;
	struct Node *right;
	unsigned key;
} Node;

static volatile unsigned sink;

ALWAYS unsigned
mix(unsigned a, unsigned b)
{
	a ^= b << 7;
	a *= 2654435761u;
	return a ^ a >> 15;
}

ALWAYS unsigned
twice(unsigned a)
{
	unsigned b = mix(a, 3);

	return mix(b, shared_turn(a, 5));
}

static Node *
insert(Node *node, unsigned key)
{
	if (node == NULL)
	{
		node = calloc(1, sizeof(*node));
		if (node == NULL)
		{
			fprintf(stderr, "out of memory at %u\n", key);
			abort();
		}
		node->key = key;
		return node;
	}
	if (key < node->key)
		node->left = insert(node->left, key);
	else if (key > node->key)
		node->right = insert(node->right, key);
	return node;
}

static unsigned
height(const Node *node)
{
	unsigned left;
	unsigned right;

	if (node == NULL)
		return 0;
	left = height(node->left);
	right = height(node->right);
	return 1 + (left > right ? left : right);
}

__attribute__((noinline)) static unsigned
power(unsigned base, unsigned times)
{
	unsigned result = 1;

	while (times-- > 0)
		result *= twice(base);
	return result;
}

static int
compare(const void *a, const void *b)
{
	unsigned left = *(const unsigned *) a;
	unsigned right = *(const unsigned *) b;

	return (left > right) - (left < right);
}

__attribute__((noinline)) unsigned
sort_some(unsigned count)
{
	unsigned *numbers = malloc(count * sizeof(*numbers) + 1);
	unsigned sum = 0;

	for (unsigned i = 0; i < count; i++)
		numbers[i] = twice(i);
	qsort(numbers, count, sizeof(*numbers), compare);
	for (unsigned i = 0; i < count; i += 2)
	{
		switch (numbers[i] % 5)
		{
			case 0:
				sum += mix(numbers[i], i);
				break;
			case 1:
				sum ^= twice(numbers[i]);
				break;
			case 2:
				sum -= shared_turn(sum, 3);
				break;
			default:
				sum += power(numbers[i], 4);
		}
	}
	free(numbers);
	return sum;
}

__attribute__((noinline)) unsigned
words(char *text)
{
	char *rest = NULL;
	unsigned count = 0;

	for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest))
		count += mix((unsigned) strlen(word), count);
	return count;
}

int
main(int argc, char **argv)
{
	char text[] = "some words of a text";
	Node *root = NULL;

	for (int i = 0; i < 20 * argc; i++)
		root = insert(root, mix((unsigned) i, 1));
	sink = height(root) + sort_some((unsigned) argc * 7) + power((unsigned) argc, 4) + words(text) +
		   shared_sum((unsigned) argc);
	return 0;
}
