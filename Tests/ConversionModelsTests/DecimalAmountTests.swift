import ConversionModels
import Testing

@Suite("Amounts")
struct DecimalAmountTests {
    @Test(
        "a decimal text is exactly its micros, and fractions of a micro are cut off",
        arguments: [
            ("0", 0), ("5", 5_000_000), ("5.0", 5_000_000), ("4.99", 4_990_000),
            ("0.000001", 1), ("0.0000019", 1), ("0.0000009", 0), ("0.1", 100_000),
            ("1.5e3", 1_500_000_000), ("15E-1", 1_500_000), ("1e+2", 100_000_000),
            ("0e999999999999999999999", 0), ("1e-999999999999999999999", 0),
            ("0.00000000000000000000000012e25", 1_200_000),
            ("1234567890123.456789", 1_234_567_890_123_456_789),
            ("9223372036854.775807", .max), ("9223372036854.7758079999", .max),
            ("8589934592.000001", 8_589_934_592_000_001),
        ] as [(String, Int64)]
    )
    func exact(text: String, micros: Int64) throws {
        #expect(try DecimalAmount.micros(text) == micros)
    }

    @Test(
        "what is no plain decimal is refused",
        arguments: [
            "", ".5", "5.", "+5", "05", "00", "1_000", "1,5", "0x10", ".inf", "nan", "5 ", " 5",
            "5e", "5e+", "5.5.5", "five", "٥", "1e1.5",
        ])
    func malformed(text: String) {
        #expect(throws: AmountFault.notADecimal) { try DecimalAmount.micros(text) }
    }

    @Test("negative amounts and amounts beyond 64 bits are told apart from malformed ones")
    func range() {
        for text in ["-1", "-0", "-x"] {
            #expect(throws: AmountFault.negative) { try DecimalAmount.micros(text) }
        }
        for text in ["9223372036854.775808", "10000000000000", "1e999999999999999999999"] {
            #expect(throws: AmountFault.tooLarge) { try DecimalAmount.micros(text) }
        }
    }
}
