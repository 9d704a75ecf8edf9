import CSimdjson

/// Parses JSON documents (RFC 8259) with simdjson; one thread at a time, one document at a time.
///
/// Nothing is allocated a document once the buffers have grown. What simdjson refuses, or lets through
/// against the contract, gets a slow second look that finds the reason.
package final class JSONParser {
    /// Arrays and objects may be nested so deep.
    package static let maxDepth = 64

    private let parser: OpaquePointer
    /// Reads what the second look has found well-formed, made when it is first needed: at its limit
    /// simdjson takes empty containers only, so that this one's is beyond `maxDepth`.
    private var secondParser: OpaquePointer?

    /// Makes a parser; nil when there is no memory for it.
    package init?() {
        guard let parser = weir_json_parser_create(Self.maxDepth) else { return nil }
        self.parser = parser
    }

    deinit {
        weir_json_parser_free(parser)
        if let secondParser { weir_json_parser_free(secondParser) }
    }

    /// Parses a document. The value is valid until the next parse or the parser's end.
    package func parse(_ bytes: UnsafeRawBufferPointer) throws(JSONFault) -> JSONValue {
        if let value = Self.accept(bytes, by: parser, checked: false) { return value }
        var inspection = JSONInspection(bytes)
        try inspection.run()
        // Well-formed after all: an integer beyond 64 bits, or something at the greatest depth.
        let rewritten = inspection.rewritingLargeIntegers()
        if secondParser == nil { secondParser = weir_json_parser_create(Self.maxDepth + 1) }
        guard let secondParser,
            let value = rewritten.withUnsafeBytes({
                Self.accept($0, by: secondParser, checked: true)
            })
        else { throw .malformed("the document is not accepted") }
        return value
    }

    private static func accept(
        _ bytes: UnsafeRawBufferPointer, by parser: OpaquePointer, checked: Bool
    ) -> JSONValue? {
        var tape: UnsafePointer<UInt64>?
        var strings: UnsafePointer<UInt8>?
        let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let status = weir_json_parse(parser, start, bytes.count, checked, &tape, &strings)
        guard status == 0, let tape, let strings else { return nil }
        return JSONValue(tape: tape, strings: strings, index: 1)
    }
}
