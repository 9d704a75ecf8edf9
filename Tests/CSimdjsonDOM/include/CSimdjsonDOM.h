#ifndef CSIMDJSON_DOM_H
#define CSIMDJSON_DOM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Reads a document with simdjson's own second stage, which Weir's replaced. Returns a description of all of its
/// values, to be freed by the caller, and its length; NULL when simdjson refuses the document.
///
/// A value is its tag and what it is: `{` names and values `}`, `[` values `]`, `"` the length (4 bytes, little endian)
/// and the bytes, `l`, `u` and `d` the 8 bytes of a number, `t`, `f`, `n`.
uint8_t *simdjson_describe(const uint8_t *bytes, size_t length, size_t max_depth, size_t *count);

#ifdef __cplusplus
}
#endif

#endif
