#ifndef WEIR_LOG_H
#define WEIR_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Sizes in a write-ahead log.
enum { log_header_bytes = 32, frame_header_bytes = 24 };

static inline bool weir_is_page_size(int64_t size) {
    return size >= 512 && size <= 65536 && (size & (size - 1)) == 0;
}

static inline uint32_t weir_big_endian(const uint8_t *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

#endif
