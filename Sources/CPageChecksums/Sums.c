#include "CPageChecksums.h"
#include "Sums.h"

#include <string.h>

static inline uint32_t word(const uint8_t *at, bool is_swapped) {
    uint32_t value;
    memcpy(&value, at, sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    is_swapped = !is_swapped;
#endif
    return is_swapped ? __builtin_bswap32(value) : value;
}

static inline void step(uint32_t *first, uint32_t *second, const uint8_t *at, bool is_swapped) {
    *first += word(at, is_swapped) + *second;
    *second += word(at + 4, is_swapped) + *first;
}

/// A step takes the state (a, b) to (a + b, a + 2b), plus what the words add: two steps of Fibonacci's
/// numbers. So `count` steps multiply it by a matrix of the numbers 2 count - 1 to 2 count + 1.
static void advance(uint32_t sums[2], size_t count) {
    uint32_t number = 0, next = 1; // F(0), F(1)
    for (int bit = 63 - __builtin_clzll((unsigned long long)(2 * count)); bit >= 0; bit--) {
        const uint32_t twice = number * (2 * next - number);
        const uint32_t after = number * number + next * next;
        const bool is_odd = (2 * count) >> bit & 1;
        number = is_odd ? after : twice;
        next = is_odd ? twice + after : after;
    }
    const uint32_t before = next - number;
    const uint32_t first = before * sums[0] + number * sums[1];
    sums[1] = number * sums[0] + next * sums[1];
    sums[0] = first;
}

/// Each step waits for the one before. Four stretches are summed side by side and then put together, which
/// takes a third of the time.
static inline void add(uint32_t sums[2], const uint8_t *bytes, size_t count, bool is_swapped) {
    const size_t steps = count / 8;
    const size_t quarter = steps / 4;
    size_t done = 0;
    if (quarter >= 16) {
        uint32_t a[4] = {sums[0], 0, 0, 0}, b[4] = {sums[1], 0, 0, 0};
        for (size_t at = 0; at < quarter * 8; at += 8) {
            step(&a[0], &b[0], bytes + at, is_swapped);
            step(&a[1], &b[1], bytes + at + quarter * 8, is_swapped);
            step(&a[2], &b[2], bytes + at + quarter * 16, is_swapped);
            step(&a[3], &b[3], bytes + at + quarter * 24, is_swapped);
        }
        sums[0] = a[0];
        sums[1] = b[0];
        for (int stretch = 1; stretch < 4; stretch++) {
            advance(sums, quarter);
            sums[0] += a[stretch];
            sums[1] += b[stretch];
        }
        done = quarter * 4;
    }
    for (; done < steps; done++) step(&sums[0], &sums[1], bytes + done * 8, is_swapped);
}

void weir_sums_add(uint32_t sums[2], const void *bytes, size_t count) {
    add(sums, bytes, count, false);
}

void weir_sums_add_swapped(uint32_t sums[2], const void *bytes, size_t count) {
    add(sums, bytes, count, true);
}

static void add_filled(uint32_t sums[2], const void *bytes, size_t count) {
    const size_t whole = count & ~(size_t)7;
    if (whole > 0) add(sums, bytes, whole, false);
    if (whole == count) return;
    uint8_t last[8] = {0};
    memcpy(last, (const uint8_t *)bytes + whole, count - whole);
    add(sums, last, sizeof last, false);
}

static void put(uint8_t *at, uint64_t value) {
    for (int byte = 0; byte < 8; byte++) at[byte] = (uint8_t)(value >> (8 * byte));
}

int64_t weir_record_sum(const struct weir_record *record) {
    uint8_t numbers[40];
    put(numbers, (uint64_t)record->offset);
    put(numbers + 8, (uint64_t)record->timestamp);
    put(numbers + 16, record->has_key ? record->key_count : UINT64_MAX);
    put(numbers + 24, record->headers_count);
    put(numbers + 32, record->has_value ? record->value_count : UINT64_MAX);
    uint32_t sums[2] = {0, 0};
    add(sums, numbers, sizeof numbers, false);
    add_filled(sums, record->key, record->key_count);
    add_filled(sums, record->headers, record->headers_count);
    add_filled(sums, record->value, record->value_count);
    return (int64_t)((uint64_t)sums[0] << 32 | sums[1]);
}
