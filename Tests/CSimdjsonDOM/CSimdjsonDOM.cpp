#include "CSimdjsonDOM.h"

#include <simdjson.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace dom = simdjson::dom;

namespace {

template <typename Word> void append(std::string &to, char tag, Word word) {
    to += tag;
    to.append(reinterpret_cast<const char *>(&word), sizeof word);
}

void append(std::string &to, std::string_view text) {
    append(to, '"', uint32_t(text.size()));
    to += text;
}

void append(std::string &to, dom::element value) {
    switch (value.type()) {
    case dom::element_type::OBJECT:
        to += '{';
        for (auto member : dom::object(value)) {
            append(to, member.key);
            append(to, member.value);
        }
        to += '}';
        break;
    case dom::element_type::ARRAY:
        to += '[';
        for (auto element : dom::array(value)) append(to, element);
        to += ']';
        break;
    case dom::element_type::STRING: append(to, std::string_view(value)); break;
    case dom::element_type::INT64: append(to, 'l', int64_t(value)); break;
    case dom::element_type::UINT64: append(to, 'u', uint64_t(value)); break;
    case dom::element_type::DOUBLE: append(to, 'd', double(value)); break;
    case dom::element_type::BOOL: to += bool(value) ? 't' : 'f'; break;
    default: to += 'n';
    }
}

} // namespace

extern "C" uint8_t *simdjson_describe(
    const uint8_t *bytes, size_t length, size_t max_depth, size_t *count
) {
    dom::parser parser;
    if (parser.allocate(length < 64 ? 64 : length, max_depth) != simdjson::SUCCESS) std::abort();
    dom::element root;
    if (parser.parse(bytes, length, true).get(root) != simdjson::SUCCESS) return nullptr;
    std::string description;
    append(description, root);
    auto *copy = static_cast<uint8_t *>(std::malloc(description.size() + 1));
    if (copy == nullptr) std::abort();
    std::memcpy(copy, description.data(), description.size());
    *count = description.size();
    return copy;
}
