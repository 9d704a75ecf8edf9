import JSON
import Wording

/// The configuration of an epoch as recorded in a store, or a part of it, during reading.
///
/// Valid within the call of `read` that passed it.
package struct RecordedConfiguration {
    private let value: JSONValue
    /// The path in the text, for errors: `models[0].app`.
    private let location: String

    /// Calls `body` with the whole of a recorded text.
    package static func read<Result>(
        _ text: String,
        _ body: (RecordedConfiguration) throws(RecordedConfigurationFault) -> Result
    ) throws(RecordedConfigurationFault) -> Result {
        guard let parser = JSONParser() else { throw .noMemory }
        let bytes = Array(text.utf8)
        let answer = bytes.withUnsafeBytes {
            bytes -> Swift.Result<Result, RecordedConfigurationFault> in
            guard let root = try? parser.parse(bytes) else {
                return .failure(.unreadable(location: "the text"))
            }
            do throws(RecordedConfigurationFault) {
                return .success(try body(RecordedConfiguration(value: root, location: "")))
            } catch {
                return .failure(error)
            }
        }
        return try answer.get()
    }

    /// A required member of an object.
    package func member(
        _ name: StaticString
    ) throws(RecordedConfigurationFault) -> RecordedConfiguration {
        guard let member = optional(name) else { throw .unreadable(location: path(to: "\(name)")) }
        return member
    }

    package func optional(_ name: StaticString) -> RecordedConfiguration? {
        value.member(name).map { RecordedConfiguration(value: $0, location: path(to: "\(name)")) }
    }

    /// The elements of an array, each read by `body`.
    package func elements<Element>(
        _ body: (RecordedConfiguration) throws(RecordedConfigurationFault) -> Element
    ) throws(RecordedConfigurationFault) -> [Element] {
        guard value.isArray else { throw .unreadable(location: location) }
        var elements: [Element] = []
        for element in value.elements {
            let location = "\(location)[\(elements.count)]"
            elements.append(try body(RecordedConfiguration(value: element, location: location)))
        }
        return elements
    }

    /// The members of an object, in order.
    package func members() throws(RecordedConfigurationFault) -> [(
        name: String, value: RecordedConfiguration
    )] {
        guard value.isObject else { throw .unreadable(location: location) }
        var members: [(name: String, value: RecordedConfiguration)] = []
        value.forEachMember { bytes, member in
            let name = String(decoding: bytes, as: UTF8.self)
            members.append((name, RecordedConfiguration(value: member, location: path(to: name))))
        }
        return members
    }

    package func text() throws(RecordedConfigurationFault) -> String {
        guard let bytes = value.string else { throw fault }
        return String(decoding: bytes, as: UTF8.self)
    }

    func texts() throws(RecordedConfigurationFault) -> [String] {
        try elements { text throws(RecordedConfigurationFault) in try text.text() }
    }

    package func integer() throws(RecordedConfigurationFault) -> Int64 {
        guard case .integer(let integer)? = value.number else { throw fault }
        return integer
    }

    /// The value as JSON; equal values have equal texts.
    package var json: String {
        var text = JSONText()
        text.value(value)
        return text.text
    }

    package func boolean() throws(RecordedConfigurationFault) -> Bool {
        guard let boolean = value.boolean else { throw fault }
        return boolean
    }

    package var fault: RecordedConfigurationFault { .unreadable(location: location) }

    private func path(to name: String) -> String { location.isEmpty ? name : "\(location).\(name)" }
}

/// The reasons why a recorded configuration cannot be used again.
package enum RecordedConfigurationFault: OperatorError, Equatable, Sendable {
    /// A part does not have this version's form.
    case unreadable(location: String)
    /// Its meaning in this version differs from that in the recording version.
    case otherMeaning
    /// Only the fingerprint of a root certificate is recorded, and the certificate is missing.
    case rootMissing(fingerprint: String)
    /// Only the digest of a shared secret is recorded, and the secret is missing.
    case secretMissing(bundleID: String)
    case noMemory

    /// Other commands than replay read recorded configurations too, and lack its option.
    private static let refolding =
        "weir replay --into DIR --configuration present, then weir promote DIR"

    package var description: String {
        switch self {
        case .unreadable(let location):
            "the recorded configuration cannot be read at \(location), because another version of Weir wrote it: use that version, or fold the log again with the present configuration (\(Self.refolding))"
        case .otherMeaning:
            "this version of Weir interprets the recorded configuration differently: use the version that recorded it, or fold the log again with the present configuration (\(Self.refolding))"
        case .rootMissing(let fingerprint):
            "the recorded configuration trusts the root certificate \(fingerprint) (SHA-256), which store-notifications.yaml no longer lists: list it during the replay, or fold the log again with the present configuration (\(Self.refolding))"
        case .secretMissing(let bundleID):
            "the recorded configuration has a shared secret of \(bundleID) that store-notifications.yaml no longer has: add it during the replay, or fold the log again with the present configuration (\(Self.refolding))"
        case .noMemory: "not enough memory to read the recorded configuration"
        }
    }
}
