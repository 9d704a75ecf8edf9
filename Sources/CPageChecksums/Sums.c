#include "CPageChecksums.h"
#include "Sums.h"

#include <string.h>

// The sums are x(k) = x(k - 1) + x(k - 2) + word(k) over all words; the last two are the result. So each word counts
// as often as the Fibonacci number of its distance from the end. With tables of these numbers no word waits for the
// previous one, and the processor adds sixteen at a time.
enum { block_words = 512, step_bytes = 64 };

/// F(512), F(511), ... F(0), F(-1).
static uint32_t weights[block_words + 2];
/// The same from F(511) on. A separate table lets compilers load from it, instead of shifting values loaded from
/// `weights`.
static uint32_t next_weights[block_words + 1];

__attribute__((constructor)) static void fill_weights(void) {
    uint32_t number = 1, next = 0; // F(-1), F(0)
    for (int index = block_words + 1; index >= 0; index--) {
        weights[index] = number;
        if (index > 0) next_weights[index - 1] = number;
        const uint32_t after = number + next;
        number = next;
        next = after;
    }
}

__attribute__((always_inline)) static inline uint32_t word_at(const uint8_t *bytes, bool is_swapped) {
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return is_swapped ? __builtin_bswap32(word) : word;
}

__attribute__((always_inline)) static inline void add_blocks(
    uint32_t sums[2], const uint8_t *bytes, size_t count, bool is_swapped
) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    is_swapped = !is_swapped;
#endif
    uint32_t before = sums[0], last = sums[1];
    // The incomplete step comes first, word by word: keys and the ends of values are short.
    for (size_t rest = count % step_bytes; rest > 0; rest -= 8, count -= 8, bytes += 8) {
        before += last + word_at(bytes, is_swapped);
        last += before + word_at(bytes + 4, is_swapped);
    }
    while (count > 0) {
        const size_t words = count / 4 < block_words ? count / 4 : block_words;
        const uint32_t *weight = weights + (block_words - words);
        const uint32_t *next_weight = next_weights + (block_words - words);
        uint32_t first = next_weight[0] * before + weight[0] * last;
        uint32_t second = weight[0] * before + (weight[0] + next_weight[0]) * last;
        for (size_t index = 0; index < words; index++) {
            const uint32_t word = word_at(bytes + 4 * index, is_swapped);
            first += word * next_weight[index];
            second += word * weight[index];
        }
        before = first;
        last = second;
        bytes += 4 * words;
        count -= 4 * words;
    }
    sums[0] = before;
    sums[1] = last;
}

static void add_plainly(uint32_t sums[2], const uint8_t *bytes, size_t count) {
    add_blocks(sums, bytes, count, false);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void add_widely(
    uint32_t sums[2], const uint8_t *bytes, size_t count
) {
    add_blocks(sums, bytes, count, false);
}
#endif

static void add(uint32_t sums[2], const uint8_t *bytes, size_t count) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) return add_widely(sums, bytes, count);
#endif
    add_plainly(sums, bytes, count);
}

void weir_sums_add(uint32_t sums[2], const void *bytes, size_t count) { add(sums, bytes, count); }

void weir_sums_add_swapped(uint32_t sums[2], const void *bytes, size_t count) {
    add_blocks(sums, bytes, count, true);
}

static void add_filled(uint32_t sums[2], const void *bytes, size_t count) {
    const size_t whole = count & ~(size_t)7;
    if (whole > 0) add(sums, bytes, whole);
    if (whole == count) return;
    uint8_t last[8] = {0};
    memcpy(last, (const uint8_t *)bytes + whole, count - whole);
    add(sums, last, sizeof last);
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
    add(sums, numbers, sizeof numbers);
    add_filled(sums, record->key, record->key_count);
    add_filled(sums, record->headers, record->headers_count);
    add_filled(sums, record->value, record->value_count);
    return (int64_t)((uint64_t)sums[0] << 32 | sums[1]);
}
