import JSON
import Testing

@Suite("Numbers are kept as exactly as 64 bits hold them")
struct NumberTests {
    @Test("integers at the borders of Int64 and UInt64 are exact")
    func borders() throws {
        #expect(try number("9223372036854775807") == .integer(.max))
        #expect(try number("-9223372036854775808") == .integer(.min))
        #expect(try number("9223372036854775808") == .large(1 << 63))
        #expect(try number("18446744073709551615") == .large(.max))
        #expect(try number("9007199254740993") == .integer(9_007_199_254_740_993))
    }

    @Test("an integer beyond 64 bits is the nearest double")
    func beyond64Bits() throws {
        #expect(try number("18446744073709551616") == .double(0x1p64))
        #expect(try number("-9223372036854775809") == .double(-0x1p63))
        let digits = String(repeating: "9", count: 300)
        #expect(try number(digits) == .double(1e300))
        #expect(try number("-" + digits) == .double(-1e300))
    }

    @Test("a document with integers beyond 64 bits keeps all its other values")
    func beyond64BitsAmongOthers() throws {
        let text =
            #"{"a":99999999999999999999,"b":[1,-99999999999999999999,"99999999999999999999"],"c":2}"#
        let tree = try withParsed(text) { JSONTree($0) }
        #expect(
            tree
                == .object([
                    .init(name: "a", value: .number(.double(1e20))),
                    .init(
                        name: "b",
                        value: .array([
                            .number(.integer(1)), .number(.double(-1e20)),
                            .string("99999999999999999999"),
                        ])),
                    .init(name: "c", value: .number(.integer(2))),
                ]))
    }

    @Test("a number that no finite double holds is malformed")
    func tooLarge() throws {
        for text in ["1e400", "-1e400", "1e309", "1.8e308", String(repeating: "9", count: 400)] {
            #expect(try fault(of: "[\(text)]")?.explanation == "a number too large")
        }
        #expect(try number("1.7976931348623157e308") == .double(.greatestFiniteMagnitude))
    }

    @Test("a number too small for a double is zero")
    func underflow() throws {
        #expect(try number("1e-400") == .double(0))
        #expect(try number("1e-400")?.asInteger == .exact(0))
        #expect(try number("5e-324") == .double(.leastNonzeroMagnitude))
    }

    @Test("5.0, 5e0 and 50e-1 are the integer 5")
    func integralDoubles() throws {
        for text in ["5", "5.0", "5e0", "50e-1", "0.5E1", "5.000000000000000000000000000"] {
            #expect(try number(text)?.asInteger == .exact(5))
        }
        for text in ["0", "-0", "-0.0", "0e0", "0.0e-5"] {
            #expect(try number(text)?.asInteger == .exact(0))
        }
    }

    @Test("a fraction is no integer, and nothing beyond Int64 is one")
    func noIntegers() throws {
        #expect(try number("5.5")?.asInteger == .fraction)
        #expect(try number("-0.1")?.asInteger == .fraction)
        #expect(try number("1e-300")?.asInteger == .fraction)
        for text in [
            "9223372036854775808", "9223372036854775807.0", "18446744073709551616", "1e300",
            "-9223372036854775809e5",
        ] {
            #expect(try number(text)?.asInteger == .beyondInt64)
        }
        #expect(try number("-9223372036854775808.0")?.asInteger == .exact(.min))
    }

    @Test("every number has its double")
    func doubles() throws {
        #expect(try number("4.35")?.double == 4.35)
        #expect(try number("-7")?.double == -7)
        #expect(try number("18446744073709551615")?.double == 0x1p64)
        #expect(try number("0.1e1")?.double == 1)
    }

    @Test("a number is there as it is written, wherever it stands and however long it is")
    func texts() throws {
        let long = "0." + String(repeating: "123456789", count: 50) + "E+2"
        for text in [
            "0", "-0", "5", "1e3", "1.5E-7", "18446744073709551615", "0.10", "1e-400", long,
        ] {
            for document in [
                "[\(text)]", "[7, \(text) ]", "{\"a\":\"1\\n2\",\"b\":\(text)\n}",
            ] {
                let found = try withParsed(document) { value in
                    (value.member("b") ?? Array(value.elements).last)?.numberText.map {
                        String(decoding: $0, as: UTF8.self)
                    }
                }
                #expect(found == text, "\(document)")
            }
        }
    }

    @Test("what is no number, and a number that is the whole document, has no text of one")
    func noTexts() throws {
        let others = "[\"1\",true,null,[],{}]"
        #expect(try withParsed(others) { $0.elements.allSatisfy { $0.numberText == nil } })
        #expect(try withParsed("17") { $0.numberText == nil })
    }
}
