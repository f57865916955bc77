/* SPDX-License-Identifier: MIT */
/* No CUDA: the type of 16 bits with the exponent of a float, for the stand-in. */
#ifndef STAND_IN_CUDA_BF16_H
#define STAND_IN_CUDA_BF16_H

#include <cstdint>
#include <cstring>

struct __nv_bfloat16 {
	uint16_t bits;

	__nv_bfloat16() = default;
	__nv_bfloat16(float value) /* rounded to the nearest, to even */
	{
		uint32_t word;
		memcpy(&word, &value, sizeof(word));
		bits = static_cast<uint16_t>((word + 0x7fff + (word >> 16 & 1)) >> 16);
	}
	operator float() const
	{
		uint32_t word = uint32_t{bits} << 16;
		float value;
		memcpy(&value, &word, sizeof(value));
		return value;
	}
};

inline float
__bfloat162float(__nv_bfloat16 value)
{
	return value;
}
inline __nv_bfloat16
__float2bfloat16(float value)
{
	return value;
}

#endif
