/*
 * cfi_input.c
 *		Comparing what the CFI compiler is given.
 */
#include "unwind/cfi_input.h"

#include "base/hash.h"

uint64_t
cfi_input_hash(uint64_t seed, const CfiInput *input)
{
	uint64_t hash = hash_word(seed, input->machine);

	hash = hash_word(hash, input->got_address);
	hash = hash_word(hash, input->code_start);
	hash = hash_word(hash, input->code_end);
	hash = hash_word(hash, input->eh_frame.address);
	hash = hash_word(hash, input->go_text);
	hash = hash_word(hash, input->pclntab.address);
	hash = hash_bytes(hash, input->eh_frame.data, input->eh_frame.length);
	hash = hash_bytes(hash, input->pclntab.data, input->pclntab.length);
	for (size_t i = 0; i < CFI_START_CODE; i++)
	{
		hash = hash_word(hash, input->start_code[i].address);
		hash = hash_bytes(hash, input->start_code[i].data, input->start_code[i].length);
	}
	return hash_bytes(hash, input->debug_frame.data, input->debug_frame.length);
}
