#ifndef WEIR_SUMS_H
#define WEIR_SUMS_H

#include <stddef.h>
#include <stdint.h>

/// As `weir_sums_add`, over big-endian words: a write-ahead log of another machine may have them.
void weir_sums_add_swapped(uint32_t sums[2], const void *bytes, size_t count);

/// One of the functions that add to a checksum.
typedef void (*weir_sums)(uint32_t sums[2], const void *bytes, size_t count);

#endif
