import Testing

/// What a field accepts and refuses. Absent, null and, for texts and ids, "" are the same.
struct FieldRule: CustomTestStringConvertible {
    private(set) var type: String?
    private(set) var base: Document = [:]
    let path: String
    let isRequired: Bool
    let accepts: [Document]
    let wrongType: [Document]
    let outOfRange: [Document]
    /// The field whose value makes this one required.
    var isRequiredBy: String?

    static let noText: [Document] = [5, true, [], [:]]
    static let noFigure: [Document] = ["5", "", true, [], [:], 1.5]
    static let noObject: [Document] = ["x", 5, [], false]

    /// Identifiers that may be numbers: what is one, and what is refused for its type or its value.
    static let identifiers: [Document] = [
        0, 7, "7", "007", 7.0, .raw("7e0"), .raw("-0"), "", .raw("9223372036854775807"),
    ]
    static let noIdentifier: [Document] = ["x", "-5", "5.5", "1.0", "5 ", true, [], [:]]
    static let noWholeNumbersFromZero: [Document] = [
        -1, 5.5, -5.0, .raw("-5.5"), .raw("1e-9"), .raw("-9223372036854775808"),
    ]
    static let beyondInt64: [Document] = [
        .raw("9223372036854775808"), .raw("1e300"), .raw("99999999999999999999"),
        "9223372036854775808",
    ]

    /// Flags that may be 1 or 0, and what is refused.
    static let flags: [Document] = [true, false, 1, 0, 1.0, .raw("0e0")]
    static let noFlags: [Document] = [2, -1, 0.5, "true", "1", "", [], [:]]

    static func required(
        _ path: String, accepts: [Document] = [], wrong: [Document] = [], beyond: [Document] = []
    ) -> FieldRule {
        FieldRule(
            path: path, isRequired: true, accepts: accepts, wrongType: wrong, outOfRange: beyond)
    }

    static func optional(
        _ path: String, accepts: [Document] = [], wrong: [Document] = [], beyond: [Document] = []
    ) -> FieldRule {
        FieldRule(
            path: path, isRequired: false, accepts: accepts, wrongType: wrong, outOfRange: beyond)
    }

    /// Rules of the fields of a document that is right.
    static func all(of base: Document, type: String? = nil, _ rules: [FieldRule]) -> [FieldRule] {
        rules.map { rule in
            var rule = rule
            rule.base = base
            rule.type = type
            return rule
        }
    }

    func required(by path: String) -> FieldRule {
        var rule = self
        rule.isRequiredBy = path
        return rule
    }

    /// One value of each kind that is refused.
    var faults: [(reason: String, value: Document?)] {
        (isRequired ? [("missing_field", nil)] : [])
            + wrongType.prefix(1).map { ("wrong_type", $0) }
            + outOfRange.prefix(1).map { ("out_of_range", $0) }
    }

    var testDescription: String { "\(type ?? base["version"]?.string ?? "") \(path)" }

    /// Holds what `reason` says of the document with each value against the rule.
    func check(emptyIsAbsent: Bool = true, _ reason: (Document) throws -> String) throws {
        func judge(_ value: Document?) throws -> String { try reason(base.with([path: value])) }
        #expect(try reason(base) == "accepted")
        let absent = isRequired ? "missing_field" : "accepted"
        #expect(try judge(nil) == absent)
        #expect(try judge(.null) == absent)
        if isRequired, emptyIsAbsent { #expect(try judge("") == "missing_field") }
        for value in accepts { #expect(try judge(value) == "accepted", "\(value.text)") }
        for value in wrongType { #expect(try judge(value) == "wrong_type", "\(value.text)") }
        for value in outOfRange { #expect(try judge(value) == "out_of_range", "\(value.text)") }
    }
}
