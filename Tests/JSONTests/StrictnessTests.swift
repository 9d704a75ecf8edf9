import JSON
import Testing

@Suite("What is not JSON is refused, with the fault that it has")
struct StrictnessTests {
    static let notUTF8: [(String, [UInt8])] = [
        ("a lone continuation byte", [0x80]),
        ("an overlong slash of two bytes", [0xC0, 0xAF]),
        ("an overlong NUL", [0xC0, 0x80]),
        ("an overlong form of three bytes", [0xE0, 0x80, 0xAF]),
        ("an overlong form of four bytes", [0xF0, 0x80, 0x80, 0xAF]),
        ("a high surrogate", [0xED, 0xA0, 0x80]), ("a low surrogate", [0xED, 0xB0, 0x80]),
        ("a surrogate pair (CESU-8)", [0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80]),
        ("beyond U+10FFFF", [0xF4, 0x90, 0x80, 0x80]), ("a byte that no character has", [0xFF]),
        ("a character cut after one byte", [0xE2]),
        ("a character cut after two bytes", [0xE2, 0x82]),
        ("a character cut after three bytes", [0xF0, 0x9F, 0x98]),
    ]

    @Test("bytes that are not UTF-8 are refused in a string", arguments: notUTF8)
    func notUTF8InString(_ what: String, _ bytes: [UInt8]) throws {
        #expect(try fault(of: [0x22] + bytes + [0x22]) == .invalidUTF8)
        #expect(try fault(of: Array(#"{"a":["#.utf8) + [0x22] + bytes) == .invalidUTF8)
    }

    @Test("bytes that are not UTF-8 come before every other fault", arguments: notUTF8)
    func notUTF8BeforeOtherFaults(_ what: String, _ bytes: [UInt8]) throws {
        let deep = Array(String(repeating: "[", count: 100).utf8)
        #expect(try fault(of: deep + bytes) == .invalidUTF8)
        #expect(try fault(of: Array("nonsense 1e999 \"\\ud800\"".utf8) + bytes) == .invalidUTF8)
    }

    @Test("characters of every length and U+10FFFF are accepted")
    func longestCharacters() throws {
        let text = "a\u{80}\u{7FF}\u{800}\u{D7FF}\u{E000}\u{FFFF}\u{10000}\u{10FFFF}"
        #expect(try withParsed("\"\(text)\"") { JSONTree($0) } == .string(text))
    }

