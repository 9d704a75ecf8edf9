extension Partner {
    /// Where a partner's postbacks go, and in what form. Templates are texts with macros, `{id}`: the
    /// part that delivers reads them.
    package struct Delivery: Equatable, Sendable {
        /// What stands for an address that is not set: a name that no name server may ever know (RFC 2606).
        package static let noAddress = "https://url-is-not-set.invalid/"

        /// How the partner is asked.
        package enum Method: String, CaseIterable, Sendable {
            /// Parameters in the address, no body.
            case get = "GET"
            /// The usual way.
            case post = "POST"
            /// As POST.
            case put = "PUT"
        }

        /// Names of fields that a measurement service is known for; the raw value is the file's word.
        package enum Preset: String, CaseIterable, Sendable {
            /// Singular's public standard for SKAdNetwork.
            case singular
            /// The columns of AppsFlyer.
            case appsflyer
            /// The names that Adjust gives the fields of its callbacks.
            case adjust
            /// Apple's fields for partners of Branch.
            case branch
            /// Apple's fields for partners of Kochava.
            case kochava
        }

        /// What becomes of a field whose macro has no value.
        package enum Missing: String, CaseIterable, Sendable {
            /// The field is there, and empty; null in JSON.
            case empty
            /// The field is left out.
            case drop
            /// The delivery waits for an operator.
            case hold
        }

        /// Outcomes for missing values: one for all fields, and those of single ones.
        package struct MissingRules: Equatable, Sendable {
            /// Of every field that is not named.
            package let byDefault: Missing
            /// By name of the field, each with the place where it stands.
            package let byField: [Field<Missing>]

            /// Rules for all fields, and for single ones.
            package init(byDefault: Missing = .drop, byField: [Field<Missing>] = []) {
                self.byDefault = byDefault
                self.byField = byField
            }
        }

        /// Something under a name, in the file's order.
        package struct Field<Value: Equatable & Sendable>: Equatable, Sendable {
            /// The name, with its place.
            package let name: PositionedText
            /// What stands under it.
            package let value: Value

            /// Names something.
            package init(name: PositionedText, value: Value) {
                self.name = name
                self.value = value
            }
        }

        /// JSON with macros in its texts.
        package indirect enum JSONShape: Equatable, Sendable {
            /// A text, with or without macros.
            case text(PositionedText)
            /// A number, `true`, `false` or `null`, as JSON has it.
            case literal(String)
            /// A list.
            case array([JSONShape])
            /// An object.
            case object([Field<JSONShape>])
        }

        /// What is sent as the body.
        package enum Body: Equatable, Sendable {
            /// JSON: the preset's fields, without a preset the document as it is.
            case json
            /// A form of the preset's fields, without a preset of all that have a value.
            case form
            /// None; a preset's fields go to the address.
            case none
            /// JSON of the file's own.
            case jsonTemplate(JSONShape)
            /// A form of the file's own; it follows the preset's fields and goes before those of its names.
            case formTemplate([Field<PositionedText>])
        }

        /// Whether nothing is sent to the partner, since the file has no address yet: documents wait.
        package let isOff: Bool
        /// Address of the partner, `http` or `https`, as it is written; where the partner is off, one that
        /// leads nowhere.
        package let url: PositionedText
        /// Whether the address may be a private one (`allow_private`, false).
        package let allowPrivate: Bool
        /// How the partner is asked (`method`, POST).
        package let method: Method
        /// Further headers; a value `env:NAME` or `file:PATH` stands for a secret.
        package let headers: [Field<PositionedText>]
        /// What is sent (`body`); nil: none with GET, a form with a preset, else JSON.
        package let body: Body?
        /// Names of fields (`preset`).
        package let preset: Preset?
        /// What becomes of macros without a value (`missing`, drop).
        package let missing: MissingRules
        /// A partner that has not answered by then has not answered (`timeout_seconds`, 10), 1...60.
        package let timeoutSeconds: Int
        /// So many requests are on their way at once (`concurrency`, 4), 1...64.
        package let concurrency: Int
        /// Requests a second at most (`rate_per_second`), 1...10,000; nil: no bound.
        package let ratePerSecond: Int?
        /// File with the secrets that requests are signed with (`secret_file`), one a line.
        package let secretFile: PositionedText?
        /// What `{secret.NAME}` stands for: `env:NAME` or `file:PATH` under each name (`secrets`).
        package let secrets: [Field<PositionedText>]
    }
}
