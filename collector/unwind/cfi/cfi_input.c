/*
 * cfi_input.c
 *		Compares inputs of the CFI compiler.
 */
#include "unwind/cfi/cfi_input.h"

#include <string.h>

#include "base/hash.h"

#define LANES 4

/*
 * Like hash_bytes(), but hashes several words independently, so that the CPU can multiply in
 * parallel.
 */
static uint64_t
hash_section(uint64_t hash, const CfiSection *section)
{
	const uint8_t *bytes = section->data;
	size_t left = section->length;
	uint64_t lanes[LANES];

	for (size_t i = 0; i < LANES; i++)
		lanes[i] = hash_word(hash, i);
	for (; left >= sizeof(lanes); bytes += sizeof(lanes), left -= sizeof(lanes))
	{
		uint64_t words[LANES];

		memcpy(words, bytes, sizeof(words));
		for (size_t i = 0; i < LANES; i++)
			lanes[i] = hash_word(lanes[i], words[i]);
	}
	for (size_t i = 0; i < LANES; i++)
		hash = hash_word(hash, lanes[i]);
	/*
	 * the rest of less than LANES words, and the length, so that bytes cannot move from one section
	 * to the next
	 */
	return hash_word(hash_bytes(hash, bytes, left), section->length);
}

uint64_t
cfi_input_hash(uint64_t seed, const CfiInput *input)
{
	uint64_t hash = hash_word(seed, input->machine);

	/* all values on which rows depend: inputs with equal hashes share one table */
	hash = hash_word(hash, input->got_address);
	hash = hash_word(hash, input->code_start);
	hash = hash_word(hash, input->code_end);
	hash = hash_word(hash, input->eh_frame.address);
	hash = hash_word(hash, input->go_text);
	hash = hash_word(hash, input->pclntab.address);
	hash = hash_word(hash, input->left_out);
	hash = hash_section(hash, &input->eh_frame);
	hash = hash_section(hash, &input->pclntab);
	for (size_t i = 0; i < CFI_START_CODE; i++)
	{
		hash = hash_word(hash, input->start_code[i].address);
		hash = hash_bytes(hash, input->start_code[i].data, input->start_code[i].length);
	}
	hash = hash_word(hash, input->plt.address);
	hash = hash_bytes(hash, input->plt.data, input->plt.length);
	return hash_section(hash, &input->debug_frame);
}
