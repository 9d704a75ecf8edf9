/// A key of a configuration file: its form, bounds, default and purpose. docs/reference/configuration.md lists all.
package struct ConfigurationKey: Sendable {
    package enum Form: Sendable {
        case integer(ClosedRange<Int64>, default: Int64?)
        case boolean(default: Bool)
        /// One of these words.
        case words([String], default: String?)
        /// Another form, in words, and the default if there is one.
        case other(String, default: String?)
        /// A mapping with these keys.
        case keys([ConfigurationKey])
        /// A list of mappings with these keys.
        case list([ConfigurationKey])
        /// A mapping of ids to names, or to mappings with these keys.
        case names([ConfigurationKey])
    }

    package let name: String
    package let form: Form
    package let isRequired: Bool
    package let explanation: String

    package init(_ name: String, _ form: Form, required: Bool = false, _ explanation: String) {
        self.name = name
        self.form = form
        isRequired = required
        self.explanation = explanation
    }

    package static func integer(
        _ name: String, _ range: ClosedRange<Int64>, default absent: Int64? = nil,
        required: Bool = false, _ explanation: String
    ) -> Self {
        Self(name, .integer(range, default: absent), required: required, explanation)
    }

    package static func boolean(_ name: String, default absent: Bool, _ explanation: String) -> Self
    {
        Self(name, .boolean(default: absent), explanation)
    }

    package static func word<Word: RawRepresentable<String> & CaseIterable>(
        _ name: String, _: Word.Type, default absent: Word? = nil, required: Bool = false,
        _ explanation: String
    ) -> Self {
        Self(
            name, .words(Word.allCases.map(\.rawValue), default: absent?.rawValue),
            required: required, explanation)
    }

    package static func text(
        _ name: String, _ form: String, default absent: String? = nil, required: Bool = false,
        _ explanation: String
    ) -> Self {
        Self(name, .other(form, default: absent), required: required, explanation)
    }

    package static func keys(
        _ name: String, _ keys: [ConfigurationKey], required: Bool = false, _ explanation: String
    ) -> Self {
        Self(name, .keys(keys), required: required, explanation)
    }

    package static func list(
        _ name: String, _ keys: [ConfigurationKey], required: Bool = false, _ explanation: String
    ) -> Self {
        Self(name, .list(keys), required: required, explanation)
    }

    package static func names(
        _ name: String, _ keys: [ConfigurationKey], _ explanation: String
    ) -> Self {
        Self(name, .names(keys), explanation)
    }

    /// The form and the bounds in words; empty for keys of their own.
    package var formText: String {
        switch form {
        case .integer(let range, _): "whole number, \(range.explanation)"
        case .boolean: "true or false"
        case .words(let words, _): words.map { "`\($0)`" }.joined(separator: ", ")
        case .other(let form, _): form
        case .keys: "mapping"
        case .list: "list of mappings"
        case .names: "mapping of ids to names"
        }
    }

    /// The default in words; nil if there is none.
    package var defaultText: String? {
        switch form {
        case .integer(_, let absent): absent.map(String.init)
        case .boolean(let absent): absent ? "true" : "false"
        case .words(_, let absent), .other(_, let absent): absent
        case .keys, .list, .names: nil
        }
    }

    /// The keys of its mapping, or of each mapping in its list.
    package var keys: [ConfigurationKey] {
        switch form {
        case .keys(let keys), .list(let keys), .names(let keys): keys
        default: []
        }
    }
}

extension ConfigurationNode {
    /// A mapping with these keys. Throws for any other key.
    package func mapping(
        _ valid: [ConfigurationKey]
    ) throws(ConfigurationError) -> ConfigurationMapping {
        try mapping(valid.map(\.name), declared: valid)
    }
}

extension ConfigurationMapping {
    /// A whole number within the bounds of its declaration, or the default of the declaration.
    package func integer(_ name: String) throws(ConfigurationError) -> Int64 {
        guard let number = try optionalInteger(name) else {
            preconditionFailure("\(name) is declared without a default")
        }
        return number
    }

    /// A whole number whose declaration may lack a default.
    package func optionalInteger(_ name: String) throws(ConfigurationError) -> Int64? {
        guard case .integer(let range, let absent) = form(of: name) else {
            preconditionFailure("\(name) is not declared as a whole number")
        }
        return try self[name]?.integer(in: range) ?? absent
    }

    /// A Boolean, or the default of its declaration.
    package func boolean(_ name: String) throws(ConfigurationError) -> Bool {
        guard case .boolean(let absent) = form(of: name) else {
            preconditionFailure("\(name) is not declared as true or false")
        }
        return try self[name]?.boolean() ?? absent
    }

    /// Whether the key may be in the file.
    package func declares(_ name: String) -> Bool { form(of: name) != nil }

    private func form(of name: String) -> ConfigurationKey.Form? {
        declared.first { $0.name == name }?.form
    }
}
