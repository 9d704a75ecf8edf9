#ifndef CSIMDJSON_H
#define CSIMDJSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A simdjson parser with its buffers. One thread at a time.
typedef struct weir_json_parser weir_json_parser;

/// What simdjson said of a document; everything but "accepted" asks for a second look.
enum weir_json_status {
    weir_json_accepted = 0,
    weir_json_refused = 1
};

/// A parser that refuses documents nested deeper than `max_depth`. NULL when out of memory.
weir_json_parser *weir_json_parser_create(size_t max_depth);

void weir_json_parser_free(weir_json_parser *parser);

/// Parses a copy of `bytes`. `checked` says that the second look has found them well-formed.
/// On success `tape` and `strings` point into the parser, until its next use: simdjson's tape (doc/tape.md of simdjson) and its buffer of unescaped strings.
int weir_json_parse(weir_json_parser *parser, const uint8_t *bytes, size_t length,
                    bool checked, const uint64_t **tape, const uint8_t **strings);

#ifdef __cplusplus
}
#endif

#endif
