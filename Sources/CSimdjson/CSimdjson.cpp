#include "CSimdjson.h"

#include <simdjson.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

struct weir_json_parser {
    simdjson::dom::parser parser;
    std::unique_ptr<uint8_t[]> padded;
    size_t capacity = 0;
    size_t max_depth;

    explicit weir_json_parser(size_t depth) : max_depth(depth) {}

    bool reserve(size_t length) {
        if (padded && length <= capacity) return true;
        size_t wanted = capacity < 4096 ? 4096 : capacity;
        while (wanted < length) wanted *= 2;
        padded.reset(new (std::nothrow) uint8_t[wanted + simdjson::SIMDJSON_PADDING]);
        capacity = 0;
        if (!padded) return false;
        if (parser.allocate(wanted, max_depth) != simdjson::SUCCESS) return false;
        capacity = wanted;
        return true;
    }
};

// simdjson reads up to SIMDJSON_PADDING bytes behind a document, whatever they are. Where they lie in the
// document's last page they can be read, and it is parsed where it is; else it is copied first.
static bool is_padded(const uint8_t *bytes, size_t length) {
    const uintptr_t page = 4096;
    uintptr_t last = reinterpret_cast<uintptr_t>(bytes) + length - 1;
    return length > 0 && last % page + simdjson::SIMDJSON_PADDING < page;
}

static bool is_surrogate_escape(const uint8_t *at, const uint8_t *end, bool low) {
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u') return false;
    if (at[2] != 'd' && at[2] != 'D') return false;
    uint8_t digit = at[3] | 0x20;
    bool is_low = digit >= 'c' && digit <= 'f';
    bool is_high = digit == '8' || digit == '9' || digit == 'a' || digit == 'b';
    return low ? is_low : is_high;
}

// simdjson 3.0 lets lone surrogates through, and later versions skip a byte order mark: neither is
// JSON to Weir, so such a document gets the strict second look.
static bool needs_second_look(const uint8_t *bytes, size_t length) {
    if (length >= 1 && bytes[0] == 0xEF) return true;
    const uint8_t *end = bytes + length;
    const uint8_t *at = bytes;
    while (at < end &&
           (at = static_cast<const uint8_t *>(memchr(at, '\\', size_t(end - at)))) != nullptr) {
        if (is_surrogate_escape(at, end, false) && is_surrogate_escape(at + 6, end, true)) {
            at += 12;
        } else if (is_surrogate_escape(at, end, false) || is_surrogate_escape(at, end, true)) {
            return true;
        } else {
            at += 2;
        }
    }
    return false;
}

extern "C" weir_json_parser *weir_json_parser_create(size_t max_depth) {
    return new (std::nothrow) weir_json_parser(max_depth);
}

extern "C" void weir_json_parser_free(weir_json_parser *parser) { delete parser; }

extern "C" int weir_json_parse(weir_json_parser *parser, const uint8_t *bytes, size_t length,
                               bool checked, const uint64_t **tape, const uint8_t **strings) {
    // Without memory the process ends, as everywhere else: a good record must not pass for a bad one.
    if (!parser->reserve(length)) std::abort();
    const uint8_t *padded = bytes;
    if (!is_padded(bytes, length)) {
        if (length > 0) memcpy(parser->padded.get(), bytes, length);
        memset(parser->padded.get() + length, ' ', simdjson::SIMDJSON_PADDING);
        padded = parser->padded.get();
    }
    auto parsed = parser->parser.parse(padded, length, false);
    if (parsed.error() == simdjson::MEMALLOC) std::abort();
    if (parsed.error() != simdjson::SUCCESS) return weir_json_refused;
    *tape = parser->parser.doc.tape.get();
    *strings = parser->parser.doc.string_buf.get();
    return !checked && needs_second_look(bytes, length) ? weir_json_refused : weir_json_accepted;
}
