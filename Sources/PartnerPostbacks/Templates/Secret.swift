import Foundation
import Pipelines

/// A secret that goes into requests, or the mask that stands for it. It prints as the mask.
struct Secret: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
    /// What stands for a secret wherever somebody looks.
    static let mask = "***"

    /// Nil when it was not read.
    let value: String?

    var description: String { Self.mask }
    var customMirror: Mirror { Mirror(self, children: []) }

    /// The secret, encoded for its place; the mask is not.
    func text(encoded encode: (String) -> String) -> String {
        value.map(encode) ?? Self.mask
    }
}

/// What becomes of the secrets that a partner's file names.
enum SecretReading: Sendable {
    /// They are not read, and need not be there.
    case masked
    /// They are read; paths begin in the directory.
    case read(directory: String)

    func secret(_ source: SecretSource) throws(ConfigurationError) -> Secret {
        switch self {
        case .masked: Secret(value: nil)
        case .read(let directory): Secret(value: try source.read(directory: directory))
        }
    }

    /// The secrets that templates may name.
    func secrets(
        _ fields: [Partner.Delivery.Field<PositionedText>]
    ) throws(ConfigurationError) -> [String: Secret] {
        var secrets: [String: Secret] = [:]
        for field in fields {
            guard let source = SecretSource(field.value) else { continue }
            secrets[field.name.text] = try secret(source)
        }
        return secrets
    }
}
