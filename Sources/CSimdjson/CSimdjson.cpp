#include "CSimdjson.h"

#include <simdjson.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

// simdjson's first stage finds, with vector instructions, where each token of a document begins, and that its
// bytes are UTF-8, that every string ends and none holds a control character. The second stage here checks the
// grammar between these places. Unlike simdjson's, it copies no string that has no escape, reads integers beyond
// 64 bits as doubles, and refuses lone surrogates and byte order marks.

namespace {

/// Memory without an initial value, which only grows. Without memory the process ends, as everywhere else: a
/// good record must not pass for a bad one.
template <typename Element> class Room {
  public:
    Element *reserve(size_t wanted) {
        static_assert(std::is_trivial<Element>::value, "it is not constructed");
        if (wanted > capacity) {
            size_t larger = capacity < 1024 ? 1024 : capacity;
            while (larger < wanted) larger *= 2;
            elements.reset(new (std::nothrow) Element[larger]);
            if (!elements) std::abort();
            capacity = larger;
        }
        return elements.get();
    }

  private:
    std::unique_ptr<Element[]> elements;
    size_t capacity = 0;
};

bool is_digit(uint8_t byte) { return uint8_t(byte - '0') <= 9; }

bool is_space(uint8_t byte) {
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

int hex_value(uint8_t byte) {
    if (is_digit(byte)) return byte - '0';
    uint8_t lower = byte | 0x20;
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/// The four hexadecimal digits of an escape; -1 when they are not there.
int code_unit(const uint8_t *at, const uint8_t *end) {
    if (end - at < 4) return -1;
    int unit = 0;
    for (int place = 0; place < 4; place++) {
        int value = hex_value(at[place]);
        if (value < 0) return -1;
        unit = unit << 4 | value;
    }
    return unit;
}

uint8_t *append_utf8(uint8_t *to, uint32_t point) {
    if (point < 0x80) {
        *to++ = uint8_t(point);
    } else if (point < 0x800) {
        *to++ = uint8_t(0xC0 | point >> 6);
        *to++ = uint8_t(0x80 | (point & 0x3F));
    } else if (point < 0x10000) {
        *to++ = uint8_t(0xE0 | point >> 12);
        *to++ = uint8_t(0x80 | (point >> 6 & 0x3F));
        *to++ = uint8_t(0x80 | (point & 0x3F));
    } else {
        *to++ = uint8_t(0xF0 | point >> 18);
        *to++ = uint8_t(0x80 | (point >> 12 & 0x3F));
        *to++ = uint8_t(0x80 | (point >> 6 & 0x3F));
        *to++ = uint8_t(0x80 | (point & 0x3F));
    }
    return to;
}

/// Writes the text between two quotes without its escapes; null when one of them is none.
uint8_t *unescape(const uint8_t *at, const uint8_t *end, uint8_t *to) {
    while (at < end) {
        const void *found = memchr(at, '\\', size_t(end - at));
        const uint8_t *next = found ? static_cast<const uint8_t *>(found) : end;
        memcpy(to, at, size_t(next - at));
        to += next - at;
        if (next == end) break;
        at = next + 2;
        if (at > end) return nullptr;
        switch (next[1]) {
        case '"': case '\\': case '/': *to++ = next[1]; break;
        case 'b': *to++ = '\b'; break;
        case 'f': *to++ = '\f'; break;
        case 'n': *to++ = '\n'; break;
        case 'r': *to++ = '\r'; break;
        case 't': *to++ = '\t'; break;
        case 'u': {
            int unit = code_unit(at, end);
            if (unit < 0 || (unit >= 0xDC00 && unit <= 0xDFFF)) return nullptr;
            at += 4;
            uint32_t point = uint32_t(unit);
            if (unit >= 0xD800 && unit <= 0xDBFF) {
                if (end - at < 6 || at[0] != '\\' || at[1] != 'u') return nullptr;
                int low = code_unit(at + 2, end);
                if (low < 0xDC00 || low > 0xDFFF) return nullptr;
                at += 6;
                point = 0x10000 + ((point - 0xD800) << 10) + uint32_t(low - 0xDC00);
            }
            to = append_utf8(to, point);
            break;
        }
        default: return nullptr;
        }
    }
    return to;
}

/// A number that is no integer of 64 bits; false when no finite double is near it.
bool read_double(const uint8_t *begin, const uint8_t *end, double *value) {
    const char *text = reinterpret_cast<const char *>(begin);
    const char *text_end = reinterpret_cast<const char *>(end);
    auto read = std::from_chars(text, text_end, *value);
    // Too small is zero, and too large is refused: `from_chars` does not tell them apart.
    if (read.ec == std::errc::result_out_of_range)
        *value = strtod(std::string(text, text_end).c_str(), nullptr);
    return std::isfinite(*value);
}

const double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

} // namespace

struct weir_json_parser {
    std::unique_ptr<simdjson::internal::dom_parser_implementation> first_stage;
    size_t capacity = 0;
    size_t max_depth;
    Room<uint8_t> copy;
    Room<uint8_t> unescaped;
    Room<uint64_t> tape;
    Room<uint32_t> containers;

    explicit weir_json_parser(size_t depth) : max_depth(depth) {}

    void reserve(size_t length) {
        if (first_stage && length <= capacity) return;
        size_t wanted = capacity < 4096 ? 4096 : capacity;
        while (wanted < length) wanted *= 2;
        auto &implementation = simdjson::get_active_implementation();
        if (implementation->create_dom_parser_implementation(wanted, max_depth, first_stage) !=
            simdjson::SUCCESS)
            std::abort();
        capacity = wanted;
    }
};

namespace {

/// The second stage: from the places of tokens to the tape. All of it is one function for the compiler, and what
/// it works with stays in registers.
class Reading {
  public:
    __attribute__((always_inline)) Reading(weir_json_parser &parser, const uint8_t *bytes, size_t length)
        : parser(parser), bytes(bytes), end(bytes + length),
          token(parser.first_stage->structural_indexes.get()),
          last(token + parser.first_stage->n_structural_indexes) {
        out = parser.tape.reserve(2 * parser.first_stage->n_structural_indexes + 8) + weir_json_root;
        const void *escape = memchr(bytes, '\\', length);
        next_escape = escape ? static_cast<const uint8_t *>(escape) : end;
    }

    /// Returns the tape; null when the document is refused.
    __attribute__((always_inline)) const uint64_t *run() {
        uint64_t *const tape = parser.tape.reserve(0);
        uint32_t *const containers = parser.containers.reserve(parser.max_depth);
        size_t depth = 0;
        uint8_t first;
        if (token == last) return nullptr;
        first = bytes[*token];
        if (first == '{' || first == '[') goto open;
        if (!scalar(first)) return nullptr;
        goto finish;

    open:
        if (depth == parser.max_depth || ++token == last) return nullptr;
        containers[depth++] = uint32_t(out - tape);
        *out++ = word(first, 0);
        if (bytes[*token] == first + 2) goto close;
        if (first == '[') goto element;

    member:
        if (bytes[*token] != '"' || !string() || token == last || bytes[*token] != ':') return nullptr;
        if (++token == last) return nullptr;
        first = bytes[*token];
        if (first == '"') {
            if (!string()) return nullptr;
        } else if (first == '{' || first == '[') {
            goto open;
        } else if (!scalar(first)) {
            return nullptr;
        }
    member_end:
        if (token == last) return nullptr;
        if (bytes[*token] == ',') {
            if (++token == last) return nullptr;
            goto member;
        }
        if (bytes[*token] != '}') return nullptr;
        goto close;

    // As after a member's colon, and written again: a branch for each place is predicted better. One loop for both,
    // not inlined, took half as long again.
    element:
        first = bytes[*token];
        if (first == '"') {
            if (!string()) return nullptr;
        } else if (first == '{' || first == '[') {
            goto open;
        } else if (!scalar(first)) {
            return nullptr;
        }
    element_end:
        if (token == last) return nullptr;
        if (bytes[*token] == ',') {
            if (++token == last) return nullptr;
            goto element;
        }
        if (bytes[*token] != ']') return nullptr;

    close:
        token++;
        tape[containers[--depth]] |= uint64_t(out - tape);
        if (depth == 0) goto finish;
        if (tape[containers[depth - 1]] >> 56 == '{') goto member_end;
        goto element_end;

    finish:
        if (token != last) return nullptr;
        tape[0] = uint64_t(reinterpret_cast<uintptr_t>(bytes));
        tape[1] = uint64_t(reinterpret_cast<uintptr_t>(strings));
        return tape;
    }

  private:
    weir_json_parser &parser;
    const uint8_t *const bytes;
    const uint8_t *const end;
    const uint32_t *token;
    const uint32_t *const last;
    uint64_t *out;
    uint8_t *strings = nullptr;
    uint8_t *strings_end = nullptr;
    const uint8_t *next_escape;

    static uint64_t word(uint8_t tag, uint64_t payload) { return uint64_t(tag) << 56 | payload; }

    /// Where the token at hand ends at the latest, spaces after it included; goes on to the next one.
    __attribute__((always_inline)) const uint8_t *token_end() {
        token++;
        return token == last ? end : bytes + *token;
    }

    static bool is_rest_space(const uint8_t *at, const uint8_t *end) {
        while (at < end && is_space(*at)) at++;
        return at == end;
    }

    __attribute__((always_inline)) bool string() {
        const uint8_t *begin = bytes + *token + 1;
        // Only spaces can stand between the closing quote and the next token.
        const uint8_t *quote = token_end() - 1;
        while (*quote != '"') quote--;
        if (quote < begin) return false;
        if (next_escape >= quote && quote - begin <= weir_json_longest_in_place) {
            *out++ = word('"', uint64_t(quote - begin) << 32 | uint64_t(begin - bytes));
            return true;
        }
        return escaped(begin, quote);
    }

    __attribute__((noinline)) bool escaped(const uint8_t *begin, const uint8_t *quote) {
        if (!strings) {
            // An escape is never shorter than what it stands for; a length goes before each text.
            strings = parser.unescaped.reserve(size_t(end - bytes) + 4 * size_t(last - token + 1) + 8);
            strings_end = strings;
        }
        uint8_t *text_end = unescape(begin, quote, strings_end + 4);
        if (!text_end) return false;
        uint32_t written = uint32_t(text_end - strings_end - 4);
        memcpy(strings_end, &written, 4);
        *out++ = word('s', uint64_t(strings_end - strings));
        strings_end = text_end;
        if (next_escape < quote) {
            const void *escape = memchr(quote, '\\', size_t(end - quote));
            next_escape = escape ? static_cast<const uint8_t *>(escape) : end;
        }
        return true;
    }

    __attribute__((always_inline)) bool scalar(uint8_t first) {
        if (first == '"') return string();
        if (first == '-' || is_digit(first)) return number();
        return literal(first);
    }

    __attribute__((noinline)) bool literal(uint8_t first) {
        const uint8_t *at = bytes + *token;
        const uint8_t *limit = token_end();
        const char *text = first == 't' ? "true" : first == 'f' ? "false" : "null";
        size_t count = first == 'f' ? 5 : 4;
        *out++ = word(first, 0);
        return size_t(limit - at) >= count && memcmp(at, text, count) == 0 && is_rest_space(at + count, limit);
    }

    __attribute__((noinline)) bool number() {
        const uint8_t *begin = bytes + *token;
        const uint8_t *limit = token_end();
        const uint8_t *at = begin;
        const uint64_t place = uint64_t(begin - bytes);
        bool is_negative = *at == '-';
        if (is_negative) at++;
        const uint8_t *digits = at;
        uint64_t mantissa = 0;
        while (at < limit && is_digit(*at)) mantissa = mantissa * 10 + uint64_t(*at++ - '0');
        size_t count = size_t(at - digits);
        if (count == 0 || (*digits == '0' && count > 1)) return false;
        if (at == limit && count <= 18) {
            out[0] = word('l', place);
            out[1] = is_negative ? ~mantissa + 1 : mantissa;
            out += 2;
            return true;
        }
        bool is_integer = true;
        size_t fraction = 0;
        if (at < limit && *at == '.') {
            is_integer = false;
            const uint8_t *point = at++;
            while (at < limit && is_digit(*at)) mantissa = mantissa * 10 + uint64_t(*at++ - '0');
            fraction = size_t(at - point) - 1;
            if (fraction == 0) return false;
            count += fraction;
        }
        bool has_exponent = at < limit && (*at | 0x20) == 'e';
        if (has_exponent) {
            is_integer = false;
            at++;
            if (at < limit && (*at == '+' || *at == '-')) at++;
            const uint8_t *exponent = at;
            while (at < limit && is_digit(*at)) at++;
            if (at == exponent) return false;
        }
        if (!is_rest_space(at, limit)) return false;
        double value;
        if (is_integer && integer(mantissa, count, digits, at, is_negative)) {
            out[0] |= place;
            out += 2;
            return true;
        }
        // Both are exact as doubles, so that their quotient is the nearest one.
        if (!is_integer && !has_exponent && count <= 15) {
            value = double(mantissa) / powers_of_ten[fraction];
            if (is_negative) value = -value;
        } else if (!read_double(begin, at, &value)) {
            return false;
        }
        out[0] = word('d', place);
        memcpy(out + 1, &value, 8);
        out += 2;
        return true;
    }

    /// False when the integer is beyond 64 bits.
    bool integer(uint64_t value, size_t count, const uint8_t *digits, const uint8_t *limit, bool is_negative) {
        if (count > 19) {
            if (count > 20) return false;
            auto read = std::from_chars(reinterpret_cast<const char *>(digits),
                                        reinterpret_cast<const char *>(limit), value);
            if (read.ec != std::errc()) return false;
        }
        const uint64_t half = uint64_t(1) << 63;
        if (value >= half && is_negative && value > half) return false;
        out[0] = word(value < half || is_negative ? 'l' : 'u', 0);
        out[1] = is_negative ? ~value + 1 : value;
        return true;
    }
};

// The first stage reads up to SIMDJSON_PADDING bytes after a document, whatever they are. Where they lie in the
// document's last page they can be read, and it is parsed where it is; else it is copied first.
bool is_padded(const uint8_t *bytes, size_t length) {
    const uintptr_t page = 4096;
    uintptr_t last = reinterpret_cast<uintptr_t>(bytes) + length - 1;
    return length > 0 && last % page + simdjson::SIMDJSON_PADDING < page;
}

} // namespace

extern "C" weir_json_parser *weir_json_parser_create(size_t max_depth) {
    return new (std::nothrow) weir_json_parser(max_depth);
}

extern "C" void weir_json_parser_free(weir_json_parser *parser) { delete parser; }

extern "C" const uint64_t *weir_json_parse(weir_json_parser *parser, const uint8_t *bytes, size_t length,
                                           bool borrows) {
    parser->reserve(length);
    if (!borrows || !is_padded(bytes, length)) {
        uint8_t *copy = parser->copy.reserve(length + simdjson::SIMDJSON_PADDING);
        if (length > 0) memcpy(copy, bytes, length);
        memset(copy + length, ' ', simdjson::SIMDJSON_PADDING);
        bytes = copy;
    }
    auto error = parser->first_stage->stage1(bytes, length, simdjson::stage1_mode::regular);
    if (error != simdjson::SUCCESS) return nullptr;
    Reading reading(*parser, bytes, length);
    return reading.run();
}