    static let malformed: [(String, String)] = [
        ("", "the document ends early"),
        (" \n\t\r ", "the document ends early"),
        ("\u{FEFF}{}", "a byte order mark"), ("[\u{FEFF}1]", "a byte order mark"),
        ("{}\u{FEFF}", "text after the document"),
        ("{} {}", "text after the document"),
        ("{}x", "text after the document"),
        ("{}\u{0}", "text after the document"),
        ("1 2", "text after the document"),
        ("[]]", "text after the document"),
        ("\u{B}1", "a value is missing"),
        ("\u{A0}1", "a value is missing"),
        ("[1,]", "a value is missing"),
        ("[,1]", "a value is missing"),
        ("[1 2]", "a comma or an end is missing"),
        ("[1", "a comma or an end is missing"),
        ("[", "the document ends early"),
        ("[1}", "a comma or an end is missing"),
        (#"{"a":1]"#, "a comma or an end is missing"),
        (#"{"a":1,}"#, "a member's name is missing"),
        (#"{,"a":1}"#, "a member's name is missing"),
        (#"{a:1}"#, "a member's name is missing"),
        (#"{'a':1}"#, "a member's name is missing"),
        (#"{1:1}"#, "a member's name is missing"),
        ("{", "a member's name is missing"),
        (#"{"a"}"#, "a colon is missing"),
        (#"{"a" 1}"#, "a colon is missing"),
        (#"{"a":}"#, "a value is missing"),
        (#"{"a":"#, "the document ends early"),
        ("01", "a number with a leading zero"),
        ("-01", "a number with a leading zero"),
        ("00", "a number with a leading zero"),
        ("00.5", "a number with a leading zero"),
        ("-", "a value is missing"),
        ("+1", "a value is missing"),
        (".5", "a value is missing"),
        ("5.", "a number ends in a point"),
        ("5.e1", "a number ends in a point"),
        ("5e", "a number without its exponent"),
        ("5e+", "a number without its exponent"),
        ("0x10", "text after the document"),
        ("1_000", "text after the document"),
        ("NaN", "a value is missing"),
        ("Infinity", "a value is missing"),
        ("-Infinity", "a value is missing"),
        ("True", "a value is missing"),
        ("nul", "an unknown word"),
        ("truE", "an unknown word"),
        ("nullx", "text after the document"),
        ("// note\n1", "a value is missing"),
        ("[1]/* note */", "text after the document"),
        ("\"", "a string without its end"),
        (#""a\"#, "an unknown escape"),
        (#""\x41""#, "an unknown escape"),
        (#""\'""#, "an unknown escape"),
        (#""\u00""#, "an unknown escape"),
        (#""\u00G0""#, "an unknown escape"),
        (#""\u+041""#, "an unknown escape"),
        (#""\U0041""#, "an unknown escape"),
        ("\"a\nb\"", "a control character in a string"),
        ("\"a\u{0}b\"", "a control character in a string"),
        ("\"a\u{1F}b\"", "a control character in a string"),
        (#"{"a\#u{9}":1}"#, "a control character in a string"),
    ]

    @Test("malformed text is refused and the fault is named", arguments: malformed)
    func malformedText(_ text: String, _ words: String) throws {
        #expect(try fault(of: text)?.explanation == words)
    }

    static let loneSurrogates = [
        #"\ud800"#, #"\uDBFF"#, #"\udc00"#, #"\uDFFF"#, #"\ud83dx"#, #"\ud83d\n"#, #"\ud83dA"#,
        #"\ud83d\ud83d"#, #"\ude00\ud83d"#, #"\ud83d\ud83d\ude00"#, #"\ud83d\ude00\ude00"#,
        #"x\\\ud83d"#, #"\ud83d\\ude00"#, #"\ud83d \ude00"#,
    ]

    @Test("a lone surrogate is refused: high, low, reversed, in a name", arguments: loneSurrogates)
    func loneSurrogate(_ text: String) throws {
        #expect(try fault(of: "\"\(text)\"")?.explanation == "a lone surrogate")
        #expect(try fault(of: "{\"\(text)\":1}")?.explanation == "a lone surrogate")
        #expect(try fault(of: "[[\"a\",{\"b\":\"\(text)\"}]]")?.explanation == "a lone surrogate")
    }

    @Test("surrogates in proper pairs, and escaped backslashes before them, are text")
    func surrogatePairs() throws {
        let pairs: [(String, String)] = [
            (#"\ud83d\ude00"#, "\u{1F600}"), (#"\uD83D\uDE00x"#, "\u{1F600}x"),
            (#"\ud800\udc00\udbff\udfff"#, "\u{10000}\u{10FFFF}"),
            (#"\\ud800"#, #"\ud800"#), (#"\\\\udc00"#, #"\\udc00"#),
            (#"\ud7ff\ue000"#, "\u{D7FF}\u{E000}"),
        ]
        for (escaped, text) in pairs {
            #expect(try withParsed("\"\(escaped)\"") { JSONTree($0) } == .string(text))
        }
    }

    @Test("an escaped NUL is a character like any other")
    func escapedNUL() throws {
        #expect(try withParsed(#""a\u0000b""#) { JSONTree($0) } == .string("a\u{0}b"))
    }
}

@Suite("Depth is bounded")
struct DepthTests {
    /// A document of so many containers, `core` being in the innermost.
    private func nested(_ depth: Int, _ opening: (Int) -> (String, String), core: String) -> String
    {
        let brackets = (0..<depth).map(opening)
        return brackets.map(\.0).joined() + core + brackets.reversed().map(\.1).joined()
    }

    static let shapes = ["arrays", "objects", "mixed"]

    private func opening(_ shape: String, _ level: Int) -> (String, String) {
        shape == "objects" || (shape == "mixed" && level.isMultiple(of: 2))
            ? (#"{"a":"#, "}") : ("[", "]")
    }

    @Test("64 containers are accepted, the 65th is too deep", arguments: shapes)
    func deepest(_ shape: String) throws {
        for core in ["1", "null", "\"a\"", "1.5"] {
            let accepted = nested(64, { opening(shape, $0) }, core: core)
            let refused = nested(65, { opening(shape, $0) }, core: core)
            #expect(try fault(of: accepted) == nil)
            #expect(try fault(of: refused) == .tooDeep)
        }
    }

    @Test("an empty container counts as one", arguments: shapes)
    func emptyInnermost(_ shape: String) throws {
        for core in ["[]", "{}", "[ ]", "{\n}"] {
            #expect(try fault(of: nested(63, { opening(shape, $0) }, core: core)) == nil)
            #expect(try fault(of: nested(64, { opening(shape, $0) }, core: core)) == .tooDeep)
        }
    }

    @Test("depth is that of open containers, not of all")
    func siblings() throws {
        let inner = nested(63, { opening("mixed", $0) }, core: "1")
        #expect(try fault(of: "[\(inner),\(inner),\(inner)]") == nil)
        #expect(try fault(of: "[\(inner),\(inner),[\(inner)]]") == .tooDeep)
    }

    @Test("of too deep and malformed, the one met first from the front is given")
    func firstMet() throws {
        let deep = String(repeating: "[", count: 65)
        #expect(try fault(of: deep + "nonsense") == .tooDeep)
        #expect(try fault(of: deep) == .tooDeep)
        #expect(try fault(of: #"["\ud800","# + deep)?.explanation == "a lone surrogate")
        #expect(try fault(of: "[1e400," + deep)?.explanation == "a number too large")
        #expect(try fault(of: "[1 2," + deep)?.explanation == "a comma or an end is missing")
    }

    @Test("a megabyte of nesting is refused at once", arguments: ["[", #"{"a":"#, "[{\"a\":"])
    func megabyte(_ opening: String) throws {
        let text = String(repeating: opening, count: (1 << 20) / opening.utf8.count)
        var found: JSONFault?
        let elapsed = try ContinuousClock().measure { found = try fault(of: text) }
        #expect(found == .tooDeep)
        #expect(elapsed < .seconds(20))
    }
}
