/// `partners/<name>.yaml`: a receiver of decoded postbacks.
package struct Partner: Equatable, Sendable {
    /// A verdict that `trust` may list.
    package enum Verdict: String, CaseIterable, Sendable {
        /// Signed with a production key.
        case valid
        /// Signed with a development key.
        case development
        /// No key fits.
        case invalid
        /// The version or key id is unknown.
        case unverifiable
    }

    package struct Filter: Equatable, Sendable {
        /// Ids of ad networks in lower case; nil for all.
        package let networks: Set<String>?
        /// App Store ids of advertised apps; nil for all.
        package let apps: Set<Int64>?
        /// Sequence indexes of the conversion windows, 0...2; nil for all.
        package let windows: Set<Int>?
    }

    /// The name of the file: lower-case letters, digits and dashes.
    package let name: String
    /// Postbacks of these verdicts are sent; at least one.
    package let trust: Set<Verdict>
    package let filter: Filter
    package let delivery: Delivery
}

extension Partner {
    /// Where a partner's postbacks go, and in what form. Templates are texts with macros such as `{id}`; the
    /// delivering module parses them.
    package struct Delivery: Equatable, Sendable {
        /// The address of a partner without one. RFC 2606 reserves its domain, so it never resolves.
        package static let noAddress = "https://url-is-not-set.invalid/"

        package enum Method: String, CaseIterable, Sendable {
            /// Parameters in the address, no body.
            case get = "GET"
            case post = "POST"
            case put = "PUT"
        }

        /// Field names of a measurement service.
        package enum Preset: String, CaseIterable, Sendable {
            /// Singular's public standard for SKAdNetwork.
            case singular
            /// AppsFlyer's columns.
            case appsflyer
            /// Adjust's names in callbacks.
            case adjust
            /// Apple's fields for partners of Branch.
            case branch
            /// Apple's fields for partners of Kochava.
            case kochava
        }

        /// How to treat a field if its macro has no value.
        package enum Missing: String, CaseIterable, Sendable {
            /// The field is empty; null in JSON.
            case empty
            case drop
            /// The delivery waits for an operator.
            case hold
        }

        package struct MissingRules: Equatable, Sendable {
            /// For fields that are not in `byField`.
            package let byDefault: Missing
            package let byField: [Field<Missing>]
        }

        package struct Field<Value: Equatable & Sendable>: Equatable, Sendable {
            package let name: PositionedText
            package let value: Value
        }

        /// JSON with macros in its texts.
        package indirect enum JSONShape: Equatable, Sendable {
            case text(PositionedText)
            /// A number, `true`, `false` or `null`, as in JSON.
            case literal(String)
            case array([JSONShape])
            case object([Field<JSONShape>])
        }

        package enum Body: Equatable, Sendable {
            /// JSON: the preset's fields, or the unchanged document without a preset.
            case json
            /// A form of the preset's fields, or of all fields with a value without a preset.
            case form
            /// No body; a preset's fields go into the address.
            case none
            case jsonTemplate(JSONShape)
            /// A form with own fields. They follow the preset's fields and replace fields of the same name.
            case formTemplate([Field<PositionedText>])
        }

        /// The file has no address yet: Weir sends nothing, and documents wait.
        package let isOff: Bool
        /// `http` or `https`, as written; `noAddress` if the partner is off.
        package let url: PositionedText
        /// `allow_private`: whether the address may be private; by default not.
        package let allowPrivate: Bool
        /// `method`, by default POST.
        package let method: Method
        /// A value `env:NAME` or `file:PATH` refers to a secret.
        package let headers: [Field<PositionedText>]
        /// `body`; nil: none with GET, a form with a preset, otherwise JSON.
        package let body: Body?
        package let preset: Preset?
        /// `missing`, by default `drop`.
        package let missing: MissingRules
        /// `timeout_seconds`: how long to wait for an answer, 1...60; by default 10.
        package let timeoutSeconds: Int
        /// `concurrency`: simultaneous requests, 1...64; by default 4.
        package let concurrency: Int
        /// `rate_per_second`, 1...10,000; nil for no bound.
        package let ratePerSecond: Int?
        /// `secret_file`: a file with the secrets that sign requests, one per line.
        package let secretFile: PositionedText?
        /// `secrets`: the values of `{secret.NAME}`, each `env:NAME` or `file:PATH`.
        package let secrets: [Field<PositionedText>]
    }
}
