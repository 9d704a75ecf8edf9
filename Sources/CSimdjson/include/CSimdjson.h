#ifndef CSIMDJSON_H
#define CSIMDJSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A JSON parser with its buffers. One thread at a time.
typedef struct weir_json_parser weir_json_parser;

/// A parsed document is a tape of words. The first is the address of the document's bytes, the second that of
/// texts that had escapes, then come the values, a container before what it holds. The highest byte of a word
/// is its tag:
///
/// - `{`, `[`: the index after the container; an object has its names and values in turn;
/// - `"`: the length (24 bits) and the offset (32 bits) of a text within the document;
/// - `s`: the offset of a text that had escapes, among those, after its length in 4 bytes;
/// - `l`, `u`, `d`: the offset of a number's text within the document, and the number, which is the next word, as
///   int64_t, uint64_t or double;
/// - `t`, `f`, `n`: true, false, null.
enum {
    weir_json_root = 2,
    weir_json_longest_in_place = (1 << 24) - 1
};

/// A parser that refuses documents nested deeper than `max_depth`. NULL when out of memory.
weir_json_parser *weir_json_parser_create(size_t max_depth);

void weir_json_parser_free(weir_json_parser *parser);

/// Parses a document (RFC 8259) of less than 4 GiB. Returns its tape, which is valid until the parser's next use,
/// or NULL when the document is refused. With `borrows` the tape may point into `bytes`.
const uint64_t *weir_json_parse(weir_json_parser *parser, const uint8_t *bytes, size_t length, bool borrows);

/// Starts to load bytes from memory, without waiting for them.
static inline void weir_prefetch(const void *bytes, size_t length) {
    for (size_t at = 0; at < length; at += 64) __builtin_prefetch((const char *)bytes + at);
}

#ifdef __cplusplus
}
#endif

#endif
