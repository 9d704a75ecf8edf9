#ifndef WEIR_SUMS_H
#define WEIR_SUMS_H

#include <stddef.h>
#include <stdint.h>

/// As `weir_sums_add`, over big-endian words, which the write-ahead log of another machine may contain.
void weir_sums_add_swapped(uint32_t sums[2], const void *bytes, size_t count);

typedef void (*weir_sums)(uint32_t sums[2], const void *bytes, size_t count);

#endif
