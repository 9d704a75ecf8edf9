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
    static let noNumber: [Document] = ["5", "", true, [], [:], 1.5]
    static let noObject: [Document] = ["x", 5, [], false]

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
